// The map of a run on a canvas: colours, labels, marks, pointer and keys.

import { CRITICAL, css, isDark, loadColour, onGround } from "./colours.js";
import { FONT, colourAt, element, hover } from "./dom.js";
import { number, share } from "./format.js";
import { layout } from "./layouts.js";
import { total } from "./sums.js";

/** The three measures: which value of a sum each shows, and its words. */
export const MEASURES = {
  mean: { value: (sum) => sum.mean, words: "mean load of the links, share of the time busy" },
  busiest: { value: (sum) => sum.most, words: "load of the busiest link, share of the time busy" },
  blocked: {
    value: (sum) => sum.blocked,
    words: "share of the time that a packet waits for space in the next buffer, mean of the links",
  },
};

/** Largest cell, and smallest one of a router, in pixels. */
const LARGEST = 110;
/** Greatest width of a cell of a matrix in its heights. */
const WIDE = 1.7;
const SMALLEST = 1.5;

/** Least width and height of a cell that has its value as text, in pixels. */
const READABLE = [30, 18];

/** Half of the step in which the table `router_load_series` rounds loads up. */
export const HALF = 0.005;

/** Number of the row or column at a position, -1 between them. */
const place = (edges, size, at) => edges.subarray(0, -1).findIndex((edge) => at >= edge && at < edge + size);

/** A sum in words. */
export function sumText(sum) {
  if (sum.links === 0) return "no link of this class";
  if (!(sum.busy >= 0)) return `${number(sum.links)} link${sum.links === 1 ? "" : "s"}, load not known`;
  if (sum.links === 1) return `load ${share(sum.mean)}, blocked ${share(sum.blocked)}`;
  return `${number(sum.links)} links: mean load ${share(sum.mean)}, busiest ${share(sum.most)}, ${number(sum.full)} full, blocked ${share(sum.blocked)}`;
}

export class MapView {
  /** `events`: `opened(cell)`, null for none, `openedUnits(units)`, and `pointed(words, x, y)`. */
  constructor(stage, pairs, network, limits, events) {
    Object.assign(this, {
      stage,
      pairs,
      network,
      limits,
      events,
      measure: "mean",
      only: "",
      single: true,
      now: null,
      critical: [],
      causes: [],
    });
    this.canvas = stage.appendChild(element("canvas", "", { tabIndex: 0, className: "map" }));
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute(
      "aria-label",
      "Map of the network. Arrow keys move from cell to cell, Enter opens a cell, Escape closes it.",
    );
    this.status = stage.appendChild(element("div", "", { className: "status" }));
    this.status.setAttribute("role", "status");
    this.listen();
    new ResizeObserver(() => this.resized()).observe(stage);
    onGround(() => this.draw());
    this.resized();
  }

  resized() {
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    if (width === 0) return;
    const pixels = window.devicePixelRatio || 1;
    const [wide, high] = [width, height].map((size) => Math.round(size * pixels));
    if (this.layout && this.canvas.width === wide && this.canvas.height === high) return;
    Object.assign(this.canvas, { width: wide, height: high });
    this.pixels = pixels;
    this.arrange();
  }

  /** Makes the cells, for the last size of the canvas if it is hidden. */
  arrange() {
    const [width, height] = [this.canvas.width / this.pixels, this.canvas.height / this.pixels];
    this.layout = layout(this.pairs, this.single || this.byRouter ? this.network : null, width - 40, this.byRouter);
    // Sums, if the cells of routers would be too small.
    const { of, frames } = this.layout;
    const mayFill = of === "routers" || (of === "links" && !frames[0].stretch);
    if (this.place(width, height) < SMALLEST && mayFill) {
      this.layout = layout(this.pairs, null, width - 40);
      this.place(width, height);
    }
    this.cells = this.layout.frames.flatMap((frame) => frame.cells);
    for (const frame of this.layout.frames) {
      frame.at = new Map(frame.cells.map((cell) => [cell.row * frame.columns + cell.column, cell]));
      for (const cell of frame.cells) cell.frame = frame;
    }
    this.cursor = null;
    this.sum();
  }

  /** Places the frames: as many beside each other as make the cells largest. Returns their size. */
  place(width, height) {
    const { frames } = this.layout;
    const pen = this.canvas.getContext("2d");
    pen.font = FONT;
    const widest = (names) => Math.max(0, ...(names ?? []).map((name) => pen.measureText(name).width));
    const stretch = frames.some((frame) => frame.stretch);
    const columns = Math.max(...frames.map((frame) => frame.columns));
    const rows = Math.max(...frames.map((frame) => frame.rows));
    const gaps = (breaks) => 5 * (breaks?.length ?? 0);
    const left = frames[0].rowNames ? (frames[0].rowTitle ? 24 : 8) + widest(frames[0].rowNames) : 8;
    const top = (frames[0].columnNames ? 16 : 0) + (frames[0].title ? 16 : 0) + (frames[0].columnTitle ? 14 : 0);
    const bottom = 22;
    let best = null;
    for (let beside = 1; beside <= (stretch ? 1 : frames.length); beside++) {
      const down = Math.ceil(frames.length / beside);
      const wide = (width - 8) / beside - left - 12 - gaps(frames[0].breaks);
      const all = stretch ? frames.reduce((sum, frame) => sum + frame.rows, 0) : rows * down;
      const high = (height - bottom - down * (top + 6) - (stretch ? 0 : down * gaps(frames[0].breaks))) / all;
      const size = Math.min(wide / columns, high, LARGEST);
      if (!best || size > best.size)
        best = { beside, size, wide: Math.min(wide / columns, 2 * LARGEST), high: Math.min(high, LARGEST) };
    }
    let y = 0;
    frames.forEach((frame, index) => {
      const column = index % best.beside;
      const own = stretch
        ? Math.min(2 * LARGEST, (columns * best.wide + gaps(frames[0].breaks) - gaps(frame.breaks)) / frame.columns)
        : Math.min(best.wide, (frame.isWide ? WIDE : 1) * best.size);
      const [w, h] = [Math.max(own, 0.5), Math.max(stretch ? best.high : best.size, 0.5)];
      const edges = (count, size, from, breaks = []) =>
        Float64Array.from(
          { length: count + 1 },
          (_, i) => from + i * size + 5 * breaks.filter((at) => at <= i && i < count).length,
        );
      const x = 4 + left + column * Math.min((width - 8) / best.beside, left + w * columns + gaps(frame.breaks) + 24);
      const bothBreaks = frame.rowNames && frame.breaks;
      Object.assign(frame, {
        xs: edges(frame.columns, w, x, frame.breaks),
        ys: edges(frame.rows, h, y + top, bothBreaks || []),
        w,
        h,
      });
      // The last edge follows its cell.
      frame.xs[frame.columns] = frame.xs[frame.columns - 1] + w;
      frame.ys[frame.rows] = frame.ys[frame.rows - 1] + h;
      if (column === best.beside - 1) y = frame.ys[frame.rows] + 6;
    });
    return best.size;
  }

  /**
   * Shows values: columns of sums of links and of pairs `of` units, null if unknown; of one link class `only`, or of all if it
   * is empty. Returns whether the cells are other ones than before.
   */
  setNow(now, measure, causes, only = "") {
    const [pairs, single] = [now.of ?? this.pairs, Boolean(now.links) || !now.pairs];
    // The greatest loads of single routers, which have no mean and no class.
    const byRouter = Boolean(now.routers) && measure !== "mean" && !only;
    const isNew = pairs !== this.pairs || single !== this.single || byRouter !== this.byRouter;
    Object.assign(this, { now, measure, causes, only, pairs, single, byRouter });
    if (isNew && this.layout) this.arrange();
    else this.sum();
    return isNew;
  }

  /** Computes the sums of all cells. */
  sum() {
    if (!this.layout) return;
    const from = this.now?.[this.layout.of];
    for (const frame of this.layout.frames) {
      if (!frame.sorted || !from) continue;
      const value = this.measure === "blocked" ? from.blocked : from.busy;
      const sorted = frame.sorted.map((rows) => [...rows].sort((a, b) => value[a] - value[b]));
      const next = sorted.map(() => 0);
      for (const cell of frame.cells) cell.members = [sorted[cell.column][next[cell.column]++]];
    }
    this.cellOf = [];
    const isShown = (member) =>
      this.pairs.className[this.layout.of === "links" ? this.pairs.ofLink[member] : member] === this.only;
    for (const cell of this.cells) {
      const shown = this.only ? cell.members.filter(isShown) : cell.members;
      cell.sum = from ? total(from, shown) : { links: shown.length, busy: NaN, full: 0, held: 0 };
      for (const member of cell.members) this.cellOf[member] = cell;
    }
    this.redraw();
  }

  /** The cell of a link. */
  cellOfLink(row) {
    if (this.layout?.of === "routers")
      return this.cellOf[
        this.network
          .ends()
          .map((of) => of[row])
          .find((router) => router >= 0)
      ];
    return this.cellOf?.[this.layout.of === "links" ? row : this.pairs.ofLink[row]];
  }

  cellOfPair(pair) {
    return this.layout?.of === "pairs" ? this.cellOf[pair] : undefined;
  }

  /** What the members of a cell are: links or pairs. */
  membersAre(cell) {
    return cell.of ?? this.layout.of;
  }

  /** Rows of the links of a cell, null if the page has no single links. */
  linksOf(cell) {
    if (this.membersAre(cell) === "links") return [...cell.members];
    if (!this.pairs.ofLink) return null;
    const own = new Set(cell.members);
    return [...this.pairs.ofLink.keys()].filter((row) => own.has(this.pairs.ofLink[row]));
  }

  /** Units at the ends of a cell: [from, to]. */
  unitsOf(cell) {
    if (cell.units) return [cell.units, cell.units];
    const pair = (member) => (this.membersAre(cell) === "links" ? this.pairs.ofLink[member] : member);
    const of = (ends) => [...new Set(cell.members.map((member) => ends[pair(member)]))].sort((a, b) => a - b);
    return [of(this.pairs.from), of(this.pairs.to)];
  }

  /** Marks the cells of links, or a cell. */
  mark(rows, cell = null) {
    this.chosen = { rows, cell };
    this.redraw();
  }

  redraw() {
    this.asked ??= requestAnimationFrame(() => {
      this.asked = null;
      this.draw();
    });
  }

  /** Draws at once. Measurements call it, too. */
  draw() {
    const begin = performance.now();
    const { canvas, pixels } = this;
    if (!this.layout || canvas.width === 0) return;
    const pen = canvas.getContext("2d");
    pen.setTransform(1, 0, 0, 1, 0, 0);
    const image = pen.createImageData(canvas.width, canvas.height);
    const dots = new Uint32Array(image.data.buffer);
    for (const frame of this.layout.frames) {
      const [gapX, gapY] = [frame.w, frame.h].map((size) => (size >= 6 ? 1 : 0));
      for (const cell of frame.cells) {
        if (cell.sum.links === 0) continue;
        const [red, green, blue] = loadColour(MEASURES[this.measure].value(cell.sum), this.isFull(cell.sum));
        const colour = (255 << 24) | (blue << 16) | (green << 8) | red;
        const [left, top] = [Math.round(frame.xs[cell.column] * pixels), Math.round(frame.ys[cell.row] * pixels)];
        const right = Math.max(left + 1, Math.round((frame.xs[cell.column] + frame.w) * pixels) - gapX);
        const bottom = Math.max(top + 1, Math.round((frame.ys[cell.row] + frame.h) * pixels) - gapY);
        for (let y = top; y < bottom; y++) dots.fill(colour, y * canvas.width + left, y * canvas.width + right);
      }
    }
    pen.putImageData(image, 0, 0);
    pen.scale(pixels, pixels);
    const [ink, quiet, paper] = ["ink", "quiet", "paper"].map((name) => colourAt(canvas, name));
    this.labels(pen, ink, quiet);
    for (const frame of this.layout.frames) {
      if (Math.min(frame.w, frame.h) >= 6) for (const cell of frame.cells) this.corner(pen, frame, cell);
      if (this.isReadable(frame)) for (const cell of frame.cells) this.value(pen, frame, cell);
    }
    const around = (cell, colour, width, out = 0) => {
      const { frame } = cell;
      pen.strokeStyle = colour;
      pen.lineWidth = width;
      pen.strokeRect(
        frame.xs[cell.column] - out,
        frame.ys[cell.row] - out,
        frame.w + 2 * out - 1,
        frame.h + 2 * out - 1,
      );
    };
    for (const cell of new Set(this.critical.map((row) => this.cellOfLink(row)))) if (cell) around(cell, CRITICAL, 1.5);
    const chosen = new Set(
      this.chosen?.cell?.frame ? [this.chosen.cell] : (this.chosen?.rows ?? []).map((row) => this.cellOfLink(row)),
    );
    for (const cell of chosen)
      if (cell) {
        around(cell, paper, 4, 1);
        around(cell, ink, 2, 1);
      }
    if (this.cursor && document.activeElement === canvas) {
      around(this.cursor, paper, 3, 2.5);
      around(this.cursor, ink, 1.5, 2.5);
    }
    this.causes.forEach((cause, index) => this.numberMark(pen, cause, index + 1, ink, paper));
    this.drawn = {
      of: this.layout.of,
      frames: this.layout.frames.length,
      cells: this.cells.length,
      milliseconds: performance.now() - begin,
    };
  }

  isFull(sum) {
    return this.measure !== "blocked" && MEASURES[this.measure].value(sum) >= this.limits.FULL;
  }

  /** A diagonal in full cells without a number, so that prints without colour have it; a corner if some links are full, or are blocked. */
  corner(pen, frame, { row, column, sum }) {
    const [x, y, right, bottom] = [
      frame.xs[column],
      frame.ys[row],
      frame.xs[column] + frame.w - 1,
      frame.ys[row] + frame.h - 1,
    ];
    if (this.isFull(sum)) {
      if (Math.min(frame.w, frame.h) < 9 || this.isReadable(frame)) return;
      pen.strokeStyle = isDark() ? "#12161b" : "#fff";
      pen.lineWidth = 1;
      pen.beginPath();
      pen.moveTo(x + 2, bottom - 2);
      pen.lineTo(right - 2, y + 2);
      pen.stroke();
    } else if (sum.links > 1 && (this.measure === "blocked" ? sum.held : sum.full) > 0) {
      const size = Math.max(4, Math.min(16, Math.min(frame.w, frame.h) / 2.5));
      pen.fillStyle = css(loadColour(1, this.measure !== "blocked"));
      pen.beginPath();
      pen.moveTo(right - size, y);
      pen.lineTo(right, y);
      pen.lineTo(right, y + size);
      pen.fill();
    }
  }

  /** The value of a cell, in percent. */
  value(pen, frame, { row, column, sum }) {
    const value = MEASURES[this.measure].value(sum);
    if (sum.links === 0 || !(value >= 0)) return;
    const [red, green, blue] = loadColour(value, this.isFull(sum));
    // The one of black and white with the higher contrast (luma of Rec. 601).
    pen.fillStyle = 0.299 * red + 0.587 * green + 0.114 * blue > 128 ? "#1b1f24" : "#fff";
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.fillText((100 * value).toFixed(0), frame.xs[column] + frame.w / 2, frame.ys[row] + frame.h / 2);
  }

  numberMark(pen, { cell: find }, index, ink, paper) {
    const cell = find();
    if (!cell) return;
    const { frame } = cell;
    const [x, y] = [frame.xs[cell.column] + frame.w, Math.max(9, frame.ys[cell.row])];
    pen.beginPath();
    pen.arc(x, y, 8, 0, 2 * Math.PI);
    pen.fillStyle = ink;
    pen.fill();
    pen.strokeStyle = paper;
    pen.lineWidth = 1.5;
    pen.stroke();
    pen.fillStyle = paper;
    pen.font = `bold ${FONT}`;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.fillText(String(index), x, y + 0.5);
  }

  labels(pen, ink, quiet) {
    pen.font = FONT;
    for (const frame of this.layout.frames) {
      const { xs, ys, columnNames, rowNames } = frame;
      pen.textBaseline = "alphabetic";
      pen.fillStyle = quiet;
      let above = ys[0] - 4;
      if (columnNames) {
        pen.textAlign = "center";
        // Every n-th name, so that they do not touch each other; groups of columns have one name each.
        const named = [...columnNames.keys()].filter((column) => columnNames[column]);
        const widest = Math.max(...named.map((column) => pen.measureText(columnNames[column]).width)) + 6;
        const step = Math.ceil((widest * named.length) / (xs.at(-1) - xs[0]));
        for (const column of named.filter((_, i) => i % step === 0))
          pen.fillText(columnNames[column], xs[column] + frame.w / 2, above);
        above -= 14;
      }
      if (frame.edgeName) {
        pen.textAlign = "right";
        pen.fillText(frame.edgeName, xs.at(-1), above);
      }
      pen.textAlign = "left";
      if (frame.columnTitle) {
        pen.fillText(frame.columnTitle, xs[0], above);
        above -= 14;
      }
      pen.fillStyle = ink;
      if (frame.title)
        pen.fillText(frame.stretch ? `${frame.title} · ${this.frameText(frame)}` : frame.title, xs[0], above);
      pen.fillStyle = quiet;
      if (!rowNames) continue;
      pen.textAlign = "right";
      pen.textBaseline = "middle";
      const step = Math.ceil(12 / frame.h);
      const last = frame.edgeName ? frame.rows - 1 : -1;
      rowNames.forEach((name, row) => {
        if (row === last || (row % step === 0 && (last < 0 || ys[last] - ys[row] >= 12)))
          pen.fillText(name, xs[0] - 5, ys[row] + frame.h / 2);
      });
      if (frame.rowTitle) {
        pen.save();
        pen.translate(
          xs[0] - 16 - Math.max(0, ...rowNames.slice(0, last).map((name) => pen.measureText(name).width)),
          (ys[0] + ys.at(-1)) / 2,
        );
        pen.rotate(-Math.PI / 2);
        pen.textAlign = "center";
        pen.fillText(frame.rowTitle, 0, 0);
        pen.restore();
      }
    }
    this.status.textContent =
      this.cursor && document.activeElement === this.canvas
        ? this.cellText(this.cursor).replace("\n", ": ")
        : `${this.now?.words ?? ""}${this.layout.words}${this.layout.frames.some((frame) => this.isReadable(frame)) ? " Numbers are percent of the time." : ""}`;
  }

  /** What a whole frame of a tree carries. */
  frameText(frame) {
    const sum = { links: 0, busy: 0, full: 0, held: 0 };
    for (const cell of frame.cells) for (const key of Object.keys(sum)) sum[key] += cell.sum[key];
    if (sum.links === 0) return "not shown";
    if (this.layout.of === "routers") {
      const [some, what] = this.measure === "blocked" ? [sum.held, "blocked"] : [sum.full, "full"];
      return `${number(some)} of ${number(sum.links)} routers have a ${what} link`;
    }
    return Number.isFinite(sum.busy)
      ? `mean load ${share(sum.busy / sum.links)}, ${number(sum.full)} of ${number(sum.links)} full`
      : `${number(sum.links)} links`;
  }

  /** Whether the cells of a frame have their values as text. */
  isReadable({ w, h }) {
    return w >= READABLE[0] && h >= READABLE[1];
  }

  cellText(cell) {
    const own =
      this.layout.of === "links" && cell.members.length === 1 && !cell.router
        ? `${cell.name}: ${this.network.linkName(cell.members[0])}`
        : cell.name;
    return `${own}\n${this.layout.of === "routers" ? `load of the busiest at most ${share(cell.sum.most + HALF)}, blocked at most ${share(cell.sum.blocked + HALF)}` : sumText(cell.sum)}`;
  }

  /** The units whose label is at a position. */
  unitsUnder(x, y) {
    for (const { xs, ys, w, h, rowUnits, columnUnits } of this.layout?.frames ?? []) {
      if (columnUnits && y < ys[0] && y > ys[0] - 16) return columnUnits[place(xs, w, x)] ?? null;
      if (rowUnits && x < xs[0] && x > xs[0] - 40) return rowUnits[place(ys, h, y)] ?? null;
    }
    return null;
  }

  /** The cell at a position. */
  under(x, y) {
    for (const frame of this.layout?.frames ?? []) {
      const [column, row] = [place(frame.xs, frame.w, x), place(frame.ys, frame.h, y)];
      if (row >= 0 && column >= 0) return frame.at.get(row * frame.columns + column) ?? null;
    }
    return null;
  }

  /** The next cell from the cursor in a direction, over empty places and into other frames. */
  step(dx, dy) {
    const { frames } = this.layout;
    const first = (frame) => frame?.at.get(Math.min(...frame.at.keys()));
    if (!this.cursor) return first(frames[0]);
    const { frame } = this.cursor;
    for (
      let [row, column] = [this.cursor.row + dy, this.cursor.column + dx];
      row >= 0 && column >= 0 && row < frame.rows && column < frame.columns;
      row += dy, column += dx
    ) {
      const cell = frame.at.get(row * frame.columns + column);
      if (cell) return cell;
    }
    return first(frames[frames.indexOf(frame) + dx + dy]) ?? this.cursor;
  }

  listen() {
    const { canvas } = this;
    hover(
      canvas,
      (event) => {
        const cell = this.under(event.offsetX, event.offsetY);
        const units = cell ? null : this.unitsUnder(event.offsetX, event.offsetY);
        canvas.style.cursor = cell || units ? "pointer" : "";
        return cell ? this.cellText(cell) : units && `open ${this.pairs.units.title(units)}`;
      },
      this.events.pointed,
    );
    canvas.addEventListener("click", (event) => {
      this.cursor = this.under(event.offsetX, event.offsetY);
      const units = this.cursor ? null : this.unitsUnder(event.offsetX, event.offsetY);
      if (units) this.events.openedUnits(units);
      else this.events.opened(this.cursor);
    });
    for (const name of ["focus", "blur"]) canvas.addEventListener(name, () => this.redraw());
    canvas.addEventListener("keydown", (event) => {
      const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
      if (moves[event.key]) this.cursor = this.step(...moves[event.key]);
      else if ((event.key === "Enter" || event.key === " ") && this.cursor) this.events.opened(this.cursor);
      else if (event.key === "Escape") {
        this.cursor = null;
        this.events.opened(null);
      } else return;
      event.preventDefault();
      this.redraw();
    });
  }
}
