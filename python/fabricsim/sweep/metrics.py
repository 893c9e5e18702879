"""The main results of a run as columns: numbers, with their unit in the name.

Facts are the same for all seeds, such as sizes and costs. Measures have means and confidence intervals.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fabricsim import _core
from fabricsim.sweep.cache import Outcome

__all__ = [
    "COLUMNS",
    "HOST_BOUND",
    "SATURATED",
    "Metric",
    "describe",
    "equal_names",
    "facts",
    "host_shares",
    "is_latency",
    "measures",
    "notes",
]


@dataclass(frozen=True)
class Metric:
    """The meaning of a column.

    Attributes
    ----------
    title : str
        For people, without the unit.
    unit : str
        Shown behind the value; nothing for plain numbers.
    scale : float
        What a value of the column is multiplied with to be in that unit.
    larger_is_better : bool or None
        None: neither.
    """

    title: str
    unit: str
    scale: float
    larger_is_better: bool | None


_NETWORK = {
    "offered_load": Metric("offered load", "%", 100, None),
    "accepted_load": Metric("accepted load", "%", 100, True),
    "accepted_gbps_per_host": Metric("accepted per host", "Gbps", 1, True),
    "latency_mean_ns": Metric("packet latency, mean", "us", 1e-3, False),
    "latency_p50_ns": Metric("packet latency, median", "us", 1e-3, False),
    "latency_p99_ns": Metric("packet latency, p99", "us", 1e-3, False),
    "latency_max_ns": Metric("packet latency, max", "us", 1e-3, False),
    "network_latency_mean_ns": Metric("network latency, mean", "us", 1e-3, False),
    "network_latency_p50_ns": Metric("network latency, median", "us", 1e-3, False),
    "network_latency_p99_ns": Metric("network latency, p99", "us", 1e-3, False),
    "network_latency_max_ns": Metric("network latency, max", "us", 1e-3, False),
    "source_wait_mean_ns": Metric("wait at the source, mean", "us", 1e-3, False),
    "mean_hops": Metric("hops, mean", "", 1, None),
    "packets_delivered": Metric("packets delivered", "", 1, None),
    "full_links_peak": Metric("full links in the busiest period", "%", 100, False),
    "blocked_links_peak": Metric("blocked links in the busiest period", "%", 100, False),
    "energy_j": Metric("energy", "mJ", 1e3, False),
    "dynamic_energy_j": Metric("energy added by load", "mJ", 1e3, False),
    "power_w": Metric("power, mean", "W", 1, False),
    "pj_per_bit": Metric("energy of delivered data", "pJ/bit", 1, False),
    "hosts": Metric("hosts", "", 1, None),
    "routers": Metric("routers", "", 1, None),
    "links": Metric("links", "", 1, None),
    "cost": Metric("cost", "", 1, False),
    "cost_per_host": Metric("cost per host", "", 1, False),
    "electricity_cost": Metric("cost of electricity", "", 1, False),
    "cost_with_electricity": Metric("cost with electricity", "", 1, False),
}
_JOB = {
    "time_ns": Metric("time", "us", 1e-3, False),
    "compute_ns": Metric("computation per rank", "us", 1e-3, None),
    "mpi_ns": Metric("MPI per rank", "us", 1e-3, False),
    "overhead_ns": Metric("MPI overhead per rank", "us", 1e-3, False),
    "partner_ns": Metric("waiting for the partner, per rank", "us", 1e-3, False),
    "transfer_ns": Metric("waiting for transfers, per rank", "us", 1e-3, False),
    "link_wait_ns": Metric("waiting for links, per rank", "us", 1e-3, False),
    "collective_partner_ns": Metric("collectives: waiting for the partner, per rank", "us", 1e-3, False),
    "collective_transfer_ns": Metric("collectives: waiting for transfers, per rank", "us", 1e-3, False),
    "collective_link_wait_ns": Metric("collectives: waiting for links, per rank", "us", 1e-3, False),
    "repetitions_complete": Metric("repetitions ended", "", 1, None),
    "repetition_mean_ns": Metric("time per repetition, mean", "us", 1e-3, False),
    "repetitions_per_s": Metric("repetitions", "per second", 1, True),
    "computation_share": Metric("critical path: computation", "%", 100, None),
    "imbalance_share": Metric("critical path: imbalance", "%", 100, None),
    "overhead_share": Metric("critical path: MPI overhead", "%", 100, None),
    "latency_share": Metric("critical path: latency", "%", 100, None),
    "memory_share": Metric("critical path: memory bandwidth", "%", 100, None),
    "links_share": Metric("critical path: bandwidth of links", "%", 100, None),
    "offered_load": Metric("offered load of its hosts", "%", 100, None),
    "accepted_load": Metric("accepted load of its hosts", "%", 100, True),
    "offered_gbps_per_host": Metric("offered per host", "Gbps", 1, None),
    "delivered_gbps_per_host": Metric("delivered per host", "Gbps", 1, True),
    "delivered_share": Metric("delivered of offered", "%", 100, True),
    "least_share": Metric("traffic that its worst host injected", "%", 100, True),
    "jain": Metric("Jain's index of fairness", "", 1, True),
    "slowdown": Metric("slow-down by other jobs", "", 1, False),
    "latency_mean_ns": Metric("packet latency, mean", "us", 1e-3, False),
    "latency_p99_ns": Metric("packet latency, p99", "us", 1e-3, False),
    "network_latency_mean_ns": Metric("network latency, mean", "us", 1e-3, False),
    "network_latency_p99_ns": Metric("network latency, p99", "us", 1e-3, False),
    "source_wait_mean_ns": Metric("wait at the source, mean", "us", 1e-3, False),
    "energy_j": Metric("energy", "mJ", 1e3, False),
    "dynamic_energy_j": Metric("energy added by its packets", "mJ", 1e3, False),
    "bytes": Metric("sent", "bytes", 1, None),
    "finished": Metric("finished", "", 1, None),
}
_RUN = {
    "wall_s": Metric("wall-clock time of the run", "s", 1, None),
    "cpu_s": Metric("processor time of the run", "s", 1, None),
}
# Columns of the network in the currency of the cost table.
_COSTS = ("cost", "cost_per_host", "electricity_cost", "cost_with_electricity")
_SCHEDULE = {
    "utilisation": Metric("utilisation of the machine", "%", 100, True),
    "simulated_jobs": Metric("simulated jobs", "", 1, None),
    "wait_mean_s": Metric("wait of a job, mean", "s", 1, False),
    "wait_p90_s": Metric("wait of a job, p90", "s", 1, False),
    "wait_max_s": Metric("wait of a job, max", "s", 1, False),
    "bounded_slowdown_mean": Metric("bounded slow-down of a job, mean", "", 1, False),
}
# First part of the names of derived columns.
DERIVED = "derived"
# The kind of note of a run whose latencies depend on its length.
SATURATED = "saturated"
# Kinds of notes that a sweep adds: the network has so small a part of the critical path of a job that its
# time says little about the network.
HOST_BOUND = {
    "overhead-bound": "MPI overhead",
    "computation-bound": "computation",
    "memory-bound": "memory bandwidth",
}
# All columns, for messages.
COLUMNS = [
    *(f"network.{name}" for name in _NETWORK),
    *(f"job.NAME.{name}" for name in _JOB),
    *(f"schedule.{name}" for name in _SCHEDULE),
    *(f"run.{name}" for name in _RUN),
]


def equal_names(names: Iterable[str]) -> tuple[int, int] | None:
    """The numbers of the first two jobs of one name, which would have the same columns; None without."""
    numbers: dict[str, int] = {}
    for number, name in enumerate(names):
        if name in numbers:
            return numbers[name], number
        numbers[name] = number
    return None


def facts(outcome: Outcome) -> dict[str, Any]:
    """Columns that describe the simulated network."""
    network = outcome.summary["network"]
    return {f"network.{name}": network[name] for name in ("hosts", "routers", "links")}


def measures(outcome: Outcome) -> dict[str, Any]:
    """Columns of results; None if the run does not have them."""
    network = outcome.summary["network"]
    row: dict[str, Any] = {f"network.{name}": network[name] for name in ("offered_load", "accepted_load")}
    row["network.accepted_gbps_per_host"] = network["accepted_load"] * _injection_gbps(outcome)
    row |= _latency("network", network["latency_ns"])
    row |= _parts_of_latency("network", network)
    row["network.mean_hops"] = network["mean_hops"] or None
    row["network.packets_delivered"] = network["packets_delivered"]
    row |= _busiest_period(outcome.summary.get("collect"))
    row |= _energy("network", network.get("energy"))
    row |= _schedule(outcome.summary.get("schedule"))
    slowdowns = {
        job["name"]: job["slowdown"] for job in (outcome.summary.get("interference") or {}).get("jobs", ())
    }
    delivered = json.loads(_core.deliveries(json.dumps(outcome.summary)))
    for job in outcome.summary["jobs"]:
        name = f"job.{job['name']}"
        if job["ranks"] > 0:
            # A job that was cut off has no time.
            row[f"{name}.finished"] = job["finished"]
            row[f"{name}.time_ns"] = job["time_ns"] if job["finished"] else None
            row |= {f"{name}.{key}": job[key] for key in ("compute_ns", "mpi_ns")}
            row |= {f"{name}.{key}": value for key, value in (job.get("mpi_parts") or {}).items()}
            row |= _repetitions(name, job.get("repetition_times"))
            row |= _bound_by(name, job.get("bound_by"))
            if job["name"] in slowdowns:
                row[f"{name}.slowdown"] = slowdowns[job["name"]]
        row |= _traffic(name, job.get("traffic"))
        row |= _delivered(name, delivered.get(job["name"]))
        row |= _latency(name, job["latency_ns"])
        row |= _parts_of_latency(name, job)
        row |= _energy(name, job.get("energy"))
        row[f"{name}.bytes"] = job["bytes"]
    run = outcome.summary["run"]
    return row | {f"run.{key}": run[key] for key in _RUN}


def describe(column: str, currency: str = "") -> Metric | None:
    """The meaning of a column; None if it is not a result."""
    part, _, name = column.partition(".")
    if part == DERIVED and name:
        return Metric(name, "", 1, None)
    if part == "network" and name in _NETWORK:
        metric = _NETWORK[name]
        return Metric(metric.title, currency, 1, False) if name in _COSTS else metric
    if part == "schedule":
        return _SCHEDULE.get(name)
    if part == "run":
        return _RUN.get(name)
    job, _, name = name.rpartition(".")
    if part != "job" or name not in _JOB:
        return None
    metric = _JOB[name]
    return Metric(f"{job}: {metric.title}", metric.unit, metric.scale, metric.larger_is_better)


def is_latency(column: str) -> bool:
    """Whether a column is a latency of packets, or a part of it."""
    name = column.rpartition(".")[2]
    return "latency_" in name or name.startswith("source_wait_")


def notes(outcome: Outcome) -> dict[str, str]:
    """The notes of a run: the first message of each kind, in their order, with those that a sweep adds."""
    found: dict[str, str] = {}
    for note in outcome.summary.get("notes", ()):
        of = f"job {note['job']}: " if note.get("job") else ""
        found.setdefault(note["kind"], f"{of}{note['found']}. {note['advice']}.")
    for job in outcome.summary["jobs"]:
        bound_by = job.get("bound_by")
        if bound_by and (network := _network_share(bound_by)) < _core.NETWORK_BOUNDS:
            kind = max(zip(HOST_BOUND, host_shares(bound_by), strict=True), key=lambda of: of[1])[0]
            message = (
                f"job {job['name']}: the network is {100 * network:.3g} % of its critical path, so that its "
                "time "
                "says little about the network."
            )
            found.setdefault(kind, message)
    return found


def host_shares(of: Mapping[str, Any]) -> list[float]:
    """The parts of a critical path in the order of `HOST_BOUND`, of the shares by their names."""
    return [of["overhead"], of["computation"] + of["imbalance"], of["memory"]]


def _network_share(bound_by: Mapping[str, Any]) -> float:
    """The part of a critical path that a faster network would shorten."""
    return float(bound_by["latency"] + sum(link["share"] for link in bound_by["links"]))


def _busiest_period(collect: Mapping[str, Any] | None) -> dict[str, Any]:
    """Parts of the links that were full and blocked in the busiest period; no column without series."""
    period = (collect or {}).get("busiest_period")
    if not period or not period["links"]:
        return {}
    return {
        f"network.{kind}_links_peak": period[f"{kind}_links"] / period["links"]
        for kind in ("full", "blocked")
    }


def _energy(part: str, energy: Mapping[str, Any] | None) -> dict[str, Any]:
    """Energy of the run or of a job; no column if the experiment has no powers."""
    if energy is None:
        return {}
    row = {f"{part}.energy_j": energy["total_j"], f"{part}.dynamic_energy_j": energy["dynamic_j"]}
    if part == "network":
        row |= {"network.power_w": energy["mean_power_w"], "network.pj_per_bit": energy["pj_per_bit"]}
    return row


def _schedule(schedule: Mapping[str, Any] | None) -> dict[str, Any]:
    """Utilisation and waits of the schedule of a job trace; no column without one."""
    if schedule is None:
        return {}
    wait = schedule["wait_s"] or {}
    return {
        "schedule.utilisation": schedule["utilisation"],
        "schedule.simulated_jobs": schedule["simulated_jobs"],
        **{f"schedule.wait_{name}_s": wait.get(name) for name in ("mean", "p90", "max")},
        "schedule.bounded_slowdown_mean": (schedule["bounded_slowdown"] or {}).get("mean"),
    }


def _repetitions(name: str, times: Mapping[str, Any] | None) -> dict[str, Any]:
    """Times of the repetitions of a job; no column for a job of one repetition."""
    if times is None:
        return {}
    return {
        f"{name}.repetitions_complete": times["complete"],
        f"{name}.repetition_mean_ns": times["mean_ns"],
        f"{name}.repetitions_per_s": times["per_s"],
    }


def _bound_by(name: str, bound_by: Mapping[str, Any] | None) -> dict[str, Any]:
    """Shares of the critical path of a job; None if it did not end, and in results of older versions."""
    causes = ("computation", "imbalance", "overhead", "latency", "memory")
    shares = {cause: bound_by[cause] if bound_by else None for cause in causes}
    shares["links"] = sum(link["share"] for link in bound_by["links"]) if bound_by else None
    return {f"{name}.{cause}_share": share for cause, share in shares.items()}


def _traffic(name: str, traffic: Mapping[str, Any] | None) -> dict[str, Any]:
    """Loads of a job of synthetic traffic, and how evenly its hosts are served; no column for ranks."""
    if not traffic:
        return {}
    fairness = traffic.get("fairness") or {}
    return {
        f"{name}.offered_load": traffic["offered_load"],
        f"{name}.accepted_load": traffic["accepted_load"],
        f"{name}.least_share": fairness.get("least_share"),
        f"{name}.jain": fairness.get("jain"),
    }


def _delivered(name: str, delivered: Mapping[str, Any] | None) -> dict[str, Any]:
    """What arrives of the traffic of a job; no column for ranks."""
    if delivered is None:
        return {}
    return {
        f"{name}.offered_gbps_per_host": delivered["offered_gbps"],
        f"{name}.delivered_gbps_per_host": delivered["delivered_gbps"],
        f"{name}.delivered_share": delivered["share"],
    }


def _latency(part: str, latency: Mapping[str, float | None]) -> dict[str, Any]:
    """Without measured packets there is no latency."""
    of = {f"latency_{name}_ns": latency[name] or None for name in ("mean", "p50", "p99", "max")}
    return {f"{part}.{name}": value for name, value in of.items() if part == "network" or name in _JOB}


def _parts_of_latency(part: str, summary: Mapping[str, Any]) -> dict[str, Any]:
    """The latency in the network and at the source; nothing if the run neither drains nor collects it."""
    wait, network = summary.get("source_wait_ns"), summary.get("network_latency_ns")
    if wait is None:
        return {}
    row = {
        f"{part}.network_latency_mean_ns": summary.get("mean_network_latency_ns"),
        f"{part}.source_wait_mean_ns": wait["mean"],
    }
    if network is not None:
        names = ("p50", "p99", "max") if part == "network" else ("p99",)
        row |= {f"{part}.network_latency_{name}_ns": network[name] for name in names}
    return row


def _injection_gbps(outcome: Outcome) -> float:
    """The injection bandwidth of a host over all its rails."""
    inventory = outcome.inventory
    total = sum(c["bandwidth_bits_per_s"] * c["count"] for c in inventory["cables"] if c["class"] == "host")
    return float(total / inventory["hosts"] / 1e9) if inventory["hosts"] else 0.0
