#!/usr/bin/env python3
"""Runs the stages of `make test` one after another and says at the end what happened in each.

    scripts/test.py                       all stages
    scripts/test.py lint test-rust        these stages, each a target of the Makefile
    scripts/test.py --record              all stages; writes their times into tests/times.csv

A stage that fails does not keep the others from running; the command fails at the end. Rust's tests say
`SKIPPED test: reason` where they cannot run (`testkit::skipped!`); here they count as skipped, not as passed.

CPU seconds are user and system time of all processes that a stage has started. They are compared with the
record of the same kind of machine in tests/times.csv: a stage that takes half more prints a warning, and
nothing fails.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import os
import re
import resource
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TIMES = ROOT / "tests" / "times.csv"
COLUMNS = ["date", "commit", "machine", "stage", "cpu_s", "wall_s"]

# Targets of the Makefile, in the order in which they run.
STAGES = [
    "lint",
    "test-rust",
    "test-instructions",
    "test-loom",
    "test-without-otf2",
    "test-mpi",
    "test-python",
]

# Libraries of ours that a stage compiles although `test-rust` has compiled them, as it has other features.
# All others are shared: crates/same-features. Stages with a target folder of their own are not seen here.
COMPILED_AGAIN: dict[str, set[str]] = {
    "test-mpi": {"cluster", "cli"},
    "test-python": set(),
    "test-instructions": set(),
}

# A stage that needs this much more CPU time than its record is named.
TOO_LONG = 1.5

RUST = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored")
RUST_PROGRAM = re.compile(r"^ +Running (.*)$")
RUST_SKIPPED = re.compile(r"(?:^|\s)SKIPPED (\S+): (.*)$")
RUST_FAILED = re.compile(r"^test (\S+)(?: - should panic)? \.\.\. FAILED$")
RUST_IGNORED = re.compile(r"^test (\S+) \.\.\. ignored(?:, (.*))?$")
PYTEST = re.compile(r"^=+ .*\b(?:passed|failed|skipped|errors?)\b.* in [\d.]+s.*=+$")
PYTEST_COUNT = re.compile(r"(\d+) (passed|failed|skipped|errors?|xfailed|xpassed)")
PYTEST_SKIPPED = re.compile(r"^SKIPPED \[(\d+)\] (.*)$")
PYTEST_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


@dataclass
class Outcome:
    """What the output of a stage says."""

    ok: int = 0
    failed: int = 0
    skipped: int = 0
    failures: list[str] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)

    # Tests of Rust that said that they cannot run, by program and name. They are among those that are `ok`.
    said: set[tuple[str, str]] = field(default_factory=set)
    program: str = ""

    @property
    def passed(self) -> int:
        """Tests that ran and passed."""
        return max(self.ok - len(self.said), 0)

    def read(self, line: str) -> None:
        """Counts a line of output. Lines of several tests may be mixed, but not within a line."""
        line = COLOURS.sub("", line).rstrip()
        if found := RUST.match(line):
            passed, failed, ignored = map(int, found.groups())
            self.ok += passed
            self.failed += failed
            self.skipped += ignored
        elif found := RUST_PROGRAM.match(line):
            self.program = found[1]
        elif found := PYTEST_SKIPPED.match(line):
            self.reasons[re.sub(r"^\S+?:(\d+:)? ", "", found[2])] += int(found[1])
        elif found := RUST_SKIPPED.search(line):
            # A test that says it twice is counted once.
            self.skipped += (self.program, found[1]) not in self.said
            self.said.add((self.program, found[1]))
            self.reasons[found[2]] += 1
        elif found := RUST_IGNORED.match(line):
            self.reasons[found[2] or f"{found[1]} is ignored"] += 1
        elif (found := RUST_FAILED.match(line)) or (found := PYTEST_FAILED.match(line)):
            self.failures.append(found[1])
        elif PYTEST.match(line):
            for number, kind in PYTEST_COUNT.findall(line):
                self.ok += int(number) * (kind == "passed")
                self.failed += int(number) * (kind.startswith(("failed", "error")))
                self.skipped += int(number) * (kind in ("skipped", "xfailed"))


@dataclass
class Ended:
    """A stage that has run."""

    stage: str
    status: int
    outcome: Outcome
    cpu_s: float
    wall_s: float
    load: float
    complaints: list[str]

    @property
    def is_good(self) -> bool:
        return self.status == 0 and not self.complaints


def machine() -> str:
    """The kind of this machine: vendor's name, family and model of its processor."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        import platform

        return f"{platform.system()} {platform.machine()}"
    known: dict[str, str] = {}
    for line in text.splitlines():
        key, _, value = line.partition(":")
        known.setdefault(key.strip(), value.strip())
    family, model = known.get("cpu family", "?"), known.get("model", "?")
    return f"{known.get('model name', 'unknown')} family {family} model {model}"


def libraries() -> dict[str, float]:
    """Our compiled libraries, with the time of their compilation."""
    deps = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug" / "deps"
    return {file.name: file.stat().st_mtime for file in deps.glob("libfabricsim_*.rlib")}


def compiled_again(before: dict[str, float], allowed: set[str]) -> list[str]:
    """Names of our libraries that were compiled since `before` was taken, without those that are allowed."""
    names = set()
    for file, moment in libraries().items():
        if before.get(file) != moment:
            name, _, _hash = file.removeprefix("libfabricsim_").removesuffix(".rlib").partition("-")
            names.add(name.replace("_", "-"))
    return sorted(names - allowed)


def run(stage: str, has_compiled: bool) -> Ended:
    """Runs a target of the Makefile. Its output goes on to this one's."""
    print(f"\n=== {stage}", flush=True)
    outcome = Outcome()
    before, began, used = libraries(), time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = ["make", "--no-print-directory", "-C", str(ROOT), stage]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        assert process.stdout
        for line in process.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            outcome.read(line)
    wall_s = time.monotonic() - began
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = now.ru_utime - used.ru_utime + now.ru_stime - used.ru_stime
    complaints = []
    if has_compiled and stage in COMPILED_AGAIN and process.returncode == 0:
        again = compiled_again(before, COMPILED_AGAIN[stage])
        if again:
            complaints.append(
                f"{stage} compiled again what test-rust had compiled: {', '.join(again)}. A dependency has "
                "other features there: compare `cargo tree -e features` of both and add them to "
                "crates/same-features/Cargo.toml"
            )
    if process.returncode != 0 and not outcome.failures:
        complaints.append(
            f"{stage} ended with status {process.returncode} and names no test: see its output above"
        )
    return Ended(stage, process.returncode, outcome, cpu_s, wall_s, os.getloadavg()[1], complaints)


def table(ended: list[Ended]) -> str:
    """One line for each stage, and the sums."""
    rows = [["stage", "result", "passed", "failed", "skipped", "CPU s", "seconds"]]
    for one in ended:
        counts = [str(n) if n else "-" for n in (one.outcome.passed, one.outcome.failed, one.outcome.skipped)]
        rows.append(
            [one.stage, "ok" if one.is_good else "FAILED", *counts, f"{one.cpu_s:.0f}", f"{one.wall_s:.0f}"]
        )
    sums = [sum(getattr(one.outcome, name) for one in ended) for name in ("passed", "failed", "skipped")]
    cpu_s, wall_s = sum(one.cpu_s for one in ended), sum(one.wall_s for one in ended)
    rows.append(["all", "", *map(str, sums), f"{cpu_s:.0f}", f"{wall_s:.0f}"])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if at < 2 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def recorded(path: Path, kind: str) -> dict[str, float]:
    """CPU seconds by stage of the record of this kind of machine."""
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        return {row["stage"]: float(row["cpu_s"]) for row in csv.DictReader(file) if row["machine"] == kind}


def warnings(ended: list[Ended], record: dict[str, float], kind: str) -> list[str]:
    """The stages that took much longer than on record."""
    if not record:
        return [
            f"tests/times.csv has no record of this kind of machine ({kind}); `make record-times` writes one"
        ]
    found = []
    for one in ended:
        usual = record.get(one.stage)
        if usual and one.cpu_s > TOO_LONG * usual:
            found.append(
                f"{one.stage} took {one.cpu_s:.0f} CPU s; on record for this kind of machine: {usual:.0f} "
                f"(load average {one.load:.1f} on {os.cpu_count()} processors)"
            )
    return found


def write_record(path: Path, kind: str, ended: list[Ended]) -> None:
    """Replaces the record of this kind of machine."""
    rows: list[dict[str, str]] = []
    if path.exists():
        with path.open(newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["machine"] != kind]
    commit = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    for one in ended:
        values = [
            datetime.date.today().isoformat(),
            commit,
            kind,
            one.stage,
            f"{one.cpu_s:.0f}",
            f"{one.wall_s:.0f}",
        ]
        rows.append(dict(zip(COLUMNS, values, strict=True)))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs the stages of `make test`.")
    parser.add_argument(
        "stages", nargs="*", metavar="STAGE", help=f"one of {', '.join(STAGES)}; all by default"
    )
    parser.add_argument("--record", action="store_true", help="write the times into tests/times.csv")
    options = parser.parse_args()
    unknown = [stage for stage in options.stages if stage not in STAGES]
    if unknown:
        parser.error(f"there is no stage '{unknown[0]}'; there are {', '.join(STAGES)}")
    if options.record and options.stages:
        parser.error("a record is of all stages: --record takes no STAGE")
    ended: list[Ended] = []
    for stage in options.stages or STAGES:
        has_compiled = any(one.stage == "test-rust" and one.status == 0 for one in ended)
        ended.append(run(stage, has_compiled))
    kind = machine()
    print(f"\n{table(ended)}\n")
    reasons = sum((one.outcome.reasons for one in ended), Counter())
    for reason, times in reasons.most_common():
        print(f"skipped, {times} times: {reason}")
    for warning in warnings(ended, recorded(TIMES, kind), kind):
        print(f"warning: {warning}")
    for one in ended:
        for name in dict.fromkeys(one.outcome.failures):
            print(f"FAILED in {one.stage}: {name}")
        for complaint in one.complaints:
            print(f"FAILED: {complaint}")
    is_good = all(one.is_good for one in ended)
    if options.record and is_good:
        write_record(TIMES, kind, ended)
    sums = [sum(getattr(one.outcome, name) for one in ended) for name in ("passed", "failed", "skipped")]
    # A stage without tests of its own, like lint, fails as one.
    sums[1] = max(sums[1], sum(not one.is_good for one in ended))
    print(f"\n{sums[0]} passed, {sums[1]} failed, {sums[2]} skipped")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
