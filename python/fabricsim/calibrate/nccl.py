"""Output of nccl-tests and rccl-tests: ``sendrecv_perf``, ``all_reduce_perf`` and the other collectives.

The bus bandwidth of the out-of-place columns is read, in 10^9 bytes per second. It is the rate at which each
rank sends, if the algorithm moves as few bytes as it can (PERFORMANCE.md of nccl-tests). Times contain the
start of a kernel and the rounds of a collective, so they give no overheads of messages.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from fabricsim._errors import CalibrationError
from fabricsim.calibrate.measurement import Measurement
from fabricsim.calibrate.table import Rows, is_number, is_size, number, refuse, row_lines, whole
from fabricsim.sweep.section import shortened

__all__ = ["is_title", "read"]

_TITLE = re.compile(r"#\s*Collective test starting:\s*(?P<name>\w+)")
_PARAMETERS = re.compile(r"#\s*nThread\s+\d+\s+nGpus\s+\d+\s+minBytes")
_RANK = re.compile(r"#\s*Rank\s+\d+\s.*\bon\s+(?P<host>\S+)\s+device\s+\d+\s+\[[^\]]*\]\s*(?P<device>.*\S)?")
_VERSION = re.compile(r"#\s*(?:nccl|rccl)-tests version\s+(\S+)")
# The number of wrong elements, or their largest error, with an asterisk if it is too large.
_CHECKS = ("#wrong", "error")
_OUT_OF_BOUNDS = re.compile(r"#?\s*Out of bounds values\s*:\s*(?P<count>\d+)\s*(?P<verdict>\w*)")
_UNITS = re.compile(r"#\s*\(B\)\s+\(elements\)\s+(?P<units>\(.*\))\s*$")


def is_title(line: str) -> bool:
    """Whether a line begins output of these tests."""
    return _TITLE.match(line) is not None or _PARAMETERS.match(line) is not None


def read(path: Path, lines: list[str]) -> list[Measurement]:
    """The table of a file."""
    file = str(path)
    name, units = "", False
    conditions = {"program": "nccl-tests"}
    hosts: Counter[str] = Counter()
    rows = Rows(file)
    heads = [at for at, line in enumerate(lines) if _is_head(line)]
    columns = lines[heads[0]].split()[1:] if heads else ["busbw"]

    def well_formed(words: list[str]) -> bool:
        at = columns.index("busbw")
        return len(words) > at and is_size(words[0]) and is_number(words[1]) and is_number(words[at])

    table = set(row_lines(lines, heads[0] + 1 if heads else 0, len(lines), well_formed))
    for index, line in enumerate(lines):
        words, place = line.split(), index + 1
        if title := _TITLE.match(line):
            if name and name != title["name"]:
                raise CalibrationError(
                    f"a second test, {title['name']}, after {name}; expected one in a file", file, place
                )
            name = title["name"]
        elif rank := _RANK.match(line):
            hosts[rank["host"]] += 1
            if rank["device"]:
                conditions["devices"] = rank["device"]
        elif version := _VERSION.match(line):
            conditions["program"] = f"nccl-tests {version[1]}"
        elif (bounds := _OUT_OF_BOUNDS.match(line)) and (
            bounds["count"].strip("0") or bounds["verdict"] == "FAILED"
        ):
            raise refuse(shortened(line.strip("# ")), file, place)
        elif found := _UNITS.match(line):
            _check_units(found["units"].split(), file, place)
            units = True
        elif index in table and (heads or _like_a_row(words)):
            if not heads or not units:
                raise CalibrationError(
                    "expected the two lines with the names and units of the columns before the first row",
                    file,
                    place,
                )
            at = columns.index("busbw")
            if len(words) <= at:
                raise CalibrationError(f"expected at least {at + 1} columns, found {len(words)}", file, place)
            size = whole(words[0], file, place, "the size of a buffer")
            rows.add(place, size, number(words[at], file, place, "a bus bandwidth in GB/s"))
            for name_of, word in zip(columns, words, strict=False):
                if name_of in _CHECKS and _is_wrong(name_of, word):
                    raise refuse(f"{size} B: {name_of.strip('#')} {word}", file, place)
    if not rows.all():
        raise CalibrationError(
            "the table has no rows; expected lines of size, count, type, ...", file, len(lines)
        )
    per_host = max(hosts.values()) if hosts else None
    conditions["hosts"] = str(len(hosts)) if hosts else "not in the file"
    name = f"nccl-tests {name or 'without a name'}"
    return [Measurement(file, name, "collective", rows.all(), 1, None, per_host, conditions)]


def _is_head(line: str) -> bool:
    """Whether a line names the columns."""
    words = line.split()
    return words[:2] == ["#", "size"] and "busbw" in words


def _like_a_row(words: list[str]) -> bool:
    return len(words) > 2 and is_size(words[0]) and is_size(words[1])


def _is_wrong(column: str, word: str) -> bool:
    """Whether a check failed; without a check, the word is N/A."""
    if column == "error":
        return word.endswith("*")
    return is_number(word) and float(word) > 0


def _check_units(units: list[str], file: str, line: int) -> None:
    if units[:3] != ["(us)", "(GB/s)", "(GB/s)"]:
        raise CalibrationError(
            f"units {' '.join(units)}; expected (us) (GB/s) (GB/s), as these tests print", file, line
        )
