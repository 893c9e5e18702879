"""Tasks on Dask: local processes, a running scheduler, or batch jobs of dask-jobqueue.

The engine does not know what tasks do. A task that ends its process, or loses it, is returned as an error.
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
from fabricsim.sweep.section import shortened

__all__ = ["Dask", "Engine", "Here"]

Given = TypeVar("Given")
Gives = TypeVar("Gives")

# Seconds between two checks of the workers while no result arrives.
_LOOK = 5.0
_INSTALL = "pip install 'fabricsim[sweep]'"


class Engine(Protocol):
    """An executor of tasks."""

    def each(
        self, function: Callable[[Given], Gives], items: Iterable[Given], threads: int = 1
    ) -> Iterator[tuple[Given, Gives | BaseException]]:
        """The result or exception of a function for each item, in the order of completion. Each call uses
        this many threads."""
        ...


class Here:
    """An engine in this process, one item after the other: for few and short tasks."""

    def each(
        self, function: Callable[[Given], Gives], items: Iterable[Given], threads: int = 1
    ) -> Iterator[tuple[Given, Gives | BaseException]]:
        """See `Engine`."""
        for item in items:
            yield item, function(item)


class Dask:
    """An engine for a ``with`` statement. It starts on first use.

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
        """See `Engine`. Only enough items to keep the workers busy are with the scheduler at a time."""
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
        """Completed tasks, as they arrive. Replaces ended workers of this machine meanwhile, which Dask does
        not."""
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
            # The user gets everything relevant as a result; Dask's messages about its own shutdown are noise.
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
        from dask.utils import parse_bytes

        memory = self._settings.memory or "0"
        try:
            limit = parse_bytes(memory)
        except (ValueError, OverflowError):
            message = f"expected a size such as \"8 GB\", found '{shortened(memory)}'"
            raise SweepError(message, key="cluster.memory") from None
        dask.config.set(
            {
                # A run that ends its process gets one more attempt, alone on its process, so that no other
                # task is blamed.
                "distributed.scheduler.allowed-failures": 1,
                "distributed.scheduler.worker-saturation": 1.0,
                # A missing worker is given up after a timeout; a busy machine may be slow.
                "distributed.deploy.lost-worker-timeout": "10 minutes",
            }
        )
        return distributed.LocalCluster(
            n_workers=self._workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
            # Dask's own limit, an equal share of the machine for each worker, would end runs that fit.
            memory_limit=limit,
            silence_logs=logging.CRITICAL,
        )

    def _batch(self, queue: str) -> Any:
        try:
            module = _import_jobqueue("dask_jobqueue.local" if queue == "local" else "dask_jobqueue")
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


def _import_jobqueue(name: str) -> Any:
    """A module of dask-jobqueue, whose import makes Ctrl-C end the process. What Ctrl-C did before, it still
    does."""
    before = signal.getsignal(signal.SIGINT)
    try:
        return importlib.import_module(name)
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)


def _came(future: Any) -> Any:
    """The result or exception of a completed task. A worker that ends takes unfetched results along, so the
    task may have to be awaited again."""
    error = future.exception(timeout=_LOOK)
    if type(error).__name__ == "KilledWorker":
        return RuntimeError(
            "the process that carried it out ended: it was killed, or there was no more memory"
        )
    return future.result(timeout=_LOOK) if error is None else error


def _leave_interrupts() -> None:
    """Ctrl-C reaches all processes of a terminal; the parent process handles it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
