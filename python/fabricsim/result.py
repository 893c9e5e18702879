"""Results: the folder that a run writes, as Python objects."""

from __future__ import annotations

import tempfile
import warnings
import webbrowser
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path

import pyarrow
import pyarrow.dataset
import pyarrow.parquet

from fabricsim import _core, display, verdict
from fabricsim._errors import ResultError
from fabricsim._input import MOST_BYTES_OF_RESULTS, check, read_text
from fabricsim.experiment import Experiment
from fabricsim.plot import Plots
from fabricsim.plot.content import CONTROL, one_job
from fabricsim.record import Record, parse
from fabricsim.verdict import Verdict

__all__ = ["Result", "Tables", "compare", "load"]


# The setting or command that makes a table that not every run has.
_ASKED_BY = {
    "class_series": 'collect = { series = "classes" }',
    "job_series": 'collect = { series = "classes" }',
    "pair_series": 'collect = { series = "classes" }',
    "router_load_series": 'collect = { series = "classes" }',
    "load_histogram_series": 'collect = { series = "classes" }',
    "top_links": 'collect = { series = "classes" }',
    "link_series": 'collect = { series = "links" }',
    "host_series": 'collect = { series = "links" }',
    "router_series": 'collect = { series = "links" }',
    "vc_series": 'collect = { series = "vcs" }',
    "timeline": "collect = { timeline = true }",
    "messages": "collect = { timeline = true }",
    "waits": "collect = { waits = true }",
    "critical_path": "the command fabricsim explain",
}


def _checked(table: Path) -> Path:
    """A file of a table, if it can be opened without waiting."""
    try:
        check(table)
    except OSError as error:
        raise ResultError(f"{table}: cannot be read: {error.strerror}") from None
    return table


class Tables(Mapping[str, pyarrow.Table]):
    """The tables of a result by name. Each Parquet file is compared with its checksums at the first access.

    ``docs/formats/tables.md`` describes all columns; every name carries its unit.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._paths = {path.stem: path for path in sorted(folder.glob("*.parquet"))}
        self._read: dict[str, pyarrow.Table] = {}
        self._verified: set[str] = set()
        self._mapped: tempfile.TemporaryDirectory[str] | None = None

    def __getitem__(self, name: str) -> pyarrow.Table:
        if name not in self._read:
            self._read[name] = pyarrow.parquet.read_table(self._verify(name), memory_map=True)
        return self._read[name]

    def _verify(self, name: str) -> Path:
        """The file of a table, compared with its checksums the first time."""
        path = self._paths[name]
        if name not in self._verified:
            _core.verify_table(path)
            self._verified.add(name)
        return path

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)

    def __repr__(self) -> str:
        return f"Tables({', '.join(self)})"

    def path(self, name: str) -> Path:
        """The Parquet file of a table, for other programs.

        Raises
        ------
        ResultError
            The run has no such table; the message says which it has, and how to get this one.
        """
        if name not in self._paths:
            known = ", ".join(self)
            hint = f"; {_ASKED_BY[name]} makes it" if name in _ASKED_BY else ""
            raise ResultError(f"this run has no table '{name}'; it has: {known}{hint}")
        return _checked(self._paths[name])

    def dataset(self, name: str) -> pyarrow.dataset.Dataset:
        """A table as a dataset, for tables larger than memory.

        Reads only the needed columns and row groups, and keeps a few batches in memory at most. Before, the
        whole file is compared with its checksums, once.

        Raises
        ------
        ResultError
            The run has no such table, or it is damaged.

        Examples
        --------
        >>> series = result.tables.dataset("link_series")  # doctest: +SKIP
        >>> late = pyarrow.dataset.field("begin_ps") >= 10_000_000  # doctest: +SKIP
        >>> for batch in series.to_batches(columns=["link", "bytes"], filter=late):  # doctest: +SKIP
        ...     print(batch.num_rows)
        """
        self.path(name)
        return pyarrow.dataset.dataset(self._verify(name), format="parquet")

    def mapped(self, name: str) -> pyarrow.Table:
        """A table that stays on disk, as memory-mapped Arrow buffers.

        Decodes the Parquet file once, batch by batch, into a temporary Arrow file that is removed with this
        object. Zero-copy conversions to pandas or polars stay on disk as well.

        Raises
        ------
        ResultError
            The run has no such table.
        """
        if self._mapped is None:
            self._mapped = tempfile.TemporaryDirectory(prefix="fabricsim-arrow-")
        file = Path(self._mapped.name) / f"{name}.arrow"
        if not file.exists():
            scanned = self.dataset(name)
            with pyarrow.ipc.new_file(str(file), scanned.schema) as writer:
                for batch in scanned.to_batches():
                    writer.write_batch(batch)
        with pyarrow.memory_map(str(file)) as source:
            return pyarrow.ipc.open_file(source).read_all()


class Result:
    """The result of one run. Made by :func:`fabricsim.run` and :func:`fabricsim.load`.

    Attributes
    ----------
    folder : pathlib.Path
        The result folder. Without `out`, it is a temporary folder that is removed with this object.
    summary : Record
        ``summary.json``: ``summary.network.latency_ns.p99``, ``summary.jobs[0].time_ns``;
        ``docs/formats/summary.md`` describes all keys.
    tables : Tables
        All tables by name.
    """

    def __init__(
        self,
        folder: Path,
        summary: Record,
        temporary: tempfile.TemporaryDirectory[str] | None = None,
    ) -> None:
        self.folder = folder
        self.summary = summary
        self.tables = Tables(folder)
        self._temporary = temporary
        # The explained summary, with the time of the file that explains it.
        self._explanation: tuple[int, Record] | None = None

    @property
    def digest(self) -> str:
        """Hash of all results: the same for every executor, thread count and machine."""
        return str(self.summary["digest"])

    @property
    def notes(self) -> list[Record]:
        """Reasons not to take the numbers as they are, each with ``kind``, ``severity``, ``job``, ``found``
        and ``advice``; ``docs/trust.md`` describes all kinds. Empty in results of older versions."""
        return list(self.summary.get("notes", ()))

    @property
    def verdict(self) -> Verdict | None:
        """One sentence about the run, then where, when, why, what to try.

        ``docs/methods/verdict.md`` describes its rules. After :func:`fabricsim.explain` it has the numbers of
        the critical path. None in results of older versions that were not explained.
        """
        found = self._explained().get("verdict")
        return None if found is None else verdict.from_json(found)

    @property
    def experiment(self) -> Experiment:
        """The experiment with every default. Paths are as they were given."""
        return Experiment.from_dict(self.summary["experiment"])

    @property
    def plot(self) -> Plots:
        """Figures of this result: ``result.plot.latency()``; see :class:`fabricsim.plot.Plots`."""
        return Plots(self)

    @property
    def ranks(self) -> pyarrow.Table:
        """One row per MPI rank: time in computation and MPI, messages, bytes. Times in picoseconds."""
        return self._table("ranks")

    @property
    def calls(self) -> pyarrow.Table:
        """One row per MPI rank and MPI call: count and time in picoseconds."""
        return self._table("calls")

    @property
    def jobs(self) -> pyarrow.Table:
        """One row per job. Times in picoseconds."""
        return self._table("jobs")

    @property
    def links(self) -> pyarrow.Table:
        """One row per link: bytes, packets, busy fraction, time its buffer downstream was full."""
        return self._table("links")

    @property
    def units(self) -> pyarrow.Table:
        """One row per unit of the network: a group, a pod of one level, a slice, a column or a router."""
        return self._table("units")

    @property
    def pair_series(self) -> pyarrow.Table:
        """One row per period, link class and pair of blocks: times, full and blocked links."""
        return self._table("pair_series")

    @property
    def router_load_series(self) -> pyarrow.Table:
        """One row per period and router: the greatest loads of the links on which it sends."""
        return self._table("router_load_series")

    @property
    def load_histogram_series(self) -> pyarrow.Table:
        """One row per period, link class and load in steps of 5 %: number of links."""
        return self._table("load_histogram_series")

    @property
    def top_links(self) -> pyarrow.Table:
        """One row per period and link with one of the greatest loads."""
        return self._table("top_links")

    @property
    def pairs(self) -> pyarrow.Table:
        """One row per link class and pair of units: links, bytes, times, full and blocked links."""
        return self._table("pairs")

    @property
    def routers(self) -> pyarrow.Table:
        """One row per router: label, group, hosts, place in a drawing of the network (0 to 1)."""
        return self._table("routers")

    @property
    def hosts(self) -> pyarrow.Table:
        """One row per host: router of its first rail, place in a drawing of the network (0 to 1).

        With ``collect = {"host_latency": True}`` also the packets that it received, with their latency and
        hops; null otherwise.
        """
        return self._table("hosts")

    @property
    def latency_histogram(self) -> pyarrow.Table:
        """Packets by latency in picoseconds, per job and (job null) for the whole network."""
        return self._table("latency_histogram")

    @property
    def hops_histogram(self) -> pyarrow.Table:
        """Packets by links crossed, per job and (job null) for the whole network."""
        return self._table("hops_histogram")

    def communication(self, job: str | None = None) -> pyarrow.Table:
        """What each MPI rank sent to each other one: ``from_rank``, ``to_rank``, ``messages``, ``bytes``.

        One row per pair of ranks between which something was sent, ordered by the ranks. Messages of
        collectives and those through memory are included, control messages of a rendezvous are not. It is
        the sum of the rows of the table ``messages`` that carry data; ``collect = {"timeline": True}``
        records it.

        Parameters
        ----------
        job : str
            Which; needed if there are several of MPI ranks.
        """
        kept = pyarrow.dataset.field("job") == one_job(self, job)
        kept &= ~pyarrow.dataset.field("protocol").isin(CONTROL)
        sent = self.tables.dataset("messages").to_table(
            columns=["from_rank", "to_rank", "bytes"], filter=kept
        )
        sums = sent.group_by(["from_rank", "to_rank"]).aggregate([("bytes", "count"), ("bytes", "sum")])
        sums = sums.select(["from_rank", "to_rank", "bytes_count", "bytes_sum"])
        sums = sums.rename_columns(["from_rank", "to_rank", "messages", "bytes"])
        return sums.sort_by([("from_rank", "ascending"), ("to_rank", "ascending")])

    def report(self, *, open: bool = False) -> Path:
        """The report page, one self-contained HTML file; regenerated if it was deleted.

        Parameters
        ----------
        open : bool
            Also show it in the web browser.

        Returns
        -------
        pathlib.Path
            The file.

        Raises
        ------
        ResultError
            The folder is gone or damaged.
        """
        page = self.folder / "report.html"
        if not page.is_file():
            page = Path(_core.regenerate_report(self.folder))
        if open:
            webbrowser.open(page.resolve().as_uri())
        return page

    def _explained(self) -> Record:
        """The summary, after ``explain`` with its verdict and its shares of the jobs' times."""
        try:
            changed = (self.folder / "critical_path.json").stat().st_mtime_ns
        except OSError:
            return self.summary
        if self._explanation is None or self._explanation[0] != changed:
            self._explanation = (changed, parse(_core.explained_summary(self.folder)))
        return self._explanation[1]

    def _table(self, name: str) -> pyarrow.Table:
        self.tables.path(name)
        return self.tables[name]

    def __repr__(self) -> str:
        jobs = ", ".join(f"{job.name}: {job.time_ns / 1e6:.6g} ms" for job in self.summary.jobs)
        kinds = ", ".join(dict.fromkeys(note.kind for note in self.notes))
        notes = f"; notes: {kinds}" if kinds else ""
        return f"<fabricsim.Result {jobs}{notes}; {self.folder}>"

    def _repr_html_(self) -> str:
        """For notebooks: the network in one line, and the jobs."""
        return display.result(self._explained(), self.digest, str(self.folder), self.tables)


def load(folder: str | PathLike[str], *, force: bool = False) -> Result:
    """Open a result folder that an earlier run wrote.

    Parameters
    ----------
    folder : path
        The folder.
    force : bool
        Also read files whose bytes are not those that the run wrote. It holds for this folder in this
        process, until it is loaded again.

    Raises
    ------
    ResultError
        The folder is not a FabricSim result or is damaged, or its run is under way or was killed.
    """
    folder = Path(folder)
    if (folder / "RUNNING.json").is_file():
        begun = "a run that is under way or was killed (RUNNING.json)"
        if not (folder / "summary.json").is_file():
            raise ResultError(
                f"{folder} has no result: it is that of {begun}; what it has measured so far lies in "
                f"{folder / 'running'}"
            )
        warnings.warn(f"{folder} is also that of {begun}; this is the result before it", stacklevel=2)
    try:
        text = read_text(folder / "summary.json", MOST_BYTES_OF_RESULTS)
    except OSError as error:
        raise ResultError(f"{folder} is not a FabricSim result: summary.json: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ResultError(f"{folder} is not a FabricSim result: its summary.json is damaged") from None
    _core.verify_summary(folder, force)
    try:
        summary = parse(text)
        version = summary["schema"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ResultError(f"{folder} is not a FabricSim result: its summary.json is damaged") from None
    if version != "fabricsim/summary/1":
        raise ResultError(f"{folder} is not a result of this version: its schema is '{version}'")
    for key in ("checksums", "checksum"):
        summary.pop(key, None)
    return Result(folder, summary)


def compare(results: Mapping[str, Result]) -> str:
    """Compare results in a text table by name; ratios are relative to the first.

    Examples
    --------
    >>> print(fabricsim.compare({"fat tree": a, "dragonfly": b}))  # doctest: +SKIP
    """
    return _core.compare([(name, result.folder) for name, result in results.items()])
