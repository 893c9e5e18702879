#!/usr/bin/env python3
"""The tables of README.md, from the measurements in ``records``.

A file of ``records`` has one row for each measured case: date, machine, commit (empty if it was not
recorded), command, case, and then the measured numbers with the unit in the name of their column. Each
machine has its latest record only; Git keeps the others. The block between ``<!-- NAME -->`` and
``<!-- /NAME -->`` of README.md has the tables of ``records/NAME.csv``, one for each date, machine, commit
and command, with the columns that have numbers there.

Without options the script writes README.md. With ``--verify`` it compares and writes nothing. Its exit
status is 1 if README.md differs, or if a record is not as described above.
"""

import argparse
import csv
import datetime
import itertools
import re
import sys
from pathlib import Path

SOURCE = ["date", "machine", "commit", "command"]
Row = dict[str, str]


class Fault(Exception):
    """A record or README.md is not as described above."""


def read(file: Path) -> list[Row]:
    """The rows of a record, checked."""
    with file.open(newline="") as opened:
        reader = csv.DictReader(opened)
        rows = list(reader)
        columns = list(reader.fieldnames or [])
    if columns[:5] != [*SOURCE, "case"] or len(columns) == 5:
        raise Fault(f"{file.name}: the columns must be {', '.join(SOURCE)}, case, and the numbers")
    latest: dict[tuple[str, ...], str] = {}
    for line, row in enumerate(rows, start=2):
        if None in row or None in row.values():
            raise Fault(f"{file.name}:{line}: a row must have {len(columns)} cells")
        try:
            datetime.date.fromisoformat(row["date"])
        except ValueError as error:
            raise Fault(f"{file.name}:{line}: {error}") from None
        if not (row["machine"] and row["command"] and row["case"]):
            raise Fault(f"{file.name}:{line}: machine, command and case must be given")
        if not re.fullmatch(r"[0-9a-f]{8}|", row["commit"]):
            raise Fault(f"{file.name}:{line}: a commit has eight hexadecimal digits")
        key = (row["machine"], row["command"], row["case"])
        if latest.setdefault(key, row["date"]) != row["date"]:
            raise Fault(f"{file.name}:{line}: {row['case']} has an older record of this machine; remove it")
    return rows


def shown(cell: str) -> str:
    """A cell as the page has it: whole numbers with commas."""
    return f"{int(cell):,}" if cell.isdecimal() else cell


def source(row: Row) -> str:
    """The line above a table."""
    commit = f", commit {row['commit']}" if row["commit"] else ""
    return f"{row['date']}, {row['machine']}{commit}: `{row['command']}`"


def tables(rows: list[Row]) -> str:
    """The tables of a record in Markdown."""
    text = []
    for _, group in itertools.groupby(rows, key=source):
        of_source = list(group)
        columns = [name for name in list(rows[0])[5:] if any(row[name] for row in of_source)]
        header = ["case", *(name.replace("_", " ") for name in columns)]
        lines = [[row["case"], *(shown(row[name]) for name in columns)] for row in of_source]
        rule = ["---"] * len(header)
        table = "\n".join("| " + " | ".join(cells) + " |" for cells in [header, rule, *lines])
        text.append(f"{source(of_source[0])}\n\n{table}\n")
    return "\n".join(text)


def render(folder: Path) -> str:
    """README.md of this folder with its blocks renewed."""
    text = (folder / "README.md").read_text()
    files = {file.stem: file for file in sorted((folder / "records").glob("*.csv"))}
    blocks = re.findall(r"^<!-- (\w+) -->$", text, re.MULTILINE)
    if sorted(blocks) != sorted(files):
        raise Fault(f"README.md has the blocks {sorted(blocks)}, records has {sorted(files)}")
    for name, file in files.items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        if not pattern.search(text):
            raise Fault(f"README.md: the block {name} has no end: <!-- /{name} -->")
        content = tables(read(file))
        text = pattern.sub(lambda found, content=content: f"{found[1]}{content}{found[2]}", text)
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description="Writes the tables of README.md from the records.")
    parser.add_argument(
        "--verify", action="store_true", help="compare README.md with the records; write nothing"
    )
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path(__file__).resolve().parent,
        help="the folder (default: that of the script)",
    )
    arguments = parser.parse_args()
    readme = arguments.folder / "README.md"
    try:
        text = render(arguments.folder)
    except Fault as fault:
        print(fault, file=sys.stderr)
        return 1
    if arguments.verify and readme.read_text() != text:
        print(f"{readme} differs from the records: start render.py", file=sys.stderr)
        return 1
    if not arguments.verify:
        readme.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
