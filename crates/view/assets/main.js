// The page: results side by side, with one time and one selection for all.

import { css, loadColour, stateColour } from "./colours.js";
import { binAt, loadText, loads, network, results, text } from "./data.js";
import { Detail, element } from "./detail.js";
import { number, time } from "./format.js";
import { MARKS, NetworkView } from "./network.js";
import { RanksView } from "./ranks.js";
import { verdictBox } from "./verdict.js";

const at = (id) => document.getElementById(id);

const state = { tab: "network", panels: [], times: [], index: 0, metric: "busy", whole: true, playing: false, chosen: null, span: null, names: [] };
const detail = new Detail(at("detail"), choose);

/** Maximum number of links that a page can hold in memory. */
const MOST_LINKS = 1_500_000;

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
    this.ranksStage = this.box.appendChild(element("div", "", { className: "stage", hidden: true }));
    at("panels").append(this.box);
    this.loads = new Float32Array(0);
    this.bins = null;
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
        : "Loads over the whole run only: no series of single links was collected (collect.series).");
  }

  missing(stage, words) {
    stage.replaceChildren(element("div", words, { className: "missing" }));
  }

  async open() {
    const { result } = this;
    const links = result.tables.links ?? 0;
    this.network = links <= MOST_LINKS ? await network(result) : null;
    if (result.has("class_series") || result.has("link_series")) this.bins = await result.bins();
    const { summary } = result;
    const lasts = [this.bins?.end.at(-1) ?? 0, ...(summary.jobs ?? []).map((job) => job.time_ns * 1000), (summary.run?.simulated_ns ?? 0) * 1000];
    this.until = lasts.reduce((a, b) => Math.max(a, b), 0);
    this.jobs = (summary.jobs ?? []).filter((job) => job.ranks > 0);
    if (this.jobs.length === 0 && result.has("timeline")) this.jobs = await jobsOf(result);
    if (!this.network) {
      this.missing(this.networkStage, links > MOST_LINKS
        ? `This network has ${number(links)} links; up to ${number(MOST_LINKS)} can be drawn. The side column shows loads by link class.`
        : result.unfinished
          ? `The network cannot be drawn: its tables are not there yet. Of more than ${number(MOST_LINKS)} links they are written at the end.`
          : "The network cannot be drawn: this folder has no table of routers. Results of older versions lack it.");
      return;
    }
    try {
      this.view = new NetworkView(this.networkStage, this.network, {
        chosen: (thing) => choose(this, thing),
        pointed: (thing, x, y) => tip(thing && networkTip(this, thing), x, y),
      });
    } catch (error) {
      this.missing(this.networkStage, error.message);
    }
  }

  /** Shows the verdict, with the links and times that it names as far as the page has them. */
  async openVerdict() {
    const links = (place) => {
      const thing = thingOf(this.network, place);
      return thing && (() => {
        showTab("network");
        choose(this, thing);
        show(this, thing);
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
    if (!this.network) return;
    const own = this.bins && this.result.has("link_series") && !state.whole;
    const bin = own ? binAt(this.bins, state.times[state.index]) : null;
    const wanted = (this.wanted = `${bin} ${state.metric}`);
    const found = await loads(this.result, this.network, this.bins, bin, state.metric);
    if (this.wanted !== wanted) return;
    this.loads = found;
    this.metric = state.metric;
    this.view?.setLoads(found);
  }
}

/** Load from which a link is full, as for verdicts. */
const FULL = 0.95;

/** What a place of a verdict names: a link, several, or of a class those that were full, or else all. null if not known. */
function thingOf(network, place) {
  if (!network?.links.rows) return null;
  const { links } = network;
  let [name, rows] = [place.class ?? "named", place.links.map((link) => network.row(link)).filter((row) => row >= 0)];
  if (place.links.length === 0) {
    rows = [...links.class.keys()].filter((row) => network.className(row) === place.class);
    const full = rows.filter((row) => links.busy_fraction?.[row] >= FULL);
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

function networkTip(panel, thing) {
  const net = panel.network;
  const load = (row) => (panel.loads[row] >= 0 ? `: ${loadText(panel.loads[row], panel.metric)}` : "");
  if (thing.kind === "router") return net.routerName(thing.id);
  if (thing.kind === "routers") return `${number(thing.ids.length)} routers, ${net.routerName(thing.ids[0])} to ${thing.ids.at(-1)}: click to zoom in`;
  if (thing.kind === "host") return `host ${thing.id}`;
  const more = thing.together > 1 ? `the most loaded of ${number(thing.together)} links\n` : "";
  return `${more}link ${net.links.link[thing.id]} (${net.className(thing.id)})${load(thing.id)}\nfrom ${net.endName(thing.id, "from")}\nto ${net.endName(thing.id, "to")}`;
}

function tip(words, x, y) {
  const box = at("tip");
  box.hidden = !words;
  if (!words) return;
  box.textContent = words;
  box.style.left = `${Math.min(x + 14, window.innerWidth - box.offsetWidth - 8)}px`;
  box.style.top = `${Math.min(y + 14, window.innerHeight - box.offsetHeight - 8)}px`;
}

/** Selects a link, router, host or rank of a result, or nothing. */
async function choose(panel, thing) {
  const known = thing && (thing.kind !== "routers") ? thing : null;
  state.chosen = known && { panel, thing: known };
  for (const each of state.panels) {
    each.view?.setChosen(each === panel ? known : null);
    if (each.ranks) {
      each.ranks.chosen = each === panel && known?.kind === "rank" ? known : null;
      each.ranks.load();
      each.ranks.redraw();
    }
  }
  await detail.show(panel ?? state.panels[0], known);
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
  for (const id of ["hottest", "fit"]) at(id).hidden = tab !== "network";
}

function legend() {
  const bar = element("canvas", "", { width: 110, height: 12 });
  const pen = bar.getContext("2d");
  for (let x = 0; x < 110; x++) {
    pen.fillStyle = css(loadColour(x / 109));
    pen.fillRect(x, 0, 1, 12);
  }
  const ends = state.metric === "waiting" ? ["0", "100 or more"] : ["0", "100 %"];
  at("legend").replaceChildren(ends[0], bar, ends[1]);
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
  show(panel, thing);
}

/** Centres the drawing on a thing. */
function show(panel, thing) {
  const { network: net, view } = panel;
  if (!view) return;
  if (thing.kind === "links") view.fit();
  if (thing.kind === "router") view.show(net.routers.x[thing.id], net.routers.y[thing.id]);
  if (thing.kind === "host") view.show(net.hosts.x[thing.id], net.hosts.y[thing.id]);
  if (thing.kind === "link") {
    const { ends } = view.geometry(thing.id);
    const far = Math.hypot(ends[0] - ends[2], ends[1] - ends[3]);
    view.show((ends[0] + ends[2]) / 2, (ends[1] + ends[3]) / 2);
    view.view.zoom = Math.min(view.view.zoom, Math.max(view.canvas.clientWidth, (0.6 * view.canvas.clientWidth) / (far || 1)));
  }
}

function listen() {
  at("slider").addEventListener("input", () => { state.index = Number(at("slider").value); state.whole = false; update(); });
  at("whole").addEventListener("change", () => { state.whole = at("whole").checked; update(); });
  at("metric").addEventListener("change", () => { state.metric = at("metric").value; legend(); update(); });
  at("play").addEventListener("click", play);
  for (const tab of ["network", "ranks"]) at(`tab-${tab}`).addEventListener("click", () => showTab(tab));
  at("find").addEventListener("submit", (event) => { event.preventDefault(); find(at("find-text").value); });
  at("find-text").addEventListener("input", () => at("find-text").setCustomValidity(""));
  at("fit").addEventListener("click", () => { for (const panel of state.panels) panel.view?.fit(); });
  at("hottest").addEventListener("click", () => {
    const [panel] = state.panels.filter((p) => p.view).sort((a, b) => b.loads[b.view.hottest()] - a.loads[a.view.hottest()]);
    const row = panel?.view.hottest() ?? -1;
    if (row < 0) return;
    choose(panel, { kind: "link", id: row });
    show(panel, { kind: "link", id: row });
  });
}

/** Links on the critical path, highlighted in the network. */
async function criticalLinks(panel) {
  if (!panel.result.has("critical_path") || !panel.view) return;
  const path = await panel.result.table("critical_path", ["link", "job"]);
  const rows = new Set();
  for (const link of path.link) if (link >= 0 && link !== 0xffffffff) rows.add(panel.network.row(link));
  rows.delete(-1);
  panel.view.setCritical([...rows].slice(0, MARKS));
}

async function main() {
  const found = await results();
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
