"""Values as TOML on one line, tables included: the right side of ``--set KEY=VALUE``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tomli_w

__all__ = ["inline"]


def inline(value: Any) -> str:
    """A value in TOML, on one line."""
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(key)} = {inline(item)}" for key, item in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(inline(item) for item in value)}]"
    return tomli_w.dumps({"v": value}).removeprefix("v = ").rstrip("\n")


def _key(key: str) -> str:
    return tomli_w.dumps({key: 0}).removesuffix(" = 0\n")
