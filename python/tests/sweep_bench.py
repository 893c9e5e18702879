"""Helpers of sweep tests: an engine without processes, and sweep files in the current folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any


class Here:
    """An engine in this process, one task after the other. It counts its tasks by function."""

    def __init__(self, change: Callable[[Any, Any], Any] | None = None) -> None:
        self.calls: list[str] = []
        self.tasks: list[Any] = []
        self._change = change

    def each(self, function: Any, items: Iterable[Any], threads: int = 1) -> Iterator[tuple[Any, Any]]:
        for item in items:
            self.calls.append(function.__name__)
            self.tasks.append(item)
            yield item, self._change(function, item) if self._change else function(item)


def write(text: str, name: str = "load.toml") -> Path:
    """A sweep of the small experiment."""
    Path(name).write_text(f'experiment = "small.toml"\n{text}')
    return Path(name)
