// Data from the server: results, and columns of their tables as typed arrays (crates/view/src/wire.rs).

import { ofLinks } from "./sums.js";

const TYPES = { u8: Uint8Array, u32: Uint32Array, f32: Float32Array, f64: Float64Array, text: Uint32Array };
const EMPTY = 0xffffffff;
/** Keys of requests that are not columns. */
const LIMITS = ["from_ps", "to_ps", "limit"];

async function get(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(await answer.text());
  return answer;
}

/** Columns by name, each a typed array. `texts[name]` has the texts of a text column. */
export function decode(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const slice = { rows: header.rows, matching: header.matching, texts: {} };
  for (const { name, type, offset, texts } of header.columns) {
    slice[name] = new TYPES[type](buffer, 4 + length + offset, header.rows);
    if (type === "text") slice.texts[name] = texts;
  }
  return slice;
}

/** A cell of a text column, null if empty. */
export function text(slice, column, row) {
  const number = slice[column][row];
  return number === EMPTY ? null : slice.texts[column][number];
}

/** One result folder. */
export class Result {
  constructor(index, info) {
    this.index = index;
    Object.assign(this, info);
    this.cache = new Map();
  }

  /** Whether there is a table with these columns. */
  has(table, columns = []) {
    return columns.every((column) => this.tables[table]?.columns.includes(column)) && this.tables[table] !== undefined;
  }

  async fetchSlice(path) {
    return decode(await (await get(`/data/${this.index}/${path}`)).arrayBuffer());
  }

  /**
   * Columns of a table, and those of the `added` ones that it has: older versions did not write them. `where` has values of
   * columns, one or several, `from_ps`, `to_ps`, `limit`. The server refuses columns that a table lacks, so they are not asked for.
   */
  async table(name, columns, where = {}, added = []) {
    const asked = [...columns, ...Object.keys(where).filter((key) => !LIMITS.includes(key))];
    const lacks = asked.find((column) => !this.has(name, [column]));
    if (lacks) throw new Error(`The table ${name} has no column ${lacks}: this result is of an older version.`);
    const known = added.filter((column) => this.has(name, [column]));
    return this.made(`table/${name}`, { columns: [...columns, ...known].join(","), ...where });
  }

  /** What the server makes of the timeline of ranks: `timeline`, or `shares` of time. */
  made(what, where) {
    const query = new URLSearchParams();
    for (const [key, values] of Object.entries(where)) for (const value of [values].flat()) query.append(key, value);
    return this.fetchSlice(`${what}?${query}`);
  }

  /** Measured time in picoseconds, 0 without one. */
  measured() {
    return (this.summary.network?.measured_ns ?? 0) * 1000;
  }

  /** `{verdict}`, or `{missing}`: why there is none. */
  async verdict() {
    return (await get(`/data/${this.index}/verdict`)).json();
  }

  async bins() {
    const bins = await this.fetchSlice("bins");
    return { begin: bins.begin_ps, end: bins.end_ps };
  }

  /** The cached result of `make()`. The last `most` results of a kind are kept. */
  remembered(kind, key, make, most = 200) {
    if (!this.cache.has(kind)) this.cache.set(kind, new Map());
    const of = this.cache.get(kind);
    if (of.has(key)) return of.get(key);
    const made = make();
    of.set(key, made);
    if (of.size > most) of.delete(of.keys().next().value);
    return made;
  }
}

/**
 * The results that the page shows, and the thresholds of verdicts by name. `search` is the query of the page, which names some of
 * the results of a catalogue; without it, `catalogue` is {folder, entries} if the folder is no result and has results inside.
 */
export async function results(search) {
  const told = await (await get(`/data/results${search}`)).json();
  return {
    limits: told.limits,
    catalogue: told.catalogue,
    found: told.results.map((info) => new Result(info.index, info)),
  };
}

/** What differs in several results: {differs, found}. */
export async function comparison(search) {
  return (await get(`/data/comparison${search}`)).json();
}

/** Columns of links that name them. */
const LINK_COLUMNS = [
  "link",
  "class",
  "from_kind",
  "from_id",
  "from_port",
  "to_kind",
  "to_id",
  "to_port",
  "bandwidth_bits_per_s",
];
const TOTALS = ["bytes", "packets", "busy_ps", "busy_fraction", "buffer_full_ps"];

/** The network of a result: its routers, and up to `most` links with the hosts, with ends as numbers. null without the tables. */
export async function network(result, most) {
  if (!result.has("routers")) return null;
  const routers = await result.table("routers", ["router", "label", "group", "x", "y", "hosts"]);
  const few = (result.tables.links?.rows ?? 0) <= most;
  const hosts = few && result.has("hosts") ? await result.table("hosts", ["host", "router", "x", "y"]) : { rows: 0 };
  // Totals of links exist only at the end of the run.
  const columns = result.unfinished ? LINK_COLUMNS : [...LINK_COLUMNS, ...TOTALS];
  const links = few && result.has("links") ? await result.table("links", columns) : { rows: 0 };
  return new Network(routers, hosts, links);
}

/** The network with only those links of a class that lead from some routers to others: numbers of routers, null for hosts. */
export async function someLinks(result, routers, name, from, to) {
  const where = { class: name, from_kind: from ? "router" : "host", to_kind: to ? "router" : "host" };
  if (from) where.from_id = from;
  if (to) where.to_id = to;
  return new Network(routers, { rows: 0 }, await result.table("links", [...LINK_COLUMNS, ...TOTALS], where));
}

/** The network with only the links of these numbers. */
export async function linksNamed(result, routers, numbers) {
  return new Network(routers, { rows: 0 }, await result.table("links", LINK_COLUMNS, { link: [...numbers] }));
}

export class Network {
  constructor(routers, hosts, links) {
    Object.assign(this, { routers, hosts, links });
    // The number is usually the row.
    this.rowOfLink = new Map();
    for (let row = 0; row < links.rows; row++) if (links.link[row] !== row) this.rowOfLink.set(links.link[row], row);
  }

  row(link) {
    const row = this.rowOfLink.get(link) ?? link;
    return this.links.rows > row && this.links.link[row] === link ? row : -1;
  }

  label(router) {
    return text(this.routers, "label", router);
  }

  routerName(router) {
    return `router ${router} (${this.label(router)})`;
  }

  linkName(row) {
    return `from ${this.endName(row, "from")} to ${this.endName(row, "to")}`;
  }

  endName(row, end) {
    const id = this.links[`${end}_id`][row];
    const port = this.links[`${end}_port`][row];
    return text(this.links, `${end}_kind`, row) === "host"
      ? `host ${id}${port ? ` rail ${port}` : ""}`
      : `${this.routerName(id)} port ${port}`;
  }

  /** As `endName`, without numbers of routers and ports where labels tell enough. */
  endLabel(row, end) {
    const id = this.links[`${end}_id`][row];
    if (text(this.links, `${end}_kind`, row) === "host") return `host ${id}`;
    return this.label(id) === String(id) ? `router ${id}` : this.label(id);
  }

  className(row) {
    return text(this.links, "class", row);
  }

  /** The routers at the ends of all links, -1 for hosts. */
  ends() {
    const router = (end) => {
      const host = this.links.texts[`${end}_kind`].indexOf("host");
      return Int32Array.from(this.links[`${end}_kind`], (kind, row) =>
        kind === host ? -1 : this.links[`${end}_id`][row],
      );
    };
    return (this.routerEnds ??= ["from", "to"].map(router));
  }

  /** Rows of the links of a router or host. */
  linksAt(kind, id) {
    const rows = [];
    const of = ["from", "to"].map((end) => [
      this.links[`${end}_kind`],
      this.links.texts[`${end}_kind`].indexOf(kind),
      this.links[`${end}_id`],
    ]);
    for (let row = 0; row < this.links.rows; row++)
      if (of.some(([kinds, number, ids]) => kinds[row] === number && ids[row] === id)) rows.push(row);
    return rows;
  }
}

/** The bin that contains a time, or -1. */
export function binAt(bins, ps) {
  let [low, high] = [0, bins.begin.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (bins.begin[middle] <= ps) low = middle + 1;
    else high = middle;
  }
  return low > 0 && bins.end[low - 1] > ps ? low - 1 : -1;
}

/** Loads of all links in a bin, or for bin null over the whole run, as columns of sums. null if they are not known. */
export async function loads(result, network, bins, bin, limits) {
  const { rows: count, busy_fraction, buffer_full_ps } = network.links;
  const [busy, blocked] = [new Float64Array(count), new Float64Array(count)];
  if (bin === null) {
    if (!busy_fraction) return null;
    const measured = result.measured();
    for (let row = 0; row < count; row++)
      [busy[row], blocked[row]] = [busy_fraction[row], measured > 0 ? buffer_full_ps[row] / measured : 0];
  } else if (bin >= 0) {
    const [from, to] = [bins.begin[bin], bins.end[bin]];
    const rows = await result.remembered("bin", from, () =>
      result.table("link_series", ["begin_ps", "link", "busy_ps", "buffer_full_ps"], {
        from_ps: from,
        to_ps: from + 1,
      }),
    );
    for (let i = 0; i < rows.rows; i++) {
      const row = network.row(rows.link[i]);
      if (row < 0 || rows.begin_ps[i] !== from) continue;
      [busy[row], blocked[row]] = [rows.busy_ps[i] / (to - from), rows.buffer_full_ps[i] / (to - from)];
    }
  }
  return ofLinks(busy, blocked, limits);
}
