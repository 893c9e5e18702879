#!/usr/bin/env python3
"""What FabricSim takes from others: checks the licences of all dependencies and writes THIRD-PARTY.md.

scripts/third-party.py            writes THIRD-PARTY.md
scripts/third-party.py --check    writes nothing; fails if a licence or a source is not allowed, or if
                                  THIRD-PARTY.md is not what would be written

Advisories are not checked here: they change without a change of this repository, and a test must not.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
NOTICES = "THIRD-PARTY.md"
COMMAND = "scripts/third-party.py"

# Licences of code that may be compiled in or used to build. Of a choice, the first in this order is taken.
# All let a program under Apache-2.0 be passed on, if it keeps their notices.
ALLOWED = [
    "Apache-2.0",
    "MIT",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "Unicode-3.0",
    "CC0-1.0",
]

# Crates without a licence expression: "name version" to the expression that their files amount to, and why.
# An entry that nothing needs is an error.
UNDECLARED: dict[str, tuple[str, str]] = {}

CRATES_IO = ("registry+https://github.com/rust-lang/crates.io-index", "sparse+https://index.crates.io/")
# The command, the Python module, and the libraries of real programs that come with both.
RELEASED = (
    "fabricsim-cli",
    "fabricsim-py",
    "fabricsim-libmpi",
    "fabricsim-libmpi-abi",
    "fabricsim-rank-clock",
)
# Only these: for all systems there would be crates that no release contains.
SYSTEMS = (
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
)

HEAD = f"""# Third-party notices

The command `fabricsim` and the Python module contain the work of others, listed here with its licences. \
FabricSim itself is under Apache-2.0, see [LICENSE](LICENSE).

`{COMMAND}` writes this file from `Cargo.lock` and the published packages, and `make lint` compares. \
The list holds for Linux and macOS, with and without MPI. Crates that are only needed to build or test are \
not shipped and not listed, procedural macros among them; `make lint` checks their licences, too.

Not listed: the standard library of Rust, which is in every program in Rust (MIT OR Apache-2.0). OTF2 and \
MPI are libraries of the system and are not shipped. Python dependencies, named in `pyproject.toml`, are \
installed by pip under their own licences and are not shipped.

E-mail addresses are left out of copyright lines.
"""


class ThirdPartyError(Exception):
    """What is wrong, where, and what to do."""


@dataclass(frozen=True)
class Crate:
    """A package of Cargo.lock, as its manifest describes it."""

    name: str
    version: str
    licence: str | None
    licence_file: str | None
    source: str | None
    repository: str | None
    authors: tuple[str, ...]
    folder: Path

    @property
    def label(self) -> str:
        return f"{self.name} {self.version}"

    @property
    def expression(self) -> str:
        """The declared licence, or that of the list of crates without one."""
        return self.licence or UNDECLARED.get(self.label, ("", ""))[0]


@dataclass(frozen=True)
class Embedded:
    """Something that is compiled in and is no crate, with its licence file if it has one."""

    name: str
    version: str
    licence: str
    repository: str
    within: str
    copyright: tuple[str, ...]
    file: str | None = None

    @property
    def label(self) -> str:
        return f"{self.name} {self.version}"


# Licence expressions


def alternatives(expression: str) -> list[frozenset[str]]:
    """What satisfies an SPDX expression: sets of licences, of which one must be allowed as a whole.

    `WITH` joins a licence and its exception to one name. The slash of older manifests is an `OR`.
    """
    tokens: list[str] = re.findall(r"[()/]|[^\s()/]+", expression)
    position = 0

    def fail(expected: str) -> ThirdPartyError:
        found = f"'{tokens[position]}'" if position < len(tokens) else "the end"
        return ThirdPartyError(
            f"'{expression}' is no licence expression: {found} where {expected} was expected"
        )

    def take(*wanted: str) -> bool:
        nonlocal position
        if position < len(tokens) and tokens[position] in wanted:
            position += 1
            return True
        return False

    def identifier(expected: str) -> str:
        nonlocal position
        operator = position < len(tokens) and tokens[position] in ("AND", "OR", "WITH")
        if operator or position == len(tokens) or not re.fullmatch(r"[\w.:+-]+", tokens[position]):
            raise fail(expected)
        position += 1
        return tokens[position - 1]

    def single() -> list[frozenset[str]]:
        if take("("):
            inner = any_of()
            if not take(")"):
                raise fail("')'")
            return inner
        licence = identifier("a licence")
        if take("WITH"):
            licence += " WITH " + identifier("an exception")
        return [frozenset([licence])]

    def all_of() -> list[frozenset[str]]:
        found = single()
        while take("AND"):
            found = [left | right for right in single() for left in found]
        return found

    def any_of() -> list[frozenset[str]]:
        found = all_of()
        while take("OR", "/"):
            found += all_of()
        return found

    result = any_of()
    if position < len(tokens):
        raise fail("AND, OR or the end")
    return result


def chosen(expression: str) -> list[str] | None:
    """The licences under which something is used, by the order of the list; none if it is not satisfied."""
    fitting = [sorted(map(ALLOWED.index, a)) for a in alternatives(expression) if a <= set(ALLOWED)]
    return [ALLOWED[rank] for rank in min(fitting, key=lambda ranks: ranks[::-1])] if fitting else None


# Checks


def needed_by(crate: Crate) -> str:
    tree = f"cargo tree --workspace --all-features --target all --invert {crate.name}@{crate.version}"
    return f"'{tree}' shows what needs it"


def problems(crates: Iterable[Crate]) -> Iterator[str]:
    """One error for each crate that may not be used, and for each entry of a list that nothing needs."""
    unused = set(UNDECLARED)
    for crate in crates:
        if crate.source not in CRATES_IO:
            yield (
                f"{crate.label}: its source is {crate.source or f'the folder {crate.folder}'}, but must be "
                f"crates.io, where versions do not change. Depend on a published version; {needed_by(crate)}."
            )
        if crate.label in UNDECLARED and not crate.licence:
            unused.discard(crate.label)
        if not crate.expression:
            what = f"only the file {crate.licence_file}" if crate.licence_file else "none"
            yield (
                f"{crate.label}: its manifest must have a licence expression, but has {what}. If its licence "
                f"may be used, add '{crate.label}' with the expression and the reason to UNDECLARED in "
                f"{COMMAND}, else use another crate; {needed_by(crate)}."
            )
            continue
        try:
            allowed = chosen(crate.expression) is not None
        except ThirdPartyError as error:
            yield f"{crate.label}: {error}. Use another version or another crate; {needed_by(crate)}."
            continue
        if not allowed:
            yield (
                f"{crate.label}: its licence '{crate.expression}' is not satisfied by what is allowed: "
                f"{', '.join(ALLOWED)}. Use another crate, or add the licence to ALLOWED in {COMMAND} if "
                f"programs under Apache-2.0 may contain such code; {needed_by(crate)}."
            )
    for label in sorted(unused):
        yield (
            f"{label}: UNDECLARED in {COMMAND} names it, but Cargo.lock has no such crate without a licence "
            f"expression. Remove the entry."
        )


def outdated(written: str | None, expected: str) -> Iterator[str]:
    """An error if the notices are not those of the dependencies."""
    if written != expected:
        state = "is missing" if written is None else "is not what Cargo.lock and the packages amount to"
        yield f"{NOTICES} {state}. Write it with '{COMMAND}' and commit it."


# Notices


def without_addresses(text: str) -> str:
    return re.sub(r"[ \t]*[<(]?[\w.+-]+@[\w-]+(\.[\w-]+)+[>)]?", "", text)


def cleaned(line: str) -> str:
    """A copyright line, or the name of an author, as one line of Markdown."""
    return " ".join(without_addresses(line).replace("`", "").strip(" \t*#").split())


def split_licence(text: str) -> tuple[tuple[str, ...], str]:
    """The copyright lines of a licence file, and its text without them and without the title."""
    title = re.compile(r"\W*(The )?(MIT|BSD|ISC|zlib)[\w ]* Licen[sc]e\W*(\(\w+\))?\W*", re.IGNORECASE)
    held, body = [], []
    for line in text.splitlines():
        if re.match(r"\W*(Copyright\b(?! notice)|\([cC]\) \d|©)", line):
            held.append(cleaned(line))
        elif not title.fullmatch(line):
            body.append(line.rstrip().expandtabs())
    return tuple(dict.fromkeys(held)), "\n".join(body).strip()


def verbatim(text: str) -> str:
    """A licence file as it is; of the Apache licence, which comes with FabricSim, the name only."""
    apache = re.compile(r"Apache License\s+Version 2\.0, .*?END OF TERMS AND CONDITIONS", re.DOTALL)
    lines = without_addresses(apache.sub("Apache License, Version 2.0 (see LICENSE)", text)).splitlines()
    return "\n".join(line.rstrip().expandtabs() for line in lines).strip("\n")


def licence_file(folder: Path, licence: str) -> Path | None:
    """The file with a licence's text: one that it names, else one that names none."""
    pattern = re.compile(r"licen[sc]e|copying|copyright", re.IGNORECASE)
    files = sorted(file for file in folder.iterdir() if pattern.match(file.name))
    word = licence.partition("-")[0].lower()
    named = [f for f in files if word in f.name.lower().split(".")[0]]
    general = [f for f in files if "-" not in f.name]
    return next(iter(named or general), None)


@dataclass(frozen=True)
class Notice:
    """The notice that something under another licence than Apache-2.0 asks to keep."""

    label: str
    licence: str
    copyright: tuple[str, ...]
    file: str | None

    @property
    def text(self) -> str | None:
        return self.file and split_licence(self.file)[1]


def notices_of(crate: Crate) -> Iterator[Notice]:
    for licence in chosen(crate.expression) or []:
        if licence.startswith("Apache-2.0"):
            continue
        file = licence_file(crate.folder, licence)
        text = file.read_text(encoding="utf-8") if file else None
        held = split_licence(text)[0] if text else ()
        if not held:
            authors = "; ".join(map(cleaned, crate.authors)) or "not named"
            held = (f"no copyright line in its package; authors: {authors}",)
        yield Notice(crate.label, licence, held, text)


def texts(notices: Sequence[Notice]) -> Iterator[str]:
    """Each text of a licence once, after those that it holds for; texts of one package as they are."""

    def key(notice: Notice) -> tuple[str, str]:
        return notice.licence, re.sub(r"\W+", " ", notice.text or usual[notice.licence]).strip().lower()

    usual: dict[str, str] = {}
    for licence in ALLOWED:
        given = Counter(n.text for n in notices if n.licence == licence and n.text)
        if given:
            usual[licence] = given.most_common(1)[0][0]
    for notice in notices:
        if notice.text is None and notice.licence not in usual:
            raise ThirdPartyError(
                f"{notice.label}: neither its package nor another one has a text of {notice.licence}. Make "
                f"{COMMAND} add that text."
            )
    groups: dict[tuple[str, str], list[Notice]] = {}
    for notice in sorted(notices, key=lambda n: (ALLOWED.index(n.licence), n.label)):
        groups.setdefault(key(notice), []).append(notice)
    for (licence, _), members in sorted(groups.items(), key=lambda g: (ALLOWED.index(g[0][0]), -len(g[1]))):
        first = members[0]
        if first.file and not members[1:]:
            yield f"### {licence}: {first.label}"
            yield f"```text\n{verbatim(first.file)}\n```"
        else:
            yield f"### {licence}"
            yield "\n".join(f"- {member.label}: {'; '.join(member.copyright)}" for member in members)
            yield f"```text\n{first.text or usual[licence]}\n```"


def table(rows: Iterable[Sequence[str]], *titles: str) -> str:
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def document(crates: Sequence[Crate], embedded: Sequence[Embedded]) -> str:
    """The notices of what is passed on."""
    by_name = sorted(crates, key=lambda crate: (crate.name, crate.version))
    plain = [crate for crate in by_name if chosen(crate.expression) == ["Apache-2.0"]]
    other = [crate for crate in by_name if crate not in plain]
    columns = ("crate", "version", "licence", "repository")

    def rows(group: Sequence[Crate]) -> Iterator[Sequence[str]]:
        return ((c.name, c.version, c.expression, c.repository or "") for c in group)

    parts = [
        HEAD.strip(),
        "## Files that are compiled in",
        table(
            ((e.name, e.version, e.licence, e.repository, e.within) for e in embedded),
            *("name", "version", "licence", "repository", "where"),
        ),
        "## Crates used under other licences than Apache-2.0",
        "[Their notices](#notices) are below.",
        table(rows(other), *columns),
        "## Crates used under Apache-2.0",
        "Its text is in [LICENSE](LICENSE).",
        table(rows(plain), *columns),
        "## Notices",
    ]
    kept = [notice for crate in other for notice in notices_of(crate)]
    kept += [Notice(e.label, e.licence, e.copyright, e.file) for e in embedded if e.licence != "Apache-2.0"]
    parts += texts(kept)
    named: dict[str, list[str]] = {}
    for crate in by_name:
        for file in sorted(crate.folder.glob("NOTICE*")):
            named.setdefault(file.read_text(encoding="utf-8").strip(), []).append(crate.label)
    for text, labels in named.items():
        parts += ["### Files named NOTICE", f"Of {', '.join(labels)}:", f"```text\n{verbatim(text)}\n```"]
    return "\n\n".join(parts) + "\n"


# What is there


def found(pattern: str, text: str, file: Path) -> str:
    match = re.search(pattern, text)
    if match is None:
        raise ThirdPartyError(f"{file}: nothing matches '{pattern}'; adapt {COMMAND} to this version.")
    return match[1]


def embedded_in(crates: Sequence[Crate]) -> list[Embedded]:
    """Libraries in other languages: of the pages, and of crates that bring one along."""
    by_name = {crate.name: crate for crate in crates}
    every: list[Embedded] = []
    if plotly := by_name.get("plotly"):
        script = plotly.folder / "resource" / "plotly.min.js"
        with script.open(encoding="utf-8") as file:
            head = file.read(400)
        found(r"(Licensed under the MIT license)", head, script)
        every.append(
            Embedded(
                "plotly.js",
                found(r"plotly\.js v([\d.]+)", head, script),
                "MIT",
                "https://github.com/plotly/plotly.js",
                f"crate {plotly.label}; in each report",
                (found(r"(Copyright [^\n]+)", head, script).strip(),),
            )
        )
        folder = plotly.folder / "resource"
        files = " ".join(sorted(file.name for file in folder.iterdir()))
        every.append(
            Embedded(
                "MathJax",
                found(r"tex-svg-([\d.]+)\.js", files, folder),
                "Apache-2.0",
                "https://github.com/mathjax/MathJax",
                f"crate {plotly.label}; in the program, in no report",
                (),
            )
        )
    if mimalloc := by_name.get("libmimalloc-sys"):
        folder = mimalloc.folder / "c_src" / "mimalloc" / "v2"
        header = folder / "include" / "mimalloc.h"
        digits = found(r"define MI_MALLOC_VERSION (\d{5})", header.read_text(encoding="utf-8"), header)
        text = (folder / "LICENSE").read_text(encoding="utf-8")
        every.append(
            Embedded(
                "mimalloc (C)",
                f"{digits[0]}.{int(digits[1:3])}.{int(digits[3:])}",
                "MIT",
                "https://github.com/microsoft/mimalloc",
                f"crate {mimalloc.label}",
                split_licence(text)[0],
                text,
            )
        )
    # A test compares this table with the files beside it.
    vendor = ROOT / "crates" / "view" / "assets" / "vendor"
    listing = (vendor / "README.md").read_text(encoding="utf-8")
    for name, url, version, licence, file_name in re.findall(
        r"^\| \[([^\]]+)\]\(([^)]+)\) \| ([^|]+) \| ([^|(]+) \(`([^`]+)`\) \|", listing, re.MULTILINE
    ):
        text = (vendor / file_name).read_text(encoding="utf-8")
        held = split_licence(text)[0]
        every.append(Embedded(name, version, licence, url, "page of `fabricsim view`", held, text))
    for item in every:
        if chosen(item.licence) is None:
            raise ThirdPartyError(
                f"{item.label}: its licence '{item.licence}' is not satisfied by ALLOWED in {COMMAND}. "
                f"Remove it from {item.within}, or add its licence."
            )
    return every


def cargo(*arguments: str) -> str:
    # The flags of a build, such as `--cfg loom`, would add dependencies.
    environment = {key: value for key, value in os.environ.items() if key != "RUSTFLAGS"}
    command = [environment.get("CARGO", "cargo"), *arguments, "--locked"]
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise ThirdPartyError(
            f"'{command[0]}' is missing: install Rust 1.88 or newer, for example as https://rustup.rs says"
        ) from None
    if done.returncode != 0:
        raise ThirdPartyError(f"'{' '.join(command)}' failed:\n{done.stderr.strip()}")
    return done.stdout


def dependencies() -> list[Crate]:
    """All packages of Cargo.lock except those of the workspace."""
    described: dict[str, Any] = json.loads(cargo("metadata", "--all-features", "--format-version", "1"))
    own = set(described["workspace_members"])
    return [
        Crate(
            package["name"],
            package["version"],
            package["license"],
            package["license_file"],
            package["source"],
            package["repository"],
            tuple(package["authors"]),
            Path(package["manifest_path"]).parent,
        )
        for package in described["packages"]
        if package["id"] not in own
    ]


def linked() -> set[tuple[str, str]]:
    """Name and version of all crates that what is released contains, those of the workspace among them.

    Of `cargo tree`, since the graph of `cargo metadata` has optional dependencies that no feature enables.
    """
    packages = [argument for name in RELEASED for argument in ("--package", name)]
    targets = [argument for system in SYSTEMS for argument in ("--target", system)]
    edges = ["--edges", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}"]
    tree = cargo("tree", "--all-features", *packages, *targets, *edges)
    pairs = (line.split()[:2] for line in tree.splitlines() if line)
    return {(name, version.removeprefix("v")) for name, version in pairs}


def shipped(crates: Iterable[Crate]) -> list[Crate]:
    """Those that what is released contains."""
    within = linked()
    return [crate for crate in crates if (crate.name, crate.version) in within]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Checks licences of dependencies and writes THIRD-PARTY.md.")
    parser.add_argument("--check", action="store_true", help="write nothing; list what is wrong")
    check = parser.parse_args(arguments).check
    file = ROOT / NOTICES
    errors: list[str] = []
    try:
        crates = dependencies()
        errors += problems(crates)
        if not errors:
            passed_on = shipped(crates)
            expected = document(passed_on, embedded_in(passed_on))
            if check:
                errors += outdated(file.read_text(encoding="utf-8") if file.is_file() else None, expected)
            else:
                file.write_text(expected, encoding="utf-8")
    except ThirdPartyError as error:
        errors.append(str(error))
    for message in errors:
        print(f"third-party.py: {message}", file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
