// What the map of a network shows: frames of cells, each cell a set of links or of pairs of units.

/** Most rows and columns of a matrix before units that follow each other are joined, and after that. */
const MOST_UNITS = 200;
const JOINED = 128;
/** Least width of a column of cables in pixels. */
const COLUMN = 1.5;
/** Least width of a router of a tree in pixels. */
const ROUTER = 6;

/**
 * The layout of a network for a width in pixels, of single links if there is a `network`: `frames` of {title, rows, columns, rowNames, columnNames, edgeName, rowTitle, columnTitle,
 * breaks, cells, stretch, isWide, rowUnits, columnUnits}, and `words` about it. `of` says whether members of cells are `pairs`, `links`, or `routers`: if `byRouter`, where
 * `hasRouters`. A cell is {row, column, name, members}; `sorted` is a list of columns whose members are shown in the order of their load.
 */
export function layout(pairs, network, width, byRouter) {
  const { units } = pairs;
  if (byRouter && units.kind === "level") return tiers(pairs, network, width);
  if (byRouter && units.kind === "slice") return slices(pairs, network, true) ?? slabs(pairs);
  const links = network?.links.rows > 0 ? network : null;
  if (units.kind === "level") return (links && cables(pairs, links, width)) ?? bands(pairs);
  if (units.kind === "slice") return (links && slices(pairs, links)) ?? slabs(pairs);
  return matrix(pairs);
}

/** Whether routers are shapes of the map: in slices of a grid and levels of a tree. In a matrix they are rows, and its cells are pairs. */
export const hasRouters = (units) => units.kind === "slice" || units.kind === "level";

const isOfHost = (name) => name === "injection" || name === "ejection";
const every = (count, most) => Math.ceil(count / Math.min(count, most));

/** Names of what a matrix has in rows and columns. */
const NAMES = {
  group: ["group", "groups"],
  column: ["column", "columns"],
  router: ["router", "routers"],
  block: ["block of routers", "blocks of routers"],
};

/** Units by units: groups, columns of a Slim Fly, routers of a graph. Hosts are at the edges. One frame for each plane. */
function matrix(pairs) {
  const { units } = pairs;
  const [one, several] = NAMES[units.kind];
  const per = units.count / units.planes;
  const joined = per > MOST_UNITS ? every(per, JOINED) : 1;
  const size = Math.ceil(per / joined);
  const at = (unit) => Math.floor((unit % per) / joined);
  const frames = Array.from({ length: units.planes }, (_, plane) => {
    const blocks = Array.from({ length: size }, (_, i) =>
      Array.from({ length: Math.min(joined, per - i * joined) }, (_, k) => plane * per + i * joined + k),
    );
    const names = blocks.map(([first]) => units.short(first));
    const half = units.kind === "column" && joined === 1 ? [size / 2] : [];
    return {
      title: units.planes > 1 ? `plane ${plane}` : "",
      blocks,
      rowUnits: blocks,
      columnUnits: blocks,
      rows: size + 1,
      columns: size + 1,
      breaks: [...half, size],
      rowNames: [...names, "hosts receive"],
      columnNames: names,
      edgeName: "hosts send",
      rowTitle: `from ${one}`,
      columnTitle: `to ${one}`,
      cells: [],
      isWide: true,
    };
  });
  const cells = new Map();
  for (let pair = 0; pair < pairs.count; pair++) {
    const frame = frames[units.planeOf[pairs.from[pair]]];
    const name = pairs.className[pair];
    const [row, column] = [
      name === "ejection" ? size : at(pairs.from[pair]),
      name === "injection" ? size : at(pairs.to[pair]),
    ];
    const key = (units.planeOf[pairs.from[pair]] * (size + 1) + row) * (size + 1) + column;
    let cell = cells.get(key);
    if (!cell) {
      const [from, to] = [frame.blocks[at(pairs.from[pair])], frame.blocks[at(pairs.to[pair])]];
      const words =
        name === "injection"
          ? `from the hosts of ${units.span(from)}`
          : name === "ejection"
            ? `to the hosts of ${units.span(to)}`
            : from === to
              ? `inside ${units.span(from)}`
              : `from ${units.span(from)} to ${units.span(to)}`;
      cell = { row, column, name: words, members: [] };
      cells.set(key, cell);
      frame.cells.push(cell);
    }
    cell.members.push(pair);
  }
  const halves = units.kind === "column" ? " The subgraphs of the Slim Fly are apart." : "";
  const inRow = joined * (units.joined ?? 1);
  const block = inRow > 1 ? ` A row stands for ${inRow} ${several}.` : "";
  return { of: "pairs", frames, words: `A cell is all links from one ${one} (row) to one (column).${halves}${block}` };
}

/** Class and direction of the links of a tree: the upper level first, hosts last. */
function directions(pairs) {
  const bands = new Map();
  for (let pair = 0; pair < pairs.count; pair++) {
    const [name, from, to] = [
      pairs.className[pair],
      pairs.units.level(pairs.from[pair]),
      pairs.units.level(pairs.to[pair]),
    ];
    const up = name === "injection" || from < to;
    const title = isOfHost(name)
      ? `${name}: ${up ? "host to router" : "router to host"}`
      : `${name} ${up ? "up" : "down"}: level ${from} to ${to}`;
    if (!bands.has(title)) bands.set(title, { title, up, order: isOfHost(name) ? -1 : Math.max(from, to), pairs: [] });
    bands.get(title).pairs.push(pair);
  }
  return [...bands.values()].sort((a, b) => b.order - a.order || b.up - a.up);
}

/** Bands of a tree from sums: a column is a pod, or a part of the lower level. */
function bands(pairs) {
  const { units } = pairs;
  const frames = directions(pairs).map(({ title, up, pairs: of }) => {
    const lower = (pair) => (up ? pairs.from : pairs.to)[pair];
    const own = [...new Set(of.map(lower))].sort((a, b) => a - b);
    const joined = every(own.length, MOST_UNITS);
    const place = new Map(own.map((unit, i) => [unit, Math.floor(i / joined)]));
    const cells = Array.from({ length: Math.ceil(own.length / joined) }, (_, column) => ({
      row: 0,
      column,
      members: [],
      name: `${title}, ${units.span(own.slice(column * joined, (column + 1) * joined))}`,
    }));
    for (const pair of of) cells[place.get(lower(pair))].members.push(pair);
    const names = cells.map((_cell, column) => units.short(own[column * joined]));
    const columnUnits = cells.map((_cell, column) => own.slice(column * joined, (column + 1) * joined));
    return { title, rows: 1, columns: cells.length, columnNames: names, columnUnits, cells, stretch: true };
  });
  return {
    of: "pairs",
    frames,
    words: "A column is a pod, or a part of the lower level; a cell is all its links of that band.",
  };
}

/** Bands of a tree from single links: a column is a router of the lower level, and its cables are sorted by load. */
function cables(pairs, network, width) {
  const { units } = pairs;
  const { links } = network;
  const of = directions(pairs);
  const band = new Uint32Array(pairs.count);
  of.forEach((each, index) => {
    for (const pair of each.pairs) band[pair] = index;
  });
  const columns = of.map(() => new Map());
  for (let row = 0; row < links.rows; row++) {
    const index = band[pairs.ofLink[row]];
    const fromRouter = of[index].up !== of[index].order < 0;
    const router = fromRouter ? links.from_id[row] : links.to_id[row];
    if (!columns[index].has(router)) columns[index].set(router, []);
    columns[index].get(router).push(row);
  }
  const most = Math.max(...columns.map((each) => each.size));
  if (most * COLUMN > width) return null;
  const frames = of.map(({ title }, index) => {
    const routers = [...columns[index].keys()].sort((a, b) => a - b);
    const sorted = routers.map((router) => columns[index].get(router));
    const height = Math.max(...sorted.map((rows) => rows.length));
    const cells = [];
    sorted.forEach((rows, column) =>
      rows.forEach((link, k) => cells.push({ row: height - rows.length + k, column, name: title, members: [link] })),
    );
    const pod = routers.map((router) => units.ofRouter[router]);
    const breaks = pod.flatMap((unit, i) =>
      i > 0 && unit !== pod[i - 1] && pod.length > 1.5 * new Set(pod).size ? [i] : [],
    );
    const names = pod.map((unit, i) => (i === 0 || breaks.includes(i) || breaks.length === 0 ? units.short(unit) : ""));
    return {
      title,
      rows: height,
      columns: routers.length,
      columnNames: names,
      columnUnits: pod.map((unit) => [unit]),
      breaks,
      cells,
      sorted,
      stretch: true,
    };
  });
  return {
    of: "links",
    frames,
    words: "A column is a router of the lower level; a cell is one direction of one cable, sorted by load.",
  };
}

/** Levels of a tree, the top first: a cell is a router. A row has whole pods, as many as fit. */
function tiers(pairs, network, width) {
  const { units } = pairs;
  const levels = new Map();
  for (let unit = 0; unit < units.count; unit++) {
    const [plane, level] = [units.planeOf[unit], units.level(unit)];
    const title = `${units.planes > 1 ? `plane ${plane}, ` : ""}level ${level}`;
    if (!levels.has(title)) levels.set(title, { title, plane, level, own: [] });
    levels.get(title).own.push(unit);
  }
  const most = Math.max(1, Math.floor(width / ROUTER));
  const frames = [...levels.values()]
    .sort((a, b) => a.plane - b.plane || b.level - a.level)
    .map(({ title, own }) => {
      const routers = own.flatMap((unit) => units.routersOf(unit));
      const size = Math.max(...own.map((unit) => units.sizes[unit]));
      // The top of a tree has no pods, and a pod may be wider than the map.
      const step = / pods? /.test(units.names[own[0]]) && size <= most ? size : 1;
      const pods = Math.ceil(routers.length / step);
      const columns = step * every(pods, Math.ceil(pods / Math.floor(most / step)));
      const breaks = [];
      for (let at = step; step > 1 && at < columns; at += step) breaks.push(at);
      const cells = routers.map((router, i) => ({
        row: Math.floor(i / columns),
        column: i % columns,
        name: `links that leave ${network.routerName(router)}`,
        members: [router],
        router,
      }));
      return { title, rows: Math.ceil(routers.length / columns), columns, breaks, cells, stretch: true };
    });
  return {
    of: "routers",
    frames,
    words: "A cell is a router: the greatest value of the links that leave it.",
  };
}

/** Coordinates of the routers of a grid, from their labels. */
function coordinates(network) {
  return Array.from({ length: network.routers.rows }, (_, router) =>
    /\(([\d, ]+)\)$/.exec(network.label(router))?.[1].split(", ").map(Number),
  );
}

/** Slices of a grid: a cell is a router. */
function slices(pairs, network, byRouter = false) {
  const all = coordinates(network);
  if (all.some((at) => at === undefined)) return null;
  const sizes = all[0].map((_, d) => all.reduce((most, at) => Math.max(most, at[d]), 0) + 1);
  const [columns, rows] = [sizes[0], sizes[1] ?? 1];
  const frames = new Map();
  const { links } = network;
  const members = Array.from({ length: network.routers.rows }, () => []);
  const fromHost = links.texts?.from_kind.indexOf("host");
  for (let row = 0; row < links.rows; row++)
    members[links.from_kind[row] === fromHost ? links.to_id[row] : links.from_id[row]].push(row);
  all.forEach(([x, y = 0, ...rest], router) => {
    const plane = pairs.units.planeOf[pairs.units.ofRouter[router]];
    const title = [
      ...(pairs.units.planes > 1 ? [`plane ${plane}`] : []),
      ...rest.map((value, d) => `${"zwvut"[d] ?? `x${d + 2}`} = ${value}`),
    ].join(", ");
    if (!frames.has(title)) {
      const numbers = (count) => Array.from({ length: count }, (_, i) => String(i));
      frames.set(title, { title, rows, columns, rowNames: numbers(rows), columnNames: numbers(columns), cells: [] });
    }
    const name = `links that leave ${network.routerName(router)}${byRouter ? "" : ", and those from its hosts"}`;
    frames.get(title).cells.push({ row: y, column: x, name, members: byRouter ? [router] : members[router], router });
  });
  if (byRouter)
    return {
      of: "routers",
      frames: [...frames.values()],
      words: "A cell is a router, x to the right and y downwards: the greatest value of the links that leave it.",
    };
  return {
    of: "links",
    frames: [...frames.values()],
    words: "A cell is a router, x to the right and y downwards: all links that leave it, and those from its hosts.",
  };
}

/** Slices of a grid from sums: a row is a class of links. */
function slabs(pairs) {
  const { units } = pairs;
  const names = [...pairs.classes].sort((a, b) => isOfHost(a) - isOfHost(b) || (a < b ? -1 : 1));
  const joined = every(units.count, MOST_UNITS);
  const cells = new Map();
  for (let pair = 0; pair < pairs.count; pair++) {
    const [row, column] = [names.indexOf(pairs.className[pair]), Math.floor(pairs.from[pair] / joined)];
    const key = `${row} ${column}`;
    const own = [...Array(Math.min(joined, units.count - column * joined)).keys()].map((i) => column * joined + i);
    if (!cells.has(key))
      cells.set(key, { row, column, name: `${names[row]} links from ${units.span(own)}`, members: [] });
    cells.get(key).members.push(pair);
  }
  const columns = Math.ceil(units.count / joined);
  const frame = {
    title: "",
    columnUnits: Array.from({ length: columns }, (_, i) => [i * joined]),
    rows: names.length,
    columns,
    rowNames: names,
    columnTitle: "slice",
    cells: [...cells.values()],
    stretch: true,
    columnNames: Array.from({ length: columns }, (_, i) => units.short(i * joined)),
  };
  return {
    of: "pairs",
    frames: [frame],
    words: "A column is a slice along the last dimension; a cell is all its links of a class.",
  };
}
