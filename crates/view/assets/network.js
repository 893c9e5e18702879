// One network on a canvas: level of detail, navigation, and hit testing.

import { Drawing, lineDistance } from "./drawing.js";
import { GRIDS, coarse, exact } from "./levels.js";

/** Number of lines that any machine draws at once. */
const FEW = 6000;
/** Maximum number of lines of a coarser level. */
const MANY = 30000;
/** Frame time in milliseconds. During motion, slower frames make the next ones coarser, faster ones finer. */
const SLOW = 45;
const FAST = 22;
/** Least number of lines that are drawn during motion. */
const LEAST = 1500;
/** Milliseconds without motion before everything is drawn. */
const REST = 180;
/** Maximum number of drawn hosts: those of the visible routers. */
const HOSTS = 20000;
/** Maximum number of marked links: more would hide the drawing. */
export const MARKS = 2000;
const BLUE = [0, 0.447, 0.698, 1];
const GREEN = [0, 0.62, 0.451, 1];

export class NetworkView {
  /** `events`: `chosen(thing)` and `pointed(thing, x, y)`, things being {kind, id} with rows of links. */
  constructor(stage, network, events) {
    this.network = network;
    this.events = events;
    this.canvas = stage.appendChild(document.createElement("canvas"));
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("aria-label", "Drawing of the network; drag to move, wheel to zoom, click to choose");
    this.status = stage.appendChild(document.createElement("div"));
    this.status.className = "status";
    this.drawing = new Drawing(this.canvas);
    this.levels = new Map();
    this.loads = new Float32Array(network.links.rows).fill(-1);
    this.chosen = null;
    this.critical = [];
    this.spacing = this.routerSpacing();
    this.view = { x: 0.5, y: 0.5, zoom: 1, pixels: 1 };
    this.fitted = true;
    this.budget = MANY;
    this.listen();
    new ResizeObserver(() => this.resized()).observe(stage);
    this.resized();
  }

  /** Space around a router in pixels above which its hosts are drawn. */
  routerSpacing() {
    const { hosts, routers } = this.network;
    if (hosts.rows === 0) return 0.7 / Math.sqrt(routers.rows);
    const router = hosts.router[0];
    return Math.hypot(hosts.x[0] - routers.x[router], hosts.y[0] - routers.y[router]) / 0.38;
  }

  resized() {
    const { clientWidth, clientHeight } = this.canvas;
    if (clientWidth === 0) return;
    const pixels = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(clientWidth * pixels);
    this.canvas.height = Math.round(clientHeight * pixels);
    this.view.pixels = pixels;
    if (this.fitted) this.fit();
    this.redraw();
  }

  fit() {
    const { x, y } = this.network.routers;
    let [left, right, top, bottom] = [1, 0, 1, 0];
    for (let i = 0; i < x.length; i++) {
      left = Math.min(left, x[i]); right = Math.max(right, x[i]);
      top = Math.min(top, y[i]); bottom = Math.max(bottom, y[i]);
    }
    const room = 1.4 * this.spacing + 0.01;
    const zoom = Math.min(this.canvas.clientWidth / (right - left + room), this.canvas.clientHeight / (bottom - top + room));
    Object.assign(this.view, { x: (left + right) / 2, y: (top + bottom) / 2, zoom: Math.max(zoom, 1) });
    this.fitted = true;
    this.redraw();
  }

  /** Centres a place, at a zoom at which it is visible. */
  show(x, y) {
    const zoom = Math.max(this.view.zoom, Math.min(40 / this.spacing, 4 * this.canvas.clientWidth));
    Object.assign(this.view, { x, y, zoom });
    this.fitted = false;
    this.redraw();
  }

  level(name) {
    if (!this.levels.has(name)) {
      const level = name === "exact" ? exact(this.network) : coarse(this.network, name);
      const { nodes, nodeLoads } = level;
      const at = new Float32Array(2 * nodes.x.length);
      for (let i = 0; i < nodes.x.length; i++) at.set([nodes.x[i], nodes.y[i]], 2 * i);
      level.dots = this.drawing.dots(at, nodeLoads);
      level.loads = null;
      this.levels.set(name, level);
    }
    return this.levels.get(name);
  }

  /** The level for this zoom: exact if few lines are drawn or routers are apart, else the finest affordable one. */
  levelInSight() {
    const most = this.moving ? this.budget : MANY;
    const few = this.network.between.length <= (this.moving ? Math.min(FEW, most) : FEW);
    const near = this.spacing * this.view.zoom > 9;
    if (few || (near && (!this.moving || this.inSight("exact").count <= most))) return "exact";
    const names = GRIDS.filter((grid) => grid <= this.view.zoom / 3);
    for (const grid of names) if (this.level(grid).count <= most) return grid;
    return GRIDS.at(-1);
  }

  /** The visible lines of a level: all, or those inside the picture if that is less to draw. */
  inSight(name) {
    const level = this.level(name);
    if (level.loads !== this.loads) {
      level.update(this.loads);
      level.loads = this.loads;
      level.seen = null;
      this.drawing.refill(level.dots.loads, level.nodeLoads);
    }
    if (this.fitted || level.count <= FEW) {
      level.lines = level.lines ?? this.drawing.lines(level.ends, level.form, level.edgeLoads, level.straight);
      if (level.drawnLoads !== this.loads) this.drawing.setLoads(level.lines, level.edgeLoads);
      level.drawnLoads = this.loads;
      return level.lines;
    }
    const { x, y, zoom } = this.view;
    const [w, h] = [this.canvas.clientWidth / 2 / zoom, this.canvas.clientHeight / 2 / zoom];
    const box = [x - w, x + w, y - h, y + h];
    if (level.seen?.box.every((side, i) => side === box[i])) return level.part;
    const seen = level.within(box);
    if (level.part) this.drawing.setLines(level.part, seen.ends, seen.form, seen.loads, seen.straight);
    else level.part = this.drawing.lines(seen.ends, seen.form, seen.loads, seen.straight);
    level.seen = { box };
    return level.part;
  }

  /** Starts motion: the next frames are fast, and everything is drawn when it ends. */
  move() {
    this.moving = true;
    clearTimeout(this.resting);
    this.resting = setTimeout(() => {
      this.moving = false;
      this.last = null;
      this.redraw();
    }, REST);
    this.redraw();
  }

  /** Adapts the number of lines to the time of the last frame. */
  learn() {
    const now = performance.now();
    const took = this.moving && this.last ? now - this.last : null;
    this.last = this.moving ? now : null;
    if (took === null || took > 2000) return;
    if (took > SLOW) this.budget = Math.max(LEAST, Math.min(this.budget, 2 * this.drawn.lines) / 2);
    else if (took < FAST) this.budget = Math.min(MANY, this.budget * 1.1);
  }

  setLoads(loads) {
    this.loads = loads;
    this.move();
  }

  setChosen(thing) {
    this.chosen = thing;
    this.redraw();
  }

  setCritical(rows) {
    this.critical = rows;
    this.redraw();
  }

  redraw() {
    if (this.asked) return;
    this.asked = requestAnimationFrame(() => {
      this.asked = null;
      this.draw();
    });
  }

  /** Draws at once. Tests and measurements call it, too. */
  draw() {
    const begin = performance.now();
    if (this.canvas.width === 0) return;
    this.learn();
    const name = this.levelInSight();
    const level = this.level(name);
    const lines = this.inSight(name);
    const px = this.spacing * this.view.zoom;
    this.lane = name === "exact" ? Math.max(0.15, Math.min(1.2, px / 26)) : 0;
    // Thinner lines if many are drawn in a small area.
    const widths = name === "exact"
      ? { least: Math.max(0.5, Math.min(1.6, px / 24)), most: Math.max(1.1, Math.min(4.2, px / 9)) }
      : { least: 0.6, most: 2 };
    this.drawing.begin(this.view);
    this.drawing.drawLines(lines, { lane: this.lane, ...widths });
    const hosts = this.drawHosts(px, widths);
    const size = Math.max(name === "exact" ? 4 : 5, Math.min(20, px * 0.42));
    this.dotSize = size;
    this.drawing.drawDots(level.dots, { size });
    this.drawMarks(size, widths);
    this.drawn = { level: name, lines: lines.count, dots: level.nodes.x.length, hosts, milliseconds: performance.now() - begin };
    const detail = name === "exact" ? "each direction of each cable" : "links of nearby routers merged, coloured by the most loaded one";
    this.status.textContent = `${lines.count.toLocaleString("en")} lines: ${detail}`;
  }

  /** Visible hosts with their links, if there is space for them. */
  drawHosts(px, widths) {
    this.hostsInSight = [];
    const { hosts, links, injection, ejection, routers } = this.network;
    if (px < 22 || hosts.rows === 0) return 0;
    const [w, h] = [this.canvas.clientWidth / 2 / this.view.zoom, this.canvas.clientHeight / 2 / this.view.zoom];
    const inSight = (host) => Math.abs(hosts.x[host] - this.view.x) < w && Math.abs(hosts.y[host] - this.view.y) < h;
    for (let host = 0; host < hosts.rows; host++) {
      if (!inSight(host)) continue;
      this.hostsInSight.push(host);
      if (this.hostsInSight.length > HOSTS) { this.hostsInSight = []; return 0; }
    }
    this.hostLinks = this.hostLinks ?? this.byHost(links, injection, ejection);
    const [ends, form, loads, rows, at, zero] = [[], [], [], [], [], []];
    for (const host of this.hostsInSight) {
      at.push(hosts.x[host], hosts.y[host]);
      let load = -1;
      for (let i = this.hostLinks.start[host]; i < this.hostLinks.start[host + 1]; i++) {
        const row = this.hostLinks.rows[i];
        const [hx, hy] = [hosts.x[host], hosts.y[host]];
        const out = text(links, "from_kind", row) === "host";
        const router = out ? links.to_id[row] : links.from_id[row];
        const [rx, ry] = [routers.x[router], routers.y[router]];
        ends.push(...(out ? [hx, hy, rx, ry] : [rx, ry, hx, hy]));
        form.push(0, 0.5);
        loads.push(this.loads[row]);
        rows.push(row);
        load = Math.max(load, this.loads[row]);
      }
      zero.push(load);
    }
    this.hostLines = { ends: Float32Array.from(ends), form: Float32Array.from(form), rows };
    const made = this.hostBuffers ?? (this.hostBuffers = { lines: this.drawing.lines(new Float32Array(0), new Float32Array(0), new Float32Array(0), 0), dots: this.drawing.dots(new Float32Array(0), new Float32Array(0)) });
    this.drawing.setLines(made.lines, this.hostLines.ends, this.hostLines.form, Float32Array.from(loads), rows.length);
    this.drawing.refill(made.dots.at, Float32Array.from(at));
    this.drawing.refill(made.dots.loads, Float32Array.from(zero));
    made.dots.count = this.hostsInSight.length;
    this.drawing.drawLines(made.lines, { lane: this.lane, ...widths });
    this.drawing.drawDots(made.dots, { size: Math.max(3, Math.min(11, px * 0.16)), round: true });
    return this.hostsInSight.length;
  }

  byHost(links, injection, ejection) {
    const start = new Uint32Array(this.network.hosts.rows + 1);
    for (const row of injection) start[links.from_id[row] + 1]++;
    for (const row of ejection) start[links.to_id[row] + 1]++;
    for (let i = 1; i < start.length; i++) start[i] += start[i - 1];
    const [rows, next] = [new Uint32Array(start.at(-1)), start.slice()];
    for (const row of injection) rows[next[links.from_id[row]]++] = row;
    for (const row of ejection) rows[next[links.to_id[row]]++] = row;
    return { start, rows };
  }

  /** Ends, bend and offset of a link, as the exact level draws it. */
  geometry(row) {
    const { links, hosts, routers } = this.network;
    const place = (end) => {
      const all = text(links, `${end}_kind`, row) === "host" ? hosts : routers;
      const id = links[`${end}_id`][row];
      return [all.x[id], all.y[id]];
    };
    const ends = [...place("from"), ...place("to")];
    const level = this.level("exact");
    this.edgeOfRow = this.edgeOfRow ?? new Map(Array.from(level.members, (member, edge) => [member, edge]));
    const edge = this.edgeOfRow.get(row);
    const form = edge === undefined ? [0, 0.5] : [...level.form.slice(2 * edge, 2 * edge + 2)];
    return { ends, form };
  }

  mark(rows, colour, widths) {
    const all = rows.map((row) => this.geometry(row));
    all.sort((a, b) => (a.form[0] === 0 ? 0 : 1) - (b.form[0] === 0 ? 0 : 1));
    const lines = this.drawing.lines(Float32Array.from(all.flatMap((l) => l.ends)), Float32Array.from(all.flatMap((l) => l.form)), new Float32Array(all.length), all.filter((l) => l.form[0] === 0).length);
    this.drawing.drawLines(lines, { lane: this.lane, ...widths, extra: 2.5, colour, above: true });
    this.drawing.removeLines(lines);
  }

  drawMarks(size, widths) {
    if (this.critical.length > 0) this.mark(this.critical, GREEN, widths);
    if (this.chosen?.kind === "link") this.mark([this.chosen.id], BLUE, widths);
    if (this.chosen?.kind === "links") this.mark(this.chosen.rows.slice(0, MARKS), BLUE, widths);
    if (this.chosen?.kind === "router" || this.chosen?.kind === "host") {
      const all = this.chosen.kind === "router" ? this.network.routers : this.network.hosts;
      const dots = this.drawing.dots(Float32Array.of(all.x[this.chosen.id], all.y[this.chosen.id]), Float32Array.of(0));
      this.drawing.drawDots(dots, { size: size * 0.8 + 4, round: this.chosen.kind === "host", colour: BLUE, above: true });
      for (const buffer of [dots.at, dots.loads]) this.drawing.gl.deleteBuffer(buffer);
    }
  }

  /** Position on the canvas, in CSS pixels, of a place of the unit square. */
  project(x, y) {
    const { clientWidth, clientHeight } = this.canvas;
    return [(x - this.view.x) * this.view.zoom + clientWidth / 2, (y - this.view.y) * this.view.zoom + clientHeight / 2];
  }

  /** The thing at a position of the canvas. */
  under(px, py) {
    const { clientWidth, clientHeight } = this.canvas;
    const at = [px - clientWidth / 2, py - clientHeight / 2];
    const nearest = (xs, ys, all, reach) => {
      let [best, found] = [reach, -1];
      for (const i of all ?? xs.keys()) {
        const far = Math.hypot((xs[i] - this.view.x) * this.view.zoom - at[0], (ys[i] - this.view.y) * this.view.zoom - at[1]);
        if (far < best) [best, found] = [far, i];
      }
      return found;
    };
    const level = this.level(this.drawn.level);
    const { hosts, routers } = this.network;
    const node = nearest(level.nodes.x, level.nodes.y, null, Math.max(5, this.dotSize / 2 + 1));
    if (node >= 0) {
      if (this.drawn.level === "exact") return { kind: "router", id: node };
      let of = [];
      for (let router = 0; router < routers.rows; router++) if (level.nodeOf[router] === node) of.push(router);
      return of.length === 1 ? { kind: "router", id: of[0] } : { kind: "routers", ids: of, x: level.nodes.x[node], y: level.nodes.y[node] };
    }
    const host = nearest(hosts.x ?? [], hosts.y ?? [], this.hostsInSight, 7);
    if (host >= 0) return { kind: "host", id: host };
    let [best, found] = [6, null];
    const look = (ends, form, count, give) => {
      for (let e = 0; e < count; e++) {
        const far = lineDistance(ends.subarray(4 * e, 4 * e + 4), form.subarray(2 * e, 2 * e + 2), at, this.view, this.lane);
        if (far < best) [best, found] = [far, () => give(e)];
      }
    };
    look(level.ends, level.form, level.count, (e) => ({
      kind: "link", id: level.hottest(e, this.loads), together: level.start[e + 1] - level.start[e],
    }));
    if (this.hostsInSight.length > 0)
      look(this.hostLines.ends, this.hostLines.form, this.hostLines.rows.length, (e) => ({ kind: "link", id: this.hostLines.rows[e], together: 1 }));
    return found?.() ?? null;
  }

  /** The row of the link with the largest load. */
  hottest() {
    let best = -1;
    for (let row = 0; row < this.loads.length; row++) if (this.loads[row] > (best < 0 ? -1 : this.loads[best])) best = row;
    return best;
  }

  listen() {
    const { canvas, view } = this;
    let drag = null;
    canvas.addEventListener("pointerdown", (event) => {
      drag = { x: event.offsetX, y: event.offsetY, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (drag) {
        const [dx, dy] = [event.offsetX - drag.x, event.offsetY - drag.y];
        if (!drag.moved && Math.hypot(dx, dy) < 4) return;
        view.x -= dx / view.zoom;
        view.y -= dy / view.zoom;
        Object.assign(drag, { x: event.offsetX, y: event.offsetY, moved: true });
        this.fitted = false;
        this.move();
        return;
      }
      // At most once per frame.
      if (this.pointing) return;
      this.pointing = requestAnimationFrame(() => {
        this.pointing = null;
        if (this.drawn) this.events.pointed(this.under(event.offsetX, event.offsetY), event.clientX, event.clientY);
      });
    });
    canvas.addEventListener("pointerup", (event) => {
      const clicked = drag && !drag.moved;
      drag = null;
      if (!clicked || !this.drawn) return;
      const thing = this.under(event.offsetX, event.offsetY);
      if (thing?.kind === "routers") this.zoomAt(3, event.offsetX, event.offsetY);
      else this.events.chosen(thing);
    });
    canvas.addEventListener("pointerleave", () => this.events.pointed(null));
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoomAt(Math.exp(-event.deltaY * 0.0015), event.offsetX, event.offsetY);
    }, { passive: false });
    canvas.addEventListener("dblclick", () => this.fit());
    canvas.addEventListener("keydown", (event) => {
      const [w, h] = [canvas.clientWidth / 2, canvas.clientHeight / 2];
      const step = 60 / view.zoom;
      const keys = { "+": () => this.zoomAt(1.3, w, h), "-": () => this.zoomAt(1 / 1.3, w, h), 0: () => this.fit(),
        ArrowLeft: () => { view.x -= step; }, ArrowRight: () => { view.x += step; },
        ArrowUp: () => { view.y -= step; }, ArrowDown: () => { view.y += step; } };
      if (!keys[event.key]) return;
      event.preventDefault();
      if (event.key !== "0") this.fitted = false;
      keys[event.key]();
      this.move();
    });
  }

  zoomAt(factor, px, py) {
    const { view, canvas } = this;
    const zoom = Math.max(canvas.clientWidth / 3, Math.min(view.zoom * factor, 400 / this.spacing));
    const [dx, dy] = [px - canvas.clientWidth / 2, py - canvas.clientHeight / 2];
    view.x += dx / view.zoom - dx / zoom;
    view.y += dy / view.zoom - dy / zoom;
    view.zoom = zoom;
    this.fitted = false;
    this.move();
  }

  /** Milliseconds of each of a number of frames with everything drawn. The picture moves slightly between frames. */
  measure(frames) {
    const taken = [];
    for (let i = 0; i < frames; i++) {
      this.view.x += (i % 2 ? 1 : -1) / this.view.zoom;
      const begin = performance.now();
      this.draw();
      this.drawing.finish();
      taken.push(performance.now() - begin);
    }
    return taken;
  }
}

function text(slice, column, row) {
  return slice.texts[column][slice[column][row]];
}
