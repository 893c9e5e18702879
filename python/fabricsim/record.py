"""JSON objects whose keys are also attributes."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable
from typing import Any

__all__ = ["Record"]

# Keys of results that changed their name, for one version.
_RENAMED = {"overseer": "termination_detector"}


class Record(dict[str, Any]):
    """A dict with its keys as attributes: ``summary.network.hosts`` is ``summary["network"]["hosts"]``.

    Keys that are no Python names, and those that dict has as methods, are reached with brackets.
    """

    def __missing__(self, name: str) -> Any:
        new = _RENAMED.get(name)
        if new is not None and dict.__contains__(self, new):
            warnings.warn(f"the key {name!r} is now {new!r}", FutureWarning, stacklevel=3)
            return self[new]
        # Results of older versions have the old key.
        old = next((old for old, new in _RENAMED.items() if new == name), None)
        if old is not None and dict.__contains__(self, old):
            return dict.__getitem__(self, old)
        raise KeyError(name)

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            known = ", ".join(self)
            raise AttributeError(f"no key {name!r}; the keys are: {known}") from None

    def __dir__(self) -> Iterable[str]:
        return [*super().__dir__(), *self]


def parse(text: str) -> Any:
    """JSON text with all its objects as records."""
    return json.loads(text, object_hook=Record)
