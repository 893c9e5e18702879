"""Recognises the format of a file by its first line that only one format has, and reads it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from os import PathLike
from pathlib import Path

from fabricsim._errors import CalibrationError
from fabricsim.calibrate import csv, imb, nccl, osu
from fabricsim.calibrate.measurement import Measurement
from fabricsim.calibrate.table import text_of

__all__ = ["read", "read_all"]

_READERS: tuple[tuple[Callable[[str], bool], Callable[[Path, list[str]], list[Measurement]]], ...] = (
    (osu.is_title, osu.read),
    (imb.is_title, imb.read),
    (nccl.is_title, nccl.read),
)


def read(file: str | PathLike[str]) -> list[Measurement]:
    """All tables of a file. Raises `CalibrationError` with file, line and what was expected."""
    path = Path(file)
    lines = text_of(path)
    for is_title, reads in _READERS:
        if any(is_title(line) for line in lines):
            return reads(path, lines)
    first = next((at for at, line in enumerate(lines) if line.strip() and not line.startswith("#")), 0)
    if csv.is_header(lines[first]):
        return csv.read(path, lines)
    raise CalibrationError(
        "not the output of a known benchmark; expected a line such as '# OSU MPI Latency Test v5.6.2', '# "
        "Benchmarking PingPong' or '# Collective test starting: all_reduce_perf', or CSV with a column "
        f"'bytes'; found {lines[first].strip()[:60]!r}",
        str(path),
        first + 1,
    )


def read_all(paths: Iterable[str | PathLike[str]]) -> list[Measurement]:
    """All tables of all files, in order."""
    return [measurement for path in paths for measurement in read(path)]
