"""The work of a worker: identify an experiment, and run it. Errors are returned as values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet

from fabricsim import _core
from fabricsim._errors import FabricSimError, SweepError
from fabricsim.sweep import metrics
from fabricsim.sweep.cache import Cache, Outcome, Resolved, digest
from fabricsim.sweep.inputs import input_files
from fabricsim.sweep.inventory import inventory
from fabricsim.sweep.section import read, shortened

__all__ = ["Failure", "Task", "distinct", "equal_names", "estimate", "resolve", "simulate"]


@dataclass(frozen=True)
class Task:
    """The description of a run for a worker."""

    experiment: Path
    overrides: tuple[tuple[str, str], ...]
    interference: bool
    keep_result: bool
    cache: Path
    key: str = ""


@dataclass(frozen=True)
class Failure:
    """Why there is no result: the class of the error, and its message."""

    kind: str
    message: str

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """An error as a value."""
        return cls(type(error).__name__, str(error) or repr(error))


def distinct(failed: Iterable[tuple[str, Failure]]) -> list[tuple[str, Failure]]:
    """Each failure once, with the first run that has it and the number of the others: ``point 0 (torus) and 3
    more``."""
    found: dict[Failure, list[str]] = {}
    for name, failure in failed:
        found.setdefault(failure, []).append(name)
    return [
        (names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1:,} more", failure)
        for failure, names in found.items()
    ]


def resolve(task: Task) -> Resolved | Failure:
    """The identity of an experiment. Nothing is run."""
    try:
        experiment = _core.Experiment.load(task.experiment, list(task.overrides))
        settings: dict[str, Any] = json.loads(experiment.settings())
        failure = equal_names(task.experiment, [job["name"] for job in settings.get("job", ())])
        if failure is not None:
            return failure
        inputs = input_files(settings, task.experiment.parent)
        threads = settings["run"]["threads"]
        return Resolved(digest(settings), inputs, 1 if threads == "auto" else threads, _core.__version__)
    except (FabricSimError, OSError, ValueError) as error:
        return Failure.of(error)


def estimate(task: Task) -> dict[str, Any] | Failure:
    """The expected work of a run, see `Experiment.work`. Nothing is run."""
    try:
        experiment = _core.Experiment.load(task.experiment, list(task.overrides))
        names = [job["name"] for job in json.loads(experiment.settings()).get("job", ())]
        found: dict[str, Any] = json.loads(experiment.work())
        return equal_names(task.experiment, names) or found
    except (FabricSimError, OSError, ValueError) as error:
        return Failure.of(error)


def equal_names(experiment: Path, names: Sequence[str]) -> Failure | None:
    """Why a sweep cannot have an experiment with jobs of these names: two would have the same columns."""
    equal = metrics.equal_names(names)
    if equal is None:
        return None
    first, second = (("job", str(number), "name") for number in equal)
    try:
        file = read(experiment)
    except SweepError as error:
        return Failure.of(error)
    name = shortened(names[equal[1]])
    message = (
        f"'{name}' is also the name of job.{equal[0]} ({file.place(first)}); expected another name: the "
        f"tables of a sweep have the columns job.{name}.* for one job only"
    )
    return Failure.of(file.error(second, message))


def simulate(task: Task) -> Outcome | Failure:
    """Runs an experiment and stores its result in the cache, unless another worker has stored it
    meanwhile.
    """

    def fill(folder: Path) -> Outcome:
        experiment = _core.Experiment.load(task.experiment, list(task.overrides))
        if json.loads(experiment.settings())["run"]["threads"] == "auto":
            # The cores are for the other experiments.
            alone = [*task.overrides, ("run.threads", "1")]
            experiment = _core.Experiment.load(task.experiment, alone)
        summary = json.loads(experiment.run(folder, None, task.interference))
        links = pyarrow.parquet.read_table(
            folder / "links.parquet", columns=["class", "bandwidth_bits_per_s", "from"]
        )
        return Outcome(summary, inventory(links, summary))

    try:
        cache = Cache(task.cache)
        return cache.get(task.key, task.keep_result) or cache.put(task.key, fill, task.keep_result)
    except (FabricSimError, OSError, ValueError) as error:
        return Failure.of(error)
