// States of ranks over time, one line each, with messages as arrows and the critical path on top.

import { CRITICAL, stateColour } from "./colours.js";
import { text } from "./data.js";
import { canvasPen, element } from "./dom.js";
import { bytes, number, ticks, time } from "./format.js";

const [TOP, BOTTOM, RIGHT] = [20, 18, 8];
/** Maximum number of drawn messages; more would hide each other. */
const MESSAGES = 3000;

/** A canvas over time, which a drag moves and the wheel zooms. `paint(pen)` draws inside its axes, `fetch()` requests what is in sight. */
export class TimeCanvas {
  /** `span` is shared by all results: {from, to, until}, in picoseconds. `events.span(from, to)` sets it, `events.pointed(thing, x, y)` names a thing. */
  constructor(panel, stage, job, span, events, label) {
    Object.assign(this, { panel, job, span, events, left: 64, path: null, withPath: true, asks: 0 });
    this.canvas = stage.appendChild(element("canvas"));
    this.canvas.setAttribute("aria-label", `${label}; drag to move, wheel to zoom`);
    this.status = stage.appendChild(element("div", "", { className: "status" }));
    this.listen();
    new ResizeObserver(() => {
      this.load();
      this.redraw();
    }).observe(stage);
    this.loadPath();
  }

  async loadPath() {
    const { result } = this.panel;
    if (!result.has("critical_path")) return;
    this.path = await result.table("critical_path", ["kind", "rank", "begin_ps", "end_ps", "link", "reason"], {
      job: this.job.name,
    });
    this.redraw();
  }

  get wide() {
    return this.canvas.clientWidth - this.left - RIGHT;
  }

  get high() {
    return this.canvas.clientHeight - TOP - BOTTOM;
  }

  x(ps) {
    return this.left + ((ps - this.span.from) / (this.span.to - this.span.from)) * this.wide;
  }

  ps(x) {
    return this.span.from + ((x - this.left) / this.wide) * (this.span.to - this.span.from);
  }

  /** A step of the critical path in words. */
  stepText(step) {
    const [reason, link] = [text(this.path, "reason", step), this.path.link[step]];
    return `${text(this.path, "kind", step)} of rank ${this.path.rank[step]}${reason ? `, ${reason}` : ""}${link >= 0 ? ` at link ${link}` : ""}`;
  }

  /** Fetches the visible range. A later request cancels an earlier one. */
  load() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.fetch(), 40);
  }

  /** Shows other values, and requests what is in sight if they change it. */
  show(values, load = false) {
    Object.assign(this, values);
    if (load) this.load();
    this.redraw();
  }

  redraw() {
    if (this.asked) return;
    this.asked = requestAnimationFrame(() => {
      this.asked = null;
      this.draw();
    });
  }

  draw() {
    // The style sheet has its light ground.
    const made = canvasPen(this.canvas);
    if (!made) return;
    const { pen, width, height } = made;
    pen.fillStyle = "#57606a";
    const { step, at: times } = ticks(this.span.from, this.span.to, width - this.left);
    for (const at of times) {
      pen.fillText(time(at, this.span.to, step), this.x(at) + 2, 12);
      pen.fillRect(this.x(at), 4, 1, height);
    }
    this.label(pen);
    pen.save();
    pen.beginPath();
    pen.rect(this.left, TOP, this.wide, this.high);
    pen.clip();
    const counts = this.paint(pen);
    if (this.at !== undefined && this.at !== null) {
      pen.strokeStyle = "#1b1f24";
      pen.lineWidth = 1;
      pen.setLineDash([4, 3]);
      pen.strokeRect(this.x(this.at), TOP - 2, 0, height);
      pen.setLineDash([]);
    }
    pen.restore();
    this.drawn = counts;
    this.tell(counts);
  }

  listen() {
    const { canvas } = this;
    let drag = null;
    canvas.addEventListener("pointerdown", (event) => {
      drag = { x: event.offsetX, y: event.offsetY, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!drag) {
        this.events.pointed(this.under(event.offsetX, event.offsetY), event.clientX, event.clientY);
        return;
      }
      const [dx, dy] = [event.offsetX - drag.x, event.offsetY - drag.y];
      if (!drag.moved && Math.hypot(dx, dy) < 4) return;
      this.shiftTime((-dx / this.wide) * (this.span.to - this.span.from));
      this.shiftRanks?.(-dy / this.laneHeight);
      Object.assign(drag, { x: event.offsetX, y: event.offsetY, moved: true });
    });
    canvas.addEventListener("pointerup", (event) => {
      if (drag && !drag.moved) this.events.chosen(this.under(event.offsetX, event.offsetY));
      drag = null;
    });
    canvas.addEventListener("pointerleave", () => this.events.pointed(null));
    canvas.addEventListener("dblclick", () => {
      this.ranks = { first: 0, last: this.count };
      this.events.span(0, this.span.until);
    });
    canvas.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        const factor = Math.exp((event.deltaY || event.deltaX) * 0.0015);
        if (event.shiftKey) this.zoomRanks?.(factor, event.offsetY);
        else this.zoomTime(factor, event.offsetX);
      },
      { passive: false },
    );
  }

  zoomTime(factor, x) {
    const at = this.ps(x);
    const length = Math.max(1000, Math.min((this.span.to - this.span.from) * factor, this.span.until));
    const share = (at - this.span.from) / (this.span.to - this.span.from);
    const from = Math.max(0, Math.min(at - share * length, this.span.until - length));
    this.events.span(from, from + length);
  }

  shiftTime(by) {
    const length = this.span.to - this.span.from;
    const from = Math.max(0, Math.min(this.span.from + by, this.span.until - length));
    this.events.span(from, from + length);
  }
}

export class RanksView extends TimeCanvas {
  /** Shows the ranks of a job, or `only` some. */
  constructor(panel, stage, job, span, events, only = null) {
    super(panel, stage, job, span, events, "Ranks over time, with shift and wheel more or fewer of them");
    this.only = only;
    this.count = only?.length ?? job.ranks;
    this.rowOfRank = only && new Map(only.map((rank, row) => [rank, row]));
    Object.assign(this, {
      ranks: { first: 0, last: this.count },
      slice: null,
      messages: null,
      chosen: null,
      names: [],
      withMessages: true,
    });
  }

  get laneHeight() {
    return this.high / (this.ranks.last - this.ranks.first);
  }

  /** Top of the line of a rank, NaN if it is not among those shown. */
  y(rank) {
    return TOP + ((this.only ? (this.rowOfRank.get(rank) ?? NaN) : rank) - this.ranks.first) * this.laneHeight;
  }

  paint(pen) {
    return {
      states: this.drawStates(pen),
      messages: this.withMessages ? this.drawMessages(pen) : 0,
      path: this.withPath ? this.drawPath(pen) : 0,
    };
  }

  label(pen) {
    const lane = this.laneHeight;
    const every = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 100000].find((n) => n * lane >= 13);
    for (let row = Math.ceil(this.ranks.first / every) * every; row < this.ranks.last; row += every) {
      const rank = this.only?.[row] ?? row;
      pen.fillText(`rank ${rank}`, 4, this.y(rank) + Math.min(lane, 14) / 2 + 4);
    }
  }

  async fetch() {
    const { result } = this.panel;
    if (!result.has("timeline") || this.canvas.clientWidth === 0) return;
    const asked = ++this.asks;
    const from_ps = Math.max(0, Math.floor(this.span.from));
    const to_ps = Math.ceil(this.span.to);
    const pixel_ps = Math.floor((to_ps - from_ps) / this.wide);
    const every = this.only ? 1 : Math.max(1, Math.ceil(1 / this.laneHeight));
    try {
      const slice = await result.made("timeline", {
        job: this.job.name,
        from_ps,
        to_ps,
        pixel_ps,
        every,
        rank: this.only ?? [],
      });
      if (asked !== this.asks) return;
      this.slice = slice;
      this.every = every;
      // Rows of each rank in time order.
      this.rows = Map.groupBy(slice.rank.keys(), (row) => slice.rank[row]);
      this.events.names(slice.texts.state);
      this.redraw();
      await this.fetchMessages(asked, from_ps, to_ps);
    } catch (error) {
      this.error = error.message;
      this.redraw();
    }
  }

  async fetchMessages(asked, from_ps, to_ps) {
    const { result } = this.panel;
    if (!result.has("messages")) return;
    const columns = [
      "from_rank",
      "to_rank",
      "bytes",
      "tag",
      "collective",
      "protocol",
      "posted_ps",
      "sent_ps",
      "arrived_ps",
      "matched_ps",
    ];
    const where = { job: this.job.name, from_ps, to_ps, limit: MESSAGES };
    const rank = this.chosen?.id;
    // Of some ranks, those between them.
    const among = this.only ? { from_rank: this.only, to_rank: this.only } : {};
    const slices =
      rank === undefined
        ? [await result.table("messages", columns, { ...where, ...among })]
        : await Promise.all([
            result.table("messages", columns, { ...where, from_rank: rank }),
            result.table("messages", columns, { ...where, to_rank: rank }),
          ]);
    if (asked !== this.asks) return;
    this.messages = slices;
    this.redraw();
  }

  drawStates(pen) {
    if (!this.rows) return 0;
    const { slice } = this;
    const lane = this.laneHeight * this.every;
    const room = lane > 4 ? 1 : 0;
    const colours = slice.texts.state.map((name) => stateColour(name, this.names));
    let count = 0;
    for (const [rank, rows] of this.rows) {
      const y = this.y(rank);
      if (!(y + lane > TOP && y < TOP + this.high)) continue;
      for (const i of rows) {
        const [a, b] = [this.x(slice.begin_ps[i]), this.x(slice.end_ps[i])];
        if (b < this.left || a > this.canvas.clientWidth) continue;
        pen.fillStyle = colours[slice.state[i]];
        pen.fillRect(a, y + room / 2, Math.max(0.6, b - a), lane - room);
        count++;
      }
      if (this.chosen?.id === rank) {
        pen.strokeStyle = "#0072b2";
        pen.lineWidth = 2;
        pen.strokeRect(this.left, y, this.canvas.clientWidth, lane);
      }
    }
    return count;
  }

  drawMessages(pen) {
    this.tooMany = false;
    if (!this.messages || this.laneHeight < 3) return 0;
    if (this.messages.some((slice) => slice.matching > MESSAGES)) {
      this.tooMany = true;
      return 0;
    }
    let count = 0;
    pen.lineWidth = 1;
    for (const slice of this.messages) {
      for (let i = 0; i < slice.rows; i++) {
        const [a, b] = this.ends(slice, i);
        if (!(b[0] >= this.left) || a[0] > this.canvas.clientWidth || Number.isNaN(a[1] + b[1])) continue;
        pen.strokeStyle = pen.fillStyle = "rgba(20,24,30,.62)";
        pen.beginPath();
        pen.moveTo(...a);
        pen.lineTo(...b);
        pen.stroke();
        const angle = Math.atan2(b[1] - a[1], b[0] - a[0]);
        pen.beginPath();
        pen.moveTo(...b);
        for (const turn of [2.7, -2.7])
          pen.lineTo(b[0] + 6 * Math.cos(angle + turn), b[1] + 6 * Math.sin(angle + turn));
        pen.fill();
        count++;
      }
    }
    return count;
  }

  drawPath(pen) {
    if (!this.path) return 0;
    const { path } = this;
    pen.lineJoin = "round";
    const half = this.laneHeight / 2;
    // Steps from rank to rank are thin, so that the ranks between them stay visible.
    const steps = [];
    pen.strokeStyle = CRITICAL;
    pen.lineWidth = 0.6;
    pen.beginPath();
    let last = NaN;
    for (let i = 0; i < path.rows; i++) {
      // NaN where the path leaves the ranks that are shown.
      const y = this.y(path.rank[i]) + half;
      const [a, b] = [this.x(path.begin_ps[i]), this.x(path.end_ps[i])];
      if (!Number.isNaN(last + y) && last !== y) {
        pen.moveTo(a, last);
        pen.lineTo(a, y);
      }
      if (!Number.isNaN(y)) steps.push([a, b, y]);
      last = y;
    }
    pen.stroke();
    const width = Math.max(1, Math.min(2, this.laneHeight / 3));
    for (const [wide, colour] of [
      [2 * width, "#fff"],
      [width, CRITICAL],
    ]) {
      pen.lineWidth = wide;
      pen.strokeStyle = colour;
      pen.beginPath();
      for (const [a, b, y] of steps) {
        pen.moveTo(a, y);
        pen.lineTo(Math.max(b, a + 0.5), y);
      }
      pen.stroke();
    }
    return path.rows;
  }

  tell(counts) {
    const { result } = this.panel;
    const parts = [];
    if (this.error) parts.push(this.error);
    else if (!this.slice) parts.push(`reading the states of ${number(this.count)} ranks`);
    if (this.every > 1) parts.push(`every ${this.every}th rank is drawn: zoom in with shift and wheel for all`);
    if (this.withMessages && result.has("messages")) {
      if (this.tooMany)
        parts.push(
          `${number(this.messages.reduce((sum, s) => sum + s.matching, 0))} messages: zoom in or click a rank to see them`,
        );
      else if (this.messages && this.laneHeight >= 3) parts.push(`${number(counts.messages)} messages`);
    }
    this.status.textContent = parts.join("; ");
    this.status.hidden = parts.length === 0;
  }

  /** The rank at a position, and its state there. */
  under(x, y) {
    const line = Math.floor(this.ranks.first + (y - TOP) / this.laneHeight);
    if (x < 0 || y < TOP || line < 0 || line >= this.count) return null;
    const rank = this.only?.[line] ?? line;
    const ps = this.ps(x);
    const thing = {
      kind: "rank",
      id: rank,
      job: this.job.name,
      label: `rank ${rank}`,
      at: x >= this.left ? ps : undefined,
    };
    const shown = rank - (rank % (this.every ?? 1));
    const row = this.rows?.get(shown)?.find((i) => this.slice.begin_ps[i] <= ps && this.slice.end_ps[i] > ps);
    if (row !== undefined && x >= this.left) {
      const { slice } = this;
      thing.label += `: ${text(slice, "state", row)}${slice.mixed[row] ? " most of the time" : ""}\n${time(slice.end_ps[row] - slice.begin_ps[row])}, from ${time(slice.begin_ps[row], this.span.until)}`;
    }
    const step =
      this.withPath && this.path
        ? this.path.rank.findIndex((of, i) => of === rank && this.path.begin_ps[i] <= ps && this.path.end_ps[i] > ps)
        : -1;
    if (step >= 0) {
      thing.label += `\ncritical path: ${this.stepText(step)}`;
    }
    const message = this.messageUnder(x, y);
    if (message) thing.label += `\n${message}`;
    return thing;
  }

  /** Where the arrow of a message begins and ends. */
  ends(slice, i) {
    const half = this.laneHeight / 2;
    return [
      [this.x(slice.sent_ps[i]), this.y(slice.from_rank[i]) + half],
      [this.x(slice.arrived_ps[i]), this.y(slice.to_rank[i]) + half],
    ];
  }

  messageUnder(x, y) {
    if (!this.withMessages || !this.messages || this.drawn?.messages === 0) return null;
    let [best, found] = [5, null];
    for (const slice of this.messages)
      for (let i = 0; i < slice.rows; i++) {
        const [[ax, ay], [bx, by]] = this.ends(slice, i);
        const t = Math.max(
          0,
          Math.min(1, ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / ((bx - ax) ** 2 + (by - ay) ** 2 || 1)),
        );
        const far = Math.hypot(ax + t * (bx - ax) - x, ay + t * (by - ay) - y);
        if (far < best) [best, found] = [far, [slice, i]];
      }
    if (!found) return null;
    const [slice, i] = found;
    const how = [text(slice, "protocol", i), text(slice, "collective", i)].filter(Boolean).join(", ");
    return `message of ${bytes(slice.bytes[i])} from rank ${slice.from_rank[i]} to ${slice.to_rank[i]} (${how}), ${time(slice.arrived_ps[i] - slice.sent_ps[i])} in flight`;
  }

  zoomRanks(factor, y) {
    const { first, last } = this.ranks;
    const at = first + (y - TOP) / this.laneHeight;
    const count = Math.max(2, Math.min((last - first) * factor, this.count));
    const from = Math.max(0, Math.min(at - ((at - first) / (last - first)) * count, this.count - count));
    this.show({ ranks: { first: from, last: from + count } }, true);
  }

  shiftRanks(by) {
    const count = this.ranks.last - this.ranks.first;
    const first = Math.max(0, Math.min(this.ranks.first + by, this.count - count));
    this.show({ ranks: { first, last: first + count } });
  }
}
