// Elements of the page.

/** An element with content: a text, a node, or a list of both. */
export function element(name, content = [], attributes = {}) {
  const made = Object.assign(document.createElement(name), attributes);
  made.append(...[content].flat().filter((part) => part !== ""));
  return made;
}

export function button(words, act, attributes = {}) {
  const made = element("button", words, attributes);
  made.addEventListener("click", act);
  return made;
}

/** A table of lines of cells: each a cell, or the content of one. */
export function table(lines, { caption, head, className = "" } = {}) {
  const row = (cells) =>
    element(
      "tr",
      cells.map((cell) => (cell instanceof HTMLTableCellElement ? cell : element("td", cell))),
    );
  const parts = [element("tbody", lines.map(row))];
  if (head) parts.unshift(element("thead", row(head)));
  if (caption) parts.unshift(element("caption", caption));
  return element("table", parts, { className });
}

/** A table of names and values, without those that are null. */
export function namedValues(pairs) {
  return table(
    pairs
      .filter(([, value]) => value !== null && value !== undefined)
      .map(([name, value]) => [element("th", name), value]),
  );
}

/** A cell of a number. */
export const numberCell = (words) => element("td", words, { className: "n" });

/** A key of a colour: of a class, or given. */
export function swatch(words, className, colour = "") {
  const box = element("span", "", { className: `swatch ${className}` });
  box.style.background = colour;
  return element("span", [box, words], { className: "key" });
}

/** Tells `pointed(words, x, y)` what `words(event)` says of the place under the pointer, and null when it leaves. */
export function hover(node, words, pointed) {
  node.addEventListener("pointermove", (event) => pointed(words(event), event.clientX, event.clientY));
  node.addEventListener("pointerleave", () => pointed(null));
}

export const FONT = '11px system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif';

/** A colour of the style sheet, where an element is. */
export const colourAt = (node, name) => getComputedStyle(node).getPropertyValue(`--${name}`).trim();

/** A canvas of the size of its element: {pen, width, height}. null if it is hidden. */
export function canvasPen(canvas) {
  const pixels = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (width === 0) return null;
  Object.assign(canvas, { width: Math.round(width * pixels), height: Math.round(height * pixels) });
  const pen = canvas.getContext("2d");
  pen.scale(pixels, pixels);
  pen.font = FONT;
  return { pen, width, height };
}

/** A strip of colours: `colour(share)` from left to right. */
export function scale(width, colour) {
  const bar = element("canvas", "", { width, height: 12, className: "scale" });
  const pen = bar.getContext("2d");
  for (let x = 0; x < width; x++) {
    pen.fillStyle = colour(x / (width - 1));
    pen.fillRect(x, 0, 1, 12);
  }
  return bar;
}
