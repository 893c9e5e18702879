"""Output of the Intel MPI benchmarks (IMB-MPI1): PingPong; all other benchmarks are recognised only.

A file has a header (``# Date``, ``# MPI Version``, ...) and a block for each benchmark, which begins with
``# Benchmarking PingPong`` and ``# #processes = 2``. Only times are read, in microseconds: IMB before 2019
prints MB of 2^20 bytes, later versions of 10^6.
"""

from __future__ import annotations

import re
from pathlib import Path

from fabricsim._errors import CalibrationError
from fabricsim.calibrate.measurement import Measurement
from fabricsim.calibrate.table import (
    MOST_PAIRS,
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

_TITLE = re.compile(r"#\s*Intel\s?\((?:R|r)\) MPI Benchmark(?:s| Suite)?\s*(?P<version>[^,]*)")
_BENCHMARK = re.compile(r"#\s*Benchmarking\s+(?P<name>\S+)")
_PROCESSES = re.compile(r"#\s*#processes\s*=\s*(\d+)")
_CONDITION = re.compile(r"#\s*(Date|Machine|System|Release|MPI Version)\s*:\s*(.*\S)")
_CONDITIONS = {
    "Date": "date",
    "Machine": "machine",
    "System": "system",
    "Release": "release",
    "MPI Version": "MPI standard",
}
# Same measurement, one way or the other of calling MPI.
_LATENCY = ("PingPong", "PingPongSpecificSource", "PingPongAnySource")
_TIME = "t[usec]"
# Printed by a program that was built with checks (-DCHECK).
_DEFECTS = "defects"
_DEFECT = re.compile(r"\d+:\s*Error\s.*size\s*=|.*Got invalid buffer")
# Printed instead of a time.
_GIVEN_UP = ("time-out", "out-of-mem", "int-overflow")


def is_title(line: str) -> bool:
    """Whether a line begins output of these benchmarks."""
    return _TITLE.match(line) is not None or _BENCHMARK.match(line) is not None


def read(path: Path, lines: list[str]) -> list[Measurement]:
    """All blocks of a file."""
    file = str(path)
    conditions: dict[str, str] = {}
    starts = []
    for index, line in enumerate(lines):
        if title := _TITLE.match(line):
            conditions["program"] = f"IMB {title['version'].strip()}".strip()
        elif condition := _CONDITION.match(line):
            conditions[_CONDITIONS[condition[1]]] = condition[2]
        elif _BENCHMARK.match(line):
            starts.append(index)
    if not starts:
        raise CalibrationError(
            "no line '# Benchmarking NAME'; expected the output of a benchmark", file, len(lines)
        )
    ends = [*starts[1:], len(lines)]
    return [_block(file, lines, start, end, conditions) for start, end in zip(starts, ends, strict=True)]


def _block(file: str, lines: list[str], start: int, end: int, conditions: dict[str, str]) -> Measurement:
    title = _BENCHMARK.match(lines[start])
    assert title is not None
    name, processes, columns = title["name"], 2, [""]
    rows = Rows(file)
    if name not in _LATENCY:
        return Measurement(file, f"IMB {name}", "collective", (), conditions=conditions)
    head = next((at for at in range(start + 1, end) if lines[at].split()[:1] == ["#bytes"]), None)
    if head is not None:
        columns = lines[head].split()
        if _TIME not in columns:
            raise CalibrationError(
                f"no column {_TIME}; expected microseconds, as IMB prints; found {' '.join(columns)}",
                file,
                head + 1,
            )

    def well_formed(words: list[str]) -> bool:
        return len(words) == len(columns) and is_size(words[0]) and all(map(is_number, words[1:]))

    for index in range(start + 1, end):
        line, place = lines[index].strip(), index + 1
        if counted := _PROCESSES.match(line):
            processes = count(counted[1], 2 * MOST_PAIRS, file, place, "#processes")
        elif _DEFECT.match(line):
            raise refuse(shortened(line), file, place)
    for index in row_lines(lines, start + 1 if head is None else head + 1, end, well_formed):
        words, place = lines[index].split(), index + 1
        if any(word.startswith(_GIVEN_UP) for word in words):
            raise CalibrationError(
                f"{words[0]} B: IMB gave up: {' '.join(words[1:])}; expected a time. Delete this line, or "
                "measure again",
                file,
                place,
            )
        if head is None or len(words) != len(columns):
            expected = " ".join(columns) if head is not None else "#bytes #repetitions t[usec]"
            raise CalibrationError(
                f"expected a row of '{expected}'; found {shortened(lines[index].strip())!r}",
                file,
                place,
            )
        size = whole(words[0], file, place, "the size of a message")
        rows.add(place, size, number(words[columns.index(_TIME)], file, place, f"a time in {_TIME}"))
        if _DEFECTS in columns and number(words[columns.index(_DEFECTS)], file, place, "defects") > 0:
            raise refuse(f"{size} B: {words[columns.index(_DEFECTS)]} defects", file, place)
    if not rows.all():
        raise CalibrationError(f"the table of '{name}' has no rows", file, start + 1)
    return Measurement(file, f"IMB {name}", "latency", rows.all(), processes // 2, None, None, conditions)
