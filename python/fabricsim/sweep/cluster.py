"""Where points run: the cores of this machine, or a cluster. The table ``[cluster]`` of a sweep file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fabricsim.sweep.section import Section, shortened

__all__ = ["MOST_WORKERS", "ClusterSettings"]

# Processes to start on this machine, and batch jobs to submit; more are a mistake.
MOST_WORKERS = 4096
MOST_JOBS = 10_000

# Classes of dask-jobqueue by the common names of these systems.
JOBQUEUES = {
    "htcondor": "HTCondorCluster",
    "local": "LocalCluster",
    "lsf": "LSFCluster",
    "moab": "MoabCluster",
    "oar": "OARCluster",
    "pbs": "PBSCluster",
    "sge": "SGECluster",
    "slurm": "SLURMCluster",
}


@dataclass(frozen=True)
class ClusterSettings:
    """How to start Dask.

    Attributes
    ----------
    scheduler : str
        Address of a Dask scheduler that runs already.
    workers : int
        Points at a time on this machine.
    memory : str
        Memory that each worker process on this machine may take before it is ended, "8 GB" for example.
    jobqueue : str
        Kind of batch system, one of those of dask-jobqueue.
    jobs : int
        Batch jobs to ask for.
    options : mapping
        What dask-jobqueue is given besides: cores, memory, walltime, queue, ...
    """

    scheduler: str | None = None
    workers: int | None = None
    memory: str | None = None
    jobqueue: str | None = None
    jobs: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, section: Section | None) -> ClusterSettings:
        """The settings that a table gives."""
        if section is None:
            return cls()
        scheduler = section.text("scheduler")
        workers = section.get("workers", "a whole number", int)
        memory = section.text("memory")
        queue = section.section("jobqueue")
        if scheduler is not None and queue is not None:
            raise section.error("jobqueue", "expected either a scheduler that runs, or a jobqueue")
        if workers is not None and not 1 <= workers <= MOST_WORKERS:
            raise section.error("workers", _expected(MOST_WORKERS, workers))
        if workers is not None and (scheduler is not None or queue is not None):
            raise section.error("workers", "is for this machine only; a jobqueue has 'jobs' and 'cores'")
        section.close()
        if queue is None:
            return cls(scheduler=scheduler, workers=workers, memory=memory)
        kind = queue.one_of("kind", JOBQUEUES)
        if kind is None:
            raise queue.error("kind", f"missing; expected one of {', '.join(JOBQUEUES)}")
        jobs = queue.get("jobs", "a whole number", int)
        if jobs is not None and not 1 <= jobs <= MOST_JOBS:
            raise queue.error("jobs", _expected(MOST_JOBS, jobs))
        # dask-jobqueue checks the other options itself.
        options = {key: queue.get(key, "", object) for key in queue if key not in ("kind", "jobs")}
        return cls(jobqueue=kind, jobs=jobs or 1, options=options)


def _expected(most: int, found: int) -> str:
    return f"expected at least 1 and at most {most:,}, found {shortened(found)}"
