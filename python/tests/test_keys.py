"""Types and defaults of the experiment page and of the classes of tables against the registry."""

from __future__ import annotations

import dataclasses
import inspect
import re
import typing
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest

import fabricsim
from fabricsim import experiment, kinds, workload
from fabricsim.part import _alternatives, field_hints

PAGE = Path(__file__).parents[2] / "docs/formats/experiment.md"

# Tables of the parts of each kind.
TABLES = {
    "topologies": "network.topology",
    "routings": "network.routing",
    "router-models": "network.router",
    "patterns": "job.traffic",
    "arrivals": "job.traffic",
    "message-sizes": "job.traffic.message",
    "motifs": "job.workload",
    "presets": "job.workload",
    "placements": "job.placement",
    "mappings": "job.mapping",
    "executors": "run.optimistic",
}
CLASSES: dict[str, type] = {
    "network": experiment.Network,
    "network.link": experiment.Link,
    "network.links.CLASS": experiment.LinkClass,
    "network.router": experiment.Router,
    "network.traffic_class": experiment.TrafficClass,
    "network.memory": experiment.Link,
    "job": experiment.Job,
    "job.compute": experiment.Compute,
    "job.traffic": kinds.Pattern,
    "job.workload.window": workload.Window,
    "job.workload.phases": workload.Phase,
    "job.workload.phases.over": workload.Over,
    "mpi": experiment.Mpi,
    "run": experiment.Run,
    "collect": experiment.Collect,
    "job_trace": experiment.JobTrace,
    "job_trace.application": experiment.TraceApplication,
    "power": experiment.Power,
    "power.router": experiment.Draw,
    "power.routers.KIND": experiment.Draw,
    "power.link": experiment.Draw,
    "power.links.CLASS": experiment.Draw,
    "power.nic": experiment.Draw,
    "optimistic": experiment.Optimistic,
    "input-queued": experiment.Router,
}
# What the page writes for a type of the registry.
WRITTEN = {
    "integer": r"whole number|even number|^\d|^rank|^divisor|^power of a prime",
    "number": r"^number",
    "boolean": r"^true",
    "text": r"text|name",
    "time": r"time",
    "rate": r"data rate",
    "size": r"size",
    "power": r"power",
    "path": r"path",
}
HINTS = {"integer": int, "number": float, "boolean": bool}


class Row(NamedTuple):
    """A row of the page."""

    parts: list[str]
    """Names in the heading row above it."""
    keys: list[str]
    type: str
    default: str
    text: str


def rows() -> list[Row]:
    found: list[Row] = []
    heading: list[str] = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| **"):
            everything = re.search(r"\*\*all|all these", cells[0])
            heading = ["*"] if everything else re.findall(r"`([\w-]+)`", cells[0])
        elif not line.startswith("| `"):
            heading = []
        elif len(cells) > 3:
            found.append(Row(heading, re.findall(r"`([\w.-]+)`", cells[0]), *cells[1:3], " ".join(cells)))
    # Its heading refers to the rows of ugal.
    return [row._replace(parts=[*row.parts, "piggyback"]) if "ugal" in row.parts else row for row in found]


def rows_of(part: str, key: str) -> list[Row]:
    """The rows of a parameter: those below its part's name, or else those that belong to no part."""
    with_key = [row for row in rows() if key in row.keys]
    named = [row for row in with_key if part in row.parts]
    common = [row for row in with_key if row.parts == ["*"]]
    mentioned = [row for row in with_key if f"`{part}`" in row.text]
    return named or common or mentioned or [row for row in with_key if not row.parts]


def default_of(row: Row, part: str, key: str) -> str:
    """The default in a row, whose parentheses name parts with another one."""
    base, _, others = row.default.partition(" (")
    for other in others.removesuffix(")").split("; "):
        names, _, value = other.partition(": ")
        if f"`{part}`" in names:
            base = value
    several = base.split(", ")
    return (several[row.keys.index(key)] if len(several) > 1 else base).strip('`"')


def constant(parameter: Any) -> str | None:
    """A constant default as text; None if there is none."""
    default = parameter.get("default")
    if default is None:
        return None
    return str(default).lower() if isinstance(default, bool) else str(default)


def members(kind: str) -> list[str]:
    """The alternatives of a type; ``list of`` binds what follows, to the end."""
    first, separator, rest = kind.partition(" or ")
    return [kind] if kind.startswith("list of ") or not separator else [first, *members(rest)]


def parameters() -> list[Any]:
    """Every parameter of the registry with the table it belongs to."""
    listed = []
    for kind, parts in fabricsim.list_parts().items():
        for part in parts:
            table = part.name if kind == "keys" else TABLES.get(kind, "")
            for parameter in part.parameters:
                key = f"{table}.{parameter.name}"
                listed.append(pytest.param(part.name, key, parameter, id=f"{part.name}-{key}"))
    return listed


@pytest.mark.skipif(not PAGE.is_file(), reason="the documentation is not here")
@pytest.mark.parametrize(("part", "key", "parameter"), parameters())
def test_the_page_has_the_type_and_the_default_of_the_registry(part: str, key: str, parameter: Any) -> None:
    found = rows_of(part, key)
    assert found
    for row in found:
        choices = parameter.get("choices", ())
        missing = [choice for choice in choices if not re.search(rf'["`]{choice}["`]', row.text)]
        assert not missing
        for member in members(parameter.type) if not choices else ():
            written = WRITTEN.get(member)
            if written is None:
                written = "list" if member.startswith("list of ") else member.replace(" ", "").split("|")[0]
            assert re.search(written, row.type) or written in row.text, f"{member}: {row.type}"
        if (default := constant(parameter)) is not None:
            assert default_of(row, part, key) == default
        elif "computed" not in parameter:
            assert row.default.startswith(("required", "one of", "this or"))


def keys() -> list[Any]:
    listed = []
    for kind in ("keys", "executors", "router-models"):
        for part in fabricsim.list_parts(kind):
            for parameter in part.parameters:
                listed.append(pytest.param(part.name, parameter, id=f"{part.name}.{parameter.name}"))
    return listed


@pytest.mark.parametrize(("table", "parameter"), keys())
def test_a_class_has_the_type_and_the_default_of_the_registry(table: str, parameter: Any) -> None:
    cls = CLASSES[table]
    field = {field.name: field for field in dataclasses.fields(cls)}
    if parameter.name == "pattern":
        return
    # A keyword of Python has an underscore as a field.
    name = {"from": "from_"}.get(parameter.name, parameter.name)
    required = "default" not in parameter and "computed" not in parameter
    # The core alone has defaults.
    assert field[name].default is (dataclasses.MISSING if required else None)
    allowed = _alternatives(field_hints(cls)[name])
    names = {
        value for hint in allowed if typing.get_origin(hint) is Literal for value in typing.get_args(hint)
    }
    if "choices" in parameter:
        assert names == set(parameter.choices)
    for member in members(parameter.type) if "choices" not in parameter else ():
        if member.startswith("list of "):
            assert any(typing.get_origin(hint) is Sequence for hint in allowed)
        elif member in WRITTEN:
            assert HINTS.get(member, str) in allowed or (member == "text" and names), allowed
        else:
            # A time is a text, and "auto" is one too.
            assert set(member.split(" | ")) <= names or str in allowed
    if (default := constant(parameter)) is not None:
        text = inspect.getdoc(cls) or ""
        written = re.search(rf"^{name} : .*\n((?:    .*\n?)+)", text, re.MULTILINE)
        assert written
        described = " ".join(written[1].split())
        assert re.search(rf'(default|of memory): "?{re.escape(default)}(?![\w.])', described), described
