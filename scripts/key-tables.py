#!/usr/bin/env python3
"""Types and defaults of keys, which the registry of the simulation core alone defines.

scripts/key-tables.py            writes them into the tables of docs/formats/experiment.md and into the
                                 classes of tables in python/fabricsim; a new key gets its row and its field
scripts/key-tables.py --check    writes nothing; fails if one of these is not what would be written

The registry is that of the installed Python package: `make python` installs it after a change in Rust. What a
key means is prose of the page, with formulas and links. So is a default that follows from other keys, and a
type that is narrower than that of the registry, such as `1 to 64`; both are checked as far as they can be.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import functools
import importlib
import json
import re
import sys
import textwrap
import typing
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

try:
    from fabricsim.experiment import Collectives
    from fabricsim.part import _alternatives
    from fabricsim.registered import _meaning, _registry, _typed
except ImportError:
    sys.exit("key-tables.py: this Python has no fabricsim: run 'make python' and '. .venv/bin/activate'")

ROOT = Path(__file__).resolve().parents[1]
PAGE = "docs/formats/experiment.md"
COMMAND = "scripts/key-tables.py"

# Tables of the parts of each kind.
TABLES = {
    "topologies": "network.topology",
    "routings": "network.routing",
    "router-models": "network.router",
    "nic-models": "network.nic",
    "patterns": "job.traffic",
    "arrivals": "job.traffic",
    "message-sizes": "job.traffic.message",
    "motifs": "job.workload",
    "presets": "job.workload",
    "placements": "job.placement",
    "mappings": "job.mapping",
    "executors": "run.optimistic",
}
# Kinds whose parts have a heading row above their keys. Rows of the others name the part in their meaning.
HEADED = {"topologies", "routings", "patterns", "motifs", "presets"}
# Parts to which the heading of another one refers: "the parameters of `ugal`, and".
SAME_ROWS = {"piggyback": "ugal"}

# Keys that are no parameters: they name a part, are a table, or are in a table with names of any kind.
UNLISTED = {
    "network.topology.kind",
    "network.routing.algorithm",
    *(f"job.placement{key}" for key in ("", ".kind")),
    *(f"job.mapping{key}" for key in ("", ".kind")),
    *(
        f"job.workload.{key}"
        for key in ("otf2", "dumpi", "clock", "goal", "liballprof", "motif", "operations", "bigsim")
    ),
    *(f"job.workload.{key}" for key in ("compute", "clocks", "runtime_logs")),
    *(
        f"job.workload.{key}"
        for key in ("command", "python", "function", "ranks", "arguments.NAME", "reacts", "phases.motif")
    ),
    "job.compute",
    "job.compute.regions.NAME",
    "job.traffic.message.distribution",
    "job_trace.placement",
    *(f"job_trace.application.{key}" for key in ("workload", "compute", "mapping")),
    # The registry has the algorithms of collectives, with one name for scatter and scatterv.
    *(f"mpi.collectives.{field.name.replace('_', '-')}" for field in dataclasses.fields(Collectives)),
    *(f"mpi.collectives.COLLECTIVE.{key}" for key in ("algorithm", "below", "below_per_rank")),
    *(f"mpi.collectives.COLLECTIVE.{key}" for key in ("below_per_power_of_two", "ranks_below")),
    "mpi.collectives.COLLECTIVE.power_of_two",
}

# Module and class of each table; of an executor, or a model of routers or NICs, of its parameters.
CLASSES = {
    "network": ("experiment", "Network"),
    "network.link": ("experiment", "Link"),
    "network.links.CLASS": ("experiment", "LinkClass"),
    "network.router": ("experiment", "Router"),
    "network.routers": ("experiment", "Routers"),
    "network.nic": ("experiment", "Nic"),
    "network.traffic_class": ("experiment", "TrafficClass"),
    "network.memory": ("experiment", "Link"),
    "job": ("experiment", "Job"),
    "job.compute": ("experiment", "Compute"),
    "job.traffic": ("kinds", "Pattern"),
    "job.workload.window": ("workload", "Window"),
    "job.workload.phases": ("workload", "Phase"),
    "job.workload.phases.over": ("workload", "Over"),
    "mpi": ("experiment", "Mpi"),
    "run": ("experiment", "Run"),
    "collect": ("experiment", "Collect"),
    "job_trace": ("experiment", "JobTrace"),
    "job_trace.application": ("experiment", "TraceApplication"),
    "power": ("experiment", "Power"),
    "power.router": ("experiment", "Draw"),
    "power.routers.KIND": ("experiment", "Draw"),
    "power.link": ("experiment", "Draw"),
    "power.links.CLASS": ("experiment", "Draw"),
    "power.nic": ("experiment", "Draw"),
    "optimistic": ("experiment", "Optimistic"),
    "input-queued": ("experiment", "Router"),
    "crossbar": ("experiment", "Router"),
    "flit": ("experiment", "Router"),
    "queued": ("experiment", "Nic"),
    "flit-queued": ("experiment", "Nic"),
}
# The class of a pattern is its name.
WITHOUT_FIELD = {"job.traffic.pattern"}
# Words before the default in the documentation of a class that several tables share.
LABELS = {"network.memory": "of memory"}


@dataclass(frozen=True)
class Key:
    """A parameter of the registry, and where an experiment file has it."""

    kind: str
    part: str
    facts: dict[str, Any]
    """Name, type and summary; choices, and default or computed, where it has them."""

    @property
    def table(self) -> str:
        return self.part if self.kind == "keys" else TABLES[self.kind]

    @property
    def path(self) -> str:
        return f"{self.table}.{self.facts['name']}"

    @property
    def label(self) -> str:
        if self.kind != "keys" and self.kind not in TABLES:
            return f"`{self.facts['name']}` of {self.part}"
        return f"`{self.path}`" + (f" of {self.part}" if self.kind != "keys" else "")

    @property
    def type(self) -> str:
        return str(self.facts["type"])

    @property
    def choices(self) -> Sequence[str]:
        return tuple(self.facts.get("choices", ()))

    @property
    def required(self) -> bool:
        return "default" not in self.facts and "computed" not in self.facts

    @property
    def constant(self) -> str | None:
        """A constant default as text; None if there is none."""
        default = self.facts.get("default")
        if default is None:
            return None
        return str(default).lower() if isinstance(default, bool) else str(default)

    @property
    def written(self) -> str:
        """The default as the page writes it."""
        default = self.facts.get("default")
        if default is None:
            return "required" if self.required else str(self.facts["computed"])
        return f'`"{default}"`' if isinstance(default, str) else str(self.constant)


@dataclass(frozen=True)
class Mended:
    """A file with the types and defaults of the registry."""

    text: str
    findings: list[str]
    """What was different, and what has to be mended by hand."""
    keys: int
    """The number of parameters that were compared."""


def registry() -> list[Key]:
    """All parameters."""
    return [
        Key(kind, part["name"], dict(parameter))
        for kind, parts in _registry().items()
        for part in parts
        for parameter in part["parameters"]
    ]


def members(kind: str) -> list[str]:
    """The alternatives of a type; ``list of`` binds what follows, to the end."""
    first, separator, rest = kind.partition(" or ")
    return [kind] if kind.startswith("list of ") or not separator else [first, *members(rest)]


# Types on the page

# The words for a type, and those for the same or a narrower one.
WORDS = {
    "integer": ("whole number", r"whole number|even number|^\d|^rank|^divisor|^power of a prime"),
    "number": ("number", r"^number"),
    "boolean": ("true or false", r"^true or false"),
    "text": ("text", r"text|name"),
    "choice": ("text", r"text"),
    "time": ("time", r"time"),
    "rate": ("data rate", r"data rate"),
    "size": ("size", r"size"),
    "power": ("power", r"power"),
    "path": ("path", r"path"),
    "table": ("table", r"table"),
}


def named(member: str) -> list[str]:
    """The words that a member of a type consists of, such as auto, if it is none of the types."""
    return [] if member in WORDS or member.startswith("list of ") else member.split(" | ")


def described(kind: str, several: bool = False) -> str:
    """A type in the words of the page."""
    texts = []
    for member in members(kind):
        if member.startswith("list of "):
            texts.append(f"{'lists' if several else 'list'} of {described(member[8:], several=True)}")
        elif member in WORDS:
            texts.append(WORDS[member][0] + "s" * several)
        else:
            texts += [f'`"{word}"`' for word in named(member)]
    return " or ".join(texts)


def has_type(cell: str, text: str, kind: str) -> bool:
    """Whether a cell has this type, or a narrower one. `text` is that of the whole row."""
    if cell in {described(name) for name in WORDS}:
        return cell == described(kind)
    for member in members(kind):
        if words := named(member):
            fits = all(re.search(rf'["`]{word}["`]', text) for word in words)
        elif member.startswith("list of "):
            fits = "list" in cell
        else:
            fits = re.search(WORDS[member][1], cell) is not None
        if not fits:
            return False
    return True


# Rows of the page


@dataclass(frozen=True)
class Row:
    """A row of a table of keys."""

    line: int
    parts: tuple[str, ...]
    """Names in the heading row above it; ``*`` for all that have the key."""
    cells: tuple[str, ...]

    @functools.cached_property
    def keys(self) -> list[str]:
        return re.findall(r"`([\w.-]+)`", self.cells[0])

    @property
    def label(self) -> str:
        return names_of(self.keys) + (f" below {', '.join(self.parts)}" if self.parts else "")

    @property
    def text(self) -> str:
        return " ".join(self.cells)

    @property
    def default(self) -> str:
        return self.cells[2]


@dataclass(frozen=True)
class Heading:
    """A heading row of parts, and the last line of the rows below it."""

    line: int
    parts: tuple[str, ...]
    last: int


def cells_of(line: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in line.strip().strip("|").split(" | "))


def tables(lines: Sequence[str]) -> tuple[list[Row], list[Heading]]:
    rows: list[Row] = []
    headings: list[Heading] = []
    parts: tuple[str, ...] = ()
    for number, line in enumerate(lines):
        cells = cells_of(line)
        if line.startswith("| **"):
            everything = re.search(r"\*\*all|all these", cells[0])
            parts = ("*",) if everything else tuple(re.findall(r"`([\w-]+)`", cells[0]))
            parts += tuple(part for part, other in SAME_ROWS.items() if other in parts)
            headings.append(Heading(number, parts, number))
        elif not line.startswith("| `"):
            parts = ()
        elif len(cells) > 3:
            rows.append(Row(number, parts, cells))
            if parts:
                headings[-1] = dataclasses.replace(headings[-1], last=number)
    return rows, headings


def names_of(parts: Iterable[str]) -> str:
    return ", ".join(f"`{part}`" for part in parts)


def by_key(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        for path in row.keys:
            found.setdefault(path, []).append(row)
    return found


def rows_of(key: Key, rows: dict[str, list[Row]]) -> list[Row]:
    """The rows of a key: those below its part's name, or those for all parts, or those that name its part."""
    if key.kind != "keys" and key.kind not in TABLES:
        return []
    found = rows.get(key.path, [])
    if key.kind in ("keys", "executors"):
        return [row for row in found if not row.parts]
    below = [row for row in found if key.part in row.parts]
    common = [row for row in found if row.parts == ("*",)]
    return below or common or [row for row in found if f"`{key.part}`" in row.text]


def with_row(key: Key, keys: Sequence[Key], lines: list[str]) -> str | None:
    """Adds a row for a key; returns what is missing if there is no table for it."""
    if key.kind != "keys" and key.kind not in TABLES:
        return f"{COMMAND} has no table for parts of {key.kind}: name it"
    rows, headings = tables(lines)
    meaning = str(key.facts["summary"]).replace("|", r"\|")
    prefix: tuple[str, ...] = ()
    if key.kind in HEADED:
        own = [heading for heading in headings if key.part in heading.parts]
        if not own:
            return f"`{key.part}` has no heading row, | **`{key.part}`** | | | ... |: write it"
        heading = min(own, key=lambda heading: len(heading.parts))
        place = heading.last
        with_key = {other.part for other in keys if other.kind in HEADED and other.path == key.path}
        if not set(heading.parts) <= with_key:
            prefix = tuple(part for part in heading.parts if part in with_key)
        lines[heading.line] = lines[heading.line].replace("; no parameters", "")
    else:
        same = [row.line for row in rows if not row.parts and row.keys[0].rpartition(".")[0] == key.table]
        if not same:
            return f"no table has keys of `{key.table}`: begin one"
        place = same[-1]
        if key.kind not in ("keys", "executors"):
            prefix = (key.part,)
    if prefix:
        meaning = f"{names_of(prefix)}: {meaning}"
    if unnamed := [choice for choice in key.choices if not re.search(rf'["`]{choice}["`]', meaning)]:
        meaning += ": " + ", ".join(f'`"{choice}"`' for choice in unnamed)
    lines.insert(place + 1, f"| `{key.path}` | {described(key.type)} | {key.written} | {meaning} |")
    return None


# Defaults on the page


def wanted(keys: Sequence[Key]) -> str:
    """The default of the keys of a row, for one part."""
    texts = [key.written for key in keys]
    return texts[0] if len(set(texts)) == 1 else ", ".join(texts)


def has_default(text: str, keys: Sequence[Key]) -> bool:
    """Whether a text says the default of the keys of a row, for one part."""
    if all(key.constant is not None for key in keys):
        return text == wanted(keys)
    for key in keys:
        if key.required:
            fits = text.startswith(("required", "one of", "this or"))
        elif key.constant is not None:
            fits = key.written in text
        else:
            # Prose. A constant only where the registry says the same.
            constant = re.fullmatch(r'`"([^"]*)"`|-?[\d.]+|true|false', text)
            said = constant and re.escape(constant[1] or constant[0])
            fits = bool(text) and (
                said is None or re.search(rf"(?<!\w){said}(?!\w)", str(key.facts["computed"])) is not None
            )
        if not fits:
            return False
    return True


def default_cell(row: Row, parts: dict[str, list[Key]]) -> str:
    """The default of a row, with those of parts that have another one in parentheses, in their order."""
    match = re.fullmatch(r"(.*?) \((.*)\)", row.default)
    base, others = match.groups() if match else (row.default, "")
    said: dict[str, str] = {}
    prose = []
    for other in others.split("; ") if others else ():
        names, _, value = other.partition(": ")
        excepted = re.findall(r"`([\w-]+)`", names)
        said |= dict.fromkeys(excepted, value)
        prose += [] if excepted else [other]
    usual = [part for part in parts if part not in said]
    if not any(has_default(base, parts[part]) for part in usual):
        base = Counter(wanted(parts[part]) for part in usual or parts).most_common(1)[0][0]
    exceptions: dict[str, list[str]] = {}
    for part, keys in parts.items():
        value = said.get(part, base)
        if not has_default(value, keys):
            value = base if has_default(base, keys) else wanted(keys)
        if value != base:
            exceptions.setdefault(value, []).append(part)
    listed = [f"{names_of(names)}: {value}" for value, names in exceptions.items()] + prose
    return f"{base} ({'; '.join(listed)})" if listed else base


def mend_page(text: str, keys: Sequence[Key]) -> Mended:
    """The page with the types and defaults of the registry, and a row for each key."""
    lines = text.splitlines()
    findings: list[str] = []
    rows, headings = tables(lines)
    listed = by_key(rows)
    for key in keys:
        if not rows_of(key, listed):
            missing = with_row(key, keys, lines)
            findings.append(f"{key.label} has no row" + (f"; {missing}" if missing else ""))
            rows, headings = tables(lines)
            listed = by_key(rows)
    claims: dict[int, list[Key]] = {row.line: [] for row in rows}
    found = 0
    for key in keys:
        own = rows_of(key, listed)
        found += bool(own)
        for row in own:
            claims[row.line].append(key)
    for row in rows:
        here = claims[row.line]
        findings += unknown(row, here)
        if not here:
            continue
        cells = list(row.cells)
        for key in here:
            if not has_type(cells[1], row.text, key.type):
                findings.append(f"{key.label}: the type is {described(key.type)}, not {cells[1]}")
                cells[1] = described(key.type)
            if unnamed := [choice for choice in key.choices if not re.search(rf'["`]{choice}["`]', row.text)]:
                findings.append(f"{key.label}: write the choices {', '.join(unnamed)} into its meaning")
        by_part: dict[str, dict[str, Key]] = {}
        for key in sorted(here, key=lambda key: row.keys.index(key.path)):
            by_part.setdefault(key.part, {})[key.path] = key
        cells[2] = default_cell(row, {part: list(of.values()) for part, of in by_part.items()})
        if cells[2] != row.default:
            findings.append(f"{row.label}: the default is {cells[2]}, not {row.default}")
        if tuple(cells) != row.cells:
            lines[row.line] = f"| {' | '.join(cells)} |"
    for path in sorted(UNLISTED - set(by_key(rows))):
        findings.append(f"`{path}` has no row: write it")
    parts = {part["name"] for listed in _registry().values() for part in listed}
    for heading in headings:
        for part in sorted(set(heading.parts) - parts - {"*"}):
            findings.append(f"a heading row names `{part}`, which is not registered: remove it")
    return Mended(joined(lines), findings, found)


def unknown(row: Row, keys: Iterable[Key]) -> Iterator[str]:
    """One finding for each key of a row that the registry lacks."""
    known = {key.path for key in keys}
    if not row.parts:
        known |= UNLISTED
    for path in row.keys:
        if path not in known:
            yield f"{row.label}: the registry has no `{path}`: remove it"


# Classes


@functools.lru_cache(maxsize=8)
def classes_in(text: str) -> dict[str, ast.ClassDef]:
    return {node.name: node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)}


def fields_of(text: str, cls: str) -> dict[str, ast.AnnAssign]:
    """The fields of a class and its bases in the same file."""
    node = classes_in(text)[cls]
    found: dict[str, ast.AnnAssign] = {}
    for base in node.bases:
        if isinstance(base, ast.Name) and base.id in classes_in(text):
            found |= fields_of(text, base.id)
    own = [
        each for each in node.body if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    ]
    return found | {typing.cast(ast.Name, each.target).id: each for each in own}


def entries(text: str, cls: str) -> dict[str, tuple[int, int, int]]:
    """First line, first line of the meaning, and line after the end of each documented parameter."""
    lines = text.splitlines()
    documentation = classes_in(text)[cls].body[0]
    found: dict[str, tuple[int, int, int]] = {}
    number, end = documentation.lineno, documentation.end_lineno or 0
    while number < end:
        name = re.match(r"    (\w+) : ", lines[number])
        first = number
        number += 1
        if name:
            while lines[number - 1].endswith("\\"):
                number += 1
            meaning = number
            while number < end and lines[number].startswith("        "):
                number += 1
            found[name[1]] = (first, meaning, number)
    return found


def allows(annotation: str, key: Key, names: dict[str, Any]) -> bool:
    """Whether an annotation has the type of a key, or a narrower or wider one that stands for the same."""
    allowed = _alternatives(eval(f"({annotation})", dict(names)))
    words = {word for hint in allowed if typing.get_origin(hint) is Literal for word in typing.get_args(hint)}
    if key.choices:
        return words == set(key.choices)
    for member in members(key.type):
        if member.startswith("list of "):
            fits = any(typing.get_origin(hint) is Sequence for hint in allowed)
        elif literal := named(member):
            # A time is a text, and "auto" is one, too.
            fits = set(literal) <= words or str in allowed
        else:
            python = {"integer": int, "number": float, "boolean": bool}.get(member, str)
            fits = python in allowed or (member == "text" and bool(words))
        if not fits:
            return False
    return True


def source(text: str, node: ast.expr) -> str:
    """The text of an annotation, in one line."""
    lines = text.splitlines()[node.lineno - 1 : node.end_lineno]
    lines[-1] = lines[-1][: node.end_col_offset]
    lines[0] = lines[0][node.col_offset :]
    return " ".join(" ".join(lines).split())


def wrapped(text: str, first: str = " " * 8, further: str = " " * 8, width: int = 110) -> list[str]:
    wrapper = textwrap.TextWrapper(width, first, further, break_on_hyphens=False, break_long_words=False)
    return wrapper.wrap(text)


def joined(lines: Sequence[str]) -> str:
    return "\n".join(lines) + "\n"


def mend_annotation(text: str, cls: str, name: str, key: Key, names: dict[str, Any]) -> tuple[str, list[str]]:
    """The file with the annotation of a field, which is added if it is missing."""
    generated, _ = _typed(key.facts)
    node = fields_of(text, cls).get(name)
    if node is None:
        return with_field(text, cls, name, key), [f"{cls}.{name} is missing"]
    current = source(text, node.annotation)
    annotation, findings = current, []
    if not allows(current, key, names):
        annotation = generated
        if key.choices and current.count("Literal[") == 1:
            # What else the field may be stays.
            annotation = re.sub(r"Literal\[[^\]]*\]", generated.removesuffix(" | None"), current)
        findings.append(f"{cls}.{name}: the type is {annotation}, not {current}")
    # The core alone has defaults.
    if (ast.unparse(node.value) if node.value else None) != (None if key.required else "None"):
        findings.append(f"{cls}.{name}: it is {'' if key.required else 'not '}required")
        annotation = re.sub(r"\s*\| None\s*$", "", annotation) + ("" if key.required else " | None")
    if not findings:
        return text, []
    lines = text.splitlines()
    end = node.end_lineno or node.lineno
    lines[node.lineno - 1 : end] = [f"    {name}: {annotation}" + ("" if key.required else " = None")]
    return joined(lines), findings


def with_field(text: str, cls: str, name: str, key: Key) -> str:
    """The file with another field of a class, and its documentation."""
    annotation, described = _typed(key.facts)
    lines = text.splitlines()
    end = max(node.end_lineno or 0 for node in classes_in(text)[cls].body if isinstance(node, ast.AnnAssign))
    lines.insert(end, f"    {name}: {annotation}" + ("" if key.required else " = None"))
    documented = entries(text, cls)
    if name not in documented:
        end = max(last for _, _, last in documented.values())
        lines[end:end] = [f"    {name} : {described}", textwrap.indent(_meaning(key.facts), " " * 8)]
    return joined(lines)


def mend_choices(text: str, cls: str, name: str, key: Key) -> tuple[str, list[str]]:
    """The file with the choices of a field in the documentation of its class."""
    if not key.choices or name not in entries(text, cls):
        return text, []
    lines = text.splitlines()
    first, meaning, _ = entries(text, cls)[name]
    described = " ".join(line.removesuffix("\\").strip() for line in lines[first:meaning])
    listed = re.search(r"\{(.*?)\}", described)
    if listed and re.findall(r'"([^"]*)"', listed[1]) == list(key.choices):
        return text, []
    choices = f"{{{', '.join(json.dumps(choice) for choice in key.choices)}}}"
    changed = described.replace(listed[0], choices) if listed else f"{name} : {choices}"
    broken = wrapped(changed, first="    ", further=" " * 12, width=108)
    lines[first:meaning] = [f"{line} \\" for line in broken[:-1]] + broken[-1:]
    return joined(lines), [f"{cls}.{name}: the choices in the documentation are not {choices}"]


def mend_words(text: str, cls: str, name: str, key: Key) -> tuple[str, list[str]]:
    """The file with the words "default: ..." of a field."""
    if key.constant is None:
        return text, []
    entry = entries(text, cls).get(name)
    if entry is None:
        return text, [f"{cls}.{name}: write its meaning into the documentation of the class"]
    lines = text.splitlines()
    _, first, last = entry
    meaning = " ".join(line.strip() for line in lines[first:last])
    label = LABELS.get(key.table, "default")
    if re.search(rf'{label}: "?{re.escape(key.constant)}(?![\w.])', meaning):
        return text, []
    block = "\n".join(lines[first:last])
    default = re.search(rf"{label}:\s+([^;:,)]+)".replace(" ", r"\s+"), block)
    if default:
        changed = block[: default.start(1)] + key.constant + block[default.end(1) :]
    else:
        changed = f"{block.removesuffix('.')} ({label}: {key.constant})."
    fits = max(map(len, changed.splitlines())) <= 110
    lines[first:last] = changed.splitlines() if fits else wrapped(" ".join(changed.split()))
    said = " ".join(default[1].split()) if default else "nothing"
    return joined(lines), [f"{cls}.{name}: the words '{label}: {key.constant}', not {said}"]


def mend_module(text: str, module: str, keys: Sequence[Key]) -> Mended:
    """A file of the package with the types and defaults of the fields of its classes."""
    names = vars(importlib.import_module(f"fabricsim.{module}"))
    findings: list[str] = []
    known: dict[str, set[str]] = {cls: set() for where, cls in CLASSES.values() if where == module}
    compared = 0
    for key in keys:
        where, cls = CLASSES.get(key.part, ("", ""))
        if where != module:
            continue
        compared += 1
        if key.path in WITHOUT_FIELD:
            continue
        # A keyword of Python has an underscore as a field.
        name = {"from": "from_"}.get(key.facts["name"], key.facts["name"])
        known[cls].add(name)
        text, found = mend_annotation(text, cls, name, key, names)
        text, listed = mend_choices(text, cls, name, key)
        text, said = mend_words(text, cls, name, key)
        findings += found + listed + said
    for cls, given in known.items():
        for name, node in fields_of(text, cls).items():
            # Fields for tables are no parameters.
            table = re.search(r"Table|Mapping", ast.unparse(node.annotation))
            if name not in given and not table:
                findings.append(f"{cls}.{name} is no key of the registry: remove it")
    return Mended(text, findings, compared)


def field_keys(keys: Iterable[Key]) -> list[Key]:
    """Those that a class has as fields. The classes of other parts are made from the registry.

    A field of several parts, such as the arbiter of router models, has the choices of all of them, and the
    default of the first.
    """
    kinds = ("keys", "executors", "router-models", "nic-models")
    fields: dict[tuple[str, str], Key] = {}
    of_fields = [key for key in keys if key.kind in kinds]
    for key in of_fields:
        first = fields.setdefault((key.kind, key.path), key)
        if key.choices:
            choices = list(dict.fromkeys([*first.choices, *key.choices]))
            fields[key.kind, key.path] = replace(first, facts={**first.facts, "choices": choices})
    return [fields[key.kind, key.path] for key in of_fields]


# Both


def mend(file: str, text: str, keys: Sequence[Key]) -> Mended:
    """The text of the page or of a module, mended."""
    return mend_page(text, keys) if file == PAGE else mend_module(text, Path(file).stem, field_keys(keys))


def files() -> list[str]:
    modules = dict.fromkeys(module for module, _ in CLASSES.values())
    return [PAGE, *(f"python/fabricsim/{module}.py" for module in modules)]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Writes types and defaults of keys from the registry.")
    parser.add_argument("--check", action="store_true", help="write nothing; list what differs")
    check = parser.parse_args(arguments).check
    keys = registry()
    errors = []
    for key in field_keys(keys):
        if key.part not in CLASSES:
            errors.append(f"python/fabricsim: {key.label} has no class: write one, and name it in {COMMAND}")
    differ = False
    for file in files():
        text = (ROOT / file).read_text(encoding="utf-8")
        mended = mend(file, text, keys)
        # What is still found has to be mended by hand.
        left = mend(file, mended.text, keys).findings if mended.findings else []
        differ |= mended.text != text
        if not check and mended.text != text:
            (ROOT / file).write_text(mended.text, encoding="utf-8")
            print(f"key-tables.py: {file} is written" + (": format it" if file.endswith(".py") else ""))
        errors += [f"{file}: {finding}" for finding in (mended.findings if check else left)]
    if check and differ:
        errors.append(f"'{COMMAND}' writes types, defaults and missing keys; 'ruff format python' the lines")
    for message in errors:
        print(f"key-tables.py: {message}", file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
