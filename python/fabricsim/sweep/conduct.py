"""Running a sweep: takes results from the cache, runs the rest, and records failures.

Before the end, only the cache is written. An interrupted sweep therefore continues from there when it is
started again.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, TextIO

import pyarrow

from fabricsim import _core
from fabricsim._errors import SweepError
from fabricsim.sweep import derived, metrics
from fabricsim.sweep.cache import Cache, Outcome, Resolved, digest
from fabricsim.sweep.cluster import ClusterSettings
from fabricsim.sweep.costs import CostTable, Item, load_costs, total
from fabricsim.sweep.engine import Dask, Engine
from fabricsim.sweep.findings import Findings
from fabricsim.sweep.folder import may_write, write
from fabricsim.sweep.page import Figure, need_plots
from fabricsim.sweep.plan import Case, Plan, Point, load
from fabricsim.sweep.progress import Progress
from fabricsim.sweep.report import figures
from fabricsim.sweep.table import Row
from fabricsim.sweep.work import Failure, Task, distinct, equal_names, estimate, resolve, simulate

__all__ = ["MOST_FAILURES", "Network", "Sweep", "estimates", "run"]

RESULTS = Path("results")
CACHE = RESULTS / "cache"
# Different failures that are printed; failed.csv has all of them.
MOST_FAILURES = 10
# Letters of the heading in the name of a figure's file.
MOST_LETTERS = 60


@dataclass(frozen=True)
class Network:
    """A network of a sweep with its bill, or the reason why it has none."""

    topology: str
    items: list[Item]
    missing: str | None
    points: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Sweep:
    """A finished sweep.

    Attributes
    ----------
    folder : Path
        Where its tables and its page are: ``sweep.html``.
    answer : list of str
        Sentences: which network wins at what cost, where each saturates, which points rank nothing.
    runs : pyarrow.Table
        One row for each run.
    summary : pyarrow.Table
        One row for each point: means over the seeds, with their confidence intervals.
    figures : list of Figure
        The figures of the page, the one that answers first. Each has `plotly()`, `matplotlib()` and
        `save("figure.svg")`.
    failed : list of (str, Failure)
        Runs without a result: which, and why.
    cached, executed : int
        Runs whose result was in the cache, and those that were executed now; the rest failed, or is the
        same experiment as another.
    problems : list of str
        What else could not be done: costs that the cost table does not have, derived columns without a
        value.
    """

    folder: Path
    answer: list[str]
    runs: pyarrow.Table
    summary: pyarrow.Table
    figures: list[Figure]
    failed: list[tuple[str, Failure]]
    cached: int
    executed: int
    problems: list[str]

    def save_figures(self, kind: str = "svg") -> list[Path]:
        """Writes each figure into ``figures`` in `folder`, with matplotlib; returns the files.

        Parameters
        ----------
        kind : str
            ``"svg"``, ``"pdf"`` or ``"png"``.

        Raises
        ------
        ImportError
            Matplotlib is not installed.
        SweepError
            A file cannot be written.
        """
        place = self.folder / "figures"
        files = []
        try:
            place.mkdir(exist_ok=True)
            for number, figure in enumerate(self.figures, start=1):
                name = re.sub(r"[^a-z0-9]+", "-", figure.heading.lower()).strip("-")[:MOST_LETTERS]
                files.append(place / f"{number:02}-{name}.{kind}")
                figure.save(files[-1])
        except OSError as error:
            raise SweepError(f"cannot be written: {error}", str(place)) from None
        return files


def run(
    sweep: str | PathLike[str] | Plan,
    *,
    out: str | PathLike[str] | None = None,
    cache: str | PathLike[str] | None = None,
    costs: str | PathLike[str] | None = None,
    cluster: ClusterSettings | None = None,
    engine: Engine | None = None,
    progress: TextIO | None = None,
) -> Sweep:
    """Run a sweep.

    Parameters
    ----------
    sweep : path or Plan
        The sweep file.
    out : path
        Folder for tables and page; that of an earlier sweep is replaced. By default ``results/NAME`` for
        ``NAME.toml``.
    cache : path
        Folder of results by what they depend on, which sweeps share; by default ``results/cache``.
    costs : path
        Cost table, instead of that of the sweep file.
    cluster : ClusterSettings
        Where to run, instead of what the sweep file says.
    engine : Engine
        What to run with, instead of Dask.
    progress : file
        Where a bar is shown, ``sys.stderr`` for example.

    Returns
    -------
    Sweep
        Its tables, and what failed.

    Raises
    ------
    SweepError
        The sweep file or the cost table is wrong, or Dask is missing.
    KeyboardInterrupt
        Ctrl-C. Completed runs are in the cache; the same call continues from there.
    """
    plan = sweep if isinstance(sweep, Plan) else load(Path(sweep))
    if cluster is not None:
        plan = dataclasses.replace(plan, cluster=cluster)
    need_plots()
    folder = RESULTS / plan.file.stem if out is None else Path(out)
    may_write(folder)
    price_list = Path(costs) if costs is not None else plan.costs
    table = None if price_list is None else load_costs(price_list)
    store = Cache(CACHE if cache is None else Path(cache))
    store.tidy()
    conduct = _Conduct(plan, store, Progress(progress), table)
    if engine is not None:
        conduct.all(engine)
    else:
        with Dask(plan.cluster) as dask:
            conduct.all(dask)
    return conduct.written(folder)


def estimates(
    plan: Plan, engine: Engine, progress: TextIO | None = None
) -> Iterator[tuple[Point, dict[str, Any] | Failure]]:
    """The expected work of one run of each point, in the order of the points. Nothing is run.

    Yields
    ------
    (Point, dict or Failure)
        ``packet_hops``, ``messages``, ``cpu_s``, ``packet_hops_per_s``, ``is_lower_limit``; or why there is
        no estimate.
    """
    shown = Progress(progress)
    tasks = {
        point.number: Task(
            experiment=point.experiment.absolute(),
            overrides=tuple(Case(point, plan.seeds[0]).overrides),
            interference=False,
            keep_result=False,
            cache=CACHE,
            key=str(point.number),
        )
        for point in plan.points
    }
    shown.begin("points checked", len(tasks))
    found: dict[int, Any] = {}
    try:
        for task, came in engine.each(estimate, tasks.values()):
            found[int(task.key)] = Failure.of(came) if isinstance(came, BaseException) else came
            shown.one(isinstance(found[int(task.key)], Failure))
    finally:
        shown.end()
    for point in plan.points:
        yield point, found[point.number]


class _Conduct:
    """A sweep during its run."""

    def __init__(self, plan: Plan, cache: Cache, progress: Progress, costs: CostTable | None) -> None:
        self._plan = plan
        self._cache = cache
        self._progress = progress
        self._costs = costs
        self._rows = [Row(case) for case in plan.cases]
        self._threads = 1
        self._cached = self._executed = 0
        self._networks: dict[str, Network] = {}
        self._without_power: list[str] = []

    def all(self, engine: Engine) -> None:
        """Determines what to run, and runs it."""
        try:
            keys = self._keys(engine)
            waiting = {}
            for key, rows in keys.items():
                outcome = self._cache.get(key, self._plan.keep_results)
                if outcome is None:
                    waiting[key] = rows
                else:
                    self._cached += len(rows)
                    self._take(rows, key, outcome)
            failed = [(row.name, row.failure) for row in self._rows if row.failure is not None]
            if waiting:
                # Before the others run, so that a mistake can be mended at once.
                for which, failure in distinct(failed)[:MOST_FAILURES]:
                    self._progress.say(f"{which} cannot run: {failure.kind}: {failure.message}")
            self._progress.begin("runs", len(self._rows), cached=self._cached, failed=len(failed))
            tasks = [self._task(rows[0].case, key) for key, rows in waiting.items()]
            for task, came in engine.each(simulate, tasks, self._threads):
                rows = waiting[task.key]
                self._take(rows, task.key, came)
                self._executed += isinstance(came, Outcome)
                self._progress.one(not isinstance(came, Outcome), len(rows))
        finally:
            self._progress.end()

    def written(self, folder: Path) -> Sweep:
        """Writes tables and page."""
        failed = [(row.name, row.failure) for row in self._rows if row.failure is not None]
        networks = list(self._networks.values())
        problems = [network.missing for network in networks if network.missing]
        problems += self._without_power
        problems += derived.add(self._plan, self._rows)
        problems = list(dict.fromkeys(problems))
        found = Findings.of(self._plan, self._rows, networks, self._costs, problems)
        runs, summary = write(folder, found)
        return Sweep(
            folder=folder,
            answer=found.answer,
            runs=runs,
            summary=summary,
            figures=list(figures(found)),
            failed=failed,
            cached=self._cached,
            executed=self._executed,
            problems=problems,
        )

    def _keys(self, engine: Engine) -> dict[str, list[Row]]:
        """The entries of the cache that the cases need, each with its rows."""
        rows_of: dict[str, list[Row]] = {}
        for row in self._rows:
            task = self._task(row.case)
            try:
                question = self._cache.question(task.experiment, list(task.overrides))
                rows_of.setdefault(question, []).append(row)
            except OSError as error:
                row.failure = Failure("SweepError", f"{task.experiment}: cannot be read: {error.strerror}")
        found = {question: self._cache.known(question) for question in rows_of}
        unknown = [
            self._task(rows_of[question][0].case, question) for question in found if not found[question]
        ]
        if unknown:
            self._progress.begin("experiments checked", len(unknown))
        for task, resolved in engine.each(resolve, unknown):
            failure = None
            if isinstance(resolved, Resolved):
                try:
                    found[task.key] = (resolved, self._cache.remember(task.key, resolved))
                    failure = _other_version(resolved)
                except OSError as error:
                    failure = Failure.of(error)
            else:
                failure = resolved if isinstance(resolved, Failure) else Failure.of(resolved)
            if failure is not None:
                found[task.key] = None
                for row in rows_of[task.key]:
                    row.failure = failure
            self._progress.one(failure is not None)
        keys: dict[str, list[Row]] = {}
        for question, known in found.items():
            if known is not None:
                resolved, hashes = known
                self._threads = max(self._threads, resolved.threads)
                key = self._cache.key(resolved, hashes, self._plan.interference)
                keys.setdefault(key, []).extend(rows_of[question])
        return keys

    def _task(self, case: Case, key: str = "") -> Task:
        return Task(
            experiment=case.point.experiment.absolute(),
            overrides=tuple(case.overrides),
            interference=self._plan.interference,
            keep_result=self._plan.keep_results,
            cache=self._cache.folder,
            key=key,
        )

    def _take(self, rows: list[Row], key: str, outcome: Outcome | Failure | BaseException) -> None:
        for row in rows:
            row.key = key
            if not isinstance(outcome, Outcome):
                row.failure = outcome if isinstance(outcome, Failure) else Failure.of(outcome)
                continue
            names = [job["name"] for job in outcome.summary["jobs"]]
            row.failure = equal_names(row.case.point.experiment.absolute(), names)
            if row.failure is None:
                row.digest = outcome.summary["digest"]
                row.seed = outcome.summary["experiment"]["run"]["seed"]
                row.facts = metrics.facts(outcome) | self._cost(outcome, row)
                row.measures = metrics.measures(outcome) | self._electricity(outcome, row.facts)
                row.notes = metrics.notes(outcome)

    def _cost(self, outcome: Outcome, row: Row) -> dict[str, float | None]:
        if self._costs is None:
            return {}
        topology = outcome.summary["network"]["topology"]
        name = digest([topology, outcome.inventory])
        if name not in self._networks:
            try:
                self._networks[name] = Network(topology, self._costs.of(outcome.inventory), None)
            except SweepError as error:
                self._networks[name] = Network(topology, [], f"{topology}: {error}")
        network = self._networks[name]
        if row.case.point.number not in network.points:
            network.points.append(row.case.point.number)
        if network.missing:
            return {"network.cost": None, "network.cost_per_host": None}
        cost = total(network.items)
        hosts = outcome.inventory["hosts"]
        return {"network.cost": cost, "network.cost_per_host": cost / hosts if hosts else None}

    def _electricity(self, outcome: Outcome, facts: Mapping[str, Any]) -> dict[str, float | None]:
        """Electricity at the mean power of a run, and its sum with the cost of the network."""
        if self._costs is None or not self._costs.has_electricity:
            return {}
        cost, electricity = facts.get("network.cost"), None
        try:
            item = self._costs.electricity_of(outcome.summary)
            electricity = None if item is None else item.cost
        except SweepError as error:
            self._without_power.append(f"{outcome.summary['network']['topology']}: {error}")
        both = None if cost is None or electricity is None else cost + electricity
        return {
            "network.electricity_cost": electricity,
            "network.cost_with_electricity": both,
        }


def _other_version(resolved: Resolved) -> Failure | None:
    if resolved.version == _core.__version__:
        return None
    return Failure(
        "SweepError",
        f"the workers have FabricSim {resolved.version}, here it is {_core.__version__}: "
        "expected the same version everywhere",
    )
