"""FabricSim: simulate HPC and AI interconnects.

>>> import fabricsim
>>> result = fabricsim.run("experiment.toml")  # doctest: +SKIP
>>> result.summary.jobs[0].time_ns  # doctest: +SKIP
>>> result.links.to_pandas()  # doctest: +SKIP
>>> result.report(open=True)  # doctest: +SKIP
"""

from __future__ import annotations

from fabricsim import arrival, mapping, message, motif, placement, plot, routing, topology, traffic, workload
from fabricsim._core import __version__
from fabricsim._errors import (
    ApplicationError,
    CalibrationError,
    ExperimentError,
    FabricSimError,
    ResultError,
    SweepError,
    TraceError,
)
from fabricsim.experiment import (
    Collect,
    Collectives,
    Compute,
    Draw,
    Experiment,
    ExperimentLike,
    Job,
    JobTrace,
    Link,
    LinkClass,
    Mpi,
    Network,
    Nic,
    Optimistic,
    Power,
    Router,
    Routers,
    Rule,
    Run,
    TraceApplication,
    TrafficClass,
)
from fabricsim.explanation import explain
from fabricsim.exporting import export
from fabricsim.program import Program
from fabricsim.progress import Bar
from fabricsim.record import Record
from fabricsim.result import Result, Tables, compare, load
from fabricsim.session import Delivery, Session
from fabricsim.simulate import Check, check, list_parts, run, trace_info
from fabricsim.verdict import Verdict

__all__ = [
    "ApplicationError",
    "Bar",
    "CalibrationError",
    "Check",
    "Collect",
    "Collectives",
    "Compute",
    "Delivery",
    "Draw",
    "Experiment",
    "ExperimentError",
    "ExperimentLike",
    "FabricSimError",
    "Job",
    "JobTrace",
    "Link",
    "LinkClass",
    "Mpi",
    "Network",
    "Nic",
    "Optimistic",
    "Power",
    "Program",
    "Record",
    "Result",
    "ResultError",
    "Router",
    "Routers",
    "Rule",
    "Run",
    "Session",
    "SweepError",
    "Tables",
    "TraceApplication",
    "TraceError",
    "TrafficClass",
    "Verdict",
    "__version__",
    "arrival",
    "check",
    "compare",
    "explain",
    "export",
    "list_parts",
    "load",
    "mapping",
    "message",
    "motif",
    "placement",
    "plot",
    "routing",
    "run",
    "topology",
    "trace_info",
    "traffic",
    "workload",
]
