"""Output of the OSU micro-benchmarks: osu_latency, osu_bw, osu_bibw, osu_mbw_mr; collectives are recognised.

The format is that of versions 3 to 7: a title ``# OSU MPI Latency Test v5.6.2`` (``MPI-CUDA`` and similar for
device memory), comment lines, one comment with the names of the columns, rows. Columns after the second
(minimum, maximum, iterations) are ignored, but for the result of the validation (option ``-c``). MB are 10^6
bytes.
"""

from __future__ import annotations

import re
from pathlib import Path

from fabricsim._errors import CalibrationError
from fabricsim.calibrate.measurement import Kind, Measurement
from fabricsim.calibrate.table import (
    MOST_PAIRS,
    MOST_WINDOW,
    Rows,
    count,
    is_number,
    is_size,
    number,
    refuse,
    row_lines,
    whole,
)
from fabricsim.sweep.section import shortened

__all__ = ["is_title", "read"]

_TITLE = re.compile(r"#\s*OSU MPI(?P<device>-\w+)?\s+(?P<name>.+?)\s+v(?P<version>[\d.]+)\s*$")
# The columns of osu_mbw_mr have their units as names.
_RATES = re.compile(r"#\s*Size\s+(?P<unit>\w+/s)\s+Messages/s")
_COLUMNS = re.compile(r"#\s*Size\s+(?P<what>[A-Za-z][A-Za-z \-]*?)\s*(?:\((?P<unit>[^)]*)\))")
_PAIRS = re.compile(r"\[\s*pairs:\s*(\d+)\s*\].*\[\s*window size:\s*(\d+)\s*\]")
_DATATYPE = re.compile(r"#\s*Datatype:\s*(\S+?)\.?\s*$")

_KINDS: dict[str, Kind] = {
    "latency test": "latency",
    "bandwidth test": "bandwidth",
    "bi-directional bandwidth test": "bidirectional",
    "multiple bandwidth / message rate test": "message-rate",
}
_VALIDATION = ("pass", "fail")
# What osu_bw and osu_bibw use unless they are told otherwise; they do not print it.
_WINDOW = 64


def is_title(line: str) -> bool:
    """Whether a line begins a table of these benchmarks."""
    return _TITLE.match(line) is not None


def read(path: Path, lines: list[str]) -> list[Measurement]:
    """All tables of a file."""
    starts = [index for index, line in enumerate(lines) if is_title(line)]
    ends = [*starts[1:], len(lines)]
    tables = [_table(str(path), lines, start, end) for start, end in zip(starts, ends, strict=True)]
    return tables


def _table(file: str, lines: list[str], start: int, end: int) -> Measurement:
    title = _TITLE.match(lines[start])
    assert title is not None
    name = title["name"]
    kind: Kind = _KINDS.get(name.lower(), "collective")
    conditions = {"program": f"OSU micro-benchmarks {title['version']}"}
    if title["device"]:
        conditions["memory"] = title["device"].lstrip("-")
    pairs, window = 1, None if kind in ("latency", "collective") else _WINDOW
    unit: str | None = None
    rows = Rows(file)
    table = set(row_lines(lines, start + 1, end, _well_formed))
    for index in range(start + 1, end):
        line, words, place = lines[index].strip(), lines[index].split(), index + 1
        if counts := _PAIRS.search(line):
            pairs = count(counts[1], MOST_PAIRS, file, place, "pairs")
            window = count(counts[2], MOST_WINDOW, file, place, "window size")
        elif datatype := _DATATYPE.match(line):
            conditions["datatype"] = datatype[1]
        elif columns := _COLUMNS.match(line) or _RATES.match(line):
            unit = _unit(columns["unit"], unit, kind, file, place)
        elif "DATA VALIDATION ERROR" in line:
            raise refuse(shortened(line), file, place)
        elif index in table and not (unit is None and not _well_formed(words)):
            if unit is None:
                raise CalibrationError(
                    "expected the line '# Size ...' with the names and units of the columns before the "
                    "first row",
                    file,
                    place,
                )
            if "fail" in map(str.lower, words):
                raise refuse(f"{words[0]} B: validation {words[-1]}", file, place)
            if kind == "collective":
                continue
            if len(words) < 2:
                raise CalibrationError(
                    f"expected a size and a value in {unit}; found {shortened(line)!r}", file, place
                )
            if not _others(words):
                raise CalibrationError(
                    f"expected a number in each column after the size; found {shortened(line)!r}", file, place
                )
            size = whole(words[0], file, place, "the size of a message")
            value = number(words[1], file, place, f"a value in {unit}")
            rows.add(place, size, value if kind == "latency" else value / 1e3)
    if unit is None or (kind != "collective" and not rows.all()):
        raise CalibrationError(
            f"the table of '{name}' has no rows; expected lines of a size and a value", file, start + 1
        )
    return Measurement(file, f"OSU {name}", kind, rows.all(), pairs, window, None, conditions)


def _well_formed(words: list[str]) -> bool:
    """Whether these are a size, a value, and other columns."""
    return len(words) >= 2 and is_size(words[0]) and is_number(words[1]) and _others(words)


def _others(words: list[str]) -> bool:
    """Whether the columns after the value are those of a benchmark."""
    return all(is_number(word) or word.lower() in _VALIDATION for word in words[2:])


def _unit(found: str, before: str | None, kind: Kind, file: str, line: int) -> str:
    expected = "us" if kind in ("latency", "collective") else "MB/s"
    if before is not None and found != before:
        raise CalibrationError(
            f"the unit changes from {before} to {found}; expected one unit, {expected}", file, line
        )
    if found != expected:
        raise CalibrationError(f"unit {found}; expected {expected}, as these benchmarks print", file, line)
    return found
