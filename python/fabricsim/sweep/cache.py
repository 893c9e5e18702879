"""A cache of results in a folder that sweeps share.

The name of an entry is a hash of the experiment with all its defaults, the contents of its input files, and
the version and build of the simulation core. An entry is written to a temporary folder and renamed, so that
it is complete whenever it exists. ``index`` maps an experiment file and its overrides to this hash, so that a
finished sweep builds no network again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from fabricsim import _core
from fabricsim._input import MOST_BYTES_OF_RESULTS, read_bytes, read_text
from fabricsim.sweep.inputs import FileHashes

__all__ = ["Cache", "Outcome", "Resolved", "digest"]

SCHEMA = "fabricsim/sweep-entry/1"
ENTRY = "entry.json"


@dataclass(frozen=True)
class Resolved:
    """The identity of an experiment file and its overrides: a hash of all settings, the input files, the
    threads, and the version of the core."""

    settings: str
    inputs: list[tuple[str, str]]
    threads: int
    version: str


@dataclass(frozen=True)
class Outcome:
    """The result of a run: ``summary.json``, and the inventory of the network."""

    summary: dict[str, Any]
    inventory: dict[str, Any]


def digest(value: Any) -> str:
    """A hash of plain data."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def build() -> str:
    """Version of the simulation core and a hash of its file: during development, results change without a new
    version."""
    content = hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()
    return f"{_core.__version__} {content}"


class Cache:
    """The folder of entries.

    Parameters
    ----------
    folder : Path
        It is made when it is first written to.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self._hashes = FileHashes()

    def question(self, experiment: Path, overrides: list[tuple[str, str]]) -> str:
        """The key of an experiment in the index.

        Raises
        ------
        OSError
            The file cannot be read.
        """
        content = hashlib.sha256(read_bytes(experiment)).hexdigest()
        return digest([build(), str(experiment.parent.absolute()), experiment.name, content, overrides])

    def known(self, question: str) -> tuple[Resolved, list[tuple[str, str]]] | None:
        """The identity that the index has for a question, with the hashes of its inputs, if they are
        unchanged."""
        text = _read(self._index(question))
        if text is None:
            return None
        try:
            inputs = [(key, path) for key, path in text["inputs"]]
            resolved = Resolved(text["settings"], inputs, text["threads"], text["version"])
            hashes = self._hashes.of(resolved.inputs)
        except (KeyError, TypeError, ValueError, OSError):
            return None
        return (resolved, hashes) if [list(pair) for pair in hashes] == text.get("hashes") else None

    def remember(self, question: str, resolved: Resolved) -> list[tuple[str, str]]:
        """Stores the identity for a question; returns the hashes of its inputs.

        Raises
        ------
        OSError
            An input cannot be read, or the note cannot be written.
        """
        hashes = self._hashes.of(resolved.inputs)
        note = asdict(resolved) | {"hashes": hashes}
        place = self._index(question)
        place.parent.mkdir(parents=True, exist_ok=True)
        aside = place.with_name(f"{place.name}.{uuid.uuid4().hex}")
        aside.write_text(json.dumps(note), encoding="utf-8")
        aside.replace(place)
        return hashes

    def key(self, resolved: Resolved, hashes: list[tuple[str, str]], interference: bool) -> str:
        """The name of an entry."""
        return digest([SCHEMA, build(), resolved.settings, hashes, interference])

    def place(self, key: str) -> Path:
        """The path of an entry, if it exists."""
        return self.folder / key[:2] / key

    def get(self, key: str, with_result: bool) -> Outcome | None:
        """An entry; None if it is missing or damaged, or lacks the requested result folder."""
        place = self.place(key)
        entry = _read(place / ENTRY)
        if entry is None or entry.get("schema") != SCHEMA or entry.get("key") != key:
            return None
        if with_result and not (place / "result" / "summary.json").is_file():
            return None
        summary, inventory = _read(place / "summary.json"), _read(place / "inventory.json")
        return None if summary is None or inventory is None else Outcome(summary, inventory)

    def put(self, key: str, fill: Callable[[Path], Outcome], with_result: bool) -> Outcome:
        """Makes an entry: `fill` writes the given result folder. Replaces an existing entry."""
        aside = self.folder / "under-way" / f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex}"
        aside.mkdir(parents=True)
        try:
            outcome = fill(aside / "result")
            if not with_result:
                shutil.rmtree(aside / "result")
            for name, content in {
                "summary.json": outcome.summary,
                "inventory.json": outcome.inventory,
                ENTRY: {"schema": SCHEMA, "key": key, "build": build()},
            }.items():
                (aside / name).write_text(json.dumps(content), encoding="utf-8")
            self._move(aside, self.place(key))
        finally:
            shutil.rmtree(aside, ignore_errors=True)
        return outcome

    def tidy(self) -> None:
        """Removes incomplete entries of processes of this machine that have ended."""
        for left in (self.folder / "under-way").glob(f"{socket.gethostname()}-*"):
            pid = left.name.rsplit("-", 2)[-2]
            if pid.isdigit() and not _lives(int(pid)):
                shutil.rmtree(left, ignore_errors=True)

    def _index(self, question: str) -> Path:
        return self.folder / "index" / question[:2] / f"{question}.json"

    def _move(self, aside: Path, place: Path) -> None:
        place.parent.mkdir(parents=True, exist_ok=True)
        # A folder cannot replace another, so the existing one is removed first. It was damaged, lacked the
        # result folder, or is the identical entry of a concurrent sweep.
        old = aside.with_name(f"{aside.name}-old")
        for _ in range(10):
            try:
                aside.rename(place)
                break
            except OSError:
                if not place.exists():
                    raise
                place.rename(old)
                shutil.rmtree(old, ignore_errors=True)


def _read(file: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(read_text(file, MOST_BYTES_OF_RESULTS))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    try:
        # A zombie has ended, too.
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return True
    return state not in ("Z", "X")
