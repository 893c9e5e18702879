// Ranks over time, folded: a lane for ranks that are alike, with the share of them that computes, works for MPI or waits.

import { alike, named } from "./bars.js";
import { timeColour } from "./colours.js";
import { text } from "./data.js";
import { number, percent, time } from "./format.js";
import { TimeCanvas } from "./ranks.js";

/** Number of ranks whose times are read; of more, those with the least hashes (crates/view/src/timeline.rs). Parts of the time in sight, and of the whole time for similarity. */
const [SAMPLE, PARTS, COARSE] = [1024, 240, 12];
const LANES = 8;
const [TOP, GAP, PATH] = [20, 6, 14];
/** Columns of shares, their words and colours. Waits in collectives are hatched. */
const STATES = [
  ["compute", "computation", timeColour("compute")],
  ["overhead", "MPI on the CPU", timeColour("overhead")],
  ["blocked", "waits, point to point", timeColour("partner")],
  ["blocked_collective", "waits, collectives", timeColour("partner")],
];
const isHatched = ([name]) => name === "blocked_collective";
/** Kinds of steps of the critical path. */
const STEPS = {
  compute: timeColour("compute"),
  overhead: timeColour("overhead"),
  network: timeColour("transfer"),
  wait: timeColour("link_wait"),
  unknown: "#ffffff",
};

/** Colours of a key as a background of CSS. */
const keyColour = (state) =>
  isHatched(state) ? `repeating-linear-gradient(45deg, transparent 0 3px, #fff 3px 5px), ${state[2]}` : state[2];

/** White diagonals for a pen. */
function hatching(pen) {
  const tile = Object.assign(document.createElement("canvas"), { width: 6, height: 6 });
  const brush = tile.getContext("2d");
  Object.assign(brush, { strokeStyle: "#ffffff", lineWidth: 1.5 });
  for (const x of [-6, 0, 6]) {
    brush.moveTo(x, 6);
    brush.lineTo(x + 6, 0);
  }
  brush.stroke();
  return pen.createPattern(tile, "repeat");
}

export class LanesView extends TimeCanvas {
  /** Opening a lane is `events.opened(ranks)`. */
  constructor(panel, stage, job, span, events) {
    super(
      panel,
      stage,
      job,
      span,
      { ...events, chosen: (thing) => thing?.ranks && events.opened(thing.ranks) },
      "Lanes of ranks over time, arrow up and down select a lane, Enter opens it",
    );
    Object.assign(this, { lanes: [], keys: STATES.map((state) => [state[1], keyColour(state)]), sampled: job.ranks });
    this.canvas.tabIndex = 0;
    this.canvas.addEventListener("keydown", (event) => {
      const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (step) this.cursor = Math.max(0, Math.min((this.cursor ?? -1) + step, this.lanes.length - 1));
      else if (event.key === "Enter" && this.lanes[this.cursor]) events.opened(this.lanes[this.cursor].ranks);
      else return;
      event.preventDefault();
      this.redraw();
    });
  }

  /** Shares of the time of each rank in a range: {ranks, of(i, state, part), parts}. */
  async shares(from, to, parts) {
    const found = await this.panel.result.made("shares", {
      job: this.job.name,
      from_ps: Math.floor(from),
      to_ps: Math.ceil(to),
      parts,
      sample: Math.min(SAMPLE, this.job.ranks),
      of: this.job.ranks,
    });
    const ranks = Array.from({ length: found.rows / parts }, (_, i) => found.rank[i * parts]);
    return { ranks, of: (i, state, part) => found[STATES[state][0]][i * parts + part] };
  }

  async fetch() {
    if (this.canvas.clientWidth === 0) return;
    const [asked, range] = [++this.asks, `${this.span.from} ${this.span.to}`];
    if (range === this.range) return;
    try {
      if (!this.groups) {
        const whole = await this.shares(0, this.span.until, COARSE);
        const points = whole.ranks.map((_, i) =>
          STATES.flatMap((_s, state) => Array.from({ length: COARSE }, (_p, part) => whole.of(i, state, part))),
        );
        this.groups = alike(points, LANES);
        this.sampled = whole.ranks.length;
      }
      const now = await this.shares(this.span.from, this.span.to, PARTS);
      if (asked !== this.asks) return;
      this.range = range;
      this.lanes = this.groups.groups.map((own) => {
        const means = STATES.map((_, state) =>
          Float64Array.from(
            { length: PARTS },
            (_p, part) => own.reduce((sum, i) => sum + now.of(i, state, part), 0) / own.length,
          ),
        );
        const sum = (states) => states.reduce((total, state) => total + means[state].reduce((a, b) => a + b, 0), 0);
        return { ranks: own.map((i) => now.ranks[i]), means, waiting: sum([2, 3]) / sum([0, 1, 2, 3]) };
      });
      this.laneOf = new Map(this.lanes.flatMap(({ ranks }, lane) => ranks.map((rank) => [rank, lane])));
    } catch (error) {
      this.error = error.message;
    }
    this.redraw();
  }

  get isSample() {
    return this.job.ranks > SAMPLE;
  }

  get pathHigh() {
    return this.path && this.withPath ? PATH + GAP : 0;
  }

  get laneHigh() {
    return (this.high - this.pathHigh) / (this.lanes.length || 1);
  }

  top(lane) {
    return TOP + this.pathHigh + lane * this.laneHigh;
  }

  label(pen) {
    this.left = this.canvas.clientWidth < 500 ? 78 : 150;
    if (this.pathHigh) pen.fillText("critical path", 4, TOP + 11);
    this.lanes.forEach(({ ranks, waiting }, lane) => {
      const lines = [
        this.isSample
          ? `about ${number(Math.round((ranks.length * this.job.ranks) / this.sampled))} ranks`
          : `${number(ranks.length)} ranks`,
        `waiting ${percent(Math.round(100 * waiting) / 100)}`,
        this.left > 100 ? named(ranks) : "",
      ];
      const room = Math.floor((this.laneHigh - GAP) / 13);
      pen.fillStyle = this.cursor === lane ? "#0072b2" : "#1b1f24";
      lines.slice(0, Math.max(1, room)).forEach((words, i) => {
        pen.fillText(words, 4, this.top(lane) + 11 + 13 * i, this.left - 10);
        pen.fillStyle = "#57606a";
      });
    });
  }

  paint(pen) {
    const length = (this.span.to - this.span.from) / PARTS;
    const hatch = hatching(pen);
    this.lanes.forEach(({ means }, lane) => {
      const high = this.laneHigh - GAP;
      for (let part = 0; part < PARTS; part++) {
        const [a, b] = [part, part + 1].map((at) => Math.round(this.x(this.span.from + at * length)));
        let foot = this.top(lane) + high;
        STATES.forEach((of, state) => {
          const tall = means[state][part] * high;
          for (const fill of isHatched(of) ? [of[2], hatch] : [of[2]]) {
            pen.fillStyle = fill;
            pen.fillRect(a, foot - tall, Math.max(1, b - a), tall);
          }
          foot -= tall;
        });
      }
      if (this.cursor === lane && document.activeElement === this.canvas) {
        Object.assign(pen, { strokeStyle: "#0072b2", lineWidth: 3 });
        pen.strokeRect(this.left + 1.5, this.top(lane), this.wide - 3, high);
      }
    });
    return { lanes: this.lanes.length, path: this.pathHigh && this.laneOf ? this.drawPath(pen) : 0 };
  }

  /** The critical path: its kinds in the first row, and a line from lane to lane, in every two pixels in the lane where it is longest. */
  drawPath(pen) {
    const { path } = this;
    const slots = [];
    for (let i = 0; i < path.rows; i++) {
      const [a, b] = [this.x(path.begin_ps[i]), this.x(path.end_ps[i])];
      pen.fillStyle = STEPS[text(path, "kind", i)] ?? "#ffffff";
      pen.fillRect(a, TOP, b - a, PATH);
      const lane = this.laneOf.get(path.rank[i]);
      if (lane === undefined) continue;
      for (
        let slot = Math.max(0, Math.floor((a - this.left) / 2));
        slot <= (Math.min(b, this.left + this.wide) - this.left) / 2;
        slot++
      ) {
        const inside = Math.min(b, this.left + 2 * slot + 2) - Math.max(a, this.left + 2 * slot);
        (slots[slot] ??= new Map()).set(lane, (slots[slot].get(lane) ?? 0) + inside);
      }
    }
    pen.beginPath();
    slots.forEach((of, slot) => {
      const [lane] = [...of].reduce((best, each) => (each[1] > best[1] ? each : best));
      for (const x of [0, 2]) pen.lineTo(this.left + 2 * slot + x, this.top(lane) + (this.laneHigh - GAP) / 2);
    });
    for (const [width, colour] of [
      [3.5, "#ffffff"],
      [1.3, "#1b1f24"],
    ]) {
      Object.assign(pen, { lineWidth: width, strokeStyle: colour, lineJoin: "round" });
      pen.stroke();
    }
    return path.rows;
  }

  tell() {
    const { between } = this.groups ?? {};
    const parts = [
      this.error ??
        (this.groups
          ? `Lanes of ranks that are alike over time; they explain ${percent(Math.round(100 * between) / 100)} of the differences${between < 0.2 ? ", so no group stands out" : ""}`
          : `reading the states of ${number(this.job.ranks)} ranks`),
    ];
    if (this.isSample)
      parts.push(`made of ${number(this.sampled)} of ${number(this.job.ranks)} ranks, chosen by a hash`);
    if (this.pathHigh) parts.push("line: critical path");
    if (this.groups) parts.push("a click opens a lane");
    this.status.textContent = parts.join("; ");
  }

  under(x, y) {
    if (this.pathHigh && y >= TOP && y < TOP + PATH && x >= this.left) {
      const at = this.ps(x);
      const step = this.path.begin_ps.findIndex((begin, i) => begin <= at && this.path.end_ps[i] > at);
      return step < 0 ? null : { label: `critical path: ${this.stepText(step)}` };
    }
    const lane = this.lanes[Math.floor((y - this.top(0)) / this.laneHigh)];
    if (!lane || y < this.top(0)) return null;
    const part = Math.floor(((x - this.left) / this.wide) * PARTS);
    const of =
      part >= 0 && part < PARTS
        ? STATES.map(
            ([, words], state) => `\n${words} ${percent(Math.round(1000 * lane.means[state][part]) / 1000)}`,
          ).join("")
        : "";
    return {
      ranks: lane.ranks,
      label: `${named(lane.ranks)}${of && `, at ${time(this.ps(x), this.span.until)}${of}`}`,
    };
  }
}
