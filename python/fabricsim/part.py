"""Parts of an experiment as classes: how a registered part becomes a table of the file, and back.

Each kind of parts has a module (:mod:`fabricsim.topology`, :mod:`fabricsim.routing`, ...), each part a class,
and each parameter a field. The class has the part's name in capitals: ``slim-fly`` is ``SlimFly``.
:mod:`fabricsim.registered` makes the classes from the registry of the simulation core. The core alone checks
values, so that there is one definition and one message.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from typing import Any, ClassVar, TypeAlias

__all__ = [
    "Given",
    "Part",
    "Path",
    "Rate",
    "Size",
    "Table",
    "Time",
    "Watts",
    "field_hints",
    "given",
    "is_path",
    "plain",
    "typed",
]

Time: TypeAlias = str
"""A time with its unit, such as ``"50 ns"``; the units are s, ms, us, ns, ps."""

Size: TypeAlias = str
"""A number of bytes with its unit, such as ``"4 KiB"``; B, kB, MB, GB, TB, KiB, MiB, GiB, TiB."""

Rate: TypeAlias = str
"""A data rate with its unit: bits, such as ``"100 Gbps"``, or bytes, such as ``"12.5 GB/s"``."""

Watts: TypeAlias = str
"""A power with its unit, such as ``"8.5 W"``; the units are MW, kW, W, mW, uW."""

Path: TypeAlias = str | PathLike[str]
"""A path, relative to the current folder."""

Table: TypeAlias = Mapping[str, Any]
"""A table of the file. It can replace any class."""


class Given:
    """A dataclass whose text shows the given fields only: ``Torus(sizes=[4, 4])``."""

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in given(self).items())
        return f"{type(self).__name__}({fields})"


class Part(Given):
    """A part that an experiment names, with its parameters."""

    part_key: ClassVar[str]
    """Key whose value is the part's name, for example ``kind``."""
    part_kind: ClassVar[str]
    """Kind of parts, as :func:`fabricsim.list_parts` names it."""
    part_name: ClassVar[str]
    """Name of the part in experiment files."""
    parts: ClassVar[dict[str, type[Part]]]
    """All classes of this kind by the names of their parts."""

    part_implied: ClassVar[bool] = False
    """Whether a part can be given without its name by a parameter of the same name: ``{ file =
    "a.txt" }``.
    """

    def __init_subclass__(
        cls, *, name: str | None = None, key: str | None = None, kind: str = "", implied: bool = False
    ) -> None:
        super().__init_subclass__()
        if key is not None:
            cls.part_key, cls.part_kind, cls.part_implied, cls.parts = key, kind, implied, {}
        if name is not None:
            cls.part_name = name
            cls.parts[name] = cls

    @classmethod
    def parameters(cls) -> list[str]:
        """Names of the part's parameters, as the registry and the file have them."""
        return [field.name for field in dataclasses.fields(cls)]  # type: ignore[arg-type]

    def table(self) -> dict[str, Any]:
        """The part's table in an experiment file; fields without a value are left out."""
        values = given(self)
        if self.part_implied and self.part_name in values:
            return values
        return {self.part_key: self.part_name, **values}

    @classmethod
    def of_table(cls, table: Table) -> tuple[type[Part], dict[str, Any]] | None:
        """The class for a table and the values of its fields; None if there is no such class."""
        name = str(table.get(cls.part_key))
        if cls.part_implied and cls.part_key not in table:
            name = next((name for name in cls.parts if name in table), name)
        part = cls.parts.get(name)
        return (
            None
            if part is None
            else (part, {key: value for key, value in table.items() if key != cls.part_key})
        )


def given(value: Any) -> dict[str, Any]:
    """The fields of a dataclass that are not None, by name."""
    fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return {name: field for name, field in fields.items() if field is not None}


def plain(value: Any) -> Any:
    """Typed objects as dicts without None; paths as texts."""
    if isinstance(value, Part):
        return plain(value.table())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        to_dict = getattr(value, "to_dict", None)
        return plain(to_dict() if to_dict is not None else given(value))
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, PathLike):
        return str(fspath(value))
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    # NumPy's numbers, from loops over arrays.
    return value.item() if hasattr(value, "item") and getattr(value, "ndim", 1) == 0 else value


def typed(hint: Any, value: Any) -> Any:
    """A value of an experiment file as the typed object that `hint` allows.

    A table without a class, or with a key that its class lacks, stays a dict; the simulation core reports the
    error.
    """
    hints = _alternatives(hint)
    if isinstance(value, Mapping):
        for hint in hints:
            found = _typed_table(hint, value)
            if found is not None:
                return found
        return dict(value)
    if isinstance(value, (list, tuple)):
        items = [typing.get_args(h) for h in hints if _origin(h) is Sequence]
        return [typed(items[0][0], item) for item in value] if items else list(value)
    return value


def _typed_table(hint: Any, table: Table) -> Any:
    """A table as an object of the class `hint`; None if that is impossible."""
    if _origin(hint) is Mapping:
        _, item = typing.get_args(hint)
        return {key: typed(item, inner) for key, inner in table.items()}
    if not isinstance(hint, type):
        return None
    if issubclass(hint, Part):
        found = hint.of_table(table)
        if found is None:
            return None
        hint, values = found
    elif dataclasses.is_dataclass(hint):
        read = getattr(hint, "fields_of", dict)
        values = read(table)
    else:
        return None
    hints = field_hints(hint)
    if not set(values) <= set(hints):
        return None
    required = {
        field.name
        for field in dataclasses.fields(hint)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    }
    if not required <= set(values):
        return None
    return hint(**{key: typed(hints[key], inner) for key, inner in values.items()})


def field_hints(cls: type) -> dict[str, Any]:
    """The types of the fields of a dataclass by name."""
    hints = typing.get_type_hints(cls)
    return {field.name: hints[field.name] for field in dataclasses.fields(cls)}


def is_path(hint: Any) -> bool:
    """Whether values of this type are paths."""
    return any(_origin(member) is PathLike for member in _alternatives(hint))


def _alternatives(hint: Any) -> list[Any]:
    """The members of a union, classes before plain tables."""
    union = _origin(hint) in (typing.Union, types.UnionType)
    members = list(typing.get_args(hint)) if union else [hint]
    return sorted(members, key=lambda member: _origin(member) is Mapping)


def _origin(hint: Any) -> Any:
    return typing.get_origin(hint)
