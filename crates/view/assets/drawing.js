// A drawing of few routers with their hosts and links, as SVG.

import { CRITICAL, css, loadColour } from "./colours.js";
import { text } from "./data.js";
import { hover } from "./dom.js";

/** Most routers and links of a drawing. More are not legible. */
const MOST_ROUTERS = 40;
const MOST_LINKS = 700;
/** Least share of the scale, so that idle links are visible on both grounds. */
const IDLE = 0.1;
const [WIDTH, HEIGHT, EDGE] = [320, 280, 20];

function shape(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

/**
 * Draws routers, their hosts, and the links between them in the colours of the panel's measure. null if there are too many.
 * `events`: `chosen(thing)` and `pointed(thing, x, y)`.
 */
export function drawing(panel, routers, events) {
  const { network } = panel;
  if (routers.length < 1 || routers.length > MOST_ROUTERS || !network.links.rows) return null;
  const { hosts, links } = network;
  const own = new Set(routers);
  const ofRouters = [...(hosts.router?.keys() ?? [])].filter((host) => own.has(hosts.router[host]));
  const known = new Set(ofRouters);
  const isIn = (row, end) => (text(links, `${end}_kind`, row) === "host" ? known : own).has(links[`${end}_id`][row]);
  const rows = [...links.link.keys()].filter((row) => isIn(row, "from") && isIn(row, "to"));
  if (rows.length > MOST_LINKS) return null;
  const place = (end, row) => (text(links, `${end}_kind`, row) === "host" ? hosts : network.routers);
  const points = [...routers.map((id) => [network.routers, id]), ...ofRouters.map((id) => [hosts, id])];
  const range = (axis) => {
    const all = points.map(([of, id]) => of[axis][id]);
    return [Math.min(...all), Math.max(...all)];
  };
  const [[left, right], [top, bottom]] = [range("x"), range("y")];
  const put = (value, low, high, size) =>
    high > low ? EDGE + ((value - low) / (high - low)) * (size - 2 * EDGE) : size / 2;
  const at = (of, id) => [put(of.x[id], left, right, WIDTH), put(of.y[id], top, bottom, HEIGHT)];
  const svg = shape("svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    role: "img",
    "aria-label": `Drawing of ${routers.length} routers, ${ofRouters.length} hosts and ${rows.length} links`,
  });
  const listen = (made, thing) => {
    made.addEventListener("click", () => events.chosen(thing));
    hover(made, () => thing, events.pointed);
    svg.append(made);
  };
  const value = (row) => panel.loadOf(row);
  const onPath = new Set(panel.critical);
  for (const row of rows.sort((a, b) => value(a) - value(b))) {
    const [[ax, ay], [bx, by]] = [at(place("from", row), links.from_id[row]), at(place("to", row), links.to_id[row])];
    // Both directions of a cable bend apart.
    const bend = 0.07;
    const d = `M${ax},${ay}Q${(ax + bx) / 2 - bend * (by - ay)},${(ay + by) / 2 + bend * (bx - ax)} ${bx},${by}`;
    const full = panel.isFull(row);
    const colour = onPath.has(row) ? CRITICAL : css(loadColour(panel.loads ? Math.max(value(row), IDLE) : NaN, full));
    const width = rows.length > 200 ? 1.2 : 1.5 + 1.5 * (value(row) || 0);
    svg.append(shape("path", { d, fill: "none", stroke: colour, "stroke-width": width }));
    listen(shape("path", { d, fill: "none", stroke: "transparent", "stroke-width": 7, "data-link": links.link[row] }), {
      kind: "link",
      id: row,
    });
  }
  for (const id of ofRouters) {
    const [cx, cy] = at(hosts, id);
    listen(shape("circle", { cx, cy, r: 3.5, class: "host", "data-host": id }), { kind: "host", id });
  }
  for (const id of routers) {
    const [x, y] = at(network.routers, id);
    const mark = shape("g", { class: "router", "data-router": id });
    const words = shape("text", { x, y: y + 3.5, "text-anchor": "middle" });
    words.textContent = String(id);
    const half = 5 + 3 * String(id).length;
    mark.append(shape("rect", { x: x - half, y: y - 8, width: 2 * half, height: 16, rx: 3 }), words);
    listen(mark, { kind: "router", id });
  }
  return svg;
}
