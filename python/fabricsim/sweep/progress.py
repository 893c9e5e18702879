"""Progress of a sweep: a bar on a terminal, otherwise a line from time to time."""

from __future__ import annotations

import time
from typing import TextIO

__all__ = ["Progress", "duration"]

_WIDTH = 24
# Seconds between two lines without a terminal.
_PAUSE = 30.0


class Progress:
    """Counts completed items.

    Parameters
    ----------
    stream : file
        Where it is shown; None: nowhere.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._bar = stream is not None and stream.isatty()
        self._what = ""
        self._total = self._done = self._failed = self._cached = 0
        self._begin = self._shown = 0.0

    def begin(self, what: str, total: int, cached: int = 0, failed: int = 0) -> None:
        """Begins another stage of this many items, of which some are done already."""
        self._what, self._total, self._cached = what, total, cached
        self._done, self._failed = cached + failed, failed
        self._begin = time.monotonic()
        self._shown = self._begin
        self._show()

    def one(self, failed: bool, count: int = 1) -> None:
        """Counts a completed item, which stands for `count`."""
        self._done += count
        self._failed += count * failed
        self._show()

    def say(self, text: str) -> None:
        """A line above the bar."""
        if self._stream is not None:
            self.end()
            self._stream.write(f"{text}\n")
            self._stream.flush()

    def end(self) -> None:
        """Clears the bar."""
        if self._bar and self._stream is not None:
            self._stream.write("\r\033[K")
            self._stream.flush()

    def line(self, seconds: float) -> str:
        """The state in words after this time."""
        parts = [f"{self._what}: {self._done} of {self._total} done"]
        if self._cached:
            parts.append(f"{self._cached} from the cache")
        if self._failed:
            parts.append(f"{self._failed} failed")
        new = self._done - self._cached
        left = self._total - self._done
        if left and new > 0:
            parts.append(f"{duration(seconds / new * left)} left")
        return ", ".join(parts)

    def _show(self) -> None:
        now = time.monotonic()
        if self._stream is None:
            return
        line = self.line(now - self._begin)
        if self._bar:
            full = _WIDTH * self._done // self._total if self._total else _WIDTH
            self._stream.write(f"\r\033[K[{'#' * full}{'.' * (_WIDTH - full)}] {line}")
        elif now - self._shown >= _PAUSE:
            self._shown = now
            self._stream.write(f"{line}\n")
        self._stream.flush()


def duration(seconds: float) -> str:
    """Minutes and seconds, or hours, minutes and seconds: ``3:05``, ``1:03:05``."""
    whole = round(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"
