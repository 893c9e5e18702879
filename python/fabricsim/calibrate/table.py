"""What the readers share: numbers of a line, which lines are rows, and errors that name file, line and what
was expected.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from fabricsim._errors import CalibrationError
from fabricsim.calibrate.measurement import Row

__all__ = ["Rows", "is_number", "is_size", "number", "refuse", "row_lines", "text_of", "whole"]

# Above it no message exists; a number there is not a size.
_LARGEST = 2**48


def text_of(path: Path) -> list[str]:
    """The lines of a file; bytes that are no UTF-8 are replaced, since job scripts print anything."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise CalibrationError(f"cannot be read: {error.strerror}", str(path)) from None
    if not text.strip():
        raise CalibrationError(
            "the file is empty; expected output of OSU micro-benchmarks, IMB or nccl-tests, or CSV",
            str(path),
            1,
        )
    return text.splitlines()


def number(text: str, file: str, line: int, what: str) -> float:
    """A positive finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise CalibrationError(f"expected {what}, a number of at least 0; found {text!r}", file, line)
    return value


def whole(text: str, file: str, line: int, what: str) -> int:
    """A whole number of at least 0."""
    if not is_size(text):
        raise CalibrationError(f"expected {what}, a whole number of bytes; found {text!r}", file, line)
    return int(text)


def is_size(text: str) -> bool:
    """Whether a word is the size of a message."""
    return text.isascii() and text.isdigit() and int(text) <= _LARGEST


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
        elif not seen or _goes_on(lines[index + 1 : end], last, length, well_formed):
            yield index
        elif apart or not _like_a_row(words, last, length):
            apart = True
        else:
            yield index


def _goes_on(lines: Sequence[str], last: int, length: int, well_formed: Callable[[list[str]], bool]) -> bool:
    """Whether a row of a larger size follows."""
    rest = (line.split() for line in lines)
    return any(len(words) == length and well_formed(words) and int(words[0]) > last for words in rest)


def _like_a_row(words: Sequence[str], last: int, length: int) -> bool:
    """Whether a line after a row of that size and number of words was meant to be the next row."""
    first, rest = words[0], words[1:]
    if first.isascii() and first.isdigit() and int(first) > last and (not rest or rest[0][0].isdigit()):
        return True
    if any(mark in first for mark in ":/-"):
        return False
    return bool(rest) and len(words) == length and all(map(_is_float, rest))


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
        self._rows[size] = Row(line, size, value)

    def all(self) -> tuple[Row, ...]:
        """The rows so far."""
        return tuple(self._rows.values())
