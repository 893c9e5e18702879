// Several results compared: what differs in their experiments, then which of their values differ.

import { element, table } from "./dom.js";
import { number } from "./format.js";
import { tied } from "./verdict.js";

/** The letter of a result. */
export const badge = (letter, name) => element("b", letter, { className: "badge", title: name });

/** A table with a column for each result. `lines`: [name, words of each result, positions of the best ones]. */
function columns(caption, results, lines) {
  const head = ["", ...results.map(({ letter, name }) => element("th", badge(letter, name), { scope: "col" }))];
  const cell = (best) => (word, i) =>
    best.includes(i) ? element("td", `${tied(word)} ◂`, { className: "best" }) : tied(word ?? "–");
  return table(
    lines.map(([name, words, best = []]) => [element("th", name, { scope: "row" }), ...words.map(cell(best))]),
    { caption, head },
  );
}

/** The comparison of `results` that the server made, as an element that its reader can fold. `results` have a letter and a name. */
export function comparisonBox({ differs, found }, results) {
  const parts = [];
  const keys = (of) => of.map(({ key, values }) => [key, values]);
  const [own, idle] = [differs.filter((key) => key.has_effect), differs.filter((key) => !key.has_effect)];
  parts.push(
    own.length > 0
      ? columns("The experiments differ in", results, keys(own))
      : element("p", "The experiments do not differ in a key on which results depend."),
  );
  const mark = { lower: " ↓", higher: " ↑" };
  const values = (of) =>
    of.map(({ of: part, label, cells, best, better }) => [
      `${part ? `${part}: ` : ""}${label}${mark[better] ?? ""}`,
      cells,
      best,
    ]);
  const [judged, rest] = [
    (found?.values ?? []).filter(({ best }) => best.length > 0),
    (found?.values ?? []).filter(({ best }) => best.length === 0),
  ];
  if (judged.length > 0)
    parts.push(
      columns(
        "Values that differ by more than 2 %: ↓ lower is better, ↑ higher is better, ◂ marks the best",
        results,
        values(judged),
      ),
    );
  if (rest.length + idle.length > 0) {
    const more = element("details", element("summary", `${number(rest.length + idle.length)} other values and keys`));
    parts.push(more);
    if (rest.length > 0) more.append(columns("Values that tie, or of which none is better", results, values(rest)));
    if (idle.length > 0) more.append(columns("Keys on which no result depends", results, keys(idle)));
  }
  return element(
    "details",
    [
      element("summary", found ? tied(found.headline) : "Values are compared when all runs have ended."),
      ...(found?.notes ?? []).map((note) => element("p", note)),
      element("div", parts, { className: "comparison" }),
    ],
    { className: "verdict", open: true },
  );
}
