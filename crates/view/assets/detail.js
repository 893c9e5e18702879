// The side column: numbers and histories of the selection.

import { bandwidth, bytes, number, percent, share, time } from "./format.js";
import { someLinks, text } from "./data.js";
import { button, element, namedValues, numberCell, swatch, table } from "./dom.js";
import { drawing } from "./drawing.js";
import { LINES, plot } from "./plot.js";
import { total } from "./sums.js";

/** A titled chart with its keys. Returns it in a list, which is empty without rows. */
export function history(title, lines, options, events, add) {
  if (lines.every((line) => line.begin.length === 0)) return [];
  add(element("h3", title));
  if (lines.length > 1)
    add(
      element(
        "p",
        lines.flatMap(({ name }, index) => [swatch(name, "", `var(--line${index % LINES})`), " "]),
        { className: "keys" },
      ),
    );
  const made = plot(title, lines, options, events);
  add(made);
  return [made];
}

/** The rows of a table over time as lines, one for each text of a column. */
function linesOf(rows, column, value) {
  return rows.texts[column].map((name, number_) => {
    const of = [...rows[column].keys()].filter((i) => rows[column][i] === number_);
    return {
      name,
      begin: of.map((i) => rows.begin_ps[i]),
      end: of.map((i) => rows.end_ps[i]),
      value: of.map((i) => value(i, rows.end_ps[i] - rows.begin_ps[i])),
    };
  });
}

/** The histories of a result as a whole: [{title, lines, format}]. */
export async function histories(result) {
  const found = [];
  if (result.has("class_series")) {
    const rows = await result.table("class_series", ["begin_ps", "end_ps", "class", "links", "busy_ps"]);
    found.push({
      title: "Mean load by class",
      lines: linesOf(rows, "class", (i, span) => rows.busy_ps[i] / (span * rows.links[i])),
      format: percent,
    });
  }
  if (result.has("job_series")) {
    const rows = await result.table("job_series", ["begin_ps", "end_ps", "job", "bytes_received"]);
    found.push({
      title: "Received by jobs",
      lines: linesOf(rows, "job", (i, span) => (8e12 * rows.bytes_received[i]) / span),
      format: bandwidth,
    });
  }
  return found;
}

/** Number of listed causes, and of routers by which links are requested from the server. */
export const MOST_CAUSES = 8;
const MOST_ROUTERS = 700;

/** The selection in one result. */
export class Detail {
  /** `choose(panel, thing)` selects, `pointed(panel, thing, x, y)` names what is under the pointer, `jump(panel, thing, ps)` shows a thing of the network at a time. */
  constructor(place, choose, pointed, jump) {
    Object.assign(this, { place, choose, pointed, jump, plots: [], live: [] });
    this.wanted = 0;
  }

  mark(ps) {
    this.at = ps;
    for (const made of this.plots) made.mark(ps);
  }

  /** Shows the values of the panel's present time. */
  refresh() {
    for (const fill of this.live) fill();
  }

  /** Content that `make()` renews at every time. */
  renewed(make, add) {
    const box = element("div");
    const fill = () => box.replaceChildren(...[make() ?? []].flat());
    this.nextLive.push(fill);
    fill();
    add(box);
  }

  /** A button that selects something else. */
  go(panel, label, thing) {
    return button(label, () => this.choose(panel, thing), { className: "go" });
  }

  async show(panel, thing) {
    // Only the latest request is shown.
    const wanted = ++this.wanted;
    for (const made of this.plots) made.destroy();
    this.plots = [];
    const live = (this.nextLive = []);
    const parts = [];
    const add = (...more) => parts.push(...more);
    try {
      if (panel?.letter && thing) add(element("p", `${panel.letter}: ${panel.result.name}`));
      if (panel?.view) this.renewed(() => this.causes(panel, thing === null), add);
      if (thing === null || panel === null) await this.overview(panel, add);
      else await this[thing.kind](panel, thing.id, add, thing);
    } catch (error) {
      add(element("p", error.message));
    }
    if (wanted !== this.wanted) return;
    this.live = live;
    this.place.replaceChildren(...parts);
    this.place.dataset.shows = thing
      ? `${thing.kind} ${thing.kind === "link" ? panel.network.links.link[thing.id] : (thing.id ?? thing.name)}`
      : "overview";
    if (this.at !== undefined) this.mark(this.at);
  }

  history(title, lines, options, add) {
    this.plots.push(...history(title, lines, options, { pointed: (...at) => this.pointed(null, ...at) }, add));
  }

  /** The packets of a router or host over time. */
  packets(rows, until, add) {
    this.history(
      "Packets per bin",
      ["sent", "received"].map((name) => ({
        name,
        begin: rows.begin_ps,
        end: rows.end_ps,
        value: rows[`packets_${name}`],
      })),
      { until },
      add,
    );
  }

  async overview(panel, add) {
    if (!panel) return;
    const { result } = panel;
    const { summary } = result;
    add(element("h2", panel.letter ? `${panel.letter}: ${result.name}` : result.name));
    if (summary.network) {
      // Results of older versions have 0 where no packet was measured.
      const latency = (ns) => (ns ? time(ns * 1000) : "-");
      const n = summary.network;
      add(
        namedValues([
          ["network", n.topology],
          ["hosts", number(n.hosts)],
          ["routers", number(n.routers)],
          ["links", number(n.links)],
          ["packets delivered", number(n.packets_delivered)],
          ["latency, mean", latency(n.latency_ns.mean)],
          ["latency, 99th percentile", latency(n.latency_ns.p99)],
          // A run without drain phase has neither.
          ["network latency, mean", n.source_wait_ns ? latency(n.mean_network_latency_ns) : null],
          ["wait at the source, mean", n.source_wait_ns ? latency(n.source_wait_ns.mean) : null],
          ["measured", time(n.measured_ns * 1000)],
        ]),
      );
      for (const note of summary.notes ?? []) {
        add(element("p", `${note.kind}: ${note.job ? `job ${note.job}: ` : ""}${note.found}. ${note.advice}.`));
      }
      add(element("h3", "Jobs"));
      add(
        namedValues(
          summary.jobs.map((job) => [
            job.name,
            `${time(job.time_ns * 1000)}${job.stopped ? ", stopped" : job.finished ? "" : ", not finished"}`,
          ]),
        ),
      );
    }
    const { network } = panel;
    if (panel.view && network.routers.rows > 0) this.draw(panel, [...network.routers.router.keys()], add);
    add(element("p", "Click a cell of the map for its links; a link, router, host or rank has its history."));
  }

  async link(panel, row, add) {
    const { result, network, until } = panel;
    const { links } = network;
    const link = links.link[row];
    add(element("h2", `link ${link}`));
    const end = (side) => {
      const thing = { kind: text(links, `${side}_kind`, row), id: links[`${side}_id`][row] };
      return this.go(panel, network.endName(row, side), thing);
    };
    const measured = result.summary.network ? result.summary.network.measured_ns * 1000 : 0;
    add(
      namedValues([
        ["kind", network.className(row)],
        ["from", end("from")],
        ["to", end("to")],
        ["bandwidth", bandwidth(links.bandwidth_bits_per_s[row])],
        ["load, whole run", links.busy_fraction ? percent(links.busy_fraction[row]) : null],
        ["buffer full", measured > 0 ? percent(links.buffer_full_ps[row] / measured) : null],
        ["carried", links.bytes ? `${bytes(links.bytes[row])} in ${number(links.packets[row])} packets` : null],
      ]),
    );
    if (!result.has("link_series")) {
      add(element("p", "This result has no series of single links (collect.series), so there is no history."));
      return;
    }
    const s = await result.table(
      "link_series",
      ["begin_ps", "end_ps", "busy_ps", "buffer_full_ps", "waiting_packets"],
      { link },
    );
    const line = (name, value) => [{ name, begin: s.begin_ps, end: s.end_ps, value }];
    const span = (i) => s.end_ps[i] - s.begin_ps[i];
    this.history(
      "Load",
      line(
        "load",
        s.busy_ps.map((v, i) => v / span(i)),
      ),
      { until, format: percent, most: 1 },
      add,
    );
    this.history(
      "Downstream buffer full",
      line(
        "full",
        s.buffer_full_ps.map((v, i) => v / span(i)),
      ),
      { until, format: percent },
      add,
    );
    this.history("Packets waiting", line("packets", s.waiting_packets), { until, holds: true }, add);
    if (s.rows === 0) add(element("p", "This link was idle or not sampled."));
    if (!result.has("vc_series")) return;
    const vcs = await result.table(
      "vc_series",
      ["begin_ps", "end_ps", "vc", "used_bytes", "capacity_bytes"],
      { link },
      ["waiting_packets", "waiting_packets_max"],
    );
    // `after` is the value from the end of a row until the next row of the VC.
    const lines = (value, after = value) =>
      [...new Set(vcs.vc)]
        .sort((a, b) => a - b)
        .map((vc) => {
          const of = [...vcs.vc.keys()].filter((i) => vcs.vc[i] === vc);
          const line = { name: `VC ${vc}`, begin: [], end: [], value: [] };
          const add = (begin, end, shown) => [line.begin.push(begin), line.end.push(end), line.value.push(shown)];
          of.forEach((i, n) => {
            add(vcs.begin_ps[i], vcs.end_ps[i], value(i));
            const next = n + 1 < of.length ? vcs.begin_ps[of[n + 1]] : until;
            if (vcs.end_ps[i] < next) add(vcs.end_ps[i], next, after(i));
          });
          return line;
        });
    if (vcs.rows === 0) return;
    const occupancy = lines((i) => vcs.used_bytes[i] / vcs.capacity_bytes[i]);
    this.history("Buffer occupancy by VC", occupancy, { until, format: percent, holds: true, most: 1 }, add);
    if (vcs.waiting_packets === undefined) return;
    this.history(
      "Packets waiting by VC",
      lines((i) => vcs.waiting_packets[i]),
      { until, holds: true },
      add,
    );
    const peaks = lines(
      (i) => vcs.waiting_packets_max[i],
      (i) => vcs.waiting_packets[i],
    );
    this.history("Most packets waiting by VC", peaks, { until, holds: true }, add);
  }

  /** The links of a router or host, the most loaded first. */
  linksAt(panel, kind, id, add) {
    const { network } = panel;
    const out = (row) => network.links.from_id[row] === id && text(network.links, "from_kind", row) === kind;
    const way = (row) => (out(row) ? `to ${network.endName(row, "to")}` : `from ${network.endName(row, "from")}`);
    add(element("h3", `Most loaded links ${panel.whenLinks()}`));
    this.mostLoaded(panel, network.linksAt(kind, id), way, add);
  }

  /** The most loaded links, by the measure of the map. `way(row)` says where a link leads. */
  mostLoaded(panel, rows, way, add, most = 12) {
    this.renewed(() => {
      const { network } = panel;
      const loaded = [...rows].sort((a, b) => panel.loadOf(b) - panel.loadOf(a) || a - b).slice(0, most);
      return table(
        loaded.map((row) => [
          this.go(panel, `link ${network.links.link[row]}`, { kind: "link", id: row }),
          `${network.className(row)} ${way(row)}`,
          numberCell(panel.loadText(row)),
        ]),
      );
    }, add);
    if (rows.length > most) add(element("p", `${number(most)} of ${number(rows.length)} links.`));
  }

  /** The links of a class, or those of a place that a verdict names. */
  async links(panel, name, add, { rows }) {
    const { network } = panel;
    add(element("h2", `${number(rows.length)} ${name} links`));
    add(element("h3", `Most loaded of them ${panel.whenLinks()}`));
    this.mostLoaded(panel, rows, (row) => network.linkName(row), add);
  }

  /** A cell of the map: its sums by class, its links, and a drawing of their routers. */
  async cell(panel, _name, add, { cell }) {
    const { view, network } = panel;
    const { pairs } = view;
    add(element("h2", cell.name));
    const of = view.membersAre(cell);
    const rows = view.linksOf(cell);
    const [from, to] = view.unitsOf(cell);
    if (!cell.units) add(this.unitButtons(panel, [...from, ...to]));
    const className = (member) => pairs.className[of === "links" ? pairs.ofLink[member] : member];
    const classes = [...new Set(cell.members.map(className))].sort();
    this.renewed(() => {
      const now = panel.now?.[of];
      if (!now) return element("p", "Loads are not known at this time.");
      return table(
        classes.map((each) => {
          const sum = total(
            now,
            cell.members.filter((member) => className(member) === each),
          );
          return [
            each,
            ...[number(sum.links), share(sum.mean), share(sum.most), number(sum.full), share(sum.blocked)].map(
              numberCell,
            ),
          ];
        }),
        {
          className: "sums",
          caption: `Links by class, ${panel.when()}`,
          head: ["class", "links", "mean", "busiest", "full", "blocked"].map((title) =>
            element("th", title, { scope: "col" }),
          ),
        },
      );
    }, add);
    const routersOf = (units) => units.flatMap((unit) => pairs.units.routersOf(unit));
    if (rows) {
      if (of === "pairs" && rows.length > 1) this.draw(panel, [...new Set(routersOf([...from, ...to]))], add);
      add(element("h3", `Its links ${panel.whenLinks()}, the most loaded first`));
      this.mostLoaded(panel, rows, (row) => network.linkName(row), add, 50);
    } else if (panel.result.has("links")) await this.fetched(panel, classes, routersOf(from), routersOf(to), add);
    else add(element("p", "Only these sums are there: the result has no table of single links."));
  }

  /** Buttons that open the units of a thing. */
  unitButtons(panel, units) {
    const all = new Map(
      [...new Set(units)]
        .slice(0, 4)
        .map((unit) => panel.view.pairs.units.together(unit))
        .map((of) => [of.join(), of]),
    );
    return element(
      "p",
      [...all.values()].flatMap((of) => {
        const cell = panel.view.pairs.around(of);
        return [this.go(panel, `all links of ${cell.name}`, { kind: "cell", name: cell.name, cell }), " "];
      }),
    );
  }

  /** Links of a network whose links the page does not hold, over the whole run. */
  async fetched(panel, classes, from, to, add) {
    add(element("h3", "Its links over the whole run, the most loaded first"));
    if (from.length + to.length > MOST_ROUTERS) {
      add(
        element(
          "p",
          `Only these sums are shown: the cell has ${number(from.length + to.length)} routers, and links are listed for up to ${number(MOST_ROUTERS)}.`,
        ),
      );
      return;
    }
    const lines = [];
    for (const each of classes) {
      const of = await someLinks(
        panel.result,
        panel.network.routers,
        each,
        each === "injection" ? null : from,
        each === "ejection" ? null : to,
      );
      for (let row = 0; row < of.links.rows; row++)
        lines.push([of.links.busy_fraction[row], of.links.link[row], `${each} ${of.linkName(row)}`]);
    }
    const loaded = lines.sort((a, b) => b[0] - a[0] || a[1] - b[1]).slice(0, 50);
    add(table(loaded.map(([load, link, words]) => [`link ${link}`, words, numberCell(share(load))])));
    if (lines.length > 50) add(element("p", `50 of ${number(lines.length)} links.`));
  }

  /** A drawing of routers, if they are few. */
  draw(panel, routers, add) {
    this.renewed(
      () =>
        drawing(panel, routers, {
          chosen: (thing) => this.choose(panel, thing),
          pointed: (thing, x, y) => this.pointed(panel, thing, x, y),
        }),
      add,
    );
  }

  /** The causes of congestion at the present time, as a numbered list that the map has, too. */
  causes(panel, open) {
    const { full, shown, isPart } = panel.causes;
    if (!panel.now?.pairs) return [];
    const count = full === 0 ? "no link is full" : `${number(full)} full link${full === 1 ? "" : "s"}`;
    const list = shown.map(({ name, of, ends, load, behind, thing }) =>
      element("li", [
        this.go(panel, name, thing()),
        ` ${of}${ends.join(" → ")}: load ${share(load)}, ${number(behind)} blocked link${behind === 1 ? "" : "s"} behind it`,
      ]),
    );
    const box = element(
      "details",
      [
        element("summary", `Causes of congestion, ${panel.when()}: ${count}`),
        ...(list.length > 0 ? [element("ol", list)] : []),
      ],
      { className: "causes", open },
    );
    const more =
      shown.length === MOST_CAUSES
        ? "The others are a pattern: see the map."
        : isPart
          ? "Known by name are the 32 busiest and the 32 most blocked links of this period."
          : `Behind ${shown.length > 0 ? "the others" : "them"} no link is blocked.`;
    if (full > shown.length) box.append(element("p", more));
    return box;
  }

  async router(panel, router, add) {
    const { result, network, until } = panel;
    add(element("h2", network.routerName(router)));
    const group = network.routers.group[router];
    add(
      namedValues([
        ["hosts", number(network.routers.hosts[router])],
        ["group", Number.isNaN(group) ? null : number(group)],
      ]),
    );
    if (panel.view) add(this.unitButtons(panel, [panel.view.pairs.units.ofRouter[router]]));
    if (result.has("router_series")) {
      const s = await result.table("router_series", ["begin_ps", "end_ps", "packets_sent", "packets_received"], {
        router,
      });
      this.packets(s, until, add);
    }
    if (result.has("router_load_series") && !result.has("link_series")) {
      const [{ routers }] = [await result.table("router_load_series", ["routers"], { limit: 1 })];
      const s = await result.table(
        "router_load_series",
        ["begin_ps", "end_ps", "busy_percent_max", "buffer_full_percent_max"],
        { first_router: router - (router % (routers[0] || 1)) },
      );
      const line = (name, column) => ({
        name,
        begin: s.begin_ps,
        end: s.end_ps,
        value: Float64Array.from(s[column], (of) => of / 100),
      });
      const title =
        routers[0] > 1
          ? `Greatest values of the links that leave it and the other routers of ${routers[0]}`
          : "Greatest values of the links that leave it";
      this.history(
        title,
        [line("load", "busy_percent_max"), line("blocked", "buffer_full_percent_max")],
        { until, format: percent, most: 1 },
        add,
      );
    }
    this.linksAt(panel, "router", router, add);
  }

  async host(panel, host, add) {
    const { result, network, until } = panel;
    add(element("h2", `host ${host}`));
    const router = network.hosts.router[host];
    const pairs = [["at", this.go(panel, network.routerName(router), { kind: "router", id: router })]];
    if (result.has("ranks")) {
      const ranks = await result.table("ranks", ["job", "rank"], { host });
      for (let i = 0; i < Math.min(ranks.rows, 16); i++) {
        const job = text(ranks, "job", i);
        pairs.push(["rank", this.go(panel, `${ranks.rank[i]} of ${job}`, { kind: "rank", id: ranks.rank[i], job })]);
      }
    }
    const counted = ["packets_received", "latency_sum_ps", "latency_max_ps", "hops_sum"];
    const of = await result.table("hosts", ["host"], { host }, counted);
    // Null without collect.host_latency.
    const packets = of.packets_received?.[0];
    if (Number.isFinite(packets)) {
      pairs.push(["packets received", number(packets)]);
      if (packets > 0) {
        pairs.push(
          ["their latency, mean", time(of.latency_sum_ps[0] / packets)],
          ["their latency, largest", time(of.latency_max_ps[0])],
        );
        pairs.push(["their hops, mean", (of.hops_sum[0] / packets).toFixed(2)]);
      }
    }
    add(namedValues(pairs));
    if (result.has("host_series")) {
      const s = await result.table(
        "host_series",
        ["begin_ps", "end_ps", "packets_sent", "packets_received", "nic_queue_bytes"],
        { host },
      );
      this.packets(s, until, add);
      this.history(
        "Queue of the NIC",
        [{ name: "queue", begin: s.begin_ps, end: s.end_ps, value: s.nic_queue_bytes }],
        { until, format: bytes, holds: true },
        add,
      );
    }
    this.linksAt(panel, "host", host, add);
  }

  /** What a rank did at a time; of a wait, the message that ended it and the links that this message waited for. */
  async activity(panel, job, rank, at, add) {
    const { result, network, until } = panel;
    const near = (ps) => ({ job, from_ps: Math.max(0, Math.floor(ps)), to_ps: Math.floor(ps) + 1 });
    const now = await result.table("timeline", ["begin_ps", "end_ps", "state"], { ...near(at), rank }, ["blocked"]);
    if (now.rows === 0) return;
    const [begin, end] = [now.begin_ps[0], now.end_ps[0]];
    add(
      element(
        "h3",
        `${now.blocked?.[0] ? "Waits in " : ""}${text(now, "state", 0)}, ${time(begin, until, 1000)} to ${time(end, until, 1000)}`,
      ),
    );
    if (!now.blocked?.[0]) return;
    if (!result.has("messages"))
      return add(element("p", "The message that ended the wait is not known: the result has no table of messages."));
    const columns = [
      "from_rank",
      "to_rank",
      "from_host",
      "number",
      "bytes",
      "sent_ps",
      "injected_ps",
      "arrived_ps",
      "matched_ps",
    ];
    const ended = async (side, column) => {
      const rows = await result.table("messages", columns, { job, [side]: rank, from_ps: begin, to_ps: end + 1 });
      const row = rows[column].indexOf(end);
      return row < 0 ? null : Object.fromEntries(columns.map((name) => [name, rows[name][row]]));
    };
    const message =
      (await ended("to_rank", "matched_ps")) ??
      (await ended("to_rank", "arrived_ps")) ??
      (await ended("from_rank", "injected_ps"));
    if (!message) return add(element("p", "No message is known that ended this wait."));
    const { from_rank, to_rank, from_host, number: sequence, sent_ps: sent } = message;
    add(
      element(
        "p",
        `It ended with ${from_rank === rank ? `its own message to rank ${to_rank}` : `the message of rank ${from_rank}`} of ${bytes(message.bytes)}, handed over ${sent > begin ? `${time(sent - begin)} after the wait began` : "before the wait began"}.`,
      ),
    );
    if (Number.isNaN(sequence)) return add(element("p", "It went through memory, over no link."));
    if (!result.has("waits"))
      return add(
        element(
          "p",
          "For which links it waited is not known: this was not collected (collect.waits = true in the experiment), or no packet waited.",
        ),
      );
    const rows = await result.table("waits", ["link", "reason", "begin_ps", "end_ps"], {
      job,
      from_host,
      number: sequence,
    });
    const links = new Map();
    for (let i = 0; i < rows.rows; i++) {
      const of = links.get(rows.link[i]) ?? { sum: 0, begin: rows.begin_ps[i], reasons: new Set() };
      links.set(rows.link[i], of);
      of.sum += rows.end_ps[i] - rows.begin_ps[i];
      of.reasons.add(text(rows, "reason", i));
    }
    if (links.size === 0) return add(element("p", "Its packets waited for no link."));
    add(element("p", "Waits of its packets, added up by link:"));
    const longest = [...links].sort((a, b) => b[1].sum - a[1].sum).slice(0, MOST_CAUSES);
    add(
      table(
        longest.map(([link, { sum, begin: from, reasons }]) => {
          const row = network?.row(link) ?? -1;
          const go =
            row >= 0
              ? button(`link ${link}`, () => this.jump(panel, { kind: "link", id: row }, from), { className: "go" })
              : element("span", `link ${link}`, { className: "go" });
          return [
            go,
            `${row >= 0 ? `${network.className(row)} ${network.linkName(row)}, ` : ""}${[...reasons].join(", ")}`,
            numberCell(time(sum)),
          ];
        }),
      ),
    );
  }

  async rank(panel, rank, add, { job, at }) {
    const { result } = panel;
    add(element("h2", `rank ${rank} of ${job}`));
    if (at !== undefined)
      await this.activity(panel, job, rank, at, add).catch((error) => add(element("p", error.message)));
    const r = await result.table(
      "ranks",
      [
        "host",
        "time_ps",
        "compute_ps",
        "mpi_ps",
        "messages_sent",
        "bytes_sent",
        "messages_received",
        "bytes_received",
        "finished",
      ],
      { job, rank },
    );
    if (r.rows === 1) {
      add(
        namedValues([
          [
            "host",
            panel.network ? this.go(panel, `host ${r.host[0]}`, { kind: "host", id: r.host[0] }) : number(r.host[0]),
          ],
          ["time", time(r.time_ps[0])],
          ["computing", time(r.compute_ps[0])],
          ["in MPI", time(r.mpi_ps[0])],
          ["sent", `${number(r.messages_sent[0])} messages, ${bytes(r.bytes_sent[0])}`],
          ["received", `${number(r.messages_received[0])} messages, ${bytes(r.bytes_received[0])}`],
          ["finished", r.finished[0] ? "yes" : "no"],
        ]),
      );
    }
    if (result.has("calls")) {
      const c = await result.table("calls", ["call", "count", "time_ps"], { job, rank });
      add(element("h3", "MPI calls"));
      const longest = [...c.call.keys()].sort((a, b) => c.time_ps[b] - c.time_ps[a]);
      add(
        table(longest.map((i) => [text(c, "call", i), numberCell(number(c.count[i])), numberCell(time(c.time_ps[i]))])),
      );
    }
  }
}
