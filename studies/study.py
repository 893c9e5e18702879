"""The frame of a study: runs that continue where they were interrupted, checks, README, figures.

A study is a folder with a script ``run.py`` that defines a :class:`Study` and calls its ``main``. The script

- runs all cases, two at a time, and keeps each summary in ``results/studies``; a second start runs only
  what is missing, as long as experiment, options and program are the same;
- writes ``table.csv``, a row for each case, and ``provenance.json`` (date, machine, program, CPU time);
- writes the blocks between ``<!-- NAME -->`` and ``<!-- /NAME -->`` of ``README.md`` from the table, so
  that no result there is typed by hand;
- draws the figures from the table;
- ends with exit status 1 if an expectation does not hold.

``--missing`` runs only the cases that have no row in ``table.csv``, or the first N of them, and keeps the
rows of the others, whatever program made them; ``provenance.json`` has an entry for each such addition.
``--again COLUMN=VALUE...`` runs the cases with these values anew, and keeps the other rows: a change of the
program may have changed their times only. The entry of the addition says which time it replaces.
``--smoke`` runs the small cases and their checks, and writes nothing; ``--smoke part`` leaves out what takes
long. ``--render`` draws figures and README again from the table. ``--verify`` compares README and checks with
the table and writes nothing. Neither of both runs the simulator.
"""

import argparse
import concurrent.futures
import contextlib
import csv
import dataclasses
import datetime
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RELEASE = ROOT / "target/release/fabricsim"
# The colours of the report page and of the viewer, on a light ground.
_COLOURS = json.loads((ROOT / "crates/results/src/colours.json").read_text(encoding="utf-8"))
COLOURS = [light for light, _ in _COLOURS["series"]]
OTHER = _COLOURS["other"][0]


def topology_colour(name: str) -> str:
    """The colour of a kind of topology in all studies, by its name, as "fat tree" or "Dragonfly+"."""
    return COLOURS[_COLOURS["topologies"][name.lower().replace("+", "-plus").replace(" ", "-")]]


Row = dict[str, str]


@dataclasses.dataclass(frozen=True)
class Case:
    """A run: the columns that name it in the table, and its experiment as TOML."""

    columns: dict[str, object]
    experiment: str
    # More options of `fabricsim run`.
    options: tuple[str, ...] = ()
    # Whether ``measure`` reads tables of the result, which are kept for it.
    tables: bool = False
    # A command that starts the program, such as ("mpirun", "-n", "2").
    launcher: tuple[str, ...] = ()
    # Whether `fabricsim explain` follows the run. The summary then has the verdict and shares that it finds.
    explained: bool = False


@dataclasses.dataclass(frozen=True)
class Check:
    """An expectation: a statement, the measured value as text, and whether the statement holds."""

    expected: str
    measured: str
    holds: bool


@dataclasses.dataclass(frozen=True)
class Study:
    """A study by what it runs, measures, expects, writes and draws."""

    folder: Path
    # The cases, those of the smoke run if the argument is true.
    cases: Callable[[bool], list[Case]]
    # Further columns of a case, from its summary and the folder of its result (none without ``tables``).
    measure: Callable[[dict, Path | None], dict[str, object]]
    # The expectations on the rows of a full or (true) smoke run.
    checks: Callable[[list[Row], bool], list[Check]]
    # Blocks of README.md by name, in Markdown.
    blocks: Callable[[list[Row]], dict[str, str]]
    # Draws the figures into the folder.
    figures: Callable[[list[Row], Path], None]
    # Further tables NAME.csv: the rows that each case adds, from the case, its summary and its result.
    details: dict[str, Callable[[Case, dict, Path], list[dict[str, object]]]] = dataclasses.field(
        default_factory=dict
    )
    # Further cases that follow from the summary of a case, such as the runs that its verdict proposes.
    followers: Callable[[Case, dict], list[Case]] | None = None
    # Whether the times of runs are measured, so that only one runs at a time.
    alone: bool = False
    # Whether ``--smoke part`` runs this case of the smoke run.
    in_part: Callable[[Case], bool] = lambda case: True

    def main(self) -> None:
        """The command line of the study."""
        options = _arguments(self.folder.name)
        if options.verify:
            sys.exit(self._verify())
        if options.render:
            self._write(read_table(self.folder))
            return
        program = Path(options.fabricsim)
        if not program.exists():
            sys.exit(f"{program} is missing: run `make`, or name another program with --fabricsim")
        at_once = 1 if self.alone else options.at_once
        if options.missing is not None:
            sys.exit(self._add_missing(program, at_once, options.missing, read_table(self.folder), {}))
        if options.again is not None:
            sys.exit(self._run_again(program, at_once, dict(options.again)))
        rows, details, cpu_s = self._run(program, options.smoke, at_once)
        failed = _print_checks(self.checks(rows, bool(options.smoke)))
        if not options.smoke:
            for name, table in {"table": rows, **details}.items():
                _write_table(table, self.folder / f"{name}.csv")
            provenance = _provenance(program, len(rows), cpu_s)
            (self.folder / "provenance.json").write_text(json.dumps(provenance, indent=2) + "\n")
            self._write(rows)
        sys.exit(1 if failed else 0)

    def _run_again(self, program: Path, at_once: int, values: dict[str, str]) -> int:
        """Runs the cases with these values in their columns anew."""
        kept = read_table(self.folder)
        unknown = [name for name in values if name not in kept[0]]
        if unknown or "cpu_s" not in kept[0]:
            name = unknown[0] if unknown else "cpu_s"
            known = ", ".join(kept[0])
            print(f"--again: table.csv has no column {name!r}; it has {known}", file=sys.stderr)
            return 2
        if self.details or self.followers:
            print("--again: the study has further tables or cases; run it in full", file=sys.stderr)
            return 2
        replaced = select(kept, **values)
        if not replaced:
            print("--again: no row of table.csv has these values", file=sys.stderr)
            return 2
        minutes = sum(float(row["cpu_s"]) for row in replaced) / 60
        entry = {"replaced_runs": len(replaced), "replaced_cpu_minutes": round(minutes, 1)}
        rest = [row for row in kept if row not in replaced]
        return self._add_missing(program, at_once, sys.maxsize, rest, entry)

    def _add_missing(
        self, program: Path, at_once: int, most: int, kept: list[Row], entry: dict[str, object]
    ) -> int:
        """Runs the first cases without a row and adds their rows in the order of the cases.

        ``kept``: the rows that stay. ``entry``: more keys of this addition in ``provenance.json``.
        """
        if self.followers:
            print("--missing: the study has cases that follow from others; run it in full", file=sys.stderr)
            return 2
        cases = self.cases(False)
        rows = {place: select(kept, **case.columns) for place, case in enumerate(cases)}
        missing = [place for place, found in rows.items() if not found][:most]
        if not missing:
            print("all cases have a row in table.csv")
            return 0
        cache = ROOT / "results/studies" / self.folder.name
        added, more, cpu_s = self._run_in(cache, program, [cases[place] for place in missing], at_once)
        # The rows of the further tables are in the order in which their cases were run.
        details = {name: read_table(self.folder, name) for name in self.details}
        for name, old, new in [("table", kept, added), *((name, details[name], more[name]) for name in more)]:
            if new and list(new[0]) != list(old[0]):
                print(f"--missing: the columns of {name}.csv changed; run the study in full", file=sys.stderr)
                return 1
            if name in details:
                details[name] = old + new
        rows |= {place: [row] for place, row in zip(missing, added, strict=True)}
        table = [row for found in rows.values() for row in found]
        failed = _print_checks(self.checks(table, False))
        for name, of in {"table": table, **details}.items():
            _write_table(of, self.folder / f"{name}.csv")
        file = self.folder / "provenance.json"
        provenance = json.loads(file.read_text())
        provenance.setdefault("added", []).append(_provenance(program, len(added), cpu_s) | entry)
        file.write_text(json.dumps(provenance, indent=2) + "\n")
        self._write(table)
        return 1 if failed else 0

    def _run(self, program: Path, smoke: str, at_once: int) -> tuple[list[Row], dict[str, list[Row]], float]:
        cases = self.cases(bool(smoke))
        if smoke == "part":
            cases = [case for case in cases if self.in_part(case)]
        # A smoke run shows that the program of today does all of it, so it takes nothing from earlier runs.
        temporary = tempfile.TemporaryDirectory() if smoke else contextlib.nullcontext()
        with temporary as folder:
            cache = Path(folder) if folder else ROOT / "results/studies" / self.folder.name
            return self._run_in(cache, program, cases, at_once)

    def _run_in(
        self, cache: Path, program: Path, cases: list[Case], at_once: int
    ) -> tuple[list[Row], dict[str, list[Row]], float]:
        digest = hashlib.sha256(program.read_bytes()).hexdigest()

        # Two cases may have one experiment, and then the second takes the result of the first.
        locks = {case.experiment: threading.Lock() for case in cases}

        def one(case: Case) -> tuple[dict, Row, dict[str, list[Row]], float]:
            with locks[case.experiment]:
                kept = _run_case(case, program, digest, cache)
            summary = json.loads((kept / "summary.json").read_text())
            result = kept / "result" if case.tables else None
            found = _texts(case.columns | self.measure(summary, result))
            print(*found.values(), flush=True)
            details = {name: read(case, summary, kept / "result") for name, read in self.details.items()}
            more = {name: [_texts(row) for row in table] for name, table in details.items()}
            return summary, found, more, json.loads((kept / "cpu.json").read_text())["cpu_s"]

        def with_followers(case: Case) -> list[tuple[Row, dict[str, list[Row]], float]]:
            summary, *first = one(case)
            following = self.followers(case, summary) if self.followers else []
            return [tuple(first), *(one(follower)[1:] for follower in following)]

        with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
            found = [run for runs in pool.map(with_followers, cases) for run in runs]
        details = {name: [row for _, more, _ in found for row in more[name]] for name in self.details}
        return [row for row, _, _ in found], details, sum(cpu_s for _, _, cpu_s in found)

    def _all_blocks(self, rows: list[Row]) -> dict[str, str]:
        provenance = json.loads((self.folder / "provenance.json").read_text())
        shared = {"run": _run_line(provenance), "checks": _checks_table(self.checks(rows, False))}
        return shared | self.blocks(rows)

    def _write(self, rows: list[Row]) -> None:
        readme = self.folder / "README.md"
        readme.write_text(_with_blocks(readme, self._all_blocks(rows)))
        self.figures(rows, self.folder)

    def _verify(self) -> int:
        rows = read_table(self.folder)
        readme = self.folder / "README.md"
        if readme.read_text() != _with_blocks(readme, self._all_blocks(rows)):
            print(f"{readme} differs from table.csv: start run.py with --render", file=sys.stderr)
            return 1
        return 1 if _print_checks(self.checks(rows, False)) else 0


def read_table(folder: Path, name: str = "table") -> list[Row]:
    """The rows of a table of a study."""
    with (folder / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def select(rows: list[Row], **columns: object) -> list[Row]:
    """The rows with these values in these columns."""
    return [row for row in rows if all(row[name] == str(value) for name, value in columns.items())]


def number(rows: list[Row], column: str, **columns: object) -> float:
    """The number in a column of the only row with these values in the other columns."""
    found = select(rows, **columns)
    if len(found) != 1:
        raise LookupError(f"{len(found)} rows of the table have {columns}, expected one")
    return float(found[0][column])


def shown(value: float | None, form: str) -> str:
    """A measured value as a table has it: nothing if there is none, as of a latency without packets."""
    return "" if value is None else f"{value:{form}}"


def within(statement: str, value: float, low: float, high: float, form: str = ".3f") -> Check:
    """The expectation that a value is between two limits, both included."""
    if low == float("-inf"):
        limits = f"at most {high:{form}}"
    elif high == float("inf"):
        limits = f"at least {low:{form}}"
    else:
        limits = f"{low:{form}} to {high:{form}}"
    return Check(f"{statement}: {limits}", f"{value:{form}}", low <= value <= high)


def at_least(statement: str, value: float, low: float, form: str = ".3f") -> Check:
    """The expectation that a value is not below a limit."""
    return within(statement, value, low, float("inf"), form)


def at_most(statement: str, value: float, high: float, form: str = ".3f") -> Check:
    """The expectation that a value is not above a limit."""
    return within(statement, value, float("-inf"), high, form)


def markdown(header: list[str], lines: list[list[str]]) -> str:
    """A table in Markdown."""
    rule = ["---"] * len(header)
    return "\n".join("| " + " | ".join(line) + " |" for line in [header, rule, *lines])


def _arguments(name: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=f"The study {name}: see README.md beside the script.")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument(
        "--smoke",
        nargs="?",
        const="whole",
        default="",
        choices=["whole", "part"],
        help="run the small cases, or part of them, and their checks; write nothing",
    )
    kind.add_argument(
        "--missing",
        nargs="?",
        type=int,
        const=sys.maxsize,
        metavar="N",
        help="run only the cases (the first N) without a row in table.csv; keep its rows",
    )
    kind.add_argument(
        "--again",
        nargs="+",
        type=_column_and_value,
        metavar="COLUMN=VALUE",
        help="run the cases with these values in table.csv anew; keep its other rows",
    )
    kind.add_argument(
        "--render", action="store_true", help="write README.md and figures from table.csv; run nothing"
    )
    kind.add_argument(
        "--verify", action="store_true", help="compare README.md and checks with table.csv; run nothing"
    )
    parser.add_argument("--at-once", type=int, default=2, metavar="N", help="runs at a time (default: 2)")
    parser.add_argument(
        "--fabricsim", default=str(RELEASE), metavar="FILE", help="the program (default: %(default)s)"
    )
    return parser.parse_args()


def _column_and_value(text: str) -> tuple[str, str]:
    column, separator, value = text.partition("=")
    if not separator:
        raise argparse.ArgumentTypeError(f"{text!r} has no '='; expected COLUMN=VALUE")
    return column, value


def _run_case(case: Case, program: Path, digest: str, cache: Path) -> Path:
    """The folder with the summary, CPU time and perhaps tables of a case, which runs if they are missing."""
    parts = [case.experiment, case.options, case.tables, digest]
    parts += [case.launcher] if case.launcher else []
    identity = json.dumps([*parts, "explained"] if case.explained else parts)
    kept = cache / hashlib.sha256(identity.encode()).hexdigest()[:24]
    if kept.exists():
        return kept
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as working:
        folder = Path(working)
        (folder / "experiment.toml").write_text(case.experiment)
        command = [
            *case.launcher,
            str(program),
            "run",
            str(folder / "experiment.toml"),
            "--json",
            "--out",
            str(folder / "result"),
        ]
        summary = folder / "summary.json"
        cpu_s = _run_program([*command, *case.options], summary, case)
        if case.explained:
            result = str(folder / "result")
            cpu_s += _run_program([str(program), "explain", result], folder / "explained.txt", case)
            cpu_s += _run_program([str(program), "compare", result, "--json"], summary, case)
            summary.write_text(json.dumps(json.loads(summary.read_text())[0]["summary"]))
        (folder / "cpu.json").write_text(json.dumps({"cpu_s": round(cpu_s, 2)}))
        if not case.tables:
            shutil.rmtree(folder / "result")
        # A rename is complete or absent, so an interrupted run leaves nothing that a later start would take.
        finished = kept.with_suffix(".new")
        shutil.rmtree(finished, ignore_errors=True)
        shutil.copytree(folder, finished)
        finished.rename(kept)
    return kept


def _run_program(command: list[str], out: Path, case: Case) -> float:
    """Runs a command of a case with its output in a file; returns its CPU time in seconds."""
    with out.open("wb") as output, (out.parent / "errors.txt").open("wb") as errors:
        process = subprocess.Popen(command, stdout=output, stderr=errors)
        # `wait4` is the call that gives the CPU time of one process.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{case.experiment}\n{(out.parent / 'errors.txt').read_text()}")
    return usage.ru_utime + usage.ru_stime


def _print_checks(checks: list[Check]) -> bool:
    """Prints the expectations and says whether one fails."""
    for check in checks:
        print(f"{'holds' if check.holds else 'FAILS'}: {check.expected}; measured: {check.measured}")
    return not all(check.holds for check in checks)


def _checks_table(checks: list[Check]) -> str:
    lines = [[check.expected, check.measured, "yes" if check.holds else "**no**"] for check in checks]
    return markdown(["expectation", "measured", "holds"], lines)


def _texts(row: dict[str, object]) -> Row:
    return {name: str(value) for name, value in row.items()}


def _write_table(rows: list[Row], file: Path) -> None:
    with file.open("w", newline="") as out:
        writer = csv.DictWriter(out, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _provenance(program: Path, runs: int, cpu_s: float) -> dict[str, object]:
    version = subprocess.run(
        [program, "--version"], capture_output=True, text=True, check=True
    ).stdout.strip()
    commit = subprocess.run(
        ["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True
    )
    return {
        "date": datetime.date.today().isoformat(),
        "machine": _processor(),
        "cores": os.cpu_count(),
        "program": version,
        "commit": commit.stdout.strip(),
        "runs": runs,
        "cpu_minutes": round(cpu_s / 60, 1),
    }


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine()
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found.group(1).strip() if found else platform.machine()


def _run_line(provenance: dict) -> str:
    machine = f"{provenance['machine']}, {provenance['cores']} shared cores"
    program = f"{provenance['program']}, commit {provenance['commit']}"
    runs = f"{provenance['runs']} runs, {provenance['cpu_minutes']} minutes of CPU time"
    if "replaced_runs" in provenance:
        replaced = f"{provenance['replaced_runs']} runs of {provenance['replaced_cpu_minutes']} minutes"
        runs += f", in place of {replaced}"
    line = f"{provenance['date']}, {machine}; {program}: {runs}."
    added = [_run_line(addition) for addition in provenance.get("added", [])]
    return " Added: ".join([line, *added])


def _with_blocks(readme: Path, blocks: dict[str, str]) -> str:
    """The text of a README with its blocks renewed; each block must be there once."""
    text = readme.read_text()
    for name, content in blocks.items():
        pattern = re.compile(rf"(<!-- {re.escape(name)} -->\n).*?(<!-- /{re.escape(name)} -->)", re.DOTALL)
        if len(pattern.findall(text)) != 1:
            sys.exit(f"{readme}: the block {name!r} must be there once: <!-- {name} --> and <!-- /{name} -->")
        text = pattern.sub(lambda found, content=content: f"{found[1]}{content}\n{found[2]}", text)
    return text
