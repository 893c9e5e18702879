// Loads over time: links of each class by load, histories, and the ground of the slider.

import { css, loadColour, onGround } from "./colours.js";
import { histories, history } from "./detail.js";
import { canvasPen, colourAt, element, scale } from "./dom.js";
import { number, percent, ticks, time } from "./format.js";
import { shade, strip } from "./plot.js";

/** Number of steps of the table `load_histogram_series`. */
const STEPS = 20;
/** Height of the axis of the slider, and width of its thumb, in pixels (style.css). */
const [AXIS, THUMB] = [13, 16];
/** Share of the links of a class whose load the slider shows where none is full or blocked. */
const MOST_OF_THEM = 0.99;

/** Links of each class by load and by time blocked in each period, from `load_histogram_series`. */
export class Loads {
  constructor(rows, limits) {
    this.steps = STEPS;
    this.classes = rows.texts.class;
    const ends = new Map(Array.from(rows.begin_ps, (begin, i) => [begin, rows.end_ps[i]]));
    this.begin = [...ends.keys()].sort((a, b) => a - b);
    this.end = this.begin.map((begin) => ends.get(begin));
    const period = new Map(this.begin.map((begin, i) => [begin, i]));
    const of = this.classes.length * this.begin.length;
    this.sums = { busy: new Uint32Array(of * STEPS), blocked: new Uint32Array(of * STEPS) };
    const [full, blocked, all] = [0, 1, 2].map(() => new Uint32Array(of));
    for (let i = 0; i < rows.rows; i++) {
      const [links, busy, held] = [rows.links[i], rows.busy_step[i], rows.buffer_full_step[i]];
      const place = this.place(rows.class[i], period.get(rows.begin_ps[i]));
      this.sums.busy[place * STEPS + busy] += links;
      this.sums.blocked[place * STEPS + held] += links;
      all[place] += links;
      if (busy >= Math.round(limits.FULL * STEPS)) full[place] += links;
      else if (held >= Math.round(limits.BLOCKED * STEPS)) blocked[place] += links;
    }
    Object.assign(this, { full, blocked });
    this.links = this.classes.map((_, index) =>
      this.begin.reduce((most, _b, i) => Math.max(most, all[this.place(index, i)]), 0),
    );
    // A class whose links did nothing in a period has no row.
    for (let place = 0; place < of; place++)
      if (all[place] === 0)
        for (const sums of Object.values(this.sums))
          sums[place * STEPS] = this.links[Math.floor(place / this.begin.length)];
  }

  static async of(result, limits) {
    if (!result.has("load_histogram_series")) return null;
    const rows = await result.table("load_histogram_series", [
      "begin_ps",
      "end_ps",
      "class",
      "busy_step",
      "buffer_full_step",
      "links",
    ]);
    return rows.rows > 0 ? new Loads(rows, limits) : null;
  }

  place(index, period) {
    return index * this.begin.length + period;
  }

  /** Number of links of a class by step in a period, of `kind` busy or blocked. */
  counts(kind, index, period) {
    const first = this.place(index, period) * STEPS;
    return this.sums[kind].subarray(first, first + STEPS);
  }

  /** The load that a share of the links of a class has at most in a period: the upper end of its step. */
  quantile(kind, index, period, share) {
    let links = share * this.links[index];
    return (this.counts(kind, index, period).findIndex((count) => (links -= count) <= 0) + 1) / STEPS;
  }

  periodAt(ps) {
    const period = this.begin.findLastIndex((begin) => begin <= ps);
    return period >= 0 && this.end[period] > ps ? period : -1;
  }

  /**
   * The greatest share of full links of a class, or of one class only, in a period, and of full or blocked ones, with the class; the
   * load that 99 % of the links of a class have at most, the greatest of the classes.
   */
  worstOf(period, only = "") {
    const worst = { full: 0, share: 0, load: 0, name: only };
    this.classes.forEach((name, index) => {
      if (only && name !== only) return;
      const [full, blocked] = [this.full, this.blocked].map((of) => of[this.place(index, period)] / this.links[index]);
      worst.full = Math.max(worst.full, full);
      worst.load = Math.max(worst.load, this.quantile("busy", index, period, MOST_OF_THEM));
      if (full + blocked > worst.share) Object.assign(worst, { name, share: full + blocked });
    });
    return worst;
  }

  /**
   * The first period with the greatest share of full or blocked links of a class: {begin, share, mean}, with the mean of this share
   * over all periods. A short last period is none.
   */
  worst() {
    const length = (period) => this.end[period] - this.begin[period];
    let worst = { begin: 0, share: 0 };
    let [sum, whole] = [0, 0];
    this.begin.forEach((begin, period) => {
      const { share } = this.worstOf(period);
      sum += share * length(period);
      whole += length(period);
      if (share > worst.share && (period === 0 || 2 * length(period) >= length(period - 1))) worst = { begin, share };
    });
    return { ...worst, mean: whole > 0 ? sum / whole : 0 };
  }
}

/**
 * Draws the ground of the slider, from time 0 to `until`, with its axis: of each result above the next, the share of full links, and
 * before that of full or blocked ones, of the class with most of them; if no link is full or blocked, the load of the links.
 */
export function ground(canvas, panels, until, only) {
  const made = canvasPen(canvas);
  if (!made) return;
  const { pen, width, height } = made;
  const shown = panels.filter((panel) => panel.spread);
  const all = shown.map((panel) => panel.spread);
  const high = (height - AXIS) / (all.length || 1);
  const bars = all.flatMap((loads, lane) =>
    loads.begin.map((begin, i) => ({ begin, end: loads.end[i], foot: (lane + 1) * high, ...loads.worstOf(i, only) })),
  );
  const most = bars.reduce((a, b) => (b.share > a.share ? b : a), { share: 0, name: only });
  const load = bars.reduce((a, b) => Math.max(a, b.load), 0);
  const x = (ps) => THUMB / 2 + (ps / until) * (width - THUMB);
  const fills =
    most.share > 0
      ? [
          ["share", loadColour(0.4), most.share],
          ["full", loadColour(1, true), most.share],
        ]
      : [["load", loadColour(0.25), 1]];
  for (const [key, fill, top] of fills) {
    pen.fillStyle = css(fill);
    for (const bar of bars) {
      const [left, right, tall] = [x(bar.begin), x(bar.end), high * (bar[key] / top)];
      pen.fillRect(left, bar.foot - tall, Math.max(1, right - left), tall);
    }
  }
  const words =
    all.length === 0
      ? "loads over time are not known"
      : most.share > 0
        ? `up to ${percent(most.share)}`
        : `no link full or blocked, load up to ${percent(load)}`;
  pen.globalAlpha = 0.8;
  pen.fillStyle = colourAt(canvas, "paper");
  pen.fillRect(width - 18 - pen.measureText(words).width, 1, pen.measureText(words).width + 8, 14);
  pen.globalAlpha = 1;
  pen.fillStyle = colourAt(canvas, "ink");
  pen.textBaseline = "middle";
  shown.forEach(({ letter = "" }, lane) => pen.fillText(letter, 0, (lane + 0.5) * high));
  pen.textBaseline = "alphabetic";
  pen.textAlign = "right";
  pen.fillText(words, width - 14, 12);
  pen.textAlign = "left";
  pen.fillStyle = colourAt(canvas, "quiet");
  pen.fillRect(x(0), height - AXIS, width - THUMB, 1);
  const { step, at: marks } = ticks(0, until, width - THUMB);
  for (const ps of marks) {
    pen.fillRect(x(ps), height - AXIS, 1, 4);
    const name = time(ps, until, step);
    if (x(ps) + 3 + pen.measureText(name).width < width) pen.fillText(name, x(ps) + 3, height - 2);
  }
  canvas.parentElement.title =
    all.length === 0
      ? "This result has no table load_histogram_series (collect.series, or an older version)."
      : most.share > 0
        ? `Share of the links of a class that are full (orange), or full or blocked (blue), of the class with most of them${all.length > 1 ? ", a line for each result" : ""}; at most ${percent(most.share)}${most.name ? ` of ${most.name} links` : ""}.`
        : `No link is full or blocked. Height: the load that 99 % of the links of a class have at most, of the most loaded class; the whole height is 100 %.`;
}

/** The view of a result over time. */
export class TimeView {
  /** `events`: `pointed(words, x, y)`, `moved(ps)`, and `all()`: the views of all results, which have equal scales. */
  constructor(panel, stage, events) {
    Object.assign(this, { panel, stage, events, charts: [] });
    onGround(() => this.redraw());
  }

  mark(ps) {
    this.at = ps;
    for (const made of this.charts) made.mark(ps);
  }

  /** Shows the classes, or only one, by load or by time blocked. Draws the charts again that it has. */
  async draw(kind = this.kind, only = this.only) {
    if (kind === this.kind && only === this.only) return this.redraw();
    Object.assign(this, { kind, only });
    const { spread, axis: until } = this.panel;
    const [parts, charts] = [[], []];
    const add = (...more) => parts.push(...more);
    if (spread) {
      add(this.legend(kind));
      spread.classes.forEach((name, index) => {
        if (only && name !== only) return;
        const title = `${name}: ${number(spread.links[index])} links by ${kind === "busy" ? "load" : "time blocked"}`;
        const made = strip(title, spread, kind, index, until, this.events);
        add(element("h3", title), made);
        charts.push(made);
      });
    } else
      add(
        element(
          "p",
          "Loads over time by class are not shown: this result has no table load_histogram_series. It is of an older version, or has no series (collect.series).",
        ),
      );
    const all = await Promise.all(this.events.all().map((each) => each.histories()));
    for (const { title, lines, format } of await this.histories()) {
      const like = all
        .flat()
        .filter((each) => each.title === title)
        .flatMap((each) => each.lines);
      charts.push(...history(title, lines, { until, format, like }, this.events, add));
    }
    if (kind !== this.kind || only !== this.only) return;
    for (const made of this.charts) made.destroy();
    this.charts = charts;
    this.stage.replaceChildren(...parts);
    this.mark(this.at ?? null);
  }

  /** Draws what there is at once, in the colours of the ground. */
  redraw() {
    if (!this.kind) return;
    this.stage.querySelector(".keys")?.replaceWith(this.legend(this.kind));
    for (const made of this.charts) {
      made.fit();
      made.mark(this.at);
    }
  }

  histories() {
    return (this.made ??= histories(this.panel.result));
  }

  legend(kind) {
    const most = 1000;
    const bar = (full) => scale(80, (share) => shade(most ** share, most, full));
    return element(
      "p",
      [
        "Number of links, logarithmic scale: 1 ",
        bar(false),
        " all of the class",
        ...(kind === "busy" ? [" · of these full, at least 95 %: 1 ", bar(true), " all"] : []),
        " · solid line: median of the links; dashed: 99 % of them are below",
      ],
      { className: "keys" },
    );
  }
}
