// A folder without a result of its own: the results inside, to open one or to compare several.

import { button, element, table } from "./dom.js";

/** Maximum number of results that one page compares. */
const MOST_COMPARED = 4;

/** The address of the page of some results of the catalogue. */
const addressOf = (numbers) => `?results=${numbers.join(",")}`;

/** A list of results of a folder: [{name, headline, when}]. */
export function catalogueBox(folder, entries) {
  const boxes = entries.map(({ name }) => {
    const box = element("input", "", { type: "checkbox" });
    box.setAttribute("aria-label", `compare ${name}`);
    return box;
  });
  const compare = button(
    "Compare",
    () => {
      location.search = addressOf(boxes.flatMap((box, i) => (box.checked ? [i] : [])));
    },
    { disabled: true },
  );
  const told = element("span", "", { className: "keys" });
  for (const box of boxes)
    box.addEventListener("change", () => {
      const count = boxes.filter((each) => each.checked).length;
      compare.disabled = count < 2 || count > MOST_COMPARED;
      told.textContent = count > MOST_COMPARED ? `At most ${MOST_COMPARED} results are compared.` : "";
    });
  const lines = entries.map(({ name, headline }, i) => [
    boxes[i],
    element("a", name, { href: addressOf([i]) }),
    headline,
  ]);
  return element(
    "section",
    [
      element("h2", `${entries.length} results in ${folder}`),
      element("p", ["Open one, or mark two to four and compare them: ", compare, " ", told]),
      table(lines, { head: ["", "result", "verdict"], className: "catalogue" }),
    ],
    { className: "panel" },
  );
}
