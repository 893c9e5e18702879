// Links added up by class and by the units at their ends: groups, parts of tree levels, slices, columns, routers.

import { text } from "./data.js";

/** Number of units without the table `units`, for networks without groups. */
const BLOCKS = 64;

/** The units of a network, and the unit of each router. */
export class Units {
  constructor(units, routers) {
    Object.assign(this, units);
    this.count = this.names.length;
    this.ofRouter = new Uint32Array(routers);
    // Planes number their routers in turn.
    this.planeOf = this.names.map((name) => Number(/^plane (\d+), /.exec(name)?.[1] ?? 0));
    this.planes = Math.max(0, ...this.planeOf) + 1;
    for (let unit = 0; unit < this.count; unit++)
      for (const router of this.routersOf(unit)) this.ofRouter[router] = unit;
  }

  /** Those of the table `units`; of a result without it groups, or else blocks of routers. null without routers. */
  static async of(result, routers) {
    if (result.has("units")) {
      const rows = await result.table("units", ["name", "kind", "first_router", "routers"], {}, ["block"]);
      const names = [...rows.name.keys()].map((i) => text(rows, "name", i));
      const { first_router: first, routers: sizes, block } = rows;
      return new Units({ names, kind: text(rows, "kind", 0), first, sizes, block }, routers?.rows ?? 0);
    }
    if (!routers?.rows) return null;
    const groups = new Set(routers.group);
    const grouped =
      !groups.has(NaN) && [...routers.group].every((group, i) => i === 0 || group >= routers.group[i - 1]);
    const size = Math.ceil(routers.rows / BLOCKS);
    const [first, sizes, names] = [[], [], []];
    for (let router = 0; router < routers.rows; router++) {
      if (grouped ? router === 0 || routers.group[router] !== routers.group[router - 1] : router % size === 0) {
        first.push(router);
        sizes.push(0);
      }
      sizes[sizes.length - 1]++;
    }
    first.forEach((router, i) =>
      names.push(
        grouped
          ? `group ${routers.group[router]}`
          : sizes[i] === 1
            ? `router ${router}`
            : `routers ${router} to ${router + sizes[i] - 1}`,
      ),
    );
    return new Units({ names, kind: grouped ? "group" : size > 1 ? "block" : "router", first, sizes }, routers.rows);
  }

  /** The blocks of `pair_series`: these units, or several of them each. null if they are not known. */
  blocks() {
    if (!this.block) return null;
    const of = [];
    this.block.forEach((block, unit) => (of[block] ??= []).push(unit));
    if (of.length === this.count) return this;
    const sizes = of.map((units) => units.reduce((sum, unit) => sum + this.sizes[unit], 0));
    return new Units(
      {
        names: of.map((units) => this.span(units)),
        kind: this.kind,
        first: of.map(([unit]) => this.first[unit]),
        sizes,
        joined: of[0].length,
      },
      this.ofRouter.length,
    );
  }

  routersOf(unit) {
    return Array.from({ length: this.sizes[unit] }, (_, i) => this.first[unit] + i * this.planes);
  }

  /** Level of a unit of a tree, -1 elsewhere. */
  level(unit) {
    return Number(/level (\d+)/.exec(this.names[unit])?.[1] ?? -1);
  }

  /** Number of a unit in its name: "3" of "group 3", "0" of "groups 0 to 7". */
  short(unit) {
    return /(\d+)( to \d+)?$/.exec(this.names[unit])[1];
  }

  /** The units of all levels that are in the same pod of a tree; otherwise the unit only. */
  together(unit) {
    const pod = /pods? .*$/.exec(this.names[unit])?.[0];
    const all = [...this.names.keys()].filter(
      (other) => this.planeOf[other] === this.planeOf[unit] && this.names[other].endsWith(`, ${pod}`),
    );
    return pod ? all : [unit];
  }

  /** Name of several units: that of their pod, if they are in one. */
  title(units) {
    const pods = new Set(units.map((unit) => this.names[unit].replace(/level \d+, pod/, "pod")));
    return pods.size === 1 ? [...pods][0] : this.span(units);
  }

  /** Name of one unit, or of several that follow each other: "groups 0 to 4". */
  span(units) {
    const [first, last] = [this.names[units[0]], this.names[units.at(-1)]];
    const [, kind, from] = /^(.*?)s? (\d+)(?: to \d+)?$/.exec(first);
    return units.length === 1 ? first : `${kind}s ${from} to ${/\d+$/.exec(last)[0]}`;
  }
}

/**
 * Columns of sums: number of links, sum of the loads, the greatest load, sum of the shares of time blocked, number of full and
 * of blocked links. Loads are shares of the time.
 */
function columns(length) {
  const [links, full, held] = [0, 1, 2].map(() => new Uint32Array(length));
  const [busy, most, blocked] = [0, 1, 2].map(() => new Float64Array(length));
  return { links, busy, most, blocked, full, held };
}

/** Columns of single links. `limits` has the least loads of full and of blocked links. */
export function ofLinks(busy, blocked, limits) {
  const all = columns(busy.length);
  Object.assign(all, { busy, blocked, most: busy });
  for (let row = 0; row < busy.length; row++) {
    all.links[row] = 1;
    all.full[row] = busy[row] >= limits.FULL;
    all.held[row] = blocked[row] >= limits.BLOCKED;
  }
  return all;
}

/** The sum of rows of columns, and the mean values of a link. */
export function total(from, rows) {
  const sum = { links: 0, busy: 0, most: 0, blocked: 0, full: 0, held: 0 };
  for (const row of rows) {
    sum.links += from.links[row];
    sum.busy += from.busy[row];
    sum.most = Math.max(sum.most, from.most[row]);
    sum.blocked += from.blocked[row];
    sum.full += from.full[row];
    sum.held += from.held[row];
  }
  return { ...sum, mean: sum.busy / sum.links, blocked: sum.blocked / sum.links };
}

/** The pairs of units that links lead from and to, one for each class. */
export class Pairs {
  constructor(units, network) {
    Object.assign(this, { units, classes: [], className: [], from: [], to: [], numbers: [] });
    if (!network?.links.rows) return;
    this.ofLink = this.ofLinks(network);
    this.links = new Uint32Array(this.count);
    for (const pair of this.ofLink) this.links[pair]++;
  }

  /** The pairs of the links of a network. */
  ofLinks({ links }) {
    const ofHost = (kind) => links.texts[kind].indexOf("host");
    const [fromHost, toHost] = [ofHost("from_kind"), ofHost("to_kind")];
    const unit = (router) => this.units.ofRouter[router];
    const classes = links.texts.class.map((name) => this.classNumber(name));
    return links.link.map((_, row) => {
      // The router of a link of a host is at its other end.
      const [from, to] = [
        links.from_kind[row] === fromHost ? links.to_id[row] : links.from_id[row],
        links.to_kind[row] === toHost ? links.from_id[row] : links.to_id[row],
      ];
      return this.number(classes[links.class[row]], unit(from), unit(to));
    });
  }

  get count() {
    return this.from.length;
  }

  classNumber(name) {
    const of = this.classes.indexOf(name);
    return of < 0 ? this.classes.push(name) - 1 : of;
  }

  /** Number of a pair of a class, which is a number, too. New ones are added. There can be a million. */
  number(of, from, to) {
    const known = ((this.numbers[of] ??= [])[from] ??= new Map());
    let pair = known.get(to);
    if (pair === undefined) {
      known.set(to, (pair = this.from.push(from) - 1));
      this.className.push(this.classes[of]);
      this.to.push(to);
    }
    return pair;
  }

  /** Some units like a cell of the map: all pairs from and to them. */
  around(units) {
    const own = new Set(units);
    const members = [...this.from.keys()].filter((pair) => own.has(this.from[pair]) || own.has(this.to[pair]));
    return { name: this.units.title(units), members, of: "pairs", units };
  }

  /** Adds up columns of single links. */
  add(links) {
    const sums = columns(this.count);
    for (let row = 0; row < this.ofLink.length; row++) {
      const pair = this.ofLink[row];
      sums.links[pair]++;
      sums.busy[pair] += links.busy[row];
      sums.most[pair] = Math.max(sums.most[pair], links.busy[row]);
      sums.blocked[pair] += links.blocked[row];
      sums.full[pair] += links.full[row];
      sums.held[pair] += links.held[row];
    }
    return sums;
  }

  /** Adds up rows like those of the table `pairs`, of an interval of time in picoseconds. `from` and `to` are their units. */
  read(rows, from, to, span) {
    const classes = rows.texts.class.map((name) => this.classNumber(name));
    const pairs = from.map((unit, i) => this.number(classes[rows.class[i]], unit, to[i]));
    const sums = columns(this.count);
    const share = (ps) => (span > 0 ? ps / span : 0);
    pairs.forEach((pair, i) => {
      sums.links[pair] += rows.links[i];
      sums.busy[pair] += share(rows.busy_ps[i]);
      sums.most[pair] = Math.max(sums.most[pair], share(rows.busy_ps_max[i]));
      sums.blocked[pair] += share(rows.buffer_full_ps[i]);
      sums.full[pair] += rows.full_links[i];
      sums.held[pair] += rows.blocked_links[i];
    });
    return sums;
  }

  /** The sums of a time in which nothing was sent. */
  idle() {
    const sums = columns(this.count);
    sums.links.set(this.links);
    return sums;
  }

  /** The sums of a period of `pair_series`. Idle pairs have no row, and injection links are not in it. */
  readPeriod(rows, span) {
    const sums = this.read(rows, rows.from_block, rows.to_block, span);
    sums.links.set(this.links);
    this.className.forEach((name, pair) => {
      if (name === "injection") sums.busy[pair] = sums.most[pair] = sums.blocked[pair] = NaN;
    });
    return sums;
  }
}

/** Columns of the tables `pairs` and `pair_series`, besides units and blocks. */
export const PAIR_COLUMNS = [
  "class",
  "links",
  "busy_ps",
  "busy_ps_max",
  "buffer_full_ps",
  "full_links",
  "blocked_links",
];

/**
 * The causes of congestion: full links, or pairs with full links, with the links that are blocked behind them. A blocked one
 * points at the most loaded one that leaves its end; following these pointers ends at a full one, its cause, or nowhere.
 * `from` and `to` are routers or units, -1 for hosts. Returns [{row, behind}], the most blocked links behind first.
 */
export function causes(of, from, to) {
  // The two most loaded ones, because a pair inside a unit ends where it begins.
  const leaving = new Map();
  for (let row = 0; row < from.length; row++) {
    if (from[row] < 0) continue;
    const [first, second] = leaving.get(from[row]) ?? [];
    if (first === undefined || of.most[row] > of.most[first]) leaving.set(from[row], [row, first]);
    else if (second === undefined || of.most[row] > of.most[second]) leaving.set(from[row], [first, row]);
  }
  const behind = new Map();
  for (let row = 0; row < from.length; row++) if (of.full[row] > 0) behind.set(row, 0);
  for (let row = 0; row < from.length; row++) {
    if (of.held[row] === 0) continue;
    const seen = new Set();
    let at = row;
    do {
      seen.add(at);
      const last = at;
      at = leaving.get(to[at])?.find((next) => next !== last);
    } while (at !== undefined && !seen.has(at) && of.full[at] === 0 && of.held[at] > 0);
    if (behind.has(at) && !seen.has(at)) behind.set(at, behind.get(at) + of.held[row]);
  }
  const found = Array.from(behind, ([row, links]) => ({ row, behind: links }));
  return found.sort((a, b) => b.behind - a.behind || of.most[b.row] - of.most[a.row] || a.row - b.row);
}
