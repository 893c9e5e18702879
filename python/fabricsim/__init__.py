"""FabricSim: simulate HPC and AI interconnects.

>>> import fabricsim
>>> result = fabricsim.run("experiment.toml")  # doctest: +SKIP
>>> result.summary.jobs[0].time_ns  # doctest: +SKIP
>>> result.links.to_pandas()  # doctest: +SKIP
>>> result.report(open=True)  # doctest: +SKIP
"""

from __future__ import annotations

from fabricsim._core import __version__
from fabricsim._errors import (
    ApplicationError,
    ExperimentError,
    FabricSimError,
    ResultError,
    SweepError,
    TraceError,
)
from fabricsim.experiment import Experiment, ExperimentLike, Job, Link, Network, Router, Run
from fabricsim.program import Program
from fabricsim.record import Record
from fabricsim.result import Result, Tables, compare, load
from fabricsim.simulate import Check, check, list_parts, run, trace_info

__all__ = [
    "ApplicationError",
    "Check",
    "Experiment",
    "ExperimentError",
    "ExperimentLike",
    "FabricSimError",
    "Job",
    "Link",
    "Network",
    "Program",
    "Record",
    "Result",
    "ResultError",
    "Router",
    "Run",
    "SweepError",
    "Tables",
    "TraceError",
    "__version__",
    "check",
    "compare",
    "list_parts",
    "load",
    "run",
    "trace_info",
]
