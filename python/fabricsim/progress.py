"""The progress bar of a run, in terminals and notebooks: simulated time, rate, time left."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeAlias

__all__ = ["Bar", "Progress"]

Progress: TypeAlias = Callable[[float, "float | None"], object]
"""Called with the simulated time and the end of the simulation in nanoseconds; the end is None if unknown."""

_KNOWN = "{desc}: {percentage:3.0f} % |{bar}| {n:.1f} of {total:.1f} us [{elapsed} < {remaining}, {rate_fmt}]"
_OPEN = "{desc}: {n:.1f} us [{elapsed}, {rate_fmt}]"


class Bar:
    """A progress bar by tqdm, for terminals and notebooks.

    It is a callback for ``fabricsim.run(progress=...)`` and a context; ``progress=True`` makes one.

    Parameters
    ----------
    name : str
        What stands before it.

    Examples
    --------
    >>> with Bar("torus") as bar:  # doctest: +SKIP
    ...     result = fabricsim.run("experiment.toml", progress=bar)
    """

    def __init__(self, name: str = "simulated") -> None:
        self.name = name
        self._bar: Any = None

    def __call__(self, now_ns: float, end_ns: float | None) -> None:
        now_us = now_ns / 1000
        if self._bar is None:
            self._bar = _tqdm(self.name, end_ns and end_ns / 1000)
        if now_us < self._bar.n:
            # The next of several runs, such as those of `interference`.
            self._bar.reset(total=end_ns and end_ns / 1000)
        self._bar.update(now_us - self._bar.n)

    def finish(self, now_ns: float) -> None:
        """Show where the run ended, and close; a short run shows nothing else."""
        self(now_ns, None if self._bar is None or self._bar.total is None else self._bar.total * 1000)
        self.close()

    def close(self) -> None:
        """Stop updating the bar, and leave it visible."""
        if self._bar is not None:
            self._bar.close()

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _tqdm(name: str, end_us: float | None) -> Any:
    with warnings.catch_warnings():
        # A notebook without ipywidgets gets the bar of terminals.
        warnings.filterwarnings("ignore", message="IProgress not found")
        from tqdm.auto import tqdm

        shape = _OPEN if end_us is None else _KNOWN
        return tqdm(total=end_us, desc=name, unit=" us", bar_format=shape, mininterval=0.1)
