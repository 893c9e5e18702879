#!/usr/bin/env python3
"""Checks that this commit can be released, and lists what a release of it consists of.

    scripts/release.py             checks, makes the source distribution and the bill of materials in dist/,
                                   lists all files there that belong to this version
    scripts/release.py --build     also builds the wheel of this machine
    scripts/release.py --tag       also checks the dates, and makes the annotated tag with the changes as text

Nothing is uploaded and nothing is pushed: `.github/workflows/wheels.yml` builds the wheels of all systems
from a tag. All that is wrong is told at once; then the exit status is 1.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomllib

ROOT = Path(__file__).resolve().parents[1]
# Files that name the version and are no manifests: the expression with the version as its first group.
NAMED_IN = {
    "CITATION.cff": r"^version: (.+)$",
    "packaging/Containerfile": r"^ARG VERSION=(.+)$",
    "packaging/spack/package.py": r'^    version\("([^"]+)"',
}


@dataclass(frozen=True)
class Section:
    """One version of the changelog."""

    version: str
    # What is in the parentheses after the version.
    remark: str | None
    line: int
    text: str


def sections(changelog: str) -> list[Section]:
    """The versions of a changelog, the newest first."""
    heading = re.compile(r"^## +(.*)$", re.MULTILINE)
    found = []
    starts = list(heading.finditer(changelog))
    for start, end in zip(starts, [*(s.start() for s in starts[1:]), len(changelog)], strict=True):
        parts = re.fullmatch(r"\[?v?([^\s\](]+)\]?(?: +\(([^)]*)\)| +(.*))?", start[1].strip())
        version, remark = (parts[1], parts[2] or parts[3]) if parts else (start[1], None)
        line = changelog.count("\n", 0, start.start()) + 1
        found.append(Section(version, remark, line, changelog[start.end() : end].strip()))
    return found


def date_of(text: str | None) -> datetime.date | None:
    """A date as this project writes it."""
    if text is None or not re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
        return None
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        return None


def workspace_version(root: Path) -> str:
    manifest = tomllib.loads((root / "Cargo.toml").read_text(encoding="utf-8"))
    return str(manifest["workspace"]["package"]["version"])


def version_problems(root: Path) -> Iterator[str]:
    """Files that have another version than the workspace's manifest."""
    manifest = tomllib.loads((root / "Cargo.toml").read_text(encoding="utf-8"))
    version = manifest["workspace"]["package"]["version"]
    if not re.fullmatch(r"\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?", version):
        yield f"Cargo.toml: the version is '{version}'; expected MAJOR.MINOR.PATCH"
    for name, needed in manifest["workspace"].get("dependencies", {}).items():
        given = needed.get("version", version) if isinstance(needed, dict) and "path" in needed else version
        if given != version:
            yield f"Cargo.toml: the dependency '{name}' has version {given}; expected {version}"
    lock = root / "Cargo.lock"
    if lock.is_file():
        for package in tomllib.loads(lock.read_text(encoding="utf-8")).get("package", []):
            if "source" not in package and package["version"] != version:
                yield (
                    f"Cargo.lock: '{package['name']}' has version {package['version']}, Cargo.toml has "
                    f"{version}; run 'cargo update --workspace --offline'"
                )
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    if "version" in project and project["version"] != version:
        yield f"pyproject.toml: the version is {project['version']}, Cargo.toml has {version}"
    elif "version" not in project and "version" not in project.get("dynamic", []):
        yield "pyproject.toml: 'version' must be in 'dynamic', so that it is that of Cargo.toml"
    for name, pattern in NAMED_IN.items():
        file = root / name
        if not file.is_file():
            if name == "CITATION.cff":
                yield f"{name}: is missing"
            continue
        match = re.search(pattern, file.read_text(encoding="utf-8"), re.MULTILINE)
        if match is None:
            yield f"{name}: has no version; expected {version} in a line like '{pattern}'"
        elif match[1].strip("\"'") != version:
            yield f"{name}: the version is {match[1]}, Cargo.toml has {version}"
    for file in sorted((root / "packaging" / "easybuild").glob("*.eb")):
        match = re.search(r"^version = '([^']+)'$", file.read_text(encoding="utf-8"), re.MULTILINE)
        given = match[1] if match else None
        if given != version:
            yield f"{file.relative_to(root)}: the version is {given}, Cargo.toml has {version}"


def changelog_problems(root: Path, *, tagging: bool, today: datetime.date) -> Iterator[str]:
    """What the changelog and the citation lack for a release of this version."""
    version = workspace_version(root)
    every = sections((root / "CHANGELOG.md").read_text(encoding="utf-8"))
    at = {section.version: section for section in every}
    citation = re.search(
        r"^date-released: *['\"]?(.*?)['\"]?$",
        (root / "CITATION.cff").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    cited = citation[1] if citation else None
    if version not in at:
        yield f"CHANGELOG.md: has no section '## {version}'; write what users see since the last version"
        return
    own = at[version]
    if every[0] is not own:
        yield (
            f"CHANGELOG.md:{every[0].line}: the first section is '{every[0].version}'; expected {version}, "
            "the version of Cargo.toml"
        )
    if not re.search(r"^- \S", own.text, re.MULTILINE):
        yield f"CHANGELOG.md:{own.line}: the section of {version} names no change; write what users see"
    for section in every:
        if section is not own and section.remark == "unreleased":
            yield (
                f"CHANGELOG.md:{section.line}: {section.version} is unreleased, but only {version} can be; "
                "write its date in the parentheses, or nothing"
            )
        elif section.remark not in (None, "unreleased") and date_of(section.remark) is None:
            yield (
                f"CHANGELOG.md:{section.line}: '{section.remark}' is no date; expected "
                f"'## {section.version} (YYYY-MM-DD)'"
            )
    dated = date_of(own.remark)
    if tagging and dated is None:
        yield f"CHANGELOG.md:{own.line}: a release has its date; expected '## {version} ({today})'"
    if dated is not None and dated > today:
        yield f"CHANGELOG.md:{own.line}: the date {dated} is in the future; today is {today}"
    if dated is not None and cited != str(dated):
        where = f"CHANGELOG.md:{own.line}"
        yield f"CITATION.cff: 'date-released' is {cited}; expected {dated}, the date of {where}"
    if dated is None and cited is not None:
        yield f"CITATION.cff: 'date-released' is {cited}, but CHANGELOG.md:{own.line} has no date; remove it"


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ReleaseError(f"'git {' '.join(arguments)}' failed in {root}: {done.stderr.strip()}")
    return done.stdout


def repository_problems(root: Path) -> Iterator[str]:
    """What the state of the repository has against a release."""
    changed = git(root, "status", "--porcelain").splitlines()
    if changed:
        names = ", ".join(line[3:] for line in changed[:5]) + (", ..." if changed[5:] else "")
        yield f"{len(changed)} files are not committed ({names}); commit or remove them"
    tag = f"v{workspace_version(root)}"
    if git(root, "tag", "--list", tag).strip():
        yield f"the tag {tag} exists; a new release needs a new version in Cargo.toml"


class ReleaseError(Exception):
    """What is wrong, where, and what to do."""


def run(root: Path, *command: str) -> None:
    if shutil.which(command[0]) is None:
        raise ReleaseError(f"'{command[0]}' is missing: install maturin ('make python' has it in .venv/bin)")
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ReleaseError(f"'{' '.join(command)}' failed:\n{done.stderr.strip()}")


def maturin(root: Path) -> str:
    own = root / ".venv" / "bin" / "maturin"
    return str(own) if own.is_file() else "maturin"


def artefacts(root: Path) -> list[Path]:
    """The files of this version in dist/. The source distribution, wheels, the bill of materials."""
    version = workspace_version(root)
    names = (f"fabricsim-{version}.tar.gz", f"fabricsim-{version}-*.whl", f"fabricsim-{version}.cdx.json")
    return sorted(file for name in names for file in (root / "dist").glob(name))


def size(number: int) -> str:
    return f"{number / 1e6:.2f} MB" if number >= 1e5 else f"{number / 1e3:.1f} kB"


def listing(files: Iterable[Path]) -> str:
    """A line for each file: SHA-256, size and name, so that `sha256sum` can be compared."""
    return "\n".join(
        f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {size(file.stat().st_size):>10}  {file.name}"
        for file in files
    )


def sbom() -> Any:
    spec = importlib.util.spec_from_file_location("sbom", ROOT / "scripts" / "sbom.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def dependency_report(bills: Any, bill: dict[str, Any]) -> str:
    """How many dependencies a release has, and how large their sources are."""
    tools = bills.third_party()
    crates = tools.shipped(tools.dependencies())
    bytes_of = {
        crate.label: sum(f.stat().st_size for f in crate.folder.rglob("*") if f.is_file()) for crate in crates
    }
    largest = sorted(bytes_of, key=lambda label: -bytes_of[label])[:5]
    requirements = bills.python_requirements()
    always = sorted({name for name, _, extra in requirements if extra is None})
    optional = sorted({name for name, _, extra in requirements if extra is not None} - set(always))
    embedded = [c["name"] for c in bill["components"] if c["bom-ref"].startswith("embedded:")]
    return "\n".join(
        [
            f"Crates of others, linked: {len(crates)}, {size(sum(bytes_of.values()))} of sources; largest: "
            + ", ".join(f"{label} {size(bytes_of[label])}" for label in largest),
            f"Other libraries inside: {len(embedded)} ({', '.join(embedded)})",
            f"Python packages, installed: {len(always)} ({', '.join(always)})",
            f"Python packages of extras: {len(optional)} ({', '.join(optional)})",
        ]
    )


def make(root: Path, *, build: bool, tag: bool) -> None:
    """Makes the files in dist/ and lists them. With `tag`, then makes the tag."""
    version = workspace_version(root)
    dist = root / "dist"
    dist.mkdir(exist_ok=True)
    run(root, maturin(root), "sdist", "--out", "dist")
    if build:
        run(root, "make", "wheel")
    bills = sbom()
    try:
        bill = bills.document()
        dependencies = dependency_report(bills, bill)
    except bills.third_party().ThirdPartyError as error:
        raise ReleaseError(str(error)) from None
    (dist / f"fabricsim-{version}.cdx.json").write_text(bills.text_of(bill), encoding="utf-8")
    files = artefacts(root)
    print(f"FabricSim {version}, commit {git(root, 'rev-parse', 'HEAD').strip()}\n")
    print(listing(files))
    if not any(file.suffix == ".whl" for file in files):
        print("No wheel in dist/: --build makes that of this machine, the workflow 'Wheels' all others.")
    print(f"\n{dependencies}")
    if tag:
        own = sections((root / "CHANGELOG.md").read_text(encoding="utf-8"))[0]
        message = f"FabricSim {version}\n\n{own.text}"
        git(root, "tag", "--annotate", "--cleanup=verbatim", f"v{version}", "--message", message)
        print(f"\nTag v{version} is made. 'git push origin v{version}' publishes it.")
    else:
        print("\nNothing was tagged; --tag makes the tag.")


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(description="Checks a release and lists its files. Uploads nothing.")
    parser.add_argument("--build", action="store_true", help="build the wheel of this machine")
    parser.add_argument("--tag", action="store_true", help="check the dates, make the annotated tag")
    options = parser.parse_args(arguments)
    today = datetime.datetime.now(datetime.timezone.utc).date()
    try:
        problems = [
            *repository_problems(root),
            *version_problems(root),
            *changelog_problems(root, tagging=options.tag, today=today),
        ]
        for problem in problems:
            print(f"release.py: {problem}", file=sys.stderr)
        if problems:
            return 1
        make(root, build=options.build, tag=options.tag)
    except ReleaseError as error:
        print(f"release.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
