"""JSON objects whose keys are also attributes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

__all__ = ["Record"]


class Record(dict[str, Any]):
    """A dict with its keys as attributes: ``summary.network.hosts`` is ``summary["network"]["hosts"]``.

    Keys that are no Python names, and those that dict has as methods, are reached with brackets.
    """

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
