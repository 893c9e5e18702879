"""TOML files of this package, read key by key. Errors name file, line and key.

A `Section` is one table. It records the requested keys, so that `close` finds unknown ones, as the simulation
core does for experiments. It does not know the meaning of any key.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from fabricsim._errors import SweepError
from fabricsim._input import read_text

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["LARGEST", "Section", "nearest", "read", "read_toml", "shortened"]

_NAME = r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|[\w-]+)"""
_DOTTED = rf"{_NAME}(?:\s*\.\s*{_NAME})*"
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_DOTTED})\s*\]")
_KEY = re.compile(rf"\s*({_DOTTED})\s*=")

Path_ = tuple[str, ...]

# Above it no cost, time or factor has a meaning, and products of several such numbers are still finite.
LARGEST = 1e30
# Digits of a whole number that Python converts.
_MOST_DIGITS = 4300
# Characters of a user's text in a message.
_MOST_SHOWN = 80


class Section:
    """One table of a TOML file, or one of a list of tables."""

    def __init__(self, file: Path, lines: dict[Path_, int], path: Path_, table: dict[str, Any]) -> None:
        self._file = file
        self._lines = lines
        self._path = path
        self._table = table
        self._asked: dict[str, None] = {}

    @property
    def folder(self) -> Path:
        """The base folder of paths in the file."""
        return self._file.parent

    def error(self, key: str | Path_, message: str) -> SweepError:
        """An error about this key or one below it, with its location; ``""`` stands for the table."""
        inner = (key,) if isinstance(key, str) and key else tuple(key)
        path = (*self._path, *inner)
        return SweepError(message, str(self._file), self._line(path), ".".join(map(shortened, path)) or None)

    def place(self, key: Path_) -> str:
        """File and line of this key or of what contains it: ``small.toml:12``."""
        line = self._line((*self._path, *key))
        return str(self._file) if line is None else f"{self._file}:{line}"

    def _line(self, path: Path_) -> int | None:
        # Keys within a line, as in inline tables, have the location of their container.
        places = (self._lines.get(path[:n]) for n in range(len(path), 0, -1))
        return next((line for line in places if line is not None), None)

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def get(self, key: str, expected: str, *types: type) -> Any:
        """The value of a key, None if it is missing; an error if it has none of the types."""
        self._asked[key] = None
        value = self._table.get(key)
        # In Python, booleans are numbers.
        fits = isinstance(value, types) and (bool in types or not isinstance(value, bool))
        if value is not None and not fits:
            raise self.error(key, f"expected {expected}, found {_shown(value)}")
        return value

    def text(self, key: str) -> str | None:
        """A text, if there is one."""
        value: str | None = self.get(key, "a text", str)
        return value

    def number(self, key: str) -> float | None:
        """A number, if there is one; an error if it is not finite or beyond `LARGEST`."""
        value: float | None = self.get(key, "a number", int, float)
        if value is not None and not abs(value) <= LARGEST:
            raise self.error(
                key, f"expected a number from {-LARGEST:g} to {LARGEST:g}, found {shortened(value)}"
            )
        return value

    def flag(self, key: str) -> bool:
        """True or false, which is false where it is left out."""
        return bool(self.get(key, "true or false", bool))

    def path(self, key: str) -> Path | None:
        """A path relative to the file, if there is one."""
        text = self.text(key)
        if text is not None and "\0" in text:
            raise self.error(key, "expected a path, found a text with a null character")
        return None if text is None else self.folder / text

    def section(self, key: str) -> Section | None:
        """A table, if there is one."""
        table = self.get(key, "a table", dict)
        return None if table is None else self._inner((key,), table)

    def sections(self, key: str) -> list[Section]:
        """A list of tables, which is empty where it is left out."""
        tables = self.get(key, "a list of tables", list) or []
        for table in tables:
            if not isinstance(table, dict):
                raise self.error(key, f"expected a list of tables, found {_shown(table)} in it")
        return [self._inner((key, str(number)), table) for number, table in enumerate(tables)]

    def one_of(self, key: str, known: Iterable[str]) -> str | None:
        """One of some names, if there is one."""
        known = list(known)
        name = self.text(key)
        if name is not None and name not in known:
            raise self.error(
                key, f"unknown name '{shortened(name)}'{nearest(name, known)}; expected {_listed(known)}"
            )
        return name

    def close(self) -> None:
        """An error for the first unrequested key, with the nearest requested one."""
        self.only(*self._asked)

    def only(self, *known: str) -> None:
        """An error for the first key that is not listed, with the nearest listed one."""
        for key in self._table:
            if key not in known:
                raise self.error(
                    key,
                    f"unknown key '{shortened(key)}'{nearest(key, known)}; the keys here are "
                    f"{_listed(known)}",
                )

    def _inner(self, steps: Path_, table: dict[str, Any]) -> Section:
        return Section(self._file, self._lines, (*self._path, *steps), table)


def read(file: Path) -> Section:
    """A whole TOML file.

    Raises
    ------
    SweepError
        It is no regular file of at most 64 MiB, cannot be read, or is not TOML.
    """
    text = read_toml(file)
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r" \(at line (\d+), column \d+\)$", str(error))
        message = str(error)[: place.start()] if place else str(error)
        raise SweepError(
            f"not valid TOML: {message}", str(file), int(place.group(1)) if place else None
        ) from None
    except ValueError as error:
        line = _line_of_digits(text)
        message = str(error) if line is None else f"a number has more than {_MOST_DIGITS:,} digits"
        raise SweepError(f"{message}; expected a shorter one", str(file), line) from None
    except RecursionError:
        raise SweepError(
            "lists or tables are nested too deeply; expected fewer brackets in each other", str(file)
        ) from None
    return Section(file, _lines(text), (), table)


def read_toml(file: Path) -> str:
    """The text of a TOML file.

    Raises
    ------
    SweepError
        It is no regular file of at most 64 MiB, or cannot be read.
    """
    try:
        return read_text(file)
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        raise SweepError(f"cannot be read: {why}", str(file)) from None


def _line_of_digits(text: str) -> int | None:
    """The first line with more digits in a row than the interpreter converts to a whole number."""
    for number, line in enumerate(text.splitlines(), start=1):
        if any(len(digits) > _MOST_DIGITS for digits in re.findall(r"\d+", line.replace("_", ""))):
            return number
    return None


def shortened(value: Any) -> str:
    """A user's value in a message, with its middle left out if it is long."""
    text = str(value)
    if len(text) <= _MOST_SHOWN:
        return text
    half = _MOST_SHOWN // 2
    return f"{text[:half]}...{text[-half:]} ({len(text):,} characters)"


def nearest(name: str, known: Iterable[str]) -> str:
    """``; did you mean 'values'?``, or an empty text if no known name is near."""
    # The comparison takes time with the square of the length.
    close = difflib.get_close_matches(name[:_MOST_SHOWN], list(known), n=1)
    return f"; did you mean '{close[0]}'?" if close else ""


def _lines(text: str) -> dict[Path_, int]:
    """Lines of keys that begin a line, and of table headers."""
    found: dict[Path_, int] = {}
    counts: dict[Path_, int] = {}
    prefix: Path_ = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _HEADER.match(line):
            prefix = ()
            for name in _names(header.group(2)):
                prefix = (*prefix, name)
                if prefix in counts and prefix != _names(header.group(2)):
                    prefix = (*prefix, str(counts[prefix] - 1))
            if header.group(1) == "[[":
                found.setdefault(prefix, number)
                counts[prefix] = counts.get(prefix, 0) + 1
                prefix = (*prefix, str(counts[prefix] - 1))
            found.setdefault(prefix, number)
        elif key := _KEY.match(line):
            path = prefix
            for name in _names(key.group(1)):
                path = (*path, name)
                found.setdefault(path, number)
    return found


def _names(dotted: str) -> Path_:
    """The names of a dotted key, without quotes."""
    return tuple(
        name[1:-1].replace('\\"', '"') if name[0] in "\"'" else name for name in re.findall(_NAME, dotted)
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _shown(value: Any) -> str:
    kinds = {bool: "true or false", str: "a text", dict: "a table", list: "a list"}
    for kind, name in kinds.items():
        if isinstance(value, kind):
            return f"{name} ({shortened(repr(value))})" if kind is str else name
    return shortened(value)
