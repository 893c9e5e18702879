// The page: results side by side, with one time and one selection for all.

import { css, dark, loadColour, stateColour } from "./colours.js";
import { binAt, loads, network, results, text } from "./data.js";
import { Detail, MOST_CAUSES, element } from "./detail.js";
import { number, percent, share, time } from "./format.js";
import { MEASURES, MapView } from "./map.js";
import { RanksView } from "./ranks.js";
import { PAIR_COLUMNS, Pairs, Units, causes } from "./sums.js";
import { verdictBox } from "./verdict.js";

const at = (id) => document.getElementById(id);

const state = { tab: "network", panels: [], times: [], index: 0, measure: "mean", only: "", limits: {}, whole: true, playing: false, chosen: null, span: null, names: [] };
const detail = new Detail(at("detail"), choose, (panel, thing, x, y) => tip(thing && thingText(panel, thing), x, y));

/** Maximum number of single links that the page holds. Of more it has their sums, and requests those of a cell. */
const MOST_LINKS = 1_000_000;
/** The same for a result without these sums. The tables of larger networks are not written before the end of a run. */
const MOST_WITHOUT_SUMS = 1_500_000;

/** The view of one result. */
class Panel {
  constructor(result) {
    this.result = result;
    this.box = element("section", "", { className: "panel" });
    const { summary } = result;
    const title = this.box.appendChild(element("h2", result.name, { title: result.folder }));
    title.append(element("span", summary.network?.topology ?? ""));
    this.verdictPlace = this.box.appendChild(element("div"));
    this.banners();
    this.tools = this.box.appendChild(element("div", "", { className: "tools", hidden: true }));
    this.networkStage = this.box.appendChild(element("div", "", { className: "stage" }));
    this.ranksStage = this.box.appendChild(element("div", "", { className: "stage light", hidden: true }));
    at("panels").append(this.box);
    Object.assign(this, { now: null, causes: { all: [], shown: [], of: "links" }, critical: [], bins: null, measure: "mean" });
  }

  banner(words) {
    this.box.append(element("div", words, { className: "banner" }));
  }

  banners() {
    const { result } = this;
    if (result.unfinished) this.banner("This run has not ended: it is still running or was killed. The page shows what it has written so far.");
    if (result.being_replaced) this.banner("Another run in this folder is still running or was killed. The page shows the earlier result.");
    const damaged = Object.entries(result.damaged);
    if (damaged.length > 0) this.banner(`Damaged and omitted: ${damaged.map(([name, why]) => `${name} (${why})`).join("; ")}`);
    if (!result.has("link_series"))
      this.banner(result.unfinished
        ? "No link loads: the run has not written series of single links yet, or does not collect them (collect.series)."
        : "The map shows the whole run only: no series of single links was collected (collect.series).");
  }

  missing(stage, words) {
    stage.replaceChildren(element("div", words, { className: "missing" }));
  }

  async open() {
    const { result } = this;
    this.network = await network(result, result.has("pairs") ? MOST_LINKS : MOST_WITHOUT_SUMS);
    if (result.has("class_series") || result.has("link_series")) this.bins = await result.bins();
    const { summary } = result;
    const lasts = [this.bins?.end.at(-1) ?? 0, ...(summary.jobs ?? []).map((job) => job.time_ns * 1000), (summary.run?.simulated_ns ?? 0) * 1000];
    this.until = lasts.reduce((a, b) => Math.max(a, b), 0);
    this.jobs = (summary.jobs ?? []).filter((job) => job.ranks > 0);
    if (this.jobs.length === 0 && result.has("timeline")) this.jobs = await jobsOf(result);
    if (this.network) await this.openMap();
    else this.missing(this.networkStage, result.unfinished
      ? `There is no map: the tables of the network are not there yet. Of more than ${number(MOST_WITHOUT_SUMS)} links they are written at the end.`
      : "There is no map: this folder has no table of routers. Results of older versions lack it.");
  }

  async openMap() {
    const { result } = this;
    const units = await Units.of(result, this.network.routers);
    if (!units) return this.missing(this.networkStage, "There is no map: the table of routers is empty.");
    this.pairs = new Pairs(units, this.network);
    if (result.has("pairs")) this.total = this.pairs.read(await result.table("pairs", PAIR_COLUMNS), result.measured());
    if (this.pairs.count === 0) return this.missing(this.networkStage, "There is no map: this folder has no links and no sums of them.");
    this.view = new MapView(this.networkStage, this.pairs, this.network, state.limits, {
      opened: (cell) => choose(this, cell && (this.view.layout.of === "links" && cell.members.length === 1
        ? { kind: "link", id: cell.members[0] } : { kind: "cell", name: cell.name, cell })),
      openedUnits: (units) => {
        const cell = this.pairs.around(units.length === 1 ? this.pairs.units.together(units[0]) : units);
        choose(this, { kind: "cell", name: cell.name, cell });
      },
      pointed: tip,
    });
  }

  /** Shows the verdict, with the links and times that it names as far as the page has them. */
  async openVerdict() {
    const links = (place) => {
      const thing = thingOf(this.network, place);
      return thing && (() => {
        showTab("network");
        choose(this, thing);
        this.networkStage.scrollIntoView({ block: "nearest" });
      });
    };
    const moment = (ps) => state.times.length > 0 && (() => goTo(ps));
    const found = await this.result.verdict();
    this.verdictPlace.replaceChildren(verdictBox(found, state.panels.length < 3, { links, moment }));
  }

  /** The time lines of ranks, created on first use. */
  openRanks() {
    if (this.ranks || this.openedRanks) return;
    this.openedRanks = true;
    if (this.jobs.length === 0) return this.missing(this.ranksStage, "This result has no job of ranks.");
    if (!this.result.has("timeline"))
      return this.missing(this.ranksStage, "States of ranks over time were not collected (collect.timeline = true in the experiment).");
    this.showJob(this.jobs[0]);
  }

  showJob(job) {
    this.ranksStage.replaceChildren();
    this.ranks = new RanksView(this, this.ranksStage, job, state.span, {
      chosen: (thing) => choose(this, thing),
      pointed: (thing, x, y) => tip(thing?.label, x, y),
      names: knowNames,
      span: setSpan,
    });
    this.ranks.names = state.names;
    this.drawTools(job);
  }

  drawTools(job) {
    const parts = [];
    if (this.jobs.length > 1) {
      const select = element("select");
      select.setAttribute("aria-label", "Job");
      for (const each of this.jobs) select.append(element("option", each.name, { selected: each === job }));
      select.addEventListener("change", () => this.showJob(this.jobs[select.selectedIndex]));
      parts.push(select);
    }
    for (const [table, key, label] of [["messages", "withMessages", "messages"], ["critical_path", "withPath", "critical path"]]) {
      if (!this.result.has(table)) continue;
      const box = element("input", "", { type: "checkbox", checked: this.ranks[key] });
      box.addEventListener("change", () => { this.ranks[key] = box.checked; this.ranks.redraw(); });
      const line = element("label");
      line.append(box, ` ${label}`);
      parts.push(line);
    }
    for (const name of ["compute", ...state.names]) {
      const key = element("span", "", { className: "key" });
      const swatch = element("span", "", { className: "swatch" });
      swatch.style.background = stateColour(name, state.names);
      key.append(swatch, name);
      parts.push(key);
    }
    this.tools.replaceChildren(...parts);
  }

  /** Shows the time of the slider. */
  async update() {
    if (!this.view) return;
    const own = this.bins && this.result.has("link_series") && !state.whole;
    const bin = own ? binAt(this.bins, state.times[state.index]) : null;
    const wanted = (this.wanted = `${bin} ${state.measure}`);
    const links = this.network.links.rows > 0 ? await loads(this.result, this.network, this.bins, bin, state.limits) : null;
    if (this.wanted !== wanted) return;
    this.bin = bin;
    this.measure = state.measure;
    this.now = { links, pairs: bin === null && this.total ? this.total : links && this.pairs.add(links) };
    this.findCauses();
    this.view.setNow(this.now, this.measure, this.causes.shown, state.only);
  }

  findCauses() {
    const { links, pairs } = this.now;
    const of = links ? "links" : "pairs";
    const hosts = (kind) => this.network.links.texts[kind].indexOf("host");
    const router = (end) => {
      const number_ = hosts(`${end}_kind`);
      return this.network.links[`${end}_kind`].map((kind, row) => (kind === number_ ? -1 : this.network.links[`${end}_id`][row]));
    };
    if (links) this.ends ??= ["from", "to"].map((end) => Int32Array.from(router(end)));
    const unit = (end, host) => this.pairs[end].map((number_, pair) => (this.pairs.className[pair] === host ? -1 : number_));
    const [from, to] = links ? this.ends : [unit("from", "injection"), unit("to", "ejection")];
    const all = links || pairs ? causes(this.now[of], from, to) : [];
    const cell = (row) => () => (links ? this.view.cellOfLink(row) : this.view.cellOfPair(row));
    const shown = all.filter(({ behind }) => behind > 0).slice(0, MOST_CAUSES).map((each) => ({ ...each, cell: cell(each.row) }));
    this.causes = { all, shown, of };
  }

  /** The measure of the map of a link: its load, or the share of time blocked. NaN if it is not known. */
  loadOf(row) {
    const { links } = this.now ?? {};
    return links ? (this.measure === "blocked" ? links.blocked : links.busy)[row] : NaN;
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
    if (this.bin < 0) return "no bin at this time";
    return `${time(this.bins.begin[this.bin], this.until)} to ${time(this.bins.end[this.bin], this.until)}`;
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
  const all = [...new Set([...state.names, ...names])].filter((name) => name !== "compute" && name !== "overhead").sort();
  if (all.length === state.names.length) return;
  state.names = all;
  for (const panel of state.panels.filter((p) => p.ranks)) {
    panel.ranks.names = all;
    panel.ranks.redraw();
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
    if (each.ranks) {
      each.ranks.chosen = own?.kind === "rank" ? own : null;
      each.ranks.load();
      each.ranks.redraw();
    }
  }
  await detail.show(panel ?? state.panels[0], thing);
}

function setSpan(from, to) {
  Object.assign(state.span, { from, to });
  for (const panel of state.panels.filter((p) => p.ranks)) {
    panel.ranks.load();
    panel.ranks.redraw();
  }
}

/** Moves the slider to a time. */
async function update() {
  const slider = at("slider");
  slider.disabled = at("play").disabled = state.times.length === 0;
  slider.max = Math.max(0, state.times.length - 1);
  slider.value = state.index;
  at("whole").checked = state.whole;
  at("whole").disabled = state.times.length === 0;
  const now = state.whole || state.times.length === 0 ? null : state.times[state.index];
  const last = state.span.until;
  const next = state.times[state.index + 1] ?? last;
  at("time").textContent = now === null
    ? state.times.length === 0 ? "whole run: no series" : `whole run: ${time(last)}`
    : `${time(now, last)} to ${time(next, last)}`;
  detail.mark(now);
  for (const panel of state.panels) if (panel.ranks) { panel.ranks.at = now; panel.ranks.redraw(); }
  await Promise.all(state.panels.map((panel) => panel.update()));
  detail.refresh();
  document.body.dataset.shown = now === null ? "whole" : String(state.index);
}

/** Moves the slider to the bin that contains a time. */
function goTo(ps) {
  state.index = Math.max(0, state.times.findLastIndex((begin) => begin <= ps));
  state.whole = false;
  return update();
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
  for (const each of ["network", "ranks"]) at(`tab-${each}`).setAttribute("aria-selected", each === tab);
  for (const panel of state.panels) {
    panel.networkStage.hidden = tab !== "network";
    panel.ranksStage.hidden = panel.tools.hidden = tab !== "ranks";
    if (tab === "ranks") panel.openRanks();
  }
  for (const id of ["hottest", "whole-map"]) at(id).hidden = tab !== "network";
}

function legend() {
  const bar = element("canvas", "", { width: 110, height: 12 });
  const pen = bar.getContext("2d");
  const ends = state.measure === "blocked" ? 1 : state.limits.FULL;
  for (let x = 0; x < 110; x++) {
    pen.fillStyle = css(loadColour((x / 109) * ends));
    pen.fillRect(x, 0, 1, 12);
  }
  const parts = ["0", bar, state.measure === "blocked" ? "100 % of the time" : `${percent(ends)} of the time`];
  if (state.measure !== "blocked") {
    const full = element("span", "", { className: "swatch" });
    full.style.background = css(loadColour(1, true));
    parts.push(full, "full (corner: some links)");
  } else parts.push(`(corner: some links at ${percent(state.limits.BLOCKED)} or more)`);
  at("legend").replaceChildren(...parts.map((part) => (typeof part === "string" ? element("span", part) : part)));
  at("legend").title = MEASURES[state.measure].words;
}

/** Parses "link 12", "router 5", "host 7", "rank 0". */
function find(words) {
  const found = /^\s*(link|router|host|rank)\s+(\d+)\s*$/i.exec(words);
  const box = at("find-text");
  const panel = state.chosen?.panel ?? state.panels[0];
  const [kind, number_] = found ? [found[1].toLowerCase(), Number(found[2])] : [];
  const thing = found && {
    link: () => { const row = panel.network?.row(number_) ?? -1; return row >= 0 ? { kind, id: row } : null; },
    router: () => (number_ < (panel.network?.routers.rows ?? 0) ? { kind, id: number_ } : null),
    host: () => (number_ < (panel.network?.hosts.rows ?? 0) ? { kind, id: number_ } : null),
    rank: () => (panel.jobs.length > 0 && number_ < panel.jobs[0].ranks ? { kind, id: number_, job: (panel.ranks?.job ?? panel.jobs[0]).name } : null),
  }[kind]();
  box.setCustomValidity(thing ? "" : "There is none. Try: link 12, router 5, host 7 or rank 0.");
  box.reportValidity();
  if (!thing) return;
  choose(panel, thing);
}

function listen() {
  at("slider").addEventListener("input", () => { state.index = Number(at("slider").value); state.whole = false; update(); });
  at("whole").addEventListener("change", () => { state.whole = at("whole").checked; update(); });
  at("measure").addEventListener("change", () => { state.measure = at("measure").value; legend(); update(); });
  at("class").addEventListener("change", () => { state.only = at("class").value; update(); });
  dark.addEventListener("change", legend);
  at("play").addEventListener("click", play);
  for (const tab of ["network", "ranks"]) at(`tab-${tab}`).addEventListener("click", () => showTab(tab));
  at("find").addEventListener("submit", (event) => { event.preventDefault(); find(at("find-text").value); });
  at("find-text").addEventListener("input", () => at("find-text").setCustomValidity(""));
  at("whole-map").addEventListener("click", () => choose(state.chosen?.panel ?? state.panels[0], null));
  at("hottest").addEventListener("click", () => {
    const hottest = (panel) => panel.now.links.busy.keys().reduce((best, row) => (panel.loadOf(row) > panel.loadOf(best) ? row : best), 0);
    const [best] = state.panels.filter((panel) => panel.now?.links).map((panel) => ({ panel, id: hottest(panel) }))
      .sort((a, b) => b.panel.loadOf(b.id) - a.panel.loadOf(a.id));
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
}

async function main() {
  const { found, limits } = await results();
  state.limits = limits;
  document.title = `${found.map((result) => result.name).join(", ")} – FabricSim`;
  state.panels = found.map((result) => new Panel(result));
  const columns = Math.ceil(Math.sqrt(found.length));
  at("panels").style.gridTemplateColumns = `repeat(${columns}, minmax(0, 1fr))`;
  await Promise.all(state.panels.map((panel) => panel.open()));
  const until = Math.max(...state.panels.map((panel) => panel.until), 1);
  state.span = { from: 0, to: until, until };
  const begins = new Set();
  for (const panel of state.panels)
    if (panel.bins && panel.result.has("link_series")) for (const begin of panel.bins.begin) begins.add(begin);
  state.times = [...begins].sort((a, b) => a - b);
  // There are no totals yet, and the last bin may be incomplete.
  if (state.times.length > 0 && state.panels.some((panel) => panel.result.unfinished))
    Object.assign(state, { whole: false, index: Math.max(0, state.times.length - 2) });
  const classes = new Set(state.panels.flatMap((panel) => panel.pairs?.classes ?? []));
  for (const name of [...classes].sort()) at("class").append(element("option", `${name} links`, { value: name }));
  listen();
  legend();
  showTab(state.panels.some((panel) => panel.network) ? "network" : "ranks");
  await Promise.all(state.panels.map((panel) => panel.openVerdict()));
  await update();
  await Promise.all(state.panels.map(criticalLinks));
  await choose(state.panels[0], null);
  document.body.dataset.ready = "yes";
}

// For tests and the console: the view state and its speed.
window.fabricsim = { state, update, choose: (panel, thing) => choose(state.panels[panel], thing), text };

main().catch((error) => {
  at("panels").replaceChildren(element("div", error.message, { className: "banner" }));
  document.body.dataset.ready = "failed";
});
