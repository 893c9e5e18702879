"""The cost of a network by a user's table: switches, cables, NICs, hosts, electricity. docs/formats/costs.md.

The core reads the table and makes the bill (``crates/results/src/costs.rs``) from the counts of `inventory`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from fabricsim import _core
from fabricsim._errors import SweepError
from fabricsim.sweep.section import read_toml

__all__ = ["CostTable", "Item", "load_costs", "total"]


@dataclass(frozen=True)
class Item:
    """A line of the bill."""

    name: str
    count: float
    each: float

    @property
    def cost(self) -> float:
        """The cost of all items of the line."""
        return self.count * self.each


@dataclass(frozen=True)
class CostTable:
    """A user's cost table."""

    file: Path
    _table: _core.CostTable

    @property
    def currency(self) -> str:
        """Printed after sums; empty for none."""
        return self._table.currency

    @property
    def note(self) -> str:
        """Printed beside sums; empty for none."""
        return self._table.note

    @property
    def has_electricity(self) -> bool:
        """Whether it has a price of electricity."""
        return self._table.has_electricity

    def of(self, inventory: Mapping[str, Any]) -> list[Item]:
        """The cost of a network, item by item.

        Raises
        ------
        SweepError
            The table has nothing for one of its parts.
        """
        return [Item(**item) for item in json.loads(self._table.bill(json.dumps(inventory)))]

    def electricity_of(self, summary: Mapping[str, Any]) -> Item | None:
        """Electricity at the mean power of a run; None if the table has no price of it.

        Raises
        ------
        SweepError
            The run has no power.
        """
        if not self.has_electricity:
            return None
        watts = (summary["network"].get("energy") or {}).get("mean_power_w")
        if watts is None:
            raise SweepError(
                "[electricity] needs the power of the network, and this run has none: "
                "expected a table [power] in its experiment",
                str(self.file),
            )
        return Item(**json.loads(self._table.electricity(watts)))


def total(items: list[Item]) -> float:
    """The sum of a bill."""
    return sum(item.cost for item in items)


def load_costs(file: str | PathLike[str]) -> CostTable:
    """Reads a cost table.

    Raises
    ------
    SweepError
        Something in it is wrong.
    """
    file = Path(file)
    return CostTable(file, _core.CostTable.from_toml(read_toml(file), str(file)))
