"""Simulations that are stepped from outside."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from fabricsim.experiment import ExperimentLike, open_session
from fabricsim.record import parse
from fabricsim.result import Result

__all__ = ["Delivery", "Session"]


class Delivery(NamedTuple):
    """A message of a session that has arrived."""

    message: int
    """The number that :meth:`Session.send` gave it."""
    time_ps: int
    """When its last byte was at its destination, in ps."""


class Session:
    """A simulation that is stepped from outside: another program sends messages and advances the time.

    Messages take no time of a processor and have no header: they take what the network makes of them. Jobs of
    the experiment run beside the session. It runs in a thread of its own, one event after the other.

    Parameters
    ----------
    experiment, set
        As in :func:`run`. It needs no job.
    hosts : iterable of int
        The hosts that send and receive (default: all on which no job has ranks).

    Raises
    ------
    ExperimentError
        The experiment is wrong, or a host does not exist or has ranks of a job.

    Examples
    --------
    >>> with fabricsim.Session("network.toml") as session:  # doctest: +SKIP
    ...     session.send(0, 5, 4096, at_ps=0)
    ...     for delivery in session.advance(1_000_000):
    ...         print(delivery.message, delivery.time_ps)
    """

    def __init__(
        self,
        experiment: ExperimentLike,
        *,
        set: Mapping[str, Any] | None = None,
        hosts: Iterable[int] | None = None,
    ) -> None:
        self._core = open_session(experiment, set or {}, None if hosts is None else list(hosts))

    @property
    def hosts(self) -> list[int]:
        """The hosts that send and receive, ascending."""
        return self._core.hosts()

    @property
    def now_ps(self) -> int:
        """The time to which it has advanced, in ps: all before it has happened."""
        return self._core.now_ps()

    def send(self, source: int, destination: int, bytes: int, *, at_ps: int) -> int:
        """Send a message from one host to another.

        Parameters
        ----------
        source, destination : int
            Hosts of the session.
        bytes : int
            Size, at least 1.
        at_ps : int
            The time at which the NIC gets it, in ps, not before :attr:`now_ps`.

        Returns
        -------
        int
            Its number; messages are numbered from 0.

        Raises
        ------
        ValueError
            The time is past, a host has no part in the session, or the message has no bytes.
        """
        return self._core.send(at_ps, source, destination, bytes)

    def advance(self, until_ps: int) -> list[Delivery]:
        """Simulate all that happens before a time in ps.

        Returns
        -------
        list of Delivery
            The messages that have been delivered since the last call, in this order.

        Raises
        ------
        ValueError
            The time is past.
        ApplicationError
            A job of the experiment cannot go on.
        """
        return [Delivery(*delivery) for delivery in self._core.advance(until_ps)]

    def finish(self, out: str | PathLike[str] | None = None) -> tuple[list[Delivery], Result]:
        """Simulate until all messages have been delivered and all other jobs have ended.

        Parameters
        ----------
        out : path
            Result folder, as in :func:`run`.

        Returns
        -------
        list of Delivery
            The deliveries since the last :meth:`advance`.
        Result
            The result of the run.

        Raises
        ------
        ApplicationError
            A job of the experiment cannot go on.
        ResultError
            The result cannot be written.
        """
        temporary = None
        if out is None:
            temporary = tempfile.TemporaryDirectory(prefix="fabricsim-")
            out = Path(temporary.name) / "result"
        folder = Path(out)
        try:
            deliveries, summary = self._core.finish(folder)
        except BaseException:
            if temporary is not None:
                temporary.cleanup()
            raise
        return [Delivery(*delivery) for delivery in deliveries], Result(folder, parse(summary), temporary)

    def close(self) -> None:
        """End the simulation without a result, if it has not ended yet."""
        self._core.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
