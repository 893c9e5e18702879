// The page: results side by side, with one time and one selection for all.

import { readAddress, writeAddress } from "./address.js";
import { MOST_BARS, bars } from "./bars.js";
import { catalogueBox } from "./catalogue.js";
import { CRITICAL, css, loadColour, onGround, stateColour } from "./colours.js";
import { badge, comparisonBox } from "./compare.js";
import { binAt, comparison, linksNamed, loads, network, results, text } from "./data.js";
import { Detail, MOST_CAUSES } from "./detail.js";
import { button, element, scale, swatch } from "./dom.js";
import { number, percent, share, time } from "./format.js";
import { Loads, TimeView, ground } from "./time.js";
import { HALF, MEASURES, MapView } from "./map.js";
import { LanesView } from "./lanes.js";
import { hasRouters } from "./layouts.js";
import { communication } from "./matrix.js";
import { RanksView } from "./ranks.js";
import { PAIR_COLUMNS, Pairs, Units, causes, ofLinks } from "./sums.js";
import { verdictBox } from "./verdict.js";

const at = (id) => document.getElementById(id);

const state = {
  tab: "network",
  panels: [],
  times: [],
  index: 0,
  measure: "mean",
  only: "",
  limits: {},
  whole: true,
  playing: false,
  chosen: null,
  span: null,
  names: [],
};
const detail = new Detail(
  at("detail"),
  choose,
  (panel, thing, x, y) => tip(thing && thingText(panel, thing), x, y),
  jump,
);

/** Maximum number of single links that the page holds. Of more it has their sums, and requests those of a cell. */
const MOST_LINKS = 1_000_000;
/** Maximum number of links whose loads the page requests for each bin. Of more it has the sums of a period. */
const MOST_LINKS_OF_BIN = 250_000;
/** The same as MOST_LINKS for a result without sums. The tables of larger networks are not written before the end of a run. */
const MOST_WITHOUT_SUMS = 1_500_000;

/** Columns of the greatest loads of routers, in percent, rounded up. */
const ROUTER_LOADS = ["busy_percent_max", "buffer_full_percent_max"];

/** Least share of full or blocked links of a class with which the page opens at the worst period. */
const CONGESTED = 0.01;
/** Least ratio of this share to its mean over time from which the worst period differs from the whole run. */
const DIFFERS = 2;
/** The measure of the map with which the page opens, by the rule of the verdict. Other rules have the mean load. */
const MEASURE_OF = {
  "few-full-links": "busiest",
  "uneven-load": "busiest",
  "uneven-cabling": "busiest",
  "full-hosts": "busiest",
  queues: "busiest",
  "hot-hosts": "blocked",
};

/** The view of one result. */
class Panel {
  /** `letter` names the result among several. */
  constructor(result, letter) {
    Object.assign(this, { result, letter });
    this.box = element("section", "", { className: "panel" });
    const { summary } = result;
    this.box.append(
      element(
        "h2",
        [letter ? badge(letter, result.name) : "", result.name, element("span", summary.network?.topology ?? "")],
        { title: result.folder },
      ),
    );
    const add = (className, hidden = true) => this.box.appendChild(element("div", "", { className, hidden }));
    this.verdictPlace = add("", false);
    this.banners();
    this.tools = add("tools");
    this.networkStage = add("stage", false);
    [this.timeStage, this.barsStage, this.ranksStage] = ["stage charts", "stage charts", "stage light"].map((name) =>
      add(name),
    );
    at("panels").append(this.box);
    Object.assign(this, { now: null, causes: { full: 0, shown: [] }, critical: [], bins: null, measure: "mean" });
  }

  banner(words) {
    this.box.insertBefore(element("div", words, { className: "banner" }), this.tools ?? null);
  }

  banners() {
    const { result } = this;
    if (result.unfinished)
      this.banner(
        "This run has not ended: it is still running or was killed. The page shows what it has written so far.",
      );
    if (result.being_replaced)
      this.banner("Another run in this folder is still running or was killed. The page shows the earlier result.");
    const damaged = Object.entries(result.damaged).map(([name, why]) => `${name} (${why})`);
    if (damaged.length > 0) this.banner(`Damaged and omitted: ${damaged.join("; ")}`);
  }

  missing(stage, words) {
    stage.replaceChildren(element("div", words, { className: "missing" }));
  }

  async open() {
    const { result } = this;
    this.network = await network(result, result.has("pairs") ? MOST_LINKS : MOST_WITHOUT_SUMS);
    if (result.has("class_series") || result.has("link_series")) this.bins = await result.bins();
    this.spread = await Loads.of(result, state.limits);
    this.charts = new TimeView(this, this.timeStage, {
      pointed: tip,
      moved: (ps) => state.times.length > 0 && goTo(ps),
      all: () => state.panels.map((panel) => panel.charts),
    });
    const { summary } = result;
    const lasts = [
      this.bins?.end.at(-1) ?? 0,
      ...(summary.jobs ?? []).map((job) => job.time_ns * 1000),
      (summary.run?.simulated_ns ?? 0) * 1000,
    ];
    this.until = lasts.reduce((a, b) => Math.max(a, b), 0);
    this.jobs = (summary.jobs ?? []).filter((job) => job.ranks > 0);
    if (this.jobs.length === 0 && result.has("timeline")) this.jobs = await jobsOf(result);
    if (this.network) await this.openMap();
    if (this.network && !this.timed)
      this.banner(
        result.unfinished
          ? "No link loads: the run has not written series of single links yet, or does not collect them (collect.series)."
          : `The map shows the whole run only: this result has no sums over time (${result.has("class_series") ? "it is of an older version" : "collect.series"}).`,
      );
    if (!this.network)
      this.missing(
        this.networkStage,
        result.unfinished
          ? `There is no map: the tables of the network are not there yet. Of more than ${number(MOST_WITHOUT_SUMS)} links they are written at the end.`
          : "There is no map: this folder has no table of routers. Results of older versions lack it.",
      );
  }

  async openMap() {
    const { result } = this;
    const units = await Units.of(result, this.network.routers);
    if (!units) return this.missing(this.networkStage, "There is no map: the table of routers is empty.");
    this.pairs = new Pairs(units, this.network);
    const rows = result.has("pairs") && (await result.table("pairs", ["from_unit", "to_unit", ...PAIR_COLUMNS]));
    const total = rows && this.pairs.read(rows, rows.from_unit, rows.to_unit, result.measured());
    if (total) this.pairs.links = total.links;
    if (this.pairs.count === 0)
      return this.missing(this.networkStage, "There is no map: this folder has no links and no sums of them.");
    const single = this.network.links.rows > 0;
    const links = single ? await loads(result, this.network, null, null, state.limits) : null;
    this.whole = { of: this.pairs, links, pairs: total || (links && this.pairs.add(links)) };
    this.loads = links;
    this.perLink =
      single &&
      result.has("link_series") &&
      (this.network.links.rows <= MOST_LINKS_OF_BIN || !result.has("pair_series"));
    const blocks = result.has("pair_series") ? units.blocks() : null;
    if (blocks && blocks !== units) {
      this.blocks = new Pairs(blocks, this.network);
      const of = (ends) => ends.map((unit) => units.block[unit]);
      if (rows) this.blocks.links = this.blocks.read(rows, of(rows.from_unit), of(rows.to_unit), 0).links;
    } else if (blocks) this.blocks = this.pairs;
    this.timed = this.bins !== null && (this.perLink || Boolean(this.blocks));
    this.view = new MapView(this.networkStage, this.pairs, this.network, state.limits, {
      opened: (cell) =>
        choose(
          this,
          cell &&
            (this.view.layout.of === "routers"
              ? { kind: "router", id: cell.router }
              : this.view.layout.of === "links" && cell.members.length === 1
                ? { kind: "link", id: cell.members[0] }
                : { kind: "cell", name: cell.name, cell }),
        ),
      openedUnits: (units) => {
        const { pairs } = this.view;
        const cell = pairs.around(units.length === 1 ? pairs.units.together(units[0]) : units);
        choose(this, { kind: "cell", name: cell.name, cell });
      },
      pointed: tip,
    });
  }

  /** Shows the verdict, with the links and times that it names as far as the page has them. */
  async openVerdict() {
    const links = (place) => {
      const thing = thingOf(this.network, place);
      return thing && (() => jump(this, thing));
    };
    const moment = (ps) => state.times.length > 0 && (() => goTo(ps));
    const found = await this.result.verdict();
    this.verdictPlace.replaceChildren(verdictBox(found, { links, moment }));
    this.rule = found.verdict?.rule;
  }

  /** Ranks, created on first use: lines over time, or else bars of causes. */
  openRanks() {
    if (this.openedRanks) return;
    this.openedRanks = true;
    this.kind = "timeline";
    if (this.jobs.length === 0) return this.missing(this.ranksStage, "This result has no job of ranks.");
    this.kinds = [
      ["timeline", "over time"],
      ["ranks", "by cause"],
      ["messages", "by partner"],
    ].filter(([table]) => this.result.has(table));
    this.kind = this.kinds[0]?.[0] ?? "ranks";
    return this.showJob(this.jobs[0]);
  }

  /** Shows a job: lanes of more than MOST_BARS ranks, of which `only` some are open. */
  async showJob(job, only = null) {
    this.ranksStage.replaceChildren();
    this.ranks = null;
    this.drawTools(job);
    if (this.kind === "messages") return communication(this.result, job, this.barsStage, { pointed: tip });
    if (this.kind === "ranks") {
      const events = { pointed: tip, chosen: (id) => choose(this, { kind: "rank", id, job: job.name }) };
      const has = await bars(
        this.result,
        job.name,
        this.barsStage,
        events,
        state.panels.map((panel) => panel.result),
      );
      if (!has)
        this.barsStage.replaceChildren(
          element("p", "Causes of waiting are not shown: the table of ranks is missing or of an older version."),
        );
      if (!this.result.has("timeline"))
        this.barsStage.append(
          element("p", "States of ranks over time were not collected (collect.timeline = true in the experiment)."),
        );
      return;
    }
    const events = {
      chosen: (thing) => choose(this, thing),
      pointed: (thing, x, y) => tip(thing?.label, x, y),
      names: knowNames,
      span: setSpan,
    };
    // Results of older versions do not say when a rank waits.
    if (job.ranks > MOST_BARS && !only && this.result.has("timeline", ["blocked"]))
      this.ranks = new LanesView(this, this.ranksStage, job, state.span, {
        ...events,
        opened: (ranks) => this.showJob(job, ranks),
      });
    else this.ranks = new RanksView(this, this.ranksStage, job, state.span, events, only?.slice(0, MOST_BARS));
    this.opened = only;
    Object.assign(this.ranks, { names: state.names, at: now() });
    this.drawTools(job);
  }

  drawTools(job) {
    const parts = [];
    const select = (label, names, chosen, changed) => {
      const made = element(
        "select",
        names.map((name, i) => element("option", name, { selected: i === chosen })),
      );
      made.setAttribute("aria-label", label);
      made.addEventListener("change", () => changed(made.selectedIndex));
      parts.push(made);
    };
    if (this.kinds.length > 1) {
      const at = this.kinds.findIndex(([table]) => table === this.kind);
      select(
        "What is shown of ranks",
        this.kinds.map(([, words]) => words),
        at,
        (i) => {
          [this.kind] = this.kinds[i];
          this.showJob(job);
          showTab("ranks");
        },
      );
    }
    if (this.jobs.length > 1)
      select(
        "Job",
        this.jobs.map(({ name }) => name),
        this.jobs.indexOf(job),
        (i) => this.showJob(this.jobs[i]),
      );
    if (this.ranks && this.opened) {
      const more =
        this.opened.length > MOST_BARS ? ` (these are ${MOST_BARS} of ${number(this.opened.length)} ranks)` : "";
      parts.push(button(`All lanes${more}`, () => this.showJob(job)));
    }
    for (const [table, key, label] of [
      ["messages", "withMessages", "messages"],
      ["critical_path", "withPath", "critical path"],
    ]) {
      if (!this.result.has(table) || this.ranks?.[key] === undefined) continue;
      const box = element("input", "", { type: "checkbox", checked: this.ranks[key] });
      box.addEventListener("change", () => this.ranks.show({ [key]: box.checked }));
      parts.push(element("label", [box, ` ${label}`]));
    }
    const keys =
      this.ranks?.keys ??
      (this.ranks ? ["compute", ...state.names] : []).map((name) => [name, stateColour(name, state.names)]);
    for (const [name, colour] of keys) parts.push(swatch(name, "", colour));
    this.tools.replaceChildren(...parts);
  }

  /** Shows the time of the slider. */
  async update() {
    if (!this.view) return;
    const bin = this.timed && !state.whole ? binAt(this.bins, state.times[state.index]) : null;
    const wanted = (this.wanted = `${bin} ${state.measure}`);
    const now = bin === null ? this.whole : await this.at(bin);
    now.causes ??= await this.causesOf(now);
    if (this.wanted !== wanted) return;
    Object.assign(this, { bin, now, measure: state.measure, causes: now.causes, loads: now.links ?? this.whole.links });
    const [{ chosen }, before] = [state, this.view.pairs];
    if (
      this.view.setNow(now, this.measure, this.causes.shown, state.only) &&
      chosen?.panel === this &&
      chosen.thing.kind === "cell"
    ) {
      const { cell: old, name } = chosen.thing;
      const cell = old.units && this.view.pairs === before ? old : this.view.cells.find((each) => each.name === name);
      await choose(this, cell ? { ...chosen.thing, cell } : null);
    }
  }

  /** Loads in a bin, or in the period that contains it. */
  async at(bin) {
    const { result } = this;
    if (this.perLink) {
      const links = await loads(result, this.network, this.bins, bin, state.limits);
      return {
        of: this.pairs,
        links,
        pairs: this.pairs.add(links),
        begin: this.bins.begin[bin],
        end: this.bins.end[bin],
      };
    }
    if (bin < 0) return { of: this.blocks, links: null, pairs: this.blocks.idle() };
    const from = this.bins.begin[bin];
    return result.remembered("period", from, async () => {
      const where = { from_ps: from, to_ps: from + 1 };
      const [rows, top, routers] = await Promise.all([
        result.table("pair_series", ["begin_ps", "end_ps", "from_block", "to_block", ...PAIR_COLUMNS], where),
        result.has("top_links") ? result.table("top_links", ["link", "busy_ps", "buffer_full_ps"], where) : { rows: 0 },
        hasRouters(this.blocks.units) && result.has("router_load_series")
          ? result.table("router_load_series", ["first_router", "routers", ...ROUTER_LOADS], where)
          : null,
      ]);
      const [begin, end] = rows.rows > 0 ? [rows.begin_ps[0], rows.end_ps[0]] : [from, this.bins.end[bin]];
      const now = { of: this.blocks, links: null, pairs: this.blocks.readPeriod(rows, end - begin), begin, end };
      now.words = `Sums of ${time(begin, this.until)} to ${time(end, this.until)}. `;
      if (routers?.rows > 0) now.routers = this.routerLoads(routers);
      if (top.rows > 0) now.top = await this.topLinks(top, end - begin);
      return now;
    });
  }

  /** The greatest loads of routers as columns of sums. */
  routerLoads(rows) {
    const [busy, blocked] = ROUTER_LOADS.map((column) => {
      const of = new Float64Array(this.network.routers.rows);
      for (let i = 0; i < rows.rows; i++)
        of.fill(
          Math.max(0, rows[column][i] / 100 - HALF),
          rows.first_router[i],
          rows.first_router[i] + rows.routers[i],
        );
      return of;
    });
    return ofLinks(busy, blocked, state.limits);
  }

  /** The links of `top_links`, with their loads and pairs. */
  async topLinks(top, span) {
    const network = await linksNamed(this.result, this.network.routers, top.link);
    const row = new Map(Array.from(top.link, (link, i) => [link, i]));
    const share = (ps) => Float64Array.from(network.links.link, (link) => ps[row.get(link)] / span);
    return {
      network,
      loads: ofLinks(share(top.busy_ps), share(top.buffer_full_ps), state.limits),
      pairs: this.blocks.ofLinks(network),
    };
  }

  /** The full links with the most blocked ones behind them, or the pairs that contain them, and the number of full links. */
  async causesOf({ links, pairs, of, top }) {
    const full = (sums) => sums?.full.reduce((sum, count) => sum + count, 0) ?? 0;
    const shown = (found, told) =>
      found
        .filter(({ behind }) => behind > 0)
        .slice(0, MOST_CAUSES)
        .map(({ row, behind }) => ({ behind, ...told(row) }));
    const ofCell = (cell) => ({ kind: "cell", name: cell?.name, cell });
    const known = links ? { network: this.network, loads: links, pairs: this.pairs.ofLink } : top;
    if (known) {
      const { network } = known;
      const found = shown(causes(known.loads, ...network.ends()), (row) => {
        const id = this.network.row(network.links.link[row]);
        const cell = () => (id >= 0 ? this.view.cellOfLink(id) : this.view.cellOfPair(known.pairs[row]));
        return {
          name: `link ${network.links.link[row]}`,
          of: `${network.className(row)}, `,
          ends: ["from", "to"].map((end) => network.endLabel(row, end)),
          load: known.loads.most[row],
          cell,
          thing: () => (id >= 0 ? { kind: "link", id } : ofCell(cell())),
        };
      });
      if (links || found.length > 0) return { full: full(links ?? pairs), shown: found, isPart: !links };
    }
    if (!pairs) return { full: 0, shown: [] };
    // Too many full links for the few of which the page knows the names, or none of these.
    const unit = (end, host) => of[end].map((number_, pair) => (of.className[pair] === host ? -1 : number_));
    const found = causes(pairs, unit("from", "injection"), unit("to", "ejection"));
    return {
      full: full(pairs),
      shown: shown(found, (row) => {
        const cell = () => this.view.cellOfPair(row);
        return {
          name: of.className[row],
          of: "",
          ends: [of.from, of.to].map((units) => of.units.names[units[row]]),
          load: pairs.most[row],
          cell,
          thing: () => ofCell(cell()),
        };
      }),
    };
  }

  /** The measure of the map of a link: its load, or the share of time blocked; of the whole run if it is not known at this time. */
  loadOf(row) {
    return this.loads ? (this.measure === "blocked" ? this.loads.blocked : this.loads.busy)[row] : NaN;
  }

  loadText(row) {
    return share(this.loadOf(row));
  }

  isFull(row) {
    return this.measure !== "blocked" && this.loadOf(row) >= state.limits.FULL;
  }

  /** The present time in words. */
  when() {
    if (this.bin === null) return "whole run";
    if (this.bin < 0) return "nothing sent at this time";
    return `${time(this.now.begin, this.until)} to ${time(this.now.end, this.until)}`;
  }

  /** The time of the loads of single links in words. */
  whenLinks() {
    return this.now?.links || !this.loads ? "now" : "over the whole run";
  }

  /** The link with the greatest measure at this time, as far as the page knows, or null. */
  hottest() {
    const { network, loads } = this.now?.top ?? { network: this.network, loads: this.now?.links };
    if (!loads) return null;
    const of = this.measure === "blocked" ? loads.blocked : loads.busy;
    const best = of.reduce((best, load, row) => (load > of[best] ? row : best), 0);
    const id = this.network.row(network.links.link[best]);
    return id >= 0 ? { panel: this, id, load: of[best] } : null;
  }
}

/** What a place of a verdict names: a link, several, or of a class those that were full, or else all. null if not known. */
function thingOf(network, place) {
  if (!network?.links.rows) return null;
  const { links } = network;
  let [name, rows] = [place.class ?? "named", place.links.map((link) => network.row(link)).filter((row) => row >= 0)];
  if (place.links.length === 0) {
    rows = [...links.class.keys()].filter((row) => network.className(row) === place.class);
    const full = rows.filter((row) => links.busy_fraction?.[row] >= state.limits.FULL);
    if (full.length > 0) [name, rows] = [`full ${name}`, full];
  }
  if (rows.length === 0) return null;
  return rows.length === 1 ? { kind: "link", id: rows[0] } : { kind: "links", id: name, rows };
}

async function jobsOf(result) {
  const rows = await result.table("timeline", ["job", "rank"]);
  return rows.texts.job.map((name, n) => {
    let most = -1;
    for (let i = 0; i < rows.rows; i++) if (rows.job[i] === n) most = Math.max(most, rows.rank[i]);
    return { name, ranks: most + 1 };
  });
}

/** MPI calls by name, for equal colours in all results. */
function knowNames(names) {
  const all = [...new Set([...state.names, ...names])]
    .filter((name) => name !== "compute" && name !== "overhead")
    .sort();
  if (all.length === state.names.length) return;
  state.names = all;
  for (const panel of state.panels.filter((p) => p.ranks)) {
    panel.ranks.show({ names: all });
    panel.drawTools(panel.ranks.job);
  }
}

function thingText(panel, thing) {
  const net = panel.network;
  if (thing.kind === "router") return net.routerName(thing.id);
  if (thing.kind === "host") return `host ${thing.id}`;
  return `link ${net.links.link[thing.id]} (${net.className(thing.id)}): ${panel.loadText(thing.id)}\n${net.linkName(thing.id)}`;
}

function tip(words, x, y) {
  const box = at("tip");
  box.hidden = !words;
  if (!words) return;
  box.textContent = words;
  box.style.left = `${Math.min(x + 14, window.innerWidth - box.offsetWidth - 8)}px`;
  box.style.top = `${Math.min(y + 14, window.innerHeight - box.offsetHeight - 8)}px`;
}

/** Shows a thing in the network, at a time if one is given. */
function jump(panel, thing, ps) {
  showTab("network");
  if (ps !== undefined && state.times.length > 0) goTo(ps);
  choose(panel, thing);
  panel.networkStage.scrollIntoView({ block: "nearest" });
}

/** Links of a thing, which the map marks. */
function rowsOf(panel, thing) {
  if (thing.kind === "link") return [thing.id];
  if (thing.kind === "links") return thing.rows;
  return thing.kind === "router" || thing.kind === "host" ? panel.network.linksAt(thing.kind, thing.id) : [];
}

/** Selects a cell, link, router, host or rank of a result, or nothing. */
async function choose(panel, thing) {
  state.chosen = thing && { panel, thing };
  for (const each of state.panels) {
    const own = each === panel ? thing : null;
    each.view?.mark(own ? rowsOf(each, own) : [], own?.cell);
    each.ranks?.show({ chosen: own?.kind === "rank" ? own : null }, true);
  }
  remember();
  await detail.show(panel ?? state.panels[0], thing);
}

function setSpan(from, to) {
  Object.assign(state.span, { from, to });
  for (const panel of state.panels) panel.ranks?.show({}, true);
}

/** Moves the slider to a time. */
async function update() {
  const slider = at("slider");
  slider.disabled = at("play").disabled = state.times.length === 0;
  slider.max = state.span.until;
  slider.value = state.times[state.index] ?? 0;
  slider.classList.toggle("off", state.whole);
  at("whole").checked = state.whole;
  at("whole").disabled = state.times.length === 0;
  const ps = now();
  const last = state.span.until;
  const next = state.times[state.index + 1] ?? last;
  at("time").textContent =
    ps === null
      ? state.times.length === 0
        ? "whole run: no series"
        : `whole run: ${time(last)}`
      : `${time(ps, last)} to ${time(next, last)}`;
  slider.setAttribute("aria-valuetext", at("time").textContent);
  detail.mark(ps);
  drawGround();
  for (const panel of state.panels) {
    panel.charts.mark(ps);
    panel.ranks?.show({ at: ps });
  }
  await Promise.all(state.panels.map((panel) => panel.update()));
  detail.refresh();
  legend();
  document.body.dataset.shown = ps === null ? "whole" : String(state.index);
  remember();
}

const now = () => (state.whole || state.times.length === 0 ? null : state.times[state.index]);

/** The slider's ground, which shows when links of the chosen classes were full or blocked. */
function drawGround() {
  ground(at("ground"), state.panels, state.span.until, state.only);
}

function drawCharts() {
  for (const panel of state.panels) panel.charts.draw(state.measure === "blocked" ? "blocked" : "busy", state.only);
}

/** The position of the slider whose interval contains a time. */
const indexAt = (ps) =>
  Math.max(
    0,
    state.times.findLastIndex((begin) => begin <= ps),
  );

/** Moves the slider to the bin that contains a time. */
function goTo(ps) {
  Object.assign(state, { index: indexAt(ps), whole: false });
  return update();
}

/** Moves the slider by its keys, from bin to bin: bins have many lengths. */
function moveByKey(event) {
  const last = state.times.length - 1;
  const to = {
    ArrowLeft: state.index - 1,
    ArrowDown: state.index - 1,
    ArrowRight: state.index + 1,
    ArrowUp: state.index + 1,
    PageDown: state.index - 10,
    PageUp: state.index + 10,
    Home: 0,
    End: last,
  }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  Object.assign(state, { index: Math.max(0, Math.min(to, last)), whole: false });
  update();
}

/**
 * Begins of the intervals of the slider: those of all bins of the results, and of the times between bins in which none of
 * them sent anything.
 */
function intervals(panels, until) {
  const begins = new Set();
  const timed = panels.filter((panel) => panel.timed);
  for (const { bins } of timed) for (const begin of bins.begin) begins.add(begin);
  for (const { bins } of timed)
    for (const end of bins.end) if (end < until && timed.every((panel) => binAt(panel.bins, end) < 0)) begins.add(end);
  return [...begins].sort((a, b) => a - b);
}

async function play() {
  state.playing = !state.playing;
  at("play").textContent = state.playing ? "❚❚" : "▶";
  at("play").setAttribute("aria-label", state.playing ? "Pause" : "Play");
  if (state.playing && (state.whole || state.index + 1 >= state.times.length)) state.index = 0;
  while (state.playing) {
    state.whole = false;
    const begin = performance.now();
    await update();
    await new Promise((done) => setTimeout(done, Math.max(0, 100 - (performance.now() - begin))));
    if (!state.playing) return;
    if (state.index + 1 >= state.times.length) return play();
    state.index++;
  }
}

function showTab(tab) {
  state.tab = tab;
  for (const each of ["network", "time", "ranks"]) at(`tab-${each}`).setAttribute("aria-selected", each === tab);
  for (const panel of state.panels) {
    panel.networkStage.hidden = tab !== "network";
    panel.timeStage.hidden = tab !== "time";
    if (tab === "ranks") panel.openRanks();
    panel.tools.hidden = tab !== "ranks";
    panel.ranksStage.hidden = tab !== "ranks" || panel.kind !== "timeline";
    panel.barsStage.hidden = tab !== "ranks" || panel.kind === "timeline";
  }
  drawCharts();
  for (const id of ["hottest", "whole-map", "legend"]) at(id).hidden = tab !== "network";
  remember();
}

/** Shows what a print has beside the view: the map, the charts and the scale. */
function beforePrint() {
  for (const panel of state.panels) {
    panel.networkStage.hidden = panel.timeStage.hidden = false;
    panel.charts.redraw();
  }
  at("legend").hidden = false;
  for (const box of document.querySelectorAll("details.verdict"))
    Object.assign(box.dataset, { before: box.open }) && (box.open = true);
}

function afterPrint() {
  for (const box of document.querySelectorAll("details.verdict")) box.open = box.dataset.before === "true";
  showTab(state.tab);
}

function legend() {
  const ends = state.measure === "blocked" ? 1 : state.limits.FULL;
  const bar = scale(110, (share_) => css(loadColour(share_ * ends)));
  const parts = ["0", bar, state.measure === "blocked" ? "100 % of the time" : `${percent(ends)} of the time`];
  if (state.measure !== "blocked") {
    parts.push(swatch("full (corner: some links)", "", css(loadColour(1, true))));
  } else parts.push(`(corner: some links at ${percent(state.limits.BLOCKED)} or more)`);
  if (state.panels.some((panel) => panel.causes.shown.length > 0))
    parts.push(element("span", [element("b", "1", { className: "cause" }), " cause of congestion, as listed"]));
  if (state.panels.some((panel) => panel.critical.length > 0)) parts.push(swatch("critical path", "framed", CRITICAL));
  at("legend").replaceChildren(...parts.map((part) => (typeof part === "string" ? element("span", part) : part)));
  at("legend").title = MEASURES[state.measure].words;
}

/** The thing of a result with a name: "link 12", "router 5", "host 7", "rank 0", a unit like "group 27" or "pod 3", or a cell of the map. null without one. */
function thingNamed(panel, words) {
  const name = words.trim().toLowerCase();
  const { network: net, jobs, ranks, view, pairs } = panel;
  const cell = view?.cells.find((each) => each.name.toLowerCase() === name);
  if (cell) return { kind: "cell", name: cell.name, cell };
  const found = /^(link|router|host|rank)\s+(\d+)$/.exec(name);
  const [kind, number_] = found ? [found[1], Number(found[2])] : [];
  const id = kind === "link" ? (net?.row(number_) ?? -1) : number_;
  const count =
    { link: net?.links.rows, router: net?.routers.rows, host: net?.hosts.rows, rank: jobs[0]?.ranks }[kind] ?? 0;
  if (id >= 0 && id < count) return { kind, id, job: kind === "rank" ? (ranks?.job ?? jobs[0]).name : undefined };
  const { units } = view?.pairs ?? pairs ?? {};
  const unit =
    units?.names.findIndex(
      (each, i) => each.toLowerCase() === name || units.title(units.together(i)).toLowerCase() === name,
    ) ?? -1;
  if (unit < 0) return null;
  const around = view.pairs.around(units.together(unit));
  return { kind: "cell", name: around.name, cell: around };
}

/** The name of a thing by which [`thingNamed`] finds it, null for those without one. */
function nameOf(panel, thing) {
  if (thing.kind === "cell") return thing.name;
  if (thing.kind === "link") return `link ${panel.network.links.link[thing.id]}`;
  return thing.kind === "links" ? null : `${thing.kind} ${thing.id}`;
}

function find(words) {
  const box = at("find-text");
  const panel = state.chosen?.panel ?? state.panels[0];
  const thing = thingNamed(panel, words);
  const unit = (panel.view?.pairs ?? panel.pairs)?.units.names[0];
  box.setCustomValidity(
    thing ? "" : `There is none. Try: link 12, router 5, host 7, rank 0${unit ? ` or ${unit}` : ""}.`,
  );
  box.reportValidity();
  if (thing) choose(panel, thing);
}

/** Writes the view into the address of the page. */
function remember() {
  if (!state.ready) return;
  const { panel, thing } = state.chosen ?? {};
  const { opened, panels } = state;
  const parts = {
    tab: state.tab === opened.tab ? null : state.tab,
    time: now() === opened.time ? null : (now() ?? "whole"),
    colour: state.measure === opened.measure ? null : state.measure,
    class: state.only,
    result: thing && panels.length > 1 ? panel.letter : null,
    show: thing ? nameOf(panel, thing) : null,
  };
  history.replaceState(null, "", `${location.pathname}${location.search}${writeAddress(parts)}`);
}

/** Shows the view of an address. What it does not say is as the page opened. */
async function recall() {
  const { opened, panels } = state;
  const parts = readAddress(location.hash);
  const known = (id, value) => [...at(id).options].some((option) => option.value === value);
  state.measure = known("measure", parts.colour) ? parts.colour : opened.measure;
  state.only = known("class", parts.class) ? parts.class : "";
  [at("measure").value, at("class").value] = [state.measure, state.only];
  const ps = parts.time === "whole" ? null : /^\d+$/.test(parts.time ?? "") ? Number(parts.time) : opened.time;
  Object.assign(
    state,
    ps === null || state.times.length === 0 ? { whole: true } : { whole: false, index: indexAt(ps) },
  );
  showTab(at(`tab-${parts.tab}`) ? parts.tab : opened.tab);
  legend();
  await update();
  const panel = panels.find(({ letter }) => letter && letter === parts.result) ?? panels[0];
  await choose(panel, parts.show ? thingNamed(panel, parts.show) : null);
}

function listen() {
  at("slider").addEventListener("input", () => goTo(Number(at("slider").value)));
  at("slider").addEventListener("keydown", moveByKey);
  at("whole").addEventListener("change", () => {
    state.whole = at("whole").checked;
    update();
  });
  at("measure").addEventListener("change", () => {
    state.measure = at("measure").value;
    legend();
    drawCharts();
    update();
  });
  at("class").addEventListener("change", () => {
    state.only = at("class").value;
    drawCharts();
    update();
  });
  onGround(() => {
    legend();
    drawGround();
    detail.mark(now());
  });
  new ResizeObserver(() => requestAnimationFrame(drawGround)).observe(at("ground"));
  window.addEventListener("beforeprint", beforePrint);
  window.addEventListener("afterprint", afterPrint);
  window.addEventListener("hashchange", recall);
  at("help").addEventListener("click", () => at("keys").showModal());
  document.addEventListener("keydown", (event) => {
    if (
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName)
    )
      return;
    if (event.key === "?") at("keys").showModal();
    else if (event.key === "/") at("find-text").focus();
    else return;
    event.preventDefault();
  });
  at("play").addEventListener("click", play);
  for (const tab of ["network", "time", "ranks"]) at(`tab-${tab}`).addEventListener("click", () => showTab(tab));
  at("find").addEventListener("submit", (event) => {
    event.preventDefault();
    find(at("find-text").value);
  });
  at("find-text").addEventListener("input", () => at("find-text").setCustomValidity(""));
  at("whole-map").addEventListener("click", () => choose(state.chosen?.panel ?? state.panels[0], null));
  at("hottest").addEventListener("click", () => {
    const [best] = state.panels
      .map((panel) => panel.hottest?.())
      .filter(Boolean)
      .sort((a, b) => b.load - a.load);
    if (best) choose(best.panel, { kind: "link", id: best.id });
  });
}

/** Links on the critical path, highlighted in the network. */
async function criticalLinks(panel) {
  if (!panel.result.has("critical_path") || !panel.view) return;
  const path = await panel.result.table("critical_path", ["link", "job"]);
  const rows = new Set();
  for (const link of path.link) if (link >= 0 && link !== 0xffffffff) rows.add(panel.network.row(link));
  rows.delete(-1);
  panel.critical = panel.view.critical = [...rows];
  panel.view.redraw();
  legend();
}

async function main() {
  const { found, limits, catalogue } = await results(location.search);
  if (catalogue) {
    document.title = `${catalogue.folder} – FabricSim`;
    document.body.classList.add("listing");
    at("panels").append(catalogueBox(catalogue.folder, catalogue.entries));
    document.body.dataset.ready = "yes";
    return;
  }
  state.limits = limits;
  document.title = `${found.map((result) => result.name).join(", ")} – FabricSim`;
  const several = found.length > 1 ? await comparison(location.search) : null;
  state.panels = found.map((result, i) => new Panel(result, several?.names[i]));
  if (several)
    at("comparison").append(
      comparisonBox(
        several,
        found.map(({ name }, i) => ({ letter: several.names[i], name })),
      ),
    );
  const columns = Math.ceil(Math.sqrt(found.length));
  at("panels").style.gridTemplateColumns = `repeat(${columns}, minmax(0, 1fr))`;
  await Promise.all(state.panels.map((panel) => panel.open()));
  const until = Math.max(...state.panels.map((panel) => panel.until), 1);
  state.span = { from: 0, to: until, until };
  for (const panel of state.panels) panel.axis = until;
  state.times = intervals(state.panels, until);
  // There are no totals yet, and the last bin may be incomplete.
  if (state.times.length > 0 && state.panels.some((panel) => panel.result.unfinished))
    Object.assign(state, { whole: false, index: Math.max(0, state.times.length - 2) });
  else {
    // The worst period where it differs from the run, in whose mean bursts vanish. Else the run, of which more is known.
    const worst = state.panels
      .map((panel) => panel.spread?.worst() ?? { share: 0, mean: 0 })
      .reduce((a, b) => (b.share > a.share ? b : a));
    if (state.times.length > 0 && worst.share >= CONGESTED && worst.share >= DIFFERS * worst.mean)
      Object.assign(state, { whole: false, index: indexAt(worst.begin) });
  }
  const classes = new Set(state.panels.flatMap((panel) => panel.pairs?.classes ?? []));
  for (const name of [...classes].sort()) at("class").append(element("option", `${name} links`, { value: name }));
  await Promise.all(state.panels.map((panel) => panel.openVerdict()));
  state.measure = MEASURE_OF[state.panels[0].rule] ?? "mean";
  state.opened = {
    tab: state.panels.some((panel) => panel.network) ? "network" : "ranks",
    time: now(),
    measure: state.measure,
  };
  listen();
  await recall();
  await Promise.all(state.panels.map(criticalLinks));
  state.ready = true;
  document.body.dataset.ready = "yes";
}

// For tests and the console: the view state and its speed.
window.fabricsim = { state, update, goTo, choose: (panel, thing) => choose(state.panels[panel], thing), text };

main().catch((error) => {
  at("panels").replaceChildren(element("div", error.message, { className: "banner" }));
  document.body.dataset.ready = "failed";
});
