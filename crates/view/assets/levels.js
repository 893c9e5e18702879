// Levels of detail. In the finest level every link is a line. In the others, routers in one cell of a grid are one
// node, and links between the same two nodes are one line with the largest load of its links, so that congestion is
// visible at any zoom.

/** Cells along the unit square, from fine to coarse. */
export const GRIDS = [1024, 512, 256, 128, 64, 32, 20, 12];

/**
 * Edges are sorted: straight ones first. `members` are rows of links; those of edge e are
 * members[start[e]] .. members[start[e + 1]]. `inside` are links within one node.
 */
class Level {
  constructor(nodes, nodeOf, edges, inside, network) {
    const straight = edges.filter((edge) => edge.bend === 0);
    const bent = edges.filter((edge) => edge.bend !== 0);
    this.straight = straight.length;
    this.count = edges.length;
    this.nodes = nodes;
    this.nodeOf = nodeOf;
    this.ends = new Float32Array(4 * this.count);
    this.form = new Float32Array(2 * this.count);
    this.start = new Uint32Array(this.count + 1);
    const members = [];
    [...straight, ...bent].forEach((edge, e) => {
      this.ends.set([nodes.x[edge.a], nodes.y[edge.a], nodes.x[edge.b], nodes.y[edge.b]], 4 * e);
      this.form.set([edge.bend, edge.lane], 2 * e);
      for (const member of edge.members) members.push(member);
      this.start[e + 1] = members.length;
    });
    this.members = Uint32Array.from(members);
    this.inside = inside;
    this.network = network;
    this.edgeLoads = new Float32Array(this.count);
    this.nodeLoads = new Float32Array(nodes.x.length);
  }

  /** Largest loads by edge and by node. A node has those of its hosts' links and of the links inside it. */
  update(loads) {
    this.edgeLoads.fill(-1);
    this.nodeLoads.fill(-1);
    for (let e = 0; e < this.count; e++)
      for (let i = this.start[e]; i < this.start[e + 1]; i++)
        if (loads[this.members[i]] > this.edgeLoads[e]) this.edgeLoads[e] = loads[this.members[i]];
    const { links, injection, ejection } = this.network;
    const raise = (node, load) => { if (load > this.nodeLoads[node]) this.nodeLoads[node] = load; };
    for (const row of injection) raise(this.nodeOf[links.to_id[row]], loads[row]);
    for (const row of ejection) raise(this.nodeOf[links.from_id[row]], loads[row]);
    for (const row of this.inside) raise(this.nodeOf[links.from_id[row]], loads[row]);
  }

  /** Edges that may be visible in a box [left, right, top, bottom], copied in drawing form. */
  within([left, right, top, bottom]) {
    const found = this.found ?? (this.found = new Uint32Array(this.count));
    let [count, straight] = [0, 0];
    for (let e = 0; e < this.count; e++) {
      const at = 4 * e;
      const [ax, ay, bx, by] = [this.ends[at], this.ends[at + 1], this.ends[at + 2], this.ends[at + 3]];
      const reach = Math.abs(this.form[2 * e]) * (Math.abs(ax - bx) + Math.abs(ay - by));
      if (Math.max(ax, bx) + reach < left || Math.min(ax, bx) - reach > right) continue;
      if (Math.max(ay, by) + reach < top || Math.min(ay, by) - reach > bottom) continue;
      found[count++] = e;
      if (e < this.straight) straight = count;
    }
    const [ends, form, loads] = [new Float32Array(4 * count), new Float32Array(2 * count), new Float32Array(count)];
    for (let i = 0; i < count; i++) {
      const e = found[i];
      for (let k = 0; k < 4; k++) ends[4 * i + k] = this.ends[4 * e + k];
      form[2 * i] = this.form[2 * e];
      form[2 * i + 1] = this.form[2 * e + 1];
      loads[i] = this.edgeLoads[e];
    }
    return { count, straight, ends, form, loads };
  }

  /** The row of the most loaded link of an edge, the first of equals. */
  hottest(edge, loads) {
    let best = this.members[this.start[edge]];
    for (let i = this.start[edge]; i < this.start[edge + 1]; i++)
      if (loads[this.members[i]] > loads[best]) best = this.members[i];
    return best;
  }
}

/** One line per link. Directions and parallel cables lie side by side; lines over other routers bend. */
export function exact(network) {
  const { routers, links } = network;
  const crossed = crossings(routers);
  const inward = towardsMiddle(network);
  const lanes = new Map();
  const edges = [];
  for (const row of network.between) {
    const [a, b] = [links.from_id[row], links.to_id[row]];
    const pair = a * 4294967296 + b;
    const lane = lanes.get(pair) ?? 0;
    lanes.set(pair, lane + 1);
    edges.push({ a, b, members: [row], lane: lane + 0.5, bend: crossed(a, b) ? 0.16 : inward(a, b) });
  }
  const nodeOf = Uint32Array.from({ length: routers.rows }, (_, router) => router);
  return new Level({ x: routers.x, y: routers.y }, nodeOf, edges, [], network);
}

/** Merges the routers of one cell at their centre. */
export function coarse(network, grid) {
  const { routers, links } = network;
  const cells = new Map();
  const nodeOf = new Uint32Array(routers.rows);
  const [x, y, count] = [[], [], []];
  for (let router = 0; router < routers.rows; router++) {
    const cell = Math.floor(routers.x[router] * grid) * 65536 + Math.floor(routers.y[router] * grid);
    let node = cells.get(cell);
    if (node === undefined) {
      node = x.length;
      cells.set(cell, node);
      x.push(0); y.push(0); count.push(0);
    }
    nodeOf[router] = node;
    x[node] += routers.x[router];
    y[node] += routers.y[router];
    count[node] += 1;
  }
  const nodes = { x: Float32Array.from(x, (v, i) => v / count[i]), y: Float32Array.from(y, (v, i) => v / count[i]) };
  const [edges, inside] = [new Map(), []];
  for (const row of network.between) {
    const [from, to] = [nodeOf[links.from_id[row]], nodeOf[links.to_id[row]]];
    if (from === to) { inside.push(row); continue; }
    const [a, b] = [Math.min(from, to), Math.max(from, to)];
    const pair = a * 4294967296 + b;
    const edge = edges.get(pair);
    if (edge) edge.members.push(row);
    else edges.set(pair, { a, b, members: [row], lane: 0, bend: 0 });
  }
  return new Level(nodes, nodeOf, [...edges.values()], Uint32Array.from(inside), network);
}

/** Above this number of lines, none bends. */
const BENT = 20000;

/** Bend of links between groups in a ring towards the centre, away from the groups between. */
function towardsMiddle({ routers, between }) {
  const groups = new Set(routers.group);
  if (groups.size < 4 || between.length > BENT) return () => 0;
  let [x, y] = [0, 0];
  for (let router = 0; router < routers.rows; router++) [x, y] = [x + routers.x[router], y + routers.y[router]];
  [x, y] = [x / routers.rows, y / routers.rows];
  return (a, b) => {
    if (routers.group[a] === routers.group[b]) return 0;
    const along = [routers.x[b] - routers.x[a], routers.y[b] - routers.y[a]];
    const inwards = [x - (routers.x[a] + routers.x[b]) / 2, y - (routers.y[a] + routers.y[b]) / 2];
    return (0.4 * (inwards[1] * along[0] - inwards[0] * along[1])) / (along[0] ** 2 + along[1] ** 2 || 1) / 2;
  };
}

/** Whether the straight line between two routers passes over a third one in a row or column. */
function crossings(routers) {
  const key = (value) => Math.round(value * 1e5);
  const lines = { x: new Map(), y: new Map() };
  const add = (map, line, at) => {
    if (!map.has(line)) map.set(line, []);
    map.get(line).push(at);
  };
  for (let router = 0; router < routers.rows; router++) {
    const [x, y] = [key(routers.x[router]), key(routers.y[router])];
    add(lines.x, x, y);
    add(lines.y, y, x);
  }
  for (const map of Object.values(lines)) for (const line of map.values()) line.sort((a, b) => a - b);
  const between = (line, a, b) => {
    const [low, high] = [Math.min(a, b) + 2, Math.max(a, b) - 2];
    let [first, last] = [0, line.length];
    while (first < last) {
      const middle = (first + last) >> 1;
      if (line[middle] < low) first = middle + 1;
      else last = middle;
    }
    return first < line.length && line[first] <= high;
  };
  return (a, b) => {
    const [ax, ay, bx, by] = [routers.x[a], routers.y[a], routers.x[b], routers.y[b]].map(key);
    if (Math.abs(ax - bx) <= 1) return between(lines.x.get(ax), ay, by);
    if (Math.abs(ay - by) <= 1) return between(lines.y.get(ay), ax, bx);
    return false;
  };
}
