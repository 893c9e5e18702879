"""Measurements, whatever program printed them: times and rates over message size, with their conditions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["KINDS", "Kind", "Measurement", "Row"]

Kind = Literal["latency", "bandwidth", "bidirectional", "message-rate", "collective"]

KINDS: Mapping[Kind, str] = {
    "latency": "half round-trip time",
    "bandwidth": "bandwidth of a window of messages, one direction",
    "bidirectional": "bandwidth of a window of messages, both directions together",
    "message-rate": "bandwidth of windows of messages of several pairs together",
    "collective": "collective",
}


@dataclass(frozen=True)
class Row:
    """One line of a table."""

    line: int
    """Line of the file, counted from 1."""
    size: int
    """Payload of a message in bytes; for collectives, of the buffer that the program names."""
    value: float
    """Latency: microseconds. All others: 10^9 bytes per second; of collectives, the bus bandwidth."""


@dataclass(frozen=True)
class Measurement:
    """One table of one benchmark."""

    file: str
    """Where it was read."""
    benchmark: str
    """The program's name of the benchmark."""
    kind: Kind
    """What was measured."""
    rows: tuple[Row, ...]
    """In the order of the file, each size once."""
    pairs: int = 1
    """Pairs of ranks that send at the same time."""
    window: int | None = None
    """Messages in flight; None where the file does not say."""
    ranks_per_host: int | None = None
    """None where the file does not say."""
    conditions: Mapping[str, str] = field(default_factory=dict)
    """What the file's header says: date, versions, machine."""

    def values(self) -> dict[int, float]:
        """Value by size."""
        return {row.size: row.value for row in self.rows}
