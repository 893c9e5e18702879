"""Tasks on Dask: processes of this machine, a scheduler that runs already, or batch jobs of dask-jobqueue.

It does not know what tasks do. A task that ends its process, or loses it, comes back as an error like any
other.
"""

from __future__ import annotations

import importlib
import itertools
import logging
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, Protocol, TypeVar

from fabricsim._errors import SweepError
from fabricsim.sweep.cluster import JOBQUEUES, ClusterSettings

__all__ = ["Dask", "Engine"]

Given = TypeVar("Given")
Gives = TypeVar("Gives")

# Seconds between two looks at the workers while nothing comes.
_LOOK = 5.0
_INSTALL = "pip install 'fabricsim[sweep]'"


class Engine(Protocol):
    """Something that carries out tasks."""

    def each(
        self, function: Callable[[Given], Gives], items: Iterable[Given], threads: int = 1
    ) -> Iterator[tuple[Given, Gives | BaseException]]:
        """What a function gives for each item, or raises, in the order in which they come to an end. Each
        call takes so many threads."""
        ...


class Dask:
    """An engine, to be used in a ``with`` statement: started when it is first needed.

    Parameters
    ----------
    settings : ClusterSettings
        Where.
    """

    def __init__(self, settings: ClusterSettings) -> None:
        self._settings = settings
        self._here = settings.scheduler is None and settings.jobqueue is None
        self._workers = 1
        self._cluster: Any = None
        self._client: Any = None

    def __enter__(self) -> Dask:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._client is not None:
            self._client.close(timeout=5)
        if self._cluster is not None:
            self._cluster.close(timeout=10)

    def each(
        self, function: Callable[[Given], Gives], items: Iterable[Given], threads: int = 1
    ) -> Iterator[tuple[Given, Gives | BaseException]]:
        """See `Engine`. Only so many items are with the scheduler at a time as keep the workers busy."""
        waiting = iter(items)
        first = next(waiting, None)
        if first is None:
            return
        client = self._start(threads)
        enough = max(32, 4 * sum(client.nthreads().values()))
        items_of: dict[Any, Given] = {}
        finished: SimpleQueue[Any] = SimpleQueue()

        def submit(item: Given) -> None:
            future = client.submit(function, item, pure=False)
            items_of[future] = item
            future.add_done_callback(finished.put)

        try:
            for item in itertools.chain([first], itertools.islice(waiting, enough)):
                submit(item)
            while items_of:
                future = self._patiently(partial(finished.get, timeout=_LOOK))
                for item in itertools.islice(waiting, 1):
                    submit(item)
                yield items_of.pop(future), self._patiently(partial(_came, future))
        finally:
            client.cancel(list(items_of))

    def _patiently(self, wait: Callable[[], Any]) -> Any:
        """What comes some time. Meanwhile, workers of this machine that are gone for good are replaced, which
        Dask does not do by itself."""
        while True:
            try:
                return wait()
            except (Empty, TimeoutError):
                if self._here:
                    self._cluster.scale(self._workers)

    def _start(self, threads: int) -> Any:
        self._workers = self._settings.workers or max(1, _cores() // threads)
        if self._client is not None:
            if self._here:
                self._cluster.scale(self._workers)
        else:
            try:
                import distributed
            except ImportError as error:
                raise SweepError(f"sweeps need Dask ({error}): {_INSTALL}") from None
            # What matters reaches the user as a result; Dask's notes on its own closing do not.
            logging.getLogger("distributed").setLevel(logging.CRITICAL)
            if self._settings.scheduler is not None:
                self._client = self._connect(distributed, self._settings.scheduler)
            else:
                queue = self._settings.jobqueue
                self._cluster = self._local(distributed) if queue is None else self._batch(queue)
                self._client = distributed.Client(self._cluster, set_as_default=False)
                if queue is None:
                    self._client.run(_leave_interrupts)
        return self._client

    def _local(self, distributed: Any) -> Any:
        import dask

        dask.config.set(
            {
                # A run that ends its process is tried once more. No other waits with that process, where it
                # would be blamed, too.
                "distributed.scheduler.allowed-failures": 1,
                "distributed.scheduler.worker-saturation": 1.0,
                # Later, a worker that is not back is given up; on a busy machine it takes its time.
                "distributed.deploy.lost-worker-timeout": "10 minutes",
            }
        )
        return distributed.LocalCluster(
            n_workers=self._workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
            # Dask's own limit, a share of the machine for each, would end runs that fit.
            memory_limit=self._settings.memory or 0,
            silence_logs=logging.CRITICAL,
        )

    def _batch(self, queue: str) -> Any:
        try:
            module = importlib.import_module("dask_jobqueue.local" if queue == "local" else "dask_jobqueue")
        except ImportError as error:
            raise SweepError(f"a jobqueue needs dask-jobqueue ({error}): {_INSTALL}") from None
        try:
            cluster = getattr(module, JOBQUEUES[queue])(**self._settings.options)
        except (TypeError, ValueError) as error:
            why = str(error).splitlines()[0]
            raise SweepError(f"dask-jobqueue says: {why}", key="cluster.jobqueue") from None
        cluster.scale(jobs=self._settings.jobs)
        return cluster

    def _connect(self, distributed: Any, address: str) -> Any:
        try:
            return distributed.Client(address, timeout="10s", set_as_default=False)
        except (OSError, ValueError) as error:
            raise SweepError(
                f"no Dask scheduler answers at {address}: {error}", key="cluster.scheduler"
            ) from None


def _came(future: Any) -> Any:
    """What a task that has ended gave or raised. It may be waited for again: a worker that ends takes along
    what nobody has fetched."""
    error = future.exception(timeout=_LOOK)
    if type(error).__name__ == "KilledWorker":
        return RuntimeError(
            "the process that carried it out ended: it was killed, or there was no more memory"
        )
    return future.result(timeout=_LOOK) if error is None else error


def _leave_interrupts() -> None:
    """Ctrl-C reaches all processes of a terminal; what it means is up to the one that started the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
