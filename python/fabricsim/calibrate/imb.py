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
from fabricsim.calibrate.table import Rows, number, whole

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
    name, processes, column = title["name"], 2, None
    rows = Rows(file)
    if name not in _LATENCY:
        return Measurement(file, f"IMB {name}", "collective", (), conditions=conditions)
    for index in range(start + 1, end):
        words, place = lines[index].split(), index + 1
        if counted := _PROCESSES.match(lines[index]):
            processes = int(counted[1])
        elif words[:1] == ["#bytes"]:
            if _TIME not in words:
                raise CalibrationError(
                    f"no column {_TIME}; expected microseconds, as IMB prints; found {' '.join(words)}",
                    file,
                    place,
                )
            column = words.index(_TIME)
        elif words and words[0][0].isdigit():
            if column is None or len(words) <= column:
                raise CalibrationError(
                    f"expected a row of '#bytes #repetitions {_TIME} Mbytes/sec'; found "
                    f"{lines[index].strip()!r}",
                    file,
                    place,
                )
            size = whole(words[0], file, place, "the size of a message")
            rows.add(place, size, number(words[column], file, place, f"a time in {_TIME}"))
    if not rows.all():
        raise CalibrationError(f"the table of '{name}' has no rows", file, start + 1)
    return Measurement(file, f"IMB {name}", "latency", rows.all(), processes // 2, None, None, conditions)
