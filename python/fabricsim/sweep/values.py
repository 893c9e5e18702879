"""The values of a key: a list, or a range with or without units."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from fabricsim.sweep.quantity import MOST_DIGITS, Quantity
from fabricsim.sweep.section import LARGEST, Section, shortened

__all__ = ["shown_count", "values"]

# More values are a mistake, such as a step in the wrong unit.
MOST_VALUES = 100_000
# Significant bits of the values of a geometric range. A value with fewer is exact, as those that meet the end
# of a range are. All bits of the powers of a factor would take memory with the square of their number.
_BITS = 2048
_EXPECTED = (
    "a list of values, or a range: { from, to, step }, { from, to, factor } or { from, to, count }, "
    'with a count also scale = "geometric"'
)


def values(section: Section, key: str, distinct: bool = True) -> list[Any]:
    """The values of a list or range.

    Raises
    ------
    SweepError
        It is neither, is empty, has something twice, or the range leads nowhere.
    """
    found = section.get(key, _EXPECTED, list, dict)
    if found is None:
        raise section.error(key, f"missing; expected {_EXPECTED}")
    if isinstance(found, list):
        if not found:
            raise section.error(key, "an empty list: there would be nothing to run")
        seen = set()
        for value in found:
            if distinct and repr(value) in seen:
                raise section.error(key, f"{shortened(repr(value))} is there twice")
            seen.add(repr(value))
        return found
    given = section.section(key)
    assert given is not None
    return _range(given)


def _range(given: Section) -> list[Any]:
    first, last = _end(given, "from"), _end(given, "to")
    if isinstance(first, Quantity) != isinstance(last, Quantity) or _base(first) != _base(last):
        raise given.error("to", "expected the same kind of quantity as 'from'")
    begin, end = _amount(first), _amount(last)
    steps = [name for name in ("step", "factor", "count") if name in given]
    if len(steps) != 1:
        raise given.error("", "expected exactly one of 'step', 'factor' and 'count'")
    if steps[0] == "step":
        amounts = _linear(given, first, begin, end)
    elif steps[0] == "factor":
        amounts = _geometric(given, begin, end)
    else:
        amounts = _counted(given, begin, end)
    given.close()
    rounded = isinstance(first, int) and isinstance(last, int) and all(isinstance(a, float) for a in amounts)
    found = [_shown(first, amount, steps[0] == "step", rounded) for amount in amounts]
    if any(isinstance(value, float) for value in found):
        found = [float(value) for value in found]
    return list(dict.fromkeys(found))


def _end(given: Section, key: str) -> int | Fraction | Quantity:
    """One end of a range, or its step."""
    value = given.get(key, 'a number, or a quantity such as "50 Gbps"', int, float, str)
    if value is None:
        raise given.error(key, 'missing; expected a number, or a quantity such as "50 Gbps"')
    if isinstance(value, str):
        quantity = Quantity.parse(value)
        if quantity is None:
            raise given.error(
                key,
                f"'{shortened(value)}' is not a quantity with its unit, such as \"50 Gbps\", of at most "
                f"{MOST_DIGITS} digits",
            )
        return quantity
    if abs(value) > LARGEST and value not in (math.inf, -math.inf):
        message = f"expected a number from {-LARGEST:g} to {LARGEST:g}, found {shortened(value)}"
        raise given.error(key, message)
    return value if isinstance(value, int) else _exact(given, key, value)


def _exact(given: Section, key: str, value: float) -> Fraction:
    """A number as written: 0.1 is a tenth."""
    try:
        return Fraction(str(value))
    except ValueError:
        raise given.error(key, f"expected a number, found {value}") from None


def _base(end: int | Fraction | Quantity) -> str | None:
    return end.base if isinstance(end, Quantity) else None


def _amount(end: int | Fraction | Quantity) -> Fraction:
    return end.amount if isinstance(end, Quantity) else Fraction(end)


def _linear(
    given: Section, first: int | Fraction | Quantity, begin: Fraction, end: Fraction
) -> list[Fraction | float]:
    step = _end(given, "step")
    if _base(step) != _base(first):
        raise given.error("step", "expected the same kind of quantity as 'from'")
    width = _amount(step)
    if width == 0 or (end - begin) / width < 0:
        raise given.error("step", "leads away from 'to'")
    return [begin + n * width for n in range(_limited(given, "step", int((end - begin) / width) + 1))]


def _geometric(given: Section, begin: Fraction, end: Fraction) -> list[Fraction | float]:
    factor = given.number("factor")
    assert factor is not None
    ratio = _exact(given, "factor", factor)
    if begin <= 0 or end <= 0:
        raise given.error("", "a range with a factor needs positive ends")
    if ratio <= 0 or ratio == 1 or (end > begin and ratio < 1) or (end < begin and ratio > 1):
        raise given.error("factor", "leads away from 'to'")
    # Before any value exists; floating point is at most a few values off.
    about = int(_logarithm(end / begin) / _logarithm(ratio)) + 1
    if about > 2 * MOST_VALUES:
        _limited(given, "factor", about)
    found: list[Fraction | float] = []
    amount = begin
    while amount <= end if ratio > 1 else amount >= end:
        found.append(amount)
        _limited(given, "factor", len(found))
        amount = _rounded(amount * ratio)
    return found


def _logarithm(value: Fraction) -> float:
    """The natural logarithm, also of values near 1."""
    if abs(value - 1) < Fraction(1, 2):
        return math.log1p(float(value - 1))
    return math.log(value.numerator) - math.log(value.denominator)


def _rounded(amount: Fraction) -> Fraction:
    """The amount to at least `_BITS` significant bits; unchanged if it has fewer."""
    length = amount.numerator.bit_length() - amount.denominator.bit_length()
    if amount.denominator.bit_length() <= _BITS:
        return amount
    shift = _BITS - length
    scaled = round(amount * 2**shift) if shift >= 0 else round(amount / 2**-shift)
    return Fraction(scaled, 2**shift) if shift >= 0 else Fraction(scaled * 2**-shift)


def _counted(given: Section, begin: Fraction, end: Fraction) -> list[Fraction | float]:
    count = given.get("count", "a whole number of at least 2", int)
    if count < 2:
        raise given.error("count", f"expected a whole number of at least 2, found {count}")
    _limited(given, "count", count)
    if begin == end:
        raise given.error("to", "expected another value than 'from'")
    if given.one_of("scale", ["linear", "geometric"]) == "geometric":
        if begin <= 0 or end <= 0:
            raise given.error("", "a geometric range needs positive ends")
        ratio = float(end / begin)
        inner = [float(begin) * ratio ** (n / (count - 1)) for n in range(1, count - 1)]
    else:
        inner = [float(begin + (end - begin) * n / (count - 1)) for n in range(1, count - 1)]
    return [float(begin), *inner, float(end)]


def _limited(given: Section, key: str, count: int) -> int:
    if count > MOST_VALUES:
        raise given.error(key, f"gives {shown_count(count)} values; at most {MOST_VALUES:,} are possible")
    return count


def shown_count(count: int) -> str:
    """A whole number of any size, in at most some twenty characters."""
    if count < 10**15:
        return f"{count:,}"
    # Of a number of more digits than Python converts, too.
    return f"more than 10^{int(math.log10(count) - 1e-9)}"


def _shown(first: int | Fraction | Quantity, amount: Fraction | float, step: bool, whole: bool) -> Any:
    """A value as the experiment has it; values between the ends of a range of counts to six digits."""
    if isinstance(first, Quantity):
        if isinstance(amount, Fraction):
            return str(first.with_amount(amount))
        rough = Fraction(f"{amount / float(first.amount / first.value):.6g}") * (first.amount / first.value)
        return str(first.with_amount(rough))
    if isinstance(amount, Fraction):
        return amount.numerator if amount.denominator == 1 and isinstance(first, int) else float(amount)
    return round(amount) if whole else float(f"{amount:.6g}")
