"""Exact quantities with units, as experiments write them: "50 Gbps", "1.5 us", "4 KiB".

The units are those of the simulation core (docs/formats/experiment.md), which checks the values again. Ranges
of sweeps need arithmetic with them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

__all__ = ["Quantity"]

_TIMES = {"s": 10**12, "ms": 10**9, "us": 10**6, "ns": 10**3, "ps": 1}
_BITS = {"Tbps": 10**12, "Gbps": 10**9, "Mbps": 10**6, "kbps": 10**3, "bps": 1}
_SIZES = {
    **{"TB": 10**12, "GB": 10**9, "MB": 10**6, "kB": 10**3, "KB": 10**3, "B": 1},
    **{"TiB": 2**40, "GiB": 2**30, "MiB": 2**20, "KiB": 2**10},
}
_BITS_PER_SECOND = {unit.replace("bps", "bit/s"): bits for unit, bits in _BITS.items()}
_RATES = {
    **_BITS,
    **_BITS_PER_SECOND,
    **{f"{unit}/s": 8 * bytes for unit, bytes in _SIZES.items() if unit != "KB"},
}
_POWERS = {"MW": 10**12, "kW": 10**9, "W": 10**6, "mW": 10**3, "uW": 1}
# Units with their size in the smallest unit of their kind.
_KINDS = {"ps": _TIMES, "bps": _RATES, "B": _SIZES, "uW": _POWERS}
# Digits before and after the point. The core computes with 64 bits.
MOST_DIGITS = 40
_NUMBER = rf"[+-]?[0-9]{{1,{MOST_DIGITS}}}(?:\.[0-9]{{1,{MOST_DIGITS}}})?"
_TEXT = re.compile(rf"\s*({_NUMBER})\s*([A-Za-z/]+)\s*")


@dataclass(frozen=True)
class Quantity:
    """A quantity: a multiple of the smallest unit of its kind, and the unit to show it in."""

    amount: Fraction
    base: str
    unit: str

    @classmethod
    def parse(cls, text: str) -> Quantity | None:
        """The quantity of a text; None if it is not a quantity, or has more than `MOST_DIGITS` digits."""
        match = _TEXT.fullmatch(text)
        if match is None:
            return None
        number, unit = match.groups()
        for base, units in _KINDS.items():
            if unit in units:
                return cls(Fraction(number) * units[unit], base, unit)
        return None

    @property
    def value(self) -> Fraction:
        """The number before the unit."""
        return self.amount / _KINDS[self.base][self.unit]

    def of(self, base: str) -> Fraction | None:
        """The amount in the smallest unit, if it is of that kind: "ps", "bps", "B" or "uW"."""
        return self.amount if self.base == base else None

    def with_amount(self, amount: Fraction) -> Quantity:
        """Another amount of the same kind, rounded to the smallest unit, in the same unit if that
        is exact.
        """
        whole = Fraction(round(amount))
        exact = Quantity(whole, self.base, self.unit)
        return exact if _decimal(exact.value) is not None else Quantity(whole, self.base, self.base)

    def __str__(self) -> str:
        return f"{_decimal(self.value) or self.value} {self.unit}"


def _decimal(value: Fraction) -> str | None:
    """A number in decimal without exponent; None if it needs more than nine places."""
    scaled = value * 10**9
    if scaled.denominator != 1:
        return None
    return f"{(Decimal(scaled.numerator) / 10**9).normalize():f}"
