"""The contents of a figure, independent of results and of the plotting library.

Colours are those of the report page and of the viewer, for a light ground. Readers of all kinds of colour
vision can distinguish them. Curves differ in their dashes as well. Maps have even steps of lightness.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from fabricsim import _core

__all__ = [
    "COLOURS",
    "GREY",
    "GRID",
    "INK",
    "LOAD",
    "QUIET",
    "TIME",
    "Arrows",
    "Axis",
    "Bars",
    "Chart",
    "Curve",
    "Heat",
    "Layer",
    "Points",
    "Spans",
    "colour",
    "of_time",
]

_TABLE = json.loads(_core.COLOURS)
COLOURS: tuple[str, ...] = tuple(light for light, _ in _TABLE["series"])
GREY: str = _TABLE["other"][0]
TIME: dict[str, str] = {cause: light for cause, (light, _) in _TABLE["time"].items()}
"""Causes of the time of a rank."""
LOAD: tuple[str, ...] = tuple(light for light, _ in _TABLE["load"])
"""From idle to full, in even steps of lightness."""
INK: str = _TABLE["page"]["ink"][0]
QUIET: str = _TABLE["page"]["quiet"][0]
GRID: str = _TABLE["page"]["grid"][0]


@dataclass(frozen=True)
class Axis:
    """An axis; its label has the unit."""

    label: str
    log: bool = False
    low: float | None = None
    high: float | None = None
    ticks: Sequence[tuple[float, str]] | None = None
    """Places and their names, if the axis has names instead of numbers."""


@dataclass(frozen=True)
class Curve:
    """A line, or steps: each value holds until the next place."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    number: int
    """Index of colour and dash."""
    steps: bool = True


@dataclass(frozen=True)
class Bars:
    """Upright bars around the places `x`, standing on `base`."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    colour: str
    width: float = 0.7
    base: Sequence[float] | None = None
    is_hatched: bool = False


@dataclass(frozen=True)
class Points:
    """Markers."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    colour: str


@dataclass(frozen=True)
class Heat:
    """A map: rows from 0 upwards, columns of equal width from `begin` to `end`; None: no value."""

    begin: float
    end: float
    rows: Sequence[str]
    values: Sequence[Sequence[float | None]]
    label: str
    low: float
    high: float


@dataclass(frozen=True)
class Spans:
    """Horizontal bars of one kind, each in a lane."""

    name: str
    lanes: Sequence[float]
    begins: Sequence[float]
    ends: Sequence[float]
    colour: str


@dataclass(frozen=True)
class Arrows:
    """Lines with a head, from one place to another."""

    name: str
    from_x: Sequence[float]
    from_y: Sequence[float]
    to_x: Sequence[float]
    to_y: Sequence[float]


Layer = Curve | Bars | Points | Heat | Spans | Arrows


@dataclass(frozen=True)
class Chart:
    """One pair of axes with everything that is drawn in it."""

    title: str
    x: Axis
    y: Axis
    layers: Sequence[Layer] = field(default=())
    legend: bool = True
    height: float = 1.0
    """Height relative to the usual one."""


def colour(number: int) -> str:
    """The colour of an index; beyond seven, colours repeat with another dash."""
    return COLOURS[number % len(COLOURS)]


def of_time(longest_ps: float) -> tuple[str, float]:
    """A readable unit of a time, and its picoseconds."""
    for name, ps in (("s", 1e12), ("ms", 1e9), ("us", 1e6)):
        if longest_ps >= ps:
            return name.replace("us", "\u00b5s"), ps
    return "ns", 1e3
