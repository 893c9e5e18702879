"""What the readers share: numbers of a line, and errors that name file, line and what was expected."""

from __future__ import annotations

import math
from pathlib import Path

from fabricsim._errors import CalibrationError
from fabricsim.calibrate.measurement import Row

__all__ = ["Rows", "number", "text_of", "whole"]

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
    if not text.isascii() or not text.isdigit() or int(text) > _LARGEST:
        raise CalibrationError(f"expected {what}, a whole number of bytes; found {text!r}", file, line)
    return int(text)


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
