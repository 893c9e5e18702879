// Several results compared: what differs in their experiments, then which of their values differ.

import { element } from "./detail.js";
import { number } from "./format.js";
import { tied } from "./verdict.js";

/** The letter of a result. */
export const badge = (letter, name) => element("b", letter, { className: "badge", title: name });

/** A table with a column for each result. `lines`: [name, words of each result, positions of the best ones]. */
function columns(caption, results, lines) {
  const made = element("table");
  made.append(element("caption", caption));
  const head = made.createTHead().insertRow();
  head.append(element("td"));
  for (const { letter, name } of results) head.appendChild(element("th", "", { scope: "col" })).append(badge(letter, name));
  const body = made.createTBody();
  for (const [name, words, best = []] of lines) {
    const line = body.insertRow();
    line.append(element("th", name, { scope: "row" }));
    words.forEach((word, i) => line.append(best.includes(i) ? element("td", `${tied(word)} ◂`, { className: "best" }) : element("td", tied(word ?? "–"))));
  }
  return made;
}

/** The comparison of `results` that the server made, as an element that its reader can fold. `results` have a letter and a name. */
export function comparisonBox({ differs, found }, results) {
  const box = element("details", "", { className: "verdict", open: true });
  box.append(element("summary", found ? tied(found.headline) : "Values are compared when all runs have ended."));
  for (const note of found?.notes ?? []) box.append(element("p", note));
  const parts = box.appendChild(element("div", "", { className: "comparison" }));
  const keys = (of) => of.map(({ key, values }) => [key, values]);
  const [own, idle] = [differs.filter((key) => key.has_effect), differs.filter((key) => !key.has_effect)];
  parts.append(own.length > 0 ? columns("The experiments differ in", results, keys(own)) : element("p", "The experiments do not differ in a key on which results depend."));
  const values = (of) => of.map(({ of: part, label, cells, best }) => [part ? `${part}: ${label}` : label, cells, best]);
  const [judged, rest] = [(found?.values ?? []).filter(({ best }) => best.length > 0), (found?.values ?? []).filter(({ best }) => best.length === 0)];
  if (judged.length > 0) parts.append(columns("Values that differ by more than 2 %; ◂ marks the best", results, values(judged)));
  if (rest.length + idle.length > 0) {
    const more = parts.appendChild(element("details"));
    more.append(element("summary", `${number(rest.length + idle.length)} other values and keys`));
    if (rest.length > 0) more.append(columns("Values that tie, or of which none is better", results, values(rest)));
    if (idle.length > 0) more.append(columns("Keys on which no result depends", results, keys(idle)));
  }
  return box;
}
