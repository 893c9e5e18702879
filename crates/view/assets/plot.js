// Charts over time: steps of values, and links of a class by load. Numbers and units at both axes, a mark at the slider's time.

import { css, dark, loadColour } from "./colours.js";
import { number, percent, timeUnit } from "./format.js";

/** Number of line colours. */
export const LINES = 8;
const [LEFT, RIGHT, TOP, BOTTOM] = [68, 12, 7, 18];

/** Round times from `from` to `to` for an axis of so many pixels: the step between them, and the times. */
export function ticks(from, to, width) {
  const rough = (to - from) / Math.max(2, Math.floor(width / 110));
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
  const first = Math.ceil(from / step);
  return { step, at: Array.from({ length: Math.floor(to / step) - first + 1 }, (_, i) => (first + i) * step) };
}

/** A canvas of the size of its element: {pen, width, height, colour}, `colour(name)` one of the style sheet. null if it is hidden. */
export function canvasPen(canvas) {
  const pixels = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (width === 0) return null;
  Object.assign(canvas, { width: Math.round(width * pixels), height: Math.round(height * pixels) });
  const pen = canvas.getContext("2d");
  pen.scale(pixels, pixels);
  pen.font = "11px system-ui, -apple-system, \"Segoe UI\", Roboto, \"Liberation Sans\", sans-serif";
  const style = getComputedStyle(canvas);
  return { pen, width, height, colour: (name) => style.getPropertyValue(`--${name}`).trim() };
}

/**
 * A canvas with axes: time to `until`, and the words `rows` from the bottom to the top. `paint(pen, x, y, colour)` draws into it,
 * `y` of a height from 0 to 1. `said(ps, height)` are words about a place, and `events` are `pointed(words, x, y)` and
 * `moved(ps)`. `mark(ps)` on the canvas moves its mark.
 */
function chart(until, rows, paint, said, events) {
  const canvas = document.createElement("canvas");
  let at = null;
  const place = ({ offsetX, offsetY }) => {
    const [width, height] = [canvas.clientWidth - LEFT - RIGHT, canvas.clientHeight - TOP - BOTTOM];
    return [((offsetX - LEFT) / width) * until, 1 - (offsetY - TOP) / height];
  };
  const draw = () => {
    const made = canvasPen(canvas);
    if (!made) return;
    const { pen, width, height, colour } = made;
    const [right, bottom] = [width - RIGHT, height - BOTTOM];
    const x = (ps) => LEFT + (ps / (until || 1)) * (right - LEFT);
    const y = (share) => bottom - share * (bottom - TOP);
    paint(pen, x, y, colour);
    pen.strokeStyle = colour("line");
    pen.lineWidth = 1;
    pen.strokeRect(LEFT, TOP, right - LEFT, bottom - TOP);
    pen.fillStyle = colour("quiet");
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    rows.forEach((words, i) => pen.fillText(words, LEFT - 6, y(i / (rows.length - 1))));
    pen.textBaseline = "alphabetic";
    const times = ticks(0, until || 1, right - LEFT);
    const [unit, length] = timeUnit(times.step);
    for (const ps of times.at) {
      const words = `${number(ps / length)}${ps + times.step > until ? ` ${unit}` : ""}`;
      const half = pen.measureText(words).width / 2;
      pen.textAlign = "center";
      pen.fillText(words, Math.min(x(ps), width - half), height - 4);
      pen.fillRect(x(ps), bottom, 1, 4);
    }
    if (at === null) return;
    pen.strokeStyle = colour("ink");
    pen.setLineDash([3, 2]);
    pen.strokeRect(x(at), TOP, 0, bottom - TOP);
  };
  canvas.mark = (ps) => { at = ps; draw(); };
  new ResizeObserver(() => requestAnimationFrame(draw)).observe(canvas);
  canvas.addEventListener("pointermove", (event) => {
    const [ps, share] = place(event);
    events?.pointed(ps >= 0 && ps <= until && share >= 0 && share <= 1 ? said(ps, share) : null, event.clientX, event.clientY);
  });
  canvas.addEventListener("pointerleave", () => events?.pointed(null));
  canvas.addEventListener("click", (event) => events?.moved?.(Math.max(0, Math.min(place(event)[0], until))));
  canvas.setAttribute("role", "img");
  return canvas;
}

/** The next round number. */
function rounded(value) {
  const power = 10 ** Math.floor(Math.log10(value || 1));
  return [1, 2, 4, 5, 10].map((m) => m * power).find((most) => most >= value * 0.999999);
}

/** The row of a line that contains a time, or -1. */
const rowAt = (line, ps) => line.begin.findLastIndex((begin, i) => begin <= ps && line.end[i] > ps);

/**
 * A chart of steps. `lines`: [{name, begin, end, value}], `format` a value for people. Values `hold` until the next row, others
 * are 0 where there is none. The scale includes the lines `like`.
 */
export function plot(title, lines, { until, format = number, holds = false, most = null, like = [] }, events) {
  const highestOf = (some) => Math.max(...some.map((line) => line.value.reduce((a, b) => Math.max(a, b), 0)), 0);
  const highest = highestOf(lines);
  const peak = most ?? rounded(highestOf([...lines, ...like]));
  const paint = (pen, x, y, colour) => lines.forEach((line, index) => {
    pen.strokeStyle = colour(`line${index % LINES}`);
    pen.lineWidth = 1.5;
    pen.beginPath();
    let [last, level] = [0, 0];
    pen.moveTo(x(0), y(0));
    for (let i = 0; i < line.begin.length; i++) {
      if (!holds && line.begin[i] > last && level !== 0) {
        pen.lineTo(x(last), y(0));
        level = 0;
      }
      pen.lineTo(x(line.begin[i]), y(level));
      level = line.value[i] / peak;
      pen.lineTo(x(line.begin[i]), y(level));
      pen.lineTo(x(line.end[i]), y(level));
      last = line.end[i];
    }
    if (!holds) pen.lineTo(x(last), y(0));
    pen.lineTo(x(until), y(holds ? level : 0));
    pen.stroke();
  });
  const said = (ps) => lines.map((line) => `${line.name}: ${format(line.value[rowAt(line, ps)] ?? 0)}`).join("\n");
  const canvas = chart(until, [0, peak / 2, peak].map(format), paint, said, events);
  canvas.setAttribute("aria-label", `${title} over time, at most ${format(highest)}`);
  canvas.dataset.top = format(peak);
  return canvas;
}

/** Shade of a number of links of a class of `all`, on a logarithmic scale; `full` for full links. */
export function shade(links, all, full) {
  const share = 0.12 + 0.88 * (Math.log(links) / Math.log(Math.max(all, 2)));
  if (!full) return css(loadColour(share));
  const ground = dark.matches ? 40 : 245;
  return css(loadColour(1, true).map((value) => Math.round(ground + (value - ground) * (0.35 + 0.65 * share))));
}

/** Shares of the links of a class whose loads a strip has as lines, and the dashes of these. */
const QUANTILES = [[0.5, []], [0.99, [5, 3]]];

/** A chart of the links of a class by load, or by time blocked: a row for each step, its shade their number, with lines of quantiles. */
export function strip(loads, kind, index, { until, format }, events) {
  const { steps, links } = loads;
  const [all, isFull] = [links[index], (step) => kind === "busy" && step === steps - 1];
  const paint = (pen, x, y, colour) => { cells(pen, x, y); for (const [share, dashes] of QUANTILES) line(pen, x, y, colour, share, dashes); };
  const line = (pen, x, y, colour, share, dashes) => {
    pen.beginPath();
    loads.begin.forEach((begin, period) => [begin, loads.end[period]].forEach((ps) => pen.lineTo(x(ps), y(loads.quantile(kind, index, period, share)))));
    for (const [name, width] of [["paper", 3], ["ink", 1.3]]) {
      Object.assign(pen, { strokeStyle: colour(name), lineWidth: width });
      pen.setLineDash(name === "ink" ? dashes : []);
      pen.stroke();
    }
    pen.setLineDash([]);
  };
  const cells = (pen, x, y) => loads.begin.forEach((begin, period) => {
    const [left, right] = [begin, loads.end[period]].map((ps) => Math.round(x(ps)));
    loads.counts(kind, index, period).forEach((count, step) => {
      if (count === 0) return;
      pen.fillStyle = shade(count, all, isFull(step));
      const [top, bottom] = [Math.round(y((step + 1) / steps)), Math.round(y(step / steps))];
      pen.fillRect(left, top, Math.max(1, right - left), bottom - top);
    });
  });
  const said = (ps, share) => {
    const period = loads.periodAt(ps);
    if (period < 0) return null;
    const step = Math.min(steps - 1, Math.floor(share * steps));
    const range = `${(100 * step) / steps} to ${(100 * (step + 1)) / steps} %`;
    return `${format(loads.begin[period])} to ${format(loads.end[period])}\n${number(loads.counts(kind, index, period)[step])} of ${number(all)} ${loads.classes[index]} links ${kind === "busy" ? "have a load of" : "are blocked for"} ${range}\n${QUANTILES.map(([of]) => `${100 * of} % of them at most ${percent(loads.quantile(kind, index, period, of))}`).join(", ")}`;
  };
  return chart(until, ["0 %", "50 %", "100 %"], paint, said, events);
}
