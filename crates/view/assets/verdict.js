// The verdict of a result in three lines, with where, when, why, what to try and how far to trust it below.

import { button, element } from "./dom.js";
import { time } from "./format.js";

/** Words whose numbers stay with their units in a line. */
export const tied = (words) => words.replace(/(\d) (?=%|[num\u00b5]?s\b)/g, "$1\u00a0");

/** A button in the words of a finding. */
const lead = (words, title, act) => button(words, act, { className: "lead", title });

/** A comparison with its command, which a button copies. */
function comparison({ differs, command }) {
  const code = element("code", command);
  const told = element("span");
  told.setAttribute("role", "status");
  const copy = button("Copy", async () => {
    try {
      await navigator.clipboard.writeText(command);
      told.textContent = "copied";
    } catch {
      // The browser does not permit it. Copying by key works from a selection.
      getSelection().selectAllChildren(code);
      told.textContent = "selected: copy it by key";
    }
  });
  copy.setAttribute("aria-label", `Copy the command: ${differs}`);
  return [`${differs}: `, copy, " ", told, " ", code];
}

/** What the folded part of a verdict has, in words: "2 places, 3 experiments to try". */
function rest({ places, times, causes, comparisons }) {
  const some = (list, one, several) => (list.length > 0 ? [`${list.length} ${list.length === 1 ? one : several}`] : []);
  return [
    ...some(places, "place", "places"),
    ...some(times, "interval", "intervals"),
    ...some(causes, "reason", "reasons"),
    ...some(comparisons, "experiment to try", "experiments to try"),
    "how far to trust it",
  ].join(", ");
}

/**
 * The verdict of a result, or why it has none: the finding, its first place or else its first cause, and what else there is, which the
 * reader can unfold. `links(place)` shows the links of a place and `moment(ps)` a time; they are null where the page cannot.
 */
export function verdictBox({ verdict, missing }, { links, moment }) {
  if (!verdict) return element("p", missing, { className: "verdict" });
  const list = element("dl");
  const add = (name, entries) =>
    list.append(...(entries.length > 0 ? [element("dt", name)] : []), ...entries.map((entry) => element("dd", entry)));
  add(
    "where",
    verdict.places.map((place) => {
      const show = links(place);
      return show ? lead(tied(place.found), "Show in the network", show) : tied(place.found);
    }),
  );
  add(
    "when",
    verdict.times.map(({ begin_ns, end_ns, found }) => {
      const words = `${time(begin_ns * 1000, end_ns * 1000)} to ${time(end_ns * 1000)}`;
      const show = moment(begin_ns * 1000);
      return [show ? lead(words, "Move the slider there", show) : words, tied(`: ${found}`)];
    }),
  );
  add("why", verdict.causes.map(tied));
  add("try", verdict.comparisons.map(comparison));
  add("router model", verdict.router_model ? [verdict.router_model] : []);
  add("trust", [verdict.trust]);
  const second = verdict.places[0]?.found ?? verdict.causes[0];
  const summary = element("summary", [
    element("strong", tied(verdict.headline)),
    second ? element("span", tied(second), { className: "second", title: second }) : "",
    element("span", rest(verdict), { className: "more" }),
  ]);
  return element("details", [summary, list], { className: "verdict" });
}
