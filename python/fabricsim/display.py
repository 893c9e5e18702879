"""HTML of experiments, checks and results for notebooks.

:func:`html.escape` processes all text from outside. The notebook chooses the styles, because it knows whether
it is light or dark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

__all__ = ["check", "experiment", "result"]

_SHOWN_APART = ("topology", "routing", "link", "links", "router")
"""Tables of ``[network]`` with a row of their own."""

_SIZE = ("topology", "hosts", "rails", "planes", "routers", "router_links", "virtual_channels")


def experiment(tables: Mapping[str, Any], toml: str) -> str:
    """An experiment: network, jobs and execution, with the folded file."""
    network = _table(tables.get("network"))
    link = _table(network.get("link"))
    said = {
        "topology": _part(_table(network.get("topology")), "kind"),
        "routing": _part(_table(network.get("routing")), "algorithm"),
        "links": ", ".join(str(link[key]) for key in ("bandwidth", "latency") if key in link),
        "link classes": "; ".join(
            f"{name}: {_parameters(_table(settings))}"
            for name, settings in _table(network.get("links")).items()
        ),
        "router": _parameters(_table(network.get("router"))),
        "network": _parameters({key: value for key, value in network.items() if key not in _SHOWN_APART}),
        "run": _parameters(_table(tables.get("run"))),
        "collect": _parameters(_table(tables.get("collect"))),
    }
    jobs = tables.get("job")
    rows = [_job(number, _table(job)) for number, job in enumerate(jobs if isinstance(jobs, list) else [])]
    return (
        _pairs({key: value for key, value in said.items() if value})
        + _rows(["job", "does", "placement"], rows)
        + _folded("Experiment file", toml)
    )


def check(found: Mapping[str, Any], text: str) -> str:
    """A check: sizes, memory, deadlocks and hosts of the jobs, with the folded text."""
    free = found.get("deadlock_free")
    verdict = {True: "free of deadlocks", False: "can deadlock", None: "too large to prove"}
    memory = found.get("memory_bytes")
    said = {key.replace("_", " "): found[key] for key in _SIZE if key in found}
    if isinstance(memory, (int, float)):
        said["memory"] = f"{memory / 2**20:,.1f} MiB"
    said["routing"] = f"{verdict.get(free, free)}: {found.get('deadlock', '')}"
    return _pairs(said) + _folded("All of it", text)


def result(summary: Mapping[str, Any], digest: str, folder: str, tables: Iterable[str]) -> str:
    """A result: the network in one line, a row for each job, and the folder."""
    network = summary["network"]
    latency = network["latency_ns"]
    drained = network.get("source_wait_ns") is not None
    rows = [
        [
            job["name"],
            job["kind"],
            job["ranks"],
            job["hosts"],
            f"{job['time_ns'] / 1e6:.6g}",
            f"{job['compute_ns'] / 1e6:.6g}",
            f"{job['mpi_ns'] / 1e6:.6g}",
            _value(job["latency_ns"]["mean"], ".6g"),
            *([_value(time, ".6g") for time in _apart(job)] if drained else ()),
            _bound_by(job.get("bound_by")),
        ]
        for job in summary["jobs"]
    ]
    heads = [
        "job",
        "kind",
        "ranks",
        "hosts",
        "time (ms)",
        "computation (ms)",
        "MPI (ms)",
        "packet latency (ns)",
    ]
    apart = ""
    if drained:
        heads += ["network latency (ns)", "wait at the source (ns)"]
        in_network, wait = (_value(time, ".6g") for time in _apart(network))
        apart = f"{in_network} ns mean in the network, {wait} ns mean wait at the source, "
    return (
        f"<p><b>{escape(str(network['topology']))}</b>: accepted load {network['accepted_load']:.1%}, "
        f"packet latency {_value(latency['mean'], '.6g')} ns mean, "
        f"{_value(latency['p99'], '.6g')} ns p99, {apart}"
        f"{_value(network['mean_hops'], '.2f')} hops; digest {escape(digest[:12])}</p>"
        + "".join(_note(note) for note in summary.get("notes", ()))
        + _rows([*heads, "bound by"], rows)
        + f"<p>Tables: {escape(', '.join(tables))}. Folder: <code>{escape(folder)}</code></p>"
    )


def _bound_by(bound_by: Mapping[str, Any] | None) -> str:
    """The greatest share of a job's critical path; a dash for traffic and for a job that did not end."""
    if not bound_by:
        return "-"
    shares = {
        "computation": bound_by["computation"],
        "imbalance": bound_by["imbalance"],
        "MPI overhead": bound_by["overhead"],
        "latency": bound_by["latency"],
        "memory bandwidth": bound_by["memory"],
        **{f"{link['class']} links": link["share"] for link in bound_by["links"]},
    }
    cause = max(shares, key=lambda name: shares[name])
    return f"{cause} ({shares[cause]:.1%})"


def _apart(summary: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Of a run with a drain phase: mean latency without the wait at the source, and mean of that wait."""
    wait = summary.get("source_wait_ns") or {}
    return summary.get("mean_network_latency_ns"), wait.get("mean")


def _value(value: float | None, form: str) -> str:
    """A latency or a number of hops; a dash without measured packets (0 in results of older versions)."""
    return format(value, form) if value else "-"


def _note(note: Mapping[str, Any]) -> str:
    job = "" if note["job"] is None else f"job {note['job']}: "
    text = f"{job}{note['found']}. {note['advice']}."
    return f"<p><b>{escape(note['kind'])}</b>: {escape(text)}</p>"


def _job(number: int, job: Mapping[str, Any]) -> list[str]:
    name = str(job.get("name", f"job{number}"))
    workload, traffic = _table(job.get("workload")), _table(job.get("traffic"))
    keys = [
        key
        for key in ("motif", "command", "python", "operations", "goal", "bigsim", "dumpi", "otf2")
        if key in workload
    ]
    if keys:
        does = f"{keys[0]} {_part(workload, keys[0])}"
    elif traffic:
        does = f"traffic {_part(traffic, 'pattern')}"
    else:
        does = ""
    placement = job.get("placement", "")
    return [
        name,
        does,
        _part(_table(placement), "kind") if isinstance(placement, Mapping) else str(placement),
    ]


def _part(table: Mapping[str, Any], key: str) -> str:
    """A part by its name, with its parameters."""
    parameters = _parameters({name: value for name, value in table.items() if name != key})
    name = str(table.get(key, ""))
    return f"{name} ({parameters})" if parameters else name


def _parameters(table: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {_setting(value)}" for name, value in table.items())


def _setting(value: Any) -> str:
    """A value of an experiment; tables, also those in lists, as in TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return f"{{ {_parameters(value)} }}" if value else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_setting(item) for item in value)}]"
    return str(value)


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _pairs(said: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(key)}</th>"
        f"<td style='text-align:left'>{escape(str(value))}</td></tr>"
        for key, value in said.items()
    )
    return f"<table>{rows}</table>"


def _rows(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _folded(title: str, text: str) -> str:
    return f"<details><summary>{escape(title)}</summary><pre>{escape(text)}</pre></details>"
