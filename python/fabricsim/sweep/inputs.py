"""The input files of an experiment, and a hash of their contents.

docs/formats/experiment.md lists the keys that name files; a test compares. A hash covers at least everything
that is read: the whole folder of a DUMPI recording, and the modules beside a Python program. It excludes
modules from elsewhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

__all__ = ["FILES", "FileHashes", "input_files"]


def _one(path: Path) -> Iterator[Path]:
    """A file, or the files of a folder."""
    yield from sorted(path.iterdir()) if path.is_dir() else [path]


def _of_all_ranks(path: Path) -> Iterator[Path]:
    """The file of one rank stands for those of all ranks beside it."""
    yield from _one(path if path.is_dir() else path.parent)


def _otf2(path: Path) -> Iterator[Path]:
    """The anchor file, the definitions and markers beside it, and the folder of that name."""
    for anchor in sorted(path.glob("*.otf2")) if path.is_dir() else [path]:
        yield anchor
        yield from (anchor.with_suffix(suffix) for suffix in (".def", ".marker"))
        yield from sorted(anchor.with_suffix("").rglob("*"))


def _dumpi(path: Path) -> Iterator[Path]:
    folder = path if path.is_dir() else path.parent
    yield from sorted(file for file in folder.iterdir() if file.suffix in (".meta", ".bin"))


def _python(path: Path) -> Iterator[Path]:
    """The program, and the modules and packages beside it."""
    yield path
    yield from sorted(path.parent.glob("*.py"))
    for package in sorted(path.parent.glob("*/__init__.py")):
        yield from sorted(package.parent.rglob("*.py"))


# Keys that name files, jobs without their number, with the function that lists what is read.
FILES: Mapping[str, Callable[[Path], Iterator[Path]]] = {
    "network.topology.file": _one,
    "job.placement.file": _one,
    "job_trace.file": _one,
    "job.mapping.file": _one,
    "job.traffic.file": _one,
    "job.traffic.message.file": _one,
    "job.workload.bigsim": _of_all_ranks,
    "job.workload.goal": _one,
    "job.workload.liballprof": _of_all_ranks,
    "job.workload.operations": _one,
    "job.workload.otf2": _otf2,
    "job.workload.dumpi": _dumpi,
    "job.workload.python": _python,
}


def input_files(settings: Mapping[str, Any], folder: Path) -> list[tuple[str, str]]:
    """Keys of an experiment with all its defaults that name files, with absolute paths."""
    found = []
    for key in FILES:
        for value in _values(settings, key.split(".")):
            if isinstance(value, str):
                found.append((key, str((folder / value).absolute())))
    return sorted(found)


def _values(table: Any, steps: list[str]) -> Iterator[Any]:
    if isinstance(table, list):
        for inner in table:
            yield from _values(inner, steps)
    elif not steps:
        yield table
    elif isinstance(table, Mapping) and steps[0] in table:
        yield from _values(table[steps[0]], steps[1:])


class FileHashes:
    """Hashes of inputs. A file is read again only if its size or modification time changes."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int, int], str] = {}

    def of(self, inputs: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """The keys of inputs with a hash of their content.

        Raises
        ------
        OSError
            A file cannot be read.
        """
        return [(key, self._of_input(key, Path(path))) for key, path in inputs]

    def _of_input(self, key: str, path: Path) -> str:
        whole = hashlib.sha256()
        for file in dict.fromkeys(FILES[key](path)):
            if file.is_file():
                name = str(file.relative_to(path.parent))
                whole.update(f"{name}\0{self._of_file(file)}\0".encode())
        return whole.hexdigest()

    def _of_file(self, file: Path) -> str:
        state = file.stat()
        place = (str(file), state.st_size, state.st_mtime_ns)
        if place not in self._known:
            content = hashlib.sha256()
            with file.open("rb") as opened:
                while block := opened.read(1 << 20):
                    content.update(block)
            self._known[place] = content.hexdigest()
        return self._known[place]
