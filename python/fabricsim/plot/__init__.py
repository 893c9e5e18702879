"""Figures of results, for papers and notebooks.

Every function gives a figure of matplotlib (``backend="matplotlib"``, for papers) or of Plotly
(``backend="plotly"``, for notebooks: the report's library). Axes have units; colours and dashes are
distinguishable with any colour vision. Both libraries are optional: ``pip install 'fabricsim[plot]'`` brings
the one, ``'fabricsim[notebook]'`` the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from fabricsim.plot import causes, content

if TYPE_CHECKING:
    from fabricsim.plot.chart import Chart
    from fabricsim.result import Result

__all__ = ["Backend", "Plots", "compare"]

Backend: TypeAlias = Literal["matplotlib", "plotly"]

_EXTRA = {"matplotlib": "plot", "plotly": "notebook"}


class Plots:
    """The figures of one result: ``result.plot.latency()``.

    All functions have the parameter `backend`, ``"matplotlib"`` or ``"plotly"``, and return a
    ``matplotlib.figure.Figure`` or a ``plotly.graph_objects.Figure``. They raise ``ResultError`` if the run
    has not recorded what they show, and ``ImportError`` if the library is not installed.
    """

    def __init__(self, result: Result) -> None:
        self._result = result

    @property
    def _one(self) -> Mapping[str, Result]:
        return {"": self._result}

    def latency(self, *, job: str | None = None, tail: bool = False, backend: Backend = "matplotlib") -> Any:
        """Distribution of packet latencies: cumulative share of packets, latency on a logarithmic axis.

        Parameters
        ----------
        job : str
            Packets of this job only; else a curve for each job, and one for all packets.
        tail : bool
            The share that took longer instead, on a logarithmic axis: what happens to the last per mille.
        backend : {"matplotlib", "plotly"}
            Library of the figure.
        """
        return _draw(content.latency(self._one, job, tail), backend)

    def hops(self, *, job: str | None = None, backend: Backend = "matplotlib") -> Any:
        """Share of the packets by the number of links that they crossed.

        Parameters
        ----------
        job : str
            Packets of this job only; else bars for each job.
        backend : {"matplotlib", "plotly"}
            Library of the figure.
        """
        return _draw(content.hops(self._one, job), backend)

    def host_latency(
        self,
        *,
        what: Literal["latency", "hops"] = "latency",
        job: str | None = None,
        backend: Backend = "matplotlib",
    ) -> Any:
        """Mean latency or hops of the packets that each host received, hosts sorted, from ``hosts``.

        Parameters
        ----------
        what : {"latency", "hops"}
            Which mean. It is of the measured packets of all jobs.
        job : str
            Hosts of the ranks of this job only; else a curve for each job of ranks, and one for all hosts.
        backend : {"matplotlib", "plotly"}
            Library of the figure.
        """
        return _draw(content.host_latency(self._one, what, job), backend)

    def link_load(self, *, backend: Backend = "matplotlib") -> Any:
        """Load of the links of each class: mean, and the most loaded one, in percent of the measured time.

        Parameters
        ----------
        backend : {"matplotlib", "plotly"}
            Library of the figure.
        """
        return _draw(content.link_load(self._one), backend)

    def link_load_cdf(self, *, link_class: str | None = None, backend: Backend = "matplotlib") -> Any:
        """Distribution of the loads of links: cumulative share of the links, a curve for each class.

        Parameters
        ----------
        link_class : str
            Links of this class only, for example ``"global"``.
        backend : {"matplotlib", "plotly"}
            Library of the figure.
        """
        return _draw(content.link_load_cdf(self._one, link_class), backend)

    def class_load(
        self,
        *,
        what: Literal["busy", "buffer_full"] = "busy",
        link_class: str | None = None,
        backend: Backend = "matplotlib",
    ) -> Any:
        """Load of the classes of links over time, from the table ``class_series``.

        Parameters
        ----------
        what : {"busy", "buffer_full"}
            Time that links carry packets, or that packets wait for credits, in percent.
        link_class : str
            Links of this class only.
        backend : {"matplotlib", "plotly"}
            Library of the figure.
        """
        return _draw(content.class_load(self._one, what, link_class), backend)

    def sends_receives(
        self,
        *,
        of: Literal["hosts", "routers", "jobs"] = "hosts",
        what: Literal["packets", "bytes", "messages"] = "packets",
        only: Sequence[int] | Sequence[str] | None = None,
        backend: Backend = "matplotlib",
    ) -> Any:
        """Packets, bytes or messages over time, from ``host_series``, ``router_series`` or ``job_series``.

        Parameters
        ----------
        of : {"hosts", "routers", "jobs"}
            By whom.
        what : {"packets", "bytes", "messages"}
            Per microsecond; bytes as Gbit/s. Hosts count packets and bytes, routers packets, jobs messages
            and bytes.
        only : Sequence[int] or Sequence[str]
            Only these: numbers of hosts or routers, names of jobs; else the sum of all.
        backend : {"matplotlib", "plotly"}
            Library of the figure.
        """
        return _draw(content.sends_receives(self._one, of, what, only), backend)

    def occupancy(
        self,
        *,
        links: Sequence[int] | None = None,
        link_class: str | None = None,
        vcs: Sequence[int] | None = None,
        most: int = 48,
        columns: int = 400,
        backend: Backend = "matplotlib",
    ) -> Any:
        """Buffer levels over time, from ``vc_series``: a row for each link, a map for each VC.

        Parameters
        ----------
        links : Sequence[int]
            Numbers of links, as in the table ``links``: the buffers at their far ends.
        link_class : str
            Links of this class only.
        vcs : Sequence[int]
            Virtual channels; else all.
        most : int
            How many rows at most: those of the buffers that are fullest.
        columns : int
            Into how many columns time is divided.
        backend : {"matplotlib", "plotly"}
            Library of the figure.
        """
        return _draw(content.occupancy(self._result, links, link_class, vcs, most, columns), backend)

    def job_time(self, *, job: str | None = None, backend: Backend = "matplotlib") -> Any:
        """Time of jobs in computation and MPI calls, mean of their ranks.

        Parameters
        ----------
        job : str
            This one only.
        backend : {"matplotlib", "plotly"}
            Library of the figure.
        """
        return _draw(content.job_time(self._one, job), backend)

    def rank_time(self, *, job: str | None = None, backend: Backend = "matplotlib") -> Any:
        """Time of each rank of a job; beyond 200 ranks, means of consecutive ones.

        Parameters
        ----------
        job : str
            Which; needed if there are several of MPI ranks.
        backend : {"matplotlib", "plotly"}
            Library of the figure.
        """
        return _draw(content.rank_time(self._result, job), backend)

    def composition(self, *, job: str | None = None, backend: Backend = "matplotlib") -> Any:
        """Time of jobs by cause, mean of their ranks: computation, MPI overhead, and waiting for partners,
        transfers and links.

        Parameters
        ----------
        job : str
            This one only.
        backend : {"matplotlib", "plotly"}
            Library of the figure.
        """
        return _draw(causes.composition(self._one, job), backend)

    def critical_path(self, *, job: str | None = None, backend: Backend = "matplotlib") -> Any:
        """The chain of activities, from rank to rank, that determines the time of a job. It is there after
        ``fabricsim explain`` and :meth:`fabricsim.Result.explain`.

        Parameters
        ----------
        job : str
            Which; needed if there are several of MPI ranks.
        backend : {"matplotlib", "plotly"}
            Library of the figure.
        """
        return _draw(causes.critical_path(self._result, job), backend)

    def message_phases(self, *, job: str | None = None, backend: Backend = "matplotlib") -> Any:
        """Mean time of messages in the protocol, the sender's NIC, the network, and until the receiver
        matches them.

        Parameters
        ----------
        job : str
            This one only.
        backend : {"matplotlib", "plotly"}
            Library of the figure.
        """
        return _draw(causes.message_phases(self._one, job), backend)

    def hottest_links(self, *, most: int = 12, backend: Backend = "matplotlib") -> Any:
        """The most loaded links by name.

        Parameters
        ----------
        most : int
            Number of links.
        backend : {"matplotlib", "plotly"}
            Library of the figure.
        """
        return _draw(causes.hottest_links(self._result, most), backend)

    def communication(
        self,
        *,
        job: str | None = None,
        what: Literal["bytes", "messages"] = "bytes",
        backend: Backend = "matplotlib",
    ) -> Any:
        """The communication matrix: what each rank sent to each other one, from the table ``messages``.

        Parameters
        ----------
        job : str
            Which; needed if there are several of MPI ranks.
        what : {"bytes", "messages"}
            What is counted, on a logarithmic scale.
        backend : {"matplotlib", "plotly"}
            Library of the figure.
        """
        return _draw(content.communication(self._result, job, what), backend)

    def hottest_routers(self, *, most: int = 12, backend: Backend = "matplotlib") -> Any:
        """The routers with the most loaded links: mean of the links that leave each, and the busiest one.

        Parameters
        ----------
        most : int
            Number of routers.
        backend : {"matplotlib", "plotly"}
            Library of the figure.
        """
        return _draw(causes.hottest_routers(self._result, most), backend)

    def nic_queues(self, *, backend: Backend = "matplotlib") -> Any:
        """Bytes that wait in the NICs of all hosts over time, from ``host_series``.

        Parameters
        ----------
        backend : {"matplotlib", "plotly"}
            Library of the figure.
        """
        return _draw(causes.nic_queues(self._result), backend)

    def threads(self, *, backend: Backend = "matplotlib") -> Any:
        """Time of the simulator's own threads by activity, in seconds: at most the first 64 threads.

        Parameters
        ----------
        backend : {"matplotlib", "plotly"}
            Library of the figure.
        """
        return _draw(causes.threads(self._result), backend)

    def timeline(
        self,
        *,
        job: str | None = None,
        ranks: Sequence[int] | None = None,
        begin_ns: float | None = None,
        end_ns: float | None = None,
        messages: bool | None = None,
        backend: Backend = "matplotlib",
    ) -> Any:
        """The state of each rank over time (a Gantt chart), from the tables ``timeline`` and ``messages``.

        Where there are more states than can be seen, a pixel shows the one that fills most of it.

        Parameters
        ----------
        job : str
            Which; needed if there are several of MPI ranks.
        ranks : Sequence[int]
            Which ranks; else the first 64.
        begin_ns, end_ns : float
            Part of the simulated time, in nanoseconds; else all of it.
        messages : bool
            Arrows from the sender to the receiver: True, for the 400 largest messages; None, for all, if they
            are no more than 400.
        backend : {"matplotlib", "plotly"}
            Library of the figure.
        """
        return _draw(content.timeline(self._result, job, ranks, begin_ns, end_ns, messages), backend)


def compare(
    results: Mapping[str, Result],
    what: Literal[
        "latency",
        "hops",
        "host_latency",
        "host_hops",
        "link_load",
        "link_load_cdf",
        "class_load",
        "job_time",
        "composition",
        "message_phases",
    ] = "latency",
    *,
    job: str | None = None,
    link_class: str | None = None,
    tail: bool = False,
    backend: Backend = "matplotlib",
) -> Any:
    """Several results in one figure.

    Parameters
    ----------
    results : Mapping[str, Result]
        Results by the names that they have in the figure.
    what : str
        One of the names above: the function of :class:`Plots` whose figure it is. ``host_hops`` is
        ``host_latency(what="hops")``.
    job : str
        Of latency, hops, host_latency, host_hops, job_time, composition and message_phases: this job only.
    link_class : str
        Of link_load_cdf and class_load: links of this class only; else link_load_cdf has all between routers.
    tail : bool
        Of latency: the share that took longer.
    backend : {"matplotlib", "plotly"}
        Library of the figure.

    Returns
    -------
    matplotlib.figure.Figure or plotly.graph_objects.Figure

    Raises
    ------
    ResultError
        A run has not recorded what is shown.
    ImportError
        The library is not installed.
    ValueError
        There are no results, or no such figure.

    Examples
    --------
    >>> fabricsim.plot.compare({"torus": a, "dragonfly": b}, "latency")  # doctest: +SKIP
    """
    if not results:
        raise ValueError("there are no results to compare")
    charts = {
        "latency": lambda: content.latency(results, job, tail),
        "hops": lambda: content.hops(results, job),
        "host_latency": lambda: content.host_latency(results, "latency", job),
        "host_hops": lambda: content.host_latency(results, "hops", job),
        "link_load": lambda: content.link_load(results),
        "link_load_cdf": lambda: content.link_load_cdf(results, link_class),
        "class_load": lambda: content.class_load(results, "busy", link_class),
        "job_time": lambda: content.job_time(results, job),
        "composition": lambda: causes.composition(results, job),
        "message_phases": lambda: causes.message_phases(results, job),
    }
    if what not in charts:
        raise ValueError(f"there is no figure {what!r} of several results; there are: {', '.join(charts)}")
    return _draw(charts[what](), backend)


def _draw(charts: list[Chart], backend: Backend) -> Any:
    """The charts as a figure of a library, which is imported on first use."""
    if backend not in _EXTRA:
        raise ValueError(f"unknown backend {backend!r}; expected one of: {', '.join(_EXTRA)}")
    try:
        if backend == "matplotlib":
            from fabricsim.plot.drawing_matplotlib import draw as draw_paper

            return draw_paper(charts)
        from fabricsim.plot.drawing_plotly import draw as draw_page

        return draw_page(charts)
    except ModuleNotFoundError as error:
        raise ImportError(
            f"figures of {backend} need the package {error.name}: pip install 'fabricsim[{_EXTRA[backend]}]'",
            name=error.name,
        ) from None
