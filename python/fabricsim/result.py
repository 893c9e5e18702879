"""Results: the folder that a run writes, as Python objects."""

from __future__ import annotations

import html
import tempfile
import webbrowser
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path

import pyarrow
import pyarrow.parquet

from fabricsim import _core
from fabricsim._errors import ResultError
from fabricsim.record import Record, parse

__all__ = ["Result", "Tables", "compare", "load"]


class Tables(Mapping[str, pyarrow.Table]):
    """The tables of a result by name, each read from its Parquet file when it is first asked for.

    ``docs/formats/tables.md`` describes all columns; every name carries its unit.
    """

    def __init__(self, folder: Path) -> None:
        self._paths = {path.stem: path for path in sorted(folder.glob("*.parquet"))}
        self._read: dict[str, pyarrow.Table] = {}

    def __getitem__(self, name: str) -> pyarrow.Table:
        if name not in self._read:
            self._read[name] = pyarrow.parquet.read_table(self._paths[name])
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)

    def __repr__(self) -> str:
        return f"Tables({', '.join(self)})"


class Result:
    """What one run gave. Made by :func:`fabricsim.run` and :func:`fabricsim.load`.

    Attributes
    ----------
    folder : pathlib.Path
        The result folder. If the run was not told where to write, it is a temporary one, which is removed
        with this object.
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

    @property
    def digest(self) -> str:
        """Hash over all results: the same for every executor, thread count and machine."""
        return str(self.summary["digest"])

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
    def latency_histogram(self) -> pyarrow.Table:
        """Packets by latency in picoseconds, per job and (job null) for the whole network."""
        return self._table("latency_histogram")

    @property
    def hops_histogram(self) -> pyarrow.Table:
        """Packets by links crossed, per job and (job null) for the whole network."""
        return self._table("hops_histogram")

    def report(self, *, open: bool = False) -> Path:
        """The report page, one self-contained HTML file; made anew if it was deleted.

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

    def _table(self, name: str) -> pyarrow.Table:
        try:
            return self.tables[name]
        except KeyError:
            known = ", ".join(self.tables)
            raise ResultError(f"this run has no table '{name}'; it has: {known}") from None

    def __repr__(self) -> str:
        jobs = ", ".join(f"{job.name}: {job.time_ns / 1e6:.6g} ms" for job in self.summary.jobs)
        return f"<fabricsim.Result {jobs}; {self.folder}>"

    def _repr_html_(self) -> str:
        """A table for notebooks: the jobs, and the network in one line."""
        network = self.summary.network
        rows = "".join(
            f"<tr><td>{html.escape(job.name)}</td><td>{html.escape(job.kind)}</td><td>{job.ranks}</td>"
            f"<td>{job.hosts}</td><td>{job.time_ns / 1e6:.6g}</td><td>{job.compute_ns / 1e6:.6g}</td>"
            f"<td>{job.mpi_ns / 1e6:.6g}</td><td>{job.latency_ns.mean:.6g}</td></tr>"
            for job in self.summary.jobs
        )
        return (
            f"<p><b>{html.escape(network.topology)}</b>: accepted load {network.accepted_load:.1%}, "
            f"packet latency {network.latency_ns.mean:.6g} ns mean, {network.latency_ns.p99:.6g} ns p99, "
            f"{network.mean_hops:.2f} hops; digest {self.digest[:12]}</p>"
            "<table><thead><tr><th>job</th><th>kind</th><th>ranks</th><th>hosts</th><th>time (ms)</th>"
            "<th>computation (ms)</th><th>MPI (ms)</th><th>packet latency (ns)</th></tr></thead>"
            f"<tbody>{rows}</tbody></table>"
        )


def load(folder: str | PathLike[str]) -> Result:
    """Open a result folder that an earlier run wrote.

    Raises
    ------
    ResultError
        The folder is not a FabricSim result.
    """
    folder = Path(folder)
    try:
        text = (folder / "summary.json").read_text(encoding="utf-8")
    except OSError as error:
        raise ResultError(f"{folder} is not a FabricSim result: {error}") from None
    try:
        summary = parse(text)
        version = summary["schema"]
    except (ValueError, KeyError, TypeError):
        raise ResultError(f"{folder} is not a FabricSim result: its summary.json is damaged") from None
    if version != "fabricsim/summary/1":
        raise ResultError(f"{folder} is not a result of this version: its schema is '{version}'")
    return Result(folder, summary)


def compare(results: Mapping[str, Result]) -> str:
    """A table of text that compares results by name; ratios are to the first.

    Examples
    --------
    >>> print(fabricsim.compare({"fat tree": a, "dragonfly": b}))  # doctest: +SKIP
    """
    return _core.compare([(name, result.folder) for name, result in results.items()])
