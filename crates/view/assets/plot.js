// Charts over time, which uPlot draws: steps of values, and links of a class by load. All charts have one cursor.

import { css, isDark, loadColour } from "./colours.js";
import { FONT, colourAt, element, hover } from "./dom.js";
import { number, percent, time, timeUnit } from "./format.js";

const { uPlot } = window;
/** Number of line colours. */
export const LINES = 8;
const steps = uPlot.paths.stepped({ align: 1 });

/**
 * A chart of `columns`: times, then for each of `lines` its value from each time on, up to `top`. `under(u)` draws below the lines.
 * `said(ps, height)` are words about a place, and `events` are `pointed(words, x, y)` and `moved(ps)`. The element has `fit()`, which
 * makes it as wide as it is shown, `mark(ps)`, which moves its mark, and `destroy()`.
 */
function chart(title, columns, { until, top = 1, format = percent, lines, under, said }, events) {
  const box = element("div", "", { className: "chart" });
  box.setAttribute("role", "img");
  box.setAttribute("aria-label", title);
  const colour = (name) => () => colourAt(box, name);
  const axis = (more) => ({
    stroke: colour("quiet"),
    font: FONT,
    gap: 3,
    grid: { show: false },
    ticks: { stroke: colour("quiet"), size: 4, width: 1 },
    ...more,
  });
  const times = (_u, all, _axis, _space, step) => {
    const [unit, length] = timeUnit(step);
    return all.map((ps, i) => `${number(ps / length)}${i + 1 === all.length ? ` ${unit}` : ""}`);
  };
  const mark = ({ ctx, bbox: { left, top: above, width, height }, valToPos }) => {
    const frame = (name, x, wide, dashes) => {
      Object.assign(ctx, { strokeStyle: colourAt(box, name), lineWidth: uPlot.pxRatio });
      ctx.setLineDash(dashes.map((dash) => dash * uPlot.pxRatio));
      ctx.strokeRect(x, above, wide, height);
    };
    frame("line", left, width, []);
    if (at !== null) frame("ink", valToPos(at, "x", true), 0, [3, 2]);
    ctx.setLineDash([]);
  };
  const options = {
    scales: { x: { time: false, range: [0, until || 1] }, y: { range: [0, top] } },
    axes: [
      axis({ size: 20, values: times }),
      axis({ size: 68, splits: () => [0, top / 2, top], values: (_u, all) => all.map(format) }),
    ],
    series: [{}, ...lines.map((line) => ({ paths: steps, points: { show: false }, ...line }))],
    padding: [7, 24, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: false }, sync: { key: "time" } },
    hooks: { drawAxes: under ? [under] : [], draw: [mark] },
  };
  let [made, at] = [null, null];
  box.fit = () => {
    const size = { width: box.clientWidth, height: box.clientHeight };
    if (size.width === 0 || made?.width === size.width) return;
    if (made) made.setSize(size);
    else made = new uPlot({ ...options, ...size }, columns, box);
  };
  box.mark = (ps) => {
    at = ps;
    made?.redraw(false);
  };
  box.destroy = () => {
    watch.disconnect();
    made?.destroy();
  };
  const watch = new ResizeObserver(() => requestAnimationFrame(box.fit));
  watch.observe(box);
  const place = ({ clientX, clientY }) => {
    const { left, bottom, width, height } = made.over.getBoundingClientRect();
    return [((clientX - left) / width) * until, (bottom - clientY) / height];
  };
  if (events)
    hover(
      box,
      (event) => {
        const [ps, share] = made ? place(event) : [-1];
        return ps >= 0 && ps <= until && share >= 0 && share <= 1 ? said(ps, share) : null;
      },
      events.pointed,
    );
  box.addEventListener("click", (event) => made && events?.moved?.(Math.max(0, Math.min(place(event)[0], until))));
  return box;
}

/** The next round number. */
function rounded(value) {
  const power = 10 ** Math.floor(Math.log10(value || 1));
  return [1, 2, 4, 5, 10].map((m) => m * power).find((most) => most >= value * 0.999999);
}

/**
 * A chart of steps. `lines`: [{name, begin, end, value}], `format` a value for people. Values `hold` until the next row, others
 * are 0 where there is none. The scale includes the lines `like`.
 */
export function plot(title, lines, { until, format = number, holds = false, most = null, like = [] }, events) {
  const highestOf = (some) => Math.max(...some.map((line) => line.value.reduce((a, b) => Math.max(a, b), 0)), 0);
  const top = most ?? rounded(highestOf([...lines, ...like]));
  const times = [...new Set([0, until, ...lines.flatMap(({ begin, end }) => [...begin, ...end])])].sort(
    (a, b) => a - b,
  );
  const levels = lines.map(({ begin, end, value }) => {
    let row = -1;
    return times.map((ps) => {
      while (begin[row + 1] <= ps) row++;
      return row >= 0 && (holds || end[row] > ps || (end[row] === ps && ps === until)) ? value[row] : 0;
    });
  });
  const said = (ps) => {
    const at = times.findLastIndex((begin) => begin <= ps);
    return lines.map(({ name }, i) => `${name}: ${format(levels[i][at])}`).join("\n");
  };
  const stroke = (_line, index) => ({ width: 1.5, stroke: (u) => colourAt(u.root, `line${index % LINES}`) });
  const made = chart(
    `${title} over time, at most ${format(highestOf(lines))}`,
    [times, ...levels],
    { until, top, format, lines: lines.map(stroke), said },
    events,
  );
  made.dataset.top = format(top);
  return made;
}

/** Shade of a number of links of a class of `all`, on a logarithmic scale; `full` for full links. */
export function shade(links, all, full) {
  const share = 0.12 + 0.88 * (Math.log(links) / Math.log(Math.max(all, 2)));
  if (!full) return css(loadColour(share));
  const ground = isDark() ? 40 : 245;
  return css(loadColour(1, true).map((value) => Math.round(ground + (value - ground) * (0.35 + 0.65 * share))));
}

/** Shares of the links of a class whose loads a strip has as lines, and the dashes of these. */
const QUANTILES = [
  [0.5, []],
  [0.99, [5, 3]],
];

/** A chart of the links of a class by load, or by time blocked: a row for each step, its shade their number, with lines of quantiles. */
export function strip(title, loads, kind, index, until, events) {
  const { begin, end, links } = loads;
  const [all, isFull] = [links[index], (step) => kind === "busy" && step === loads.steps - 1];
  const levels = QUANTILES.map(([share]) =>
    [...begin, 0].map((_, period) => loads.quantile(kind, index, Math.min(period, begin.length - 1), share)),
  );
  const stroke = (name, width, dash) => ({ width, dash, stroke: (u) => colourAt(u.root, name) });
  const under = ({ ctx, valToPos }) =>
    begin.forEach((from, period) => {
      const [left, right] = [from, end[period]].map((ps) => Math.round(valToPos(ps, "x", true)));
      loads.counts(kind, index, period).forEach((count, step) => {
        if (count === 0) return;
        ctx.fillStyle = shade(count, all, isFull(step));
        const [above, below] = [step + 1, step].map((row) => Math.round(valToPos(row / loads.steps, "y", true)));
        ctx.fillRect(left, above, Math.max(1, right - left), below - above);
      });
    });
  const said = (ps, share) => {
    const period = loads.periodAt(ps);
    if (period < 0) return null;
    const step = Math.min(loads.steps - 1, Math.floor(share * loads.steps));
    const range = `${(100 * step) / loads.steps} to ${(100 * (step + 1)) / loads.steps} %`;
    return `${time(begin[period], until)} to ${time(end[period], until)}\n${number(loads.counts(kind, index, period)[step])} of ${number(all)} ${loads.classes[index]} links ${kind === "busy" ? "have a load of" : "are blocked for"} ${range}\n${QUANTILES.map(([of]) => `${100 * of} % of them at most ${percent(loads.quantile(kind, index, period, of))}`).join(", ")}`;
  };
  // Each line has a wider one of the paper below it.
  const made = chart(
    `${title}, over time`,
    [[...begin, end.at(-1)], ...levels.flatMap((of) => [of, of])],
    { until, lines: QUANTILES.flatMap(([, dash]) => [stroke("paper", 3, []), stroke("ink", 1.3, dash)]), under, said },
    events,
  );
  made.classList.add("strip");
  return made;
}
