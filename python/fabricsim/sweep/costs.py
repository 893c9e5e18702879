"""The cost of a network by a user's table: switches, cables, NICs, hosts, electricity. docs/formats/costs.md.

A sum over the counts of `inventory`, which has no prices. The cheapest of several matching entries counts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from fabricsim._errors import SweepError
from fabricsim.sweep.quantity import MOST_DIGITS, Quantity
from fabricsim.sweep.section import Section, read, shortened

__all__ = ["CostTable", "Electricity", "Item", "load_costs", "total"]

CABLE_KINDS = ("electrical", "optical")
HOURS_PER_YEAR = 8760
_MOST_PORTS = 10**9


@dataclass(frozen=True)
class Switch:
    """An entry ``[[switch]]`` with its number of ports; None: any number."""

    name: str
    kind: str | None
    ports: int | None
    cost: float
    per_port: float

    def of(self, ports: int) -> float:
        """Cost of a switch with this many used ports."""
        return self.cost + self.per_port * (self.ports or ports)


@dataclass(frozen=True)
class Cable:
    """An entry ``[[cable]]``."""

    name: str
    classes: tuple[str, ...] | None
    up_to_mm: float | None
    bandwidth_bits_per_s: int | None
    cost: float
    per_metre: float
    per_gbps: float
    per_gbps_metre: float

    def fits(self, name: str, length_mm: float | None, bandwidth: int) -> bool:
        """Whether the entry fits this class, length and bandwidth."""
        if self.classes is not None and name not in self.classes:
            return False
        if self.bandwidth_bits_per_s not in (None, bandwidth):
            return False
        return self.up_to_mm is None or (length_mm is not None and length_mm <= self.up_to_mm)

    @property
    def needs_length(self) -> bool:
        """Whether its cost depends on the length."""
        return bool(self.per_metre or self.per_gbps_metre)

    def of(self, length_mm: float | None, bandwidth: int) -> float:
        """Cost of one cable."""
        metres, gbps = (length_mm or 0) / 1000, bandwidth / 1e9
        return self.cost + self.per_metre * metres + (self.per_gbps + self.per_gbps_metre * metres) * gbps


@dataclass(frozen=True)
class Electricity:
    """The table ``[electricity]``.

    Attributes
    ----------
    hours : float
        Time of use.
    pue : float
        Power usage effectiveness: power of the building divided by that of the machine, at least 1.
    """

    price_per_kwh: float
    hours: float
    pue: float

    def of(self, watts: float) -> Item:
        """The line of the bill for a mean power."""
        pue = "" if self.pue == 1 else f", PUE {self.pue:g}"
        kilowatt_hours = watts / 1000 * self.hours * self.pue
        return Item(
            f"electricity (kWh): {watts:,.6g} W for {self.hours:,g} h{pue}",
            kilowatt_hours,
            self.price_per_kwh,
        )


@dataclass(frozen=True)
class CostTable:
    """A user's cost table.

    Attributes
    ----------
    lengths_mm : mapping
        Length of a cable by its class.
    latency_per_metre_ps : float or None
        Where given, classes without a length have that of their latency.
    """

    file: Path
    currency: str
    note: str
    switches: tuple[Switch, ...]
    cables: tuple[Cable, ...]
    lengths_mm: Mapping[str, float]
    latency_per_metre_ps: float | None
    nic: float
    nic_per_gbps: float
    host: float
    electricity: Electricity | None

    def of(self, inventory: Mapping[str, Any]) -> list[Item]:
        """The cost of a network, item by item.

        Raises
        ------
        SweepError
            The table has nothing for one of its parts.
        """
        items = [self._routers(routers) for routers in inventory["routers"]]
        items += [self._cables(cables) for cables in inventory["cables"]]
        for cables in inventory["cables"]:
            if cables["class"] == "host" and (self.nic or self.nic_per_gbps):
                gbps = cables["bandwidth_bits_per_s"] / 1e9
                items.append(Item("NIC", cables["count"], self.nic + self.nic_per_gbps * gbps))
        if self.host:
            items.append(Item("host", inventory["hosts"], self.host))
        return items

    def electricity_of(self, summary: Mapping[str, Any]) -> Item | None:
        """Electricity at the mean power of a run; None if the table has no price of it.

        Raises
        ------
        SweepError
            The run has no power.
        """
        if self.electricity is None:
            return None
        watts = (summary["network"].get("energy") or {}).get("mean_power_w")
        if watts is None:
            raise SweepError(
                "[electricity] needs the power of the network, and this run has none: "
                "expected a table [power] in its experiment",
                str(self.file),
            )
        return self.electricity.of(watts)

    def _routers(self, routers: Mapping[str, Any]) -> Item:
        ports, kind = routers["ports"], routers["kind"]
        fitting = [
            s for s in self.switches if s.kind in (None, kind) and (s.ports is None or s.ports >= ports)
        ]
        if not fitting:
            raise SweepError(
                f"no [[switch]] for routers of kind '{kind}' with {ports} ports in use", str(self.file)
            )
        # An entry for exactly this kind.
        meant = [s for s in fitting if s.kind == kind] or fitting
        switch = min(meant, key=lambda s: s.of(ports))
        return Item(f"{switch.name} as {kind} with {ports} ports", routers["count"], switch.of(ports))

    def _cables(self, cables: Mapping[str, Any]) -> Item:
        name, bandwidth = cables["class"], cables["bandwidth_bits_per_s"]
        length = self._length_mm(name, cables["latency_ps"])
        fitting = [cable for cable in self.cables if cable.fits(name, length, bandwidth)]
        shown = f"class '{name}' with {bandwidth / 1e9:g} Gbps" + (
            f" and {length / 1000:g} m" if length is not None else " and no known length"
        )
        if not fitting:
            raise SweepError(f"no [[cable]] for links of {shown}", str(self.file))
        if length is None and any(cable.needs_length for cable in fitting):
            raise SweepError(
                f"a [[cable]] that costs by length, and links of {shown}: expected length.{name}",
                str(self.file),
            )
        # An entry for exactly this class.
        meant = [cable for cable in fitting if cable.classes is not None] or fitting
        cable = min(meant, key=lambda cable: cable.of(length, bandwidth))
        metres = "" if length is None else f", {length / 1000:g} m"
        return Item(f"{cable.name}: {name}{metres}", cables["count"], cable.of(length, bandwidth))

    def _length_mm(self, name: str, latency_ps: int) -> float | None:
        if name in self.lengths_mm:
            return self.lengths_mm[name]
        if self.latency_per_metre_ps is not None:
            return latency_ps / self.latency_per_metre_ps * 1000
        return self.lengths_mm.get("default")


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
    given = read(file)
    length = given.section("length")
    per_metre = None
    lengths: dict[str, float] = {}
    if length is not None:
        per_metre = _amount(length, "latency_per_metre", "ps", 'a time such as "5 ns"')
        for name in length:
            if name != "latency_per_metre":
                lengths[name] = _amount(length, name, "mm", 'a length such as "2 m"') or 0.0
        if per_metre is not None and per_metre <= 0:
            raise length.error("latency_per_metre", "expected more than nothing")
    nic, host = given.section("nic"), given.section("host")
    table = CostTable(
        file=file,
        currency=given.text("currency") or "",
        note=given.text("note") or "",
        switches=tuple(_switch(section) for section in given.sections("switch")),
        cables=tuple(_cable(section) for section in given.sections("cable")),
        lengths_mm=lengths,
        latency_per_metre_ps=per_metre,
        nic=0.0 if nic is None else nic.number("cost") or 0.0,
        nic_per_gbps=0.0 if nic is None else nic.number("per_gbps") or 0.0,
        host=0.0 if host is None else host.number("cost") or 0.0,
        electricity=_electricity(given.section("electricity")),
    )
    for section in (nic, host, given):
        if section is not None:
            section.close()
    if not table.switches:
        raise given.error("switch", "missing; expected at least one [[switch]]")
    if not table.cables:
        raise given.error("cable", "missing; expected at least one [[cable]]")
    return table


def _electricity(section: Section | None) -> Electricity | None:
    if section is None:
        return None
    price, hours, years = (section.number(key) for key in ("price_per_kwh", "hours", "years"))
    pue = section.number("pue")
    section.close()
    if price is None:
        raise section.error("price_per_kwh", "missing; expected a number")
    if price < 0:
        raise section.error("price_per_kwh", f"expected at least 0, found {price:g}")
    if (hours is None) == (years is None):
        raise section.error("years", "expected one of the keys hours and years")
    time = hours if hours is not None else (years or 0.0) * HOURS_PER_YEAR
    if time <= 0:
        raise section.error("years" if hours is None else "hours", "expected more than 0")
    if pue is not None and pue < 1:
        raise section.error("pue", f"expected at least 1, found {pue:g}")
    return Electricity(price, time, 1.0 if pue is None else pue)


def _switch(section: Section) -> Switch:
    ports = section.get("ports", "a whole number", int)
    if ports is not None and not 1 <= ports <= _MOST_PORTS:
        found = shortened(ports)
        raise section.error("ports", f"expected at least 1 and at most {_MOST_PORTS:,}, found {found}")
    switch = Switch(
        name=section.text("name") or (f"switch of {ports} ports" if ports else "switch"),
        kind=section.text("kind"),
        ports=ports,
        cost=section.number("cost") or 0.0,
        per_port=section.number("per_port") or 0.0,
    )
    section.close()
    return switch


def _cable(section: Section) -> Cable:
    classes = section.get("class", "a link class, or a list of them", str, list)
    kind = section.one_of("kind", CABLE_KINDS)
    bandwidth = _amount(section, "bandwidth", "bps", 'a data rate such as "100 Gbps"')
    # As the simulation core rounds rates.
    bits_per_s = None if bandwidth is None else math.floor(bandwidth + 0.5)
    cable = Cable(
        name=section.text("name") or (f"{kind} cable" if kind else "cable"),
        classes=None if classes is None else (classes,) if isinstance(classes, str) else tuple(classes),
        up_to_mm=_amount(section, "up_to", "mm", 'a length such as "7 m"'),
        bandwidth_bits_per_s=bits_per_s,
        cost=section.number("cost") or 0.0,
        per_metre=section.number("per_metre") or 0.0,
        per_gbps=section.number("per_gbps") or 0.0,
        per_gbps_metre=section.number("per_gbps_metre") or 0.0,
    )
    section.close()
    return cable


def _amount(section: Section, key: str, base: str, expected: str) -> float | None:
    """A quantity in the smallest unit of its kind."""
    text = section.get(key, expected, str)
    if text is None:
        return None
    quantity = Quantity.parse(text)
    amount = None if quantity is None else quantity.of(base)
    if amount is None or amount < 0:
        raise section.error(
            key, f"expected {expected} of at most {MOST_DIGITS} digits, found '{shortened(text)}'"
        )
    return float(amount)
