"""Classes of parts, made from the registry of the simulation core.

The registry gives name, type, default and meaning of every parameter. :func:`classes` makes a dataclass of
each part, so that a part that is added to the core has its class at once. The stub files beside
:mod:`fabricsim.topology` and the other modules of parts show the same classes to editors and type checkers. A
test compares them with the output of :func:`describe`.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import json
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from fabricsim import _core
from fabricsim.kinds import Motif
from fabricsim.part import Part, Path, Rate, Size, Table, Time, Watts
from fabricsim.workload import Phase

__all__ = ["Description", "classes", "describe"]

# Names of the registry's types in annotations, and in the documentation of a class.
_TYPES = {
    "integer": ("int", "int"),
    "number": ("float", "float"),
    "boolean": ("bool", "bool"),
    "text": ("str", "str"),
    "time": ("Time", 'Time, such as "1 us"'),
    "rate": ("Rate", 'Rate, such as "100 Gbps"'),
    "size": ("Size", 'Size, such as "4 KiB"'),
    "power": ("Watts", 'Watts, such as "8.5 W"'),
    "path": ("Path", "Path"),
    "table": ("Mapping[str, int | float | str]", "Mapping"),
    "list of table": ("Sequence[Phase | Motif | Table]", "Sequence[Phase or Motif or Mapping]"),
}
_NAMES = {
    "Literal": Literal,
    "Mapping": Mapping,
    "Motif": Motif,
    "Path": Path,
    "Phase": Phase,
    "Rate": Rate,
    "Sequence": Sequence,
    "Size": Size,
    "Table": Table,
    "Time": Time,
    "Watts": Watts,
}
_WIDTH = 102


@dataclasses.dataclass(frozen=True)
class Description:
    """A class of a part: its name, its documentation, and its fields."""

    part: str
    """Name of the part in experiment files."""
    name: str
    """Name of the class: the part's in capitals, ``SlimFly`` of ``slim-fly``."""
    doc: str
    """Documentation in the style of NumPy."""
    fields: dict[str, str]
    """Annotations of the fields by name; a field whose annotation ends with ``| None`` can be left out."""


def classes(base: type[Part], module: str) -> dict[str, type[Part]]:
    """A class for each registered part of the kind of `base`, by name. `module` names their module."""
    made: dict[str, type[Part]] = {}
    for described in describe(base):
        fields: list[Any] = [
            (name, eval(annotation, dict(_NAMES)), dataclasses.field(default=None))
            if annotation.endswith("| None")
            else (name, eval(annotation, dict(_NAMES)))
            for name, annotation in described.fields.items()
        ]
        namespace = {"__doc__": described.doc, "__module__": module, "part_name": described.part}
        made[described.name] = base.parts[described.part] = dataclasses.make_dataclass(
            described.name, fields, bases=(base,), namespace=namespace, frozen=True, kw_only=True, repr=False
        )
    return made


def describe(base: type[Part]) -> list[Description]:
    """The classes of the parts of the kind of `base`, by name."""
    return sorted((_described(base, part) for part in _registry()[base.part_kind]), key=lambda d: d.name)


@functools.cache
def _registry() -> dict[str, list[dict[str, Any]]]:
    registry: dict[str, list[dict[str, Any]]] = json.loads(_core.list_parts())
    return registry


def _described(base: type[Part], part: dict[str, Any]) -> Description:
    paragraphs = ["\n".join(textwrap.wrap(_sentence(part["summary"]), _WIDTH))]
    fields = {}
    # All classes of a kind share the fields of their base, which documents them in the same style.
    rows = (inspect.getdoc(base) or "").partition("----------\n")[2].splitlines()
    for parameter in part["parameters"]:
        fields[parameter["name"]], described = _typed(parameter)
        rows += [
            f"{parameter['name']} : {described}",
            *textwrap.indent(_meaning(parameter), "    ").splitlines(),
        ]
    if rows:
        paragraphs.append("\n".join(["Parameters", "----------", *rows]))
    name = "".join(word.capitalize() for word in part["name"].split("-"))
    return Description(part["name"], name, "\n\n".join(paragraphs), fields)


def _typed(parameter: dict[str, Any]) -> tuple[str, str]:
    """The annotation of a parameter, and its type in the documentation."""
    choices = parameter.get("choices")
    annotation, described = _choices(choices) if choices else _type(parameter["type"])
    required = "default" not in parameter and "computed" not in parameter
    return annotation if required else f"{annotation} | None", described


def _choices(words: Sequence[str]) -> tuple[str, str]:
    """The same for a choice of words."""
    listed = ", ".join(json.dumps(word) for word in words)
    return f"Literal[{listed}]", f"{{{listed}}}"


def _type(kind: str) -> tuple[str, str]:
    """The same for a type as the registry writes it; ``list of`` binds what follows, to the end."""
    if kind in _TYPES:
        return _TYPES[kind]
    if kind.startswith("list of "):
        annotation, described = _type(kind.removeprefix("list of "))
        return f"Sequence[{annotation}]", f"Sequence[{described}]"
    first, _, rest = kind.partition(" or ")
    if rest:
        (annotation, described), (others, further) = _type(first), _type(rest)
        return f"{annotation} | {others}", f"{described} or {further}"
    # Words that stand for themselves, such as `all | free`.
    return _choices(first.split(" | "))


def _meaning(parameter: dict[str, Any]) -> str:
    """What a parameter is for, with its default."""
    meaning = parameter["summary"]
    if parameter["type"] == "path":
        meaning = meaning.replace("relative to the experiment's file", "relative to the current folder")
    default = parameter.get("computed", parameter.get("default"))
    if isinstance(default, bool):
        default = str(default).lower()
    if default is not None:
        meaning += f" ({default})" if str(default).startswith("required") else f" (default: {default})"
    return textwrap.fill(_sentence(meaning), _WIDTH - 4, break_on_hyphens=False)


def _sentence(text: str) -> str:
    """The text with a full stop and a capital, unless it begins with a symbol such as p."""
    first = text[0] if text[1] in ", " else text[0].upper()
    return f"{first}{text[1:].removesuffix('.')}."
