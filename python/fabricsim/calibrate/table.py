"""What the readers share: numbers of a line, which lines are rows, and errors that name file, line and what
was expected.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

from fabricsim._errors import CalibrationError
from fabricsim._input import read_text
from fabricsim.calibrate.measurement import Row
from fabricsim.sweep.section import shortened

__all__ = [
    "MOST_PAIRS",
    "MOST_WINDOW",
    "Rows",
    "count",
    "is_number",
    "is_size",
    "number",
    "refuse",
    "row_lines",
    "text_of",
    "whole",
]

# Above it no message exists; a number there is not a size.
_LARGEST = 2**48
# Messages in flight, which the simulation sends, and pairs of ranks.
MOST_WINDOW = 16_384
MOST_PAIRS = 1_000_000
# Characters of a line; no row has so many, and the patterns of titles take long for more.
_MOST_CHARACTERS = 10_000
# Digits of whole numbers; the interpreter refuses to convert some thousand.
_MOST_DIGITS = 20
# Sizes of a table. A simulation has two hosts for each, and benchmarks measure some dozen.
_MOST_SIZES = 2000


def text_of(path: Path) -> list[str]:
    """The lines of a file; bytes that are no UTF-8 are replaced, since job scripts print anything."""
    try:
        text = read_text(path, errors="replace")
    except OSError as error:
        raise CalibrationError(f"cannot be read: {error.strerror}", str(path)) from None
    if not text.strip():
        raise CalibrationError(
            "the file is empty; expected output of OSU micro-benchmarks, IMB or nccl-tests, or CSV",
            str(path),
            1,
        )
    return [line[:_MOST_CHARACTERS] for line in text.splitlines()]


def number(text: str, file: str, line: int, what: str) -> float:
    """A positive finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        message = f"expected {what}, a number of at least 0; found {shortened(text)!r}"
        raise CalibrationError(message, file, line)
    return value


def whole(text: str, file: str, line: int, what: str) -> int:
    """A whole number of at least 0."""
    if not is_size(text):
        message = f"expected {what}, a whole number of bytes; found {shortened(text)!r}"
        raise CalibrationError(message, file, line)
    return int(text)


def is_size(text: str) -> bool:
    """Whether a word is the size of a message."""
    return text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS and int(text) <= _LARGEST


def count(text: str, most: int, file: str, line: int, what: str) -> int:
    """A whole number from 1 to `most`."""
    is_whole = text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS
    if not is_whole or not 1 <= int(text) <= most:
        raise CalibrationError(
            f"{what}: expected a whole number from 1 to {most:,}; found {shortened(text)!r}", file, line
        )
    return int(text)


def is_number(text: str) -> bool:
    """Whether a word is a number of at least 0."""
    try:
        return 0 <= float(text) < math.inf
    except ValueError:
        return False


def refuse(what: str, file: str, line: int) -> CalibrationError:
    """The error for a measurement that says itself that it is wrong."""
    return CalibrationError(
        f"{what}: the benchmark says itself that this measurement is wrong; expected one that passes its "
        "checks. Find the fault and measure again",
        file,
        line,
    )


def row_lines(
    lines: Sequence[str], start: int, end: int, well_formed: Callable[[list[str]], bool]
) -> Iterator[int]:
    """The lines of a table that begin with a digit and are its rows, damaged ones included.

    Text after the table may begin with a digit, too. A line that is no row is damaged if the table goes on
    after it, or if it comes right after a row and looks like the next one; otherwise it is text.
    """
    seen: set[int] = set()
    last, length, apart = -1, 0, False
    later = cache(lambda: _Later(lines, start, end, well_formed))
    for index in range(start, end):
        words = lines[index].split()
        if not words or not words[0][0].isdigit():
            apart = bool(seen)
        elif well_formed(words):
            size = int(words[0])
            if not apart or (len(words) == length and (size > last or size in seen)):
                yield index
                seen.add(size)
                last, length, apart = max(last, size), len(words), False
        elif not seen or later().has_row(index + 1, last, length):
            yield index
        elif apart or not _like_a_row(words, last, length):
            apart = True
        else:
            yield index


class _Later:
    """The largest sizes of rows from a line on, by the number of words.

    A search from each line that is no row would take time with the square of the lines.
    """

    def __init__(
        self, lines: Sequence[str], start: int, end: int, well_formed: Callable[[list[str]], bool]
    ) -> None:
        # By the number of words: lines in falling order, and the largest size from each of them on.
        self._places: dict[int, list[int]] = {}
        self._largest: dict[int, list[int]] = {}
        for index in range(end - 1, start - 1, -1):
            words = lines[index].split()
            if words and words[0][0].isdigit() and well_formed(words):
                largest = self._largest.setdefault(len(words), [])
                self._places.setdefault(len(words), []).append(-index)
                largest.append(max(int(words[0]), largest[-1] if largest else 0))

    def has_row(self, index: int, last: int, length: int) -> bool:
        """Whether a row of so many words and a size above `last` is in this line or a later one."""
        count = bisect.bisect_right(self._places.get(length, ()), -index)
        return count > 0 and self._largest[length][count - 1] > last


def _like_a_row(words: Sequence[str], last: int, length: int) -> bool:
    """Whether a line after a row of that size and number of words was meant to be the next row."""
    first, rest = words[0], words[1:]
    if first.isascii() and first.isdigit() and _exceeds(first, last) and (not rest or rest[0][0].isdigit()):
        return True
    if any(mark in first for mark in ":/-"):
        return False
    return bool(rest) and len(words) == length and all(map(_is_float, rest))


def _exceeds(digits: str, last: int) -> bool:
    return len(digits) > _MOST_DIGITS or int(digits) > last


def _is_float(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


class Rows:
    """Collects the rows of one table and refuses a size that comes twice."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._rows: dict[int, Row] = {}

    def add(self, line: int, size: int, value: float) -> None:
        """Appends a row."""
        earlier = self._rows.get(size)
        if earlier is not None:
            raise CalibrationError(
                f"size {size} B is already in line {earlier.line}; expected each size once in a table, and "
                "each repetition in a file of its own",
                self._file,
                line,
            )
        if len(self._rows) == _MOST_SIZES:
            raise CalibrationError(
                f"the table has more than {_MOST_SIZES:,} sizes; expected fewer, such as the powers of two",
                self._file,
                line,
            )
        self._rows[size] = Row(line, size, value)

    def all(self) -> tuple[Row, ...]:
        """The rows so far."""
        return tuple(self._rows.values())
