// Where the time of ranks goes: a bar of causes for each rank, or for ranks that are alike.

import { button, element, hover, swatch } from "./dom.js";
import { number, percent, ticks, time } from "./format.js";

/** Parts of the time of a rank: the column of the table `ranks`, and words. Those of collectives are hatched. */
const PARTS = [
  ["compute_ps", "computation"],
  ["overhead_ps", "overhead of MPI"],
  ["partner_ps", "waits for the partner"],
  ["transfer_ps", "transfer"],
  ["link_wait_ps", "waits for links"],
  ["collective_partner_ps", "waits for the partner, collectives"],
  ["collective_transfer_ps", "transfer, collectives"],
  ["collective_link_wait_ps", "waits for links, collectives"],
];
/** More ranks than these are folded, into so many groups, which are found with so many of them. */
export const MOST_BARS = 64;
const [GROUPS, SAMPLE] = [8, 4096];
const ROUNDS = 30;
/** Parts that are waiting, by their place in PARTS. */
const WAITING = PARTS.flatMap(([column], part) => (/partner|link_wait/.test(column) ? [part] : []));
/** Width in pixels for which the axis has its marks. */
const AXIS = 500;

/** Whether a hash (the final mix of MurmurHash3) puts a number into a sample of so many of all. Every n-th could alias with a grid. */
function isSampled(number_, wanted, all) {
  let hash = Math.imul(number_ ^ (number_ >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0 < (wanted / all) * 2 ** 32;
}

const distance = (a, b) => a.reduce((sum, value, i) => sum + (value - b[i]) ** 2, 0);
const mean = (points) =>
  points[0].map((_, part) => points.reduce((sum, point) => sum + point[part], 0) / points.length);
const farthest = (points, of) => points.reduce((far, point) => (of(point) > of(far) ? point : far));

/**
 * Groups of points that are alike, the largest first (k-means, from points that are far from each other, so that the result is
 * always the same). Returns lists of numbers of points, and the share of the variance that is between groups.
 */
export function alike(all, count) {
  const points = all.filter((_, i) => isSampled(i, SAMPLE, all.length));
  const middle = mean(points);
  let centres = [farthest(points, (point) => distance(point, middle))];
  const nearest = (point) =>
    centres.reduce((best, centre, i) => (distance(centre, point) < distance(centres[best], point) ? i : best), 0);
  const off = (point) => distance(point, centres[nearest(point)]);
  while (centres.length < count && off(farthest(points, off)) > 0) centres.push(farthest(points, off));
  for (let round = 0; round < ROUNDS; round++) {
    const own = centres.map(() => []);
    for (const point of points) own[nearest(point)].push(point);
    centres = own.map((near, i) => (near.length > 0 ? mean(near) : centres[i]));
  }
  const groups = centres.map(() => []);
  all.forEach((point, i) => groups[nearest(point)].push(i));
  const sum = (of) => points.reduce((total, point) => total + of(point), 0);
  const whole = sum((point) => distance(point, middle));
  return {
    groups: groups.filter((own) => own.length > 0).sort((a, b) => b.length - a.length),
    between: whole > 0 ? 1 - sum(off) / whole : 0,
  };
}

/** Names of ranks in short: "0 to 3, 8 and 60 more". */
export function named(ranks) {
  const runs = [];
  for (const rank of ranks)
    if (runs.at(-1)?.[1] === rank - 1) runs.at(-1)[1] = rank;
    else runs.push([rank, rank]);
  const words = runs
    .slice(0, 2)
    .map(([from, to]) => (from === to ? from : `${from} to ${to}`))
    .join(", ");
  const rest = runs.slice(2).reduce((sum, [from, to]) => sum + to - from + 1, 0);
  return `${ranks.length === 1 ? "rank" : "ranks"} ${words}${rest > 0 ? ` and ${number(rest)} more` : ""}`;
}

/** Fills an element with the bars of a job. `events`: `chosen(rank)` and `pointed(words, x, y)`. A full bar is the longest time of a rank in all `results`. Returns whether the result has the causes. */
export async function bars(result, job, box, events, results) {
  const columns = ["rank", "time_ps", ...PARTS.map(([column]) => column)];
  const rows = result.has("ranks", columns) ? await result.table("ranks", columns, { job }) : null;
  if (!rows?.rows) return false;
  const times = results
    .filter((each) => each !== result && each.has("ranks"))
    .map((each) => each.table("ranks", ["time_ps"], { job }));
  const longest = [rows, ...(await Promise.all(times))]
    .flatMap((each) => [...each.time_ps])
    .reduce((a, b) => Math.max(a, b), 1);
  const points = Array.from(rows.rank, (_, row) => PARTS.map(([column]) => rows[column][row] / longest));
  const folded = rows.rows > MOST_BARS ? alike(points, GROUPS) : { groups: [...points.keys()].map((row) => [row]) };
  const keys = element(
    "p",
    PARTS.flatMap(([, words], part) => [swatch(words, `part${part}`), " "]),
    { className: "keys" },
  );
  const list = element("div", "", { className: "bars" });
  const waiting = (own) => WAITING.reduce((sum, part) => sum + mean(own.map((row) => points[row]))[part], 0);
  const { step, at: marks } = ticks(0, longest, AXIS);
  const axis = element(
    "div",
    [
      element("span"),
      element(
        "span",
        marks.map((ps) => {
          const mark = element("i", time(ps, longest, step));
          mark.style.left = `${(100 * ps) / longest}%`;
          return mark;
        }),
      ),
    ],
    { className: "axis" },
  );
  // Single ranks that wait the longest first; groups stay in the order of their size.
  const inOrder = (groups) =>
    groups.every((own) => own.length === 1) ? [...groups].sort((a, b) => waiting(b) - waiting(a)) : groups;
  const show = (groups) =>
    list.append(
      axis,
      ...inOrder(groups).map((own) => {
        const values = mean(own.map((row) => points[row]));
        const [ranks, single] = [Array.from(own, (row) => rows.rank[row]), own.length === 1];
        const words = `${named(ranks)}: ${PARTS.map(([, name], part) => `${name} ${percent(values[part] / values.reduce((a, b) => a + b, 0))}`).join(", ")}`;
        const open = () => {
          if (single) return events.chosen(ranks[0]);
          const more = own.length > MOST_BARS ? ` (these are ${MOST_BARS} of ${number(own.length)} ranks)` : "";
          list.replaceChildren(
            button(`All groups${more}`, () => {
              list.replaceChildren();
              show(folded.groups);
            }),
          );
          show(own.slice(0, MOST_BARS).map((row) => [row]));
        };
        const parts = values.map((value, part) => {
          const made = element("i", "", { className: `part${part}` });
          made.style.width = `${100 * value}%`;
          return made;
        });
        const line = button(
          [
            element("span", single ? `rank ${ranks[0]}` : `${number(own.length)} × ${named(ranks)}`),
            element("span", parts),
          ],
          open,
          { className: "bar" },
        );
        line.setAttribute("aria-label", words);
        hover(line, () => words.replace(": ", "\n").replaceAll(", ", "\n"), events.pointed);
        return line;
      }),
    );
  show(folded.groups);
  const how =
    folded.between === undefined
      ? ""
      : ` Ranks that are alike are one bar with their mean; a click opens it. The groups explain ${percent(folded.between)} of the differences${folded.between < 0.2 ? ", so no group stands out" : ""}.`;
  box.replaceChildren(
    keys,
    list,
    element(
      "p",
      `A full bar is ${time(longest)}${results.length > 1 ? ", the longest time of all results" : ""}. Ranks that wait the longest are first.${how}`,
      { className: "keys" },
    ),
  );
  return true;
}
