// States of ranks over time, one line each, with messages as arrows and the critical path on top.

import { CRITICAL, stateColour } from "./colours.js";
import { text } from "./data.js";
import { bytes, number, time } from "./format.js";
import { ticks } from "./plot.js";

const [LEFT, TOP] = [64, 20];
/** Maximum number of drawn messages; more would hide each other. */
const MESSAGES = 3000;

export class RanksView {
  /** `span` is shared by all results: {from, to, until}, in picoseconds. */
  constructor(panel, stage, job, span, events) {
    Object.assign(this, { panel, job, span, events });
    this.canvas = stage.appendChild(document.createElement("canvas"));
    this.canvas.setAttribute("aria-label", "Ranks over time; drag to move, wheel to zoom, with shift for more or fewer ranks");
    this.status = stage.appendChild(document.createElement("div"));
    this.status.className = "status";
    this.ranks = { first: 0, last: job.ranks };
    this.slice = null;
    this.messages = null;
    this.path = null;
    this.chosen = null;
    this.names = [];
    this.withMessages = true;
    this.withPath = true;
    this.asks = 0;
    this.listen();
    new ResizeObserver(() => { this.load(); this.redraw(); }).observe(stage);
    this.loadPath();
  }

  async loadPath() {
    const { result } = this.panel;
    if (!result.has("critical_path")) return;
    this.path = await result.table("critical_path", ["kind", "rank", "begin_ps", "end_ps", "link", "reason"], { job: this.job.name });
    this.redraw();
  }

  get laneHeight() {
    return (this.canvas.clientHeight - TOP - 18) / (this.ranks.last - this.ranks.first);
  }

  x(ps) {
    return LEFT + ((ps - this.span.from) / (this.span.to - this.span.from)) * (this.canvas.clientWidth - LEFT - 8);
  }

  y(rank) {
    return TOP + (rank - this.ranks.first) * this.laneHeight;
  }

  ps(x) {
    return this.span.from + ((x - LEFT) / (this.canvas.clientWidth - LEFT - 8)) * (this.span.to - this.span.from);
  }

  /** Fetches the visible range. A later request cancels an earlier one. */
  load() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.fetch(), 40);
  }

  async fetch() {
    const { result } = this.panel;
    if (!result.has("timeline") || this.canvas.clientWidth === 0) return;
    const asked = ++this.asks;
    const from_ps = Math.max(0, Math.floor(this.span.from));
    const to_ps = Math.ceil(this.span.to);
    const pixel_ps = Math.floor((to_ps - from_ps) / (this.canvas.clientWidth - LEFT));
    const every = Math.max(1, Math.ceil(1 / this.laneHeight));
    try {
      const slice = await result.timeline({ job: this.job.name, from_ps, to_ps, pixel_ps, every });
      if (asked !== this.asks) return;
      this.slice = slice;
      this.every = every;
      this.rows = this.byRank(slice);
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
    const columns = ["from_rank", "to_rank", "bytes", "tag", "collective", "protocol", "posted_ps", "sent_ps", "arrived_ps", "matched_ps"];
    const where = { job: this.job.name, from_ps, to_ps, limit: MESSAGES };
    const rank = this.chosen?.id;
    const slices = rank === undefined
      ? [await result.table("messages", columns, where)]
      : await Promise.all([result.table("messages", columns, { ...where, from_rank: rank }), result.table("messages", columns, { ...where, to_rank: rank })]);
    if (asked !== this.asks) return;
    this.messages = slices;
    this.redraw();
  }

  /** Rows of each rank in time order. */
  byRank(slice) {
    const of = new Map();
    for (let i = 0; i < slice.rows; i++) {
      if (!of.has(slice.rank[i])) of.set(slice.rank[i], []);
      of.get(slice.rank[i]).push(i);
    }
    return of;
  }

  redraw() {
    if (this.asked) return;
    this.asked = requestAnimationFrame(() => { this.asked = null; this.draw(); });
  }

  draw() {
    const { canvas } = this;
    const pixels = window.devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (width === 0) return;
    if (canvas.width !== Math.round(width * pixels) || canvas.height !== Math.round(height * pixels))
      [canvas.width, canvas.height] = [Math.round(width * pixels), Math.round(height * pixels)];
    const pen = canvas.getContext("2d");
    pen.setTransform(pixels, 0, 0, pixels, 0, 0);
    pen.fillStyle = "#fff";
    pen.fillRect(0, 0, width, height);
    pen.font = "11px system-ui, sans-serif";
    this.axes(pen, width, height);
    pen.save();
    pen.beginPath();
    pen.rect(LEFT, TOP, width - LEFT - 8, height - TOP - 18);
    pen.clip();
    const counts = { states: this.drawStates(pen), messages: this.withMessages ? this.drawMessages(pen) : 0, path: this.withPath ? this.drawPath(pen) : 0 };
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

  axes(pen, width, height) {
    pen.fillStyle = "#57606a";
    const { step, at: times } = ticks(this.span.from, this.span.to, width - LEFT);
    for (const at of times) {
      pen.fillText(time(at, this.span.to, step), this.x(at) + 2, 12);
      pen.fillRect(this.x(at), 4, 1, height);
    }
    const lane = this.laneHeight;
    const every = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 100000].find((n) => n * lane >= 13);
    for (let rank = Math.ceil(this.ranks.first / every) * every; rank < this.ranks.last; rank += every)
      pen.fillText(`rank ${rank}`, 4, this.y(rank) + Math.min(lane, 14) / 2 + 4);
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
      if (rank + this.every <= this.ranks.first || rank >= this.ranks.last) continue;
      for (const i of rows) {
        const [a, b] = [this.x(slice.begin_ps[i]), this.x(slice.end_ps[i])];
        if (b < LEFT || a > this.canvas.clientWidth) continue;
        pen.fillStyle = colours[slice.state[i]];
        pen.fillRect(a, y + room / 2, Math.max(0.6, b - a), lane - room);
        count++;
      }
      if (this.chosen?.id === rank) {
        pen.strokeStyle = "#0072b2";
        pen.lineWidth = 2;
        pen.strokeRect(LEFT, y, this.canvas.clientWidth, lane);
      }
    }
    return count;
  }

  drawMessages(pen) {
    this.tooMany = false;
    if (!this.messages || this.laneHeight < 3) return 0;
    if (this.messages.some((slice) => slice.matching > MESSAGES)) { this.tooMany = true; return 0; }
    let count = 0;
    pen.lineWidth = 1;
    for (const slice of this.messages) {
      for (let i = 0; i < slice.rows; i++) {
        const half = this.laneHeight / 2;
        const a = [this.x(slice.sent_ps[i]), this.y(slice.from_rank[i]) + half];
        const b = [this.x(slice.arrived_ps[i]), this.y(slice.to_rank[i]) + half];
        if (!(b[0] >= LEFT) || a[0] > this.canvas.clientWidth) continue;
        pen.strokeStyle = pen.fillStyle = "rgba(20,24,30,.62)";
        pen.beginPath();
        pen.moveTo(...a);
        pen.lineTo(...b);
        pen.stroke();
        const angle = Math.atan2(b[1] - a[1], b[0] - a[0]);
        pen.beginPath();
        pen.moveTo(...b);
        for (const turn of [2.7, -2.7]) pen.lineTo(b[0] + 6 * Math.cos(angle + turn), b[1] + 6 * Math.sin(angle + turn));
        pen.fill();
        count++;
      }
    }
    return count;
  }

  drawPath(pen) {
    if (!this.path) return 0;
    const { path } = this;
    pen.strokeStyle = CRITICAL;
    pen.lineJoin = "round";
    const half = this.laneHeight / 2;
    for (const [width, colour] of [[5, "#fff"], [3, CRITICAL]]) {
      pen.lineWidth = width;
      pen.strokeStyle = colour;
      pen.beginPath();
      for (let i = 0; i < path.rows; i++) {
        const y = this.y(path.rank[i]) + half;
        if (i === 0) pen.moveTo(this.x(path.begin_ps[i]), y);
        else pen.lineTo(this.x(path.begin_ps[i]), y);
        pen.lineTo(this.x(path.end_ps[i]), y);
      }
      pen.stroke();
    }
    return path.rows;
  }

  tell(counts) {
    const { result } = this.panel;
    const parts = [];
    if (this.error) parts.push(this.error);
    if (this.every > 1) parts.push(`every ${this.every}th rank is drawn: zoom in with shift and wheel for all`);
    if (this.withMessages && result.has("messages")) {
      if (this.tooMany) parts.push(`${number(this.messages.reduce((sum, s) => sum + s.matching, 0))} messages: zoom in or click a rank to see them`);
      else if (this.messages && this.laneHeight >= 3) parts.push(`${number(counts.messages)} messages`);
    }
    this.status.textContent = parts.join("; ");
    this.status.hidden = parts.length === 0;
  }

  /** The rank at a position, and its state there. */
  under(x, y) {
    const rank = Math.floor(this.ranks.first + (y - TOP) / this.laneHeight);
    if (x < 0 || y < TOP || rank < 0 || rank >= this.job.ranks) return null;
    const thing = { kind: "rank", id: rank, job: this.job.name, label: `rank ${rank}` };
    const ps = this.ps(x);
    const shown = rank - (rank % (this.every ?? 1));
    const row = this.rows?.get(shown)?.find((i) => this.slice.begin_ps[i] <= ps && this.slice.end_ps[i] > ps);
    if (row !== undefined && x >= LEFT) {
      const { slice } = this;
      thing.label += `: ${text(slice, "state", row)}${slice.mixed[row] ? " most of the time" : ""}\n${time(slice.end_ps[row] - slice.begin_ps[row])}, from ${time(slice.begin_ps[row], this.span.until)}`;
    }
    const step = this.withPath && this.path
      ? [...this.path.rank.keys()].find((i) => this.path.rank[i] === rank && this.path.begin_ps[i] <= ps && this.path.end_ps[i] > ps)
      : undefined;
    if (step !== undefined) {
      const reason = text(this.path, "reason", step);
      const link = this.path.link[step];
      thing.label += `\ncritical path: ${text(this.path, "kind", step)}${reason ? `, ${reason}` : ""}${link >= 0 ? ` at link ${link}` : ""}`;
    }
    const message = this.messageUnder(x, y);
    if (message) thing.label += `\n${message}`;
    return thing;
  }

  messageUnder(x, y) {
    if (!this.withMessages || !this.messages || this.drawn?.messages === 0) return null;
    let [best, found] = [5, null];
    const half = this.laneHeight / 2;
    for (const slice of this.messages) for (let i = 0; i < slice.rows; i++) {
      const [ax, ay, bx, by] = [this.x(slice.sent_ps[i]), this.y(slice.from_rank[i]) + half, this.x(slice.arrived_ps[i]), this.y(slice.to_rank[i]) + half];
      const t = Math.max(0, Math.min(1, ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / ((bx - ax) ** 2 + (by - ay) ** 2 || 1)));
      const far = Math.hypot(ax + t * (bx - ax) - x, ay + t * (by - ay) - y);
      if (far < best) [best, found] = [far, [slice, i]];
    }
    if (!found) return null;
    const [slice, i] = found;
    const how = [text(slice, "protocol", i), text(slice, "collective", i)].filter(Boolean).join(", ");
    return `message of ${bytes(slice.bytes[i])} from rank ${slice.from_rank[i]} to ${slice.to_rank[i]} (${how}), ${time(slice.arrived_ps[i] - slice.sent_ps[i])} in flight`;
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
      this.shiftTime((-dx / (canvas.clientWidth - LEFT - 8)) * (this.span.to - this.span.from));
      this.shiftRanks(-dy / this.laneHeight);
      Object.assign(drag, { x: event.offsetX, y: event.offsetY, moved: true });
    });
    canvas.addEventListener("pointerup", (event) => {
      if (drag && !drag.moved) this.events.chosen(this.under(event.offsetX, event.offsetY));
      drag = null;
    });
    canvas.addEventListener("pointerleave", () => this.events.pointed(null));
    canvas.addEventListener("dblclick", () => {
      this.ranks = { first: 0, last: this.job.ranks };
      this.events.span(0, this.span.until);
    });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const factor = Math.exp((event.deltaY || event.deltaX) * 0.0015);
      if (event.shiftKey) this.zoomRanks(factor, event.offsetY);
      else this.zoomTime(factor, event.offsetX);
    }, { passive: false });
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

  zoomRanks(factor, y) {
    const { first, last } = this.ranks;
    const at = first + (y - TOP) / this.laneHeight;
    const count = Math.max(2, Math.min((last - first) * factor, this.job.ranks));
    const from = Math.max(0, Math.min(at - ((at - first) / (last - first)) * count, this.job.ranks - count));
    this.ranks = { first: from, last: from + count };
    this.load();
    this.redraw();
  }

  shiftRanks(by) {
    const count = this.ranks.last - this.ranks.first;
    const first = Math.max(0, Math.min(this.ranks.first + by, this.job.ranks - count));
    this.ranks = { first, last: first + count };
    this.redraw();
  }
}
