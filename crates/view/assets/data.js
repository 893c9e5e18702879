// Data from the server: results, and columns of their tables as typed arrays (crates/view/src/wire.rs).

import { percent } from "./format.js";

const TYPES = { u8: Uint8Array, u32: Uint32Array, f32: Float32Array, f64: Float64Array, text: Uint32Array };
const EMPTY = 0xffffffff;

async function get(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw Object.assign(new Error(await answer.text()), { status: answer.status });
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

  has(table) {
    return this.tables[table] !== undefined;
  }

  async fetchSlice(path) {
    return decode(await (await get(`/data/${this.index}/${path}`)).arrayBuffer());
  }

  /** Columns of a table. `where` has values of columns, `from_ps`, `to_ps`, `limit`. */
  table(name, columns, where = {}) {
    const query = new URLSearchParams({ columns: columns.join(","), ...where });
    return this.fetchSlice(`table/${name}?${query}`);
  }

  /** As `table`. Without the `added` columns if the result is of a version that did not have them. */
  async tableWith(name, columns, added, where) {
    try {
      return await this.table(name, [...columns, ...added], where);
    } catch (error) {
      if (error.status !== 400) throw error;
      return this.table(name, columns, where);
    }
  }

  timeline(where) {
    return this.fetchSlice(`timeline?${new URLSearchParams(where)}`);
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

export async function results() {
  const told = await (await get("/data/results")).json();
  return told.results.map((info, index) => new Result(index, info));
}

/** The network of a result: its routers, hosts and links, with ends as numbers. null without the tables. */
export async function network(result) {
  if (!result.has("routers")) return null;
  const routers = await result.table("routers", ["router", "label", "group", "x", "y", "hosts"]);
  const hosts = result.has("hosts") ? await result.table("hosts", ["host", "router", "x", "y"]) : { rows: 0 };
  const columns = ["link", "class", "from_kind", "from_id", "from_port", "to_kind", "to_id", "to_port", "bandwidth_bits_per_s"];
  // Totals of links exist only at the end of the run.
  if (!result.unfinished) columns.push("bytes", "packets", "busy_ps", "busy_fraction", "buffer_full_ps");
  const links = result.has("links") ? await result.table("links", columns) : { rows: 0 };
  return new Network(routers, hosts, links);
}

export class Network {
  constructor(routers, hosts, links) {
    Object.assign(this, { routers, hosts, links });
    // Rows of links between routers, from hosts to routers and from routers to hosts.
    const [between, injection, ejection] = [[], [], []];
    const host = (kind) => links.texts?.[kind]?.indexOf("host") ?? -1;
    const [fromHost, toHost] = [host("from_kind"), host("to_kind")];
    for (let row = 0; row < links.rows; row++) {
      if (links.from_kind[row] === fromHost) injection.push(row);
      else if (links.to_kind[row] === toHost) ejection.push(row);
      else between.push(row);
    }
    this.between = Uint32Array.from(between);
    this.injection = Uint32Array.from(injection);
    this.ejection = Uint32Array.from(ejection);
    // The number is usually the row.
    this.rowOfLink = new Map();
    for (let row = 0; row < links.rows; row++) if (links.link[row] !== row) this.rowOfLink.set(links.link[row], row);
  }

  row(link) {
    const row = this.rowOfLink.get(link) ?? link;
    return this.links.rows > row && this.links.link[row] === link ? row : -1;
  }

  routerName(router) {
    const label = text(this.routers, "label", router);
    return `router ${router} (${label})`;
  }

  endName(row, end) {
    const id = this.links[`${end}_id`][row];
    const port = this.links[`${end}_port`][row];
    return text(this.links, `${end}_kind`, row) === "host"
      ? `host ${id}${port ? ` rail ${port}` : ""}`
      : `${this.routerName(id)} port ${port}`;
  }

  className(row) {
    return text(this.links, "class", row);
  }

  /** Rows of the links of a router or host. */
  linksAt(kind, id) {
    const rows = [];
    const of = ["from", "to"].map((end) => [this.links[`${end}_kind`], this.links.texts[`${end}_kind`].indexOf(kind), this.links[`${end}_id`]]);
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

/** Loads of all links, 0 to 1, in a bin, or for bin -1 over the whole run; -1 for unknown loads. */
export async function loads(result, network, bins, bin, metric) {
  const all = new Float32Array(network.links.rows);
  if (bin === null) {
    const measured = result.summary.network ? result.summary.network.measured_ns * 1000 : 0;
    const { busy_fraction, buffer_full_ps } = network.links;
    if (metric === "waiting" || !busy_fraction) return all.fill(-1);
    for (let row = 0; row < all.length; row++)
      all[row] = metric === "busy" ? busy_fraction[row] : measured > 0 ? buffer_full_ps[row] / measured : 0;
    return all;
  }
  if (bin < 0) return all;
  const [from, to] = [bins.begin[bin], bins.end[bin]];
  const rows = await result.remembered("bin", from, () =>
    result.table("link_series", ["begin_ps", "link", "busy_ps", "buffer_full_ps", "waiting_packets"],
      { from_ps: from, to_ps: from + 1 }));
  for (let i = 0; i < rows.rows; i++) {
    const row = network.row(rows.link[i]);
    if (row < 0 || rows.begin_ps[i] !== from) continue;
    all[row] = metric === "waiting" ? waitingShade(rows.waiting_packets[i])
      : (metric === "busy" ? rows.busy_ps[i] : rows.buffer_full_ps[i]) / (to - from);
  }
  return all;
}

/** Number of packets from which on all queue lengths have the same shade. */
const MOST_WAITING = 100;

/** Logarithmic shade of a queue length: 1 is a hundred packets or more. */
export function waitingShade(packets) {
  return Math.min(1, Math.log10(1 + packets) / Math.log10(1 + MOST_WAITING));
}

/** An entry of `loads` as text: a share of the time, or the number of packets of a shade. */
export function loadText(load, metric) {
  if (load < 0) return "–";
  if (metric !== "waiting") return percent(load);
  const packets = Math.round((1 + MOST_WAITING) ** load - 1);
  return `${packets}${packets < MOST_WAITING ? "" : " or more"} packet${packets === 1 ? "" : "s"}`;
}
