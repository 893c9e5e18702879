"""Stub files of the modules of parts: editors and type checkers read the classes of the registry there."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import fabricsim
import fabricsim.kinds
from fabricsim.part import Part
from fabricsim.registered import Description, describe

HEADER = "# Made from the registry: UPDATE_EXPECTED=1 pytest python/tests/test_parts.py\n"
#: Where names in annotations come from.
IMPORTS = {
    "collections.abc": {"Mapping", "Sequence"},
    "typing": {"Literal"},
    "fabricsim.part": {"Path", "Rate", "Size", "Table", "Time"},
    "fabricsim.workload": {"Phase"},
}


def stub_path(module: str) -> Path:
    """The stub file of a module."""
    return Path(fabricsim.__file__).parent / f"{module.rpartition('.')[2]}.pyi"


def stub(module: str, base: type[Part]) -> str:
    """The stub of the module that has the classes of one kind of parts, formatted by ruff."""
    described = describe(base)
    used = set(re.findall(r"\w+", " ".join(" ".join(one.fields.values()) for one in described)))
    shared = sorted(
        name for name in importlib.import_module(module).__all__ if hasattr(fabricsim.kinds, name)
    )
    imports = {**IMPORTS, "dataclasses": {"dataclass"}}
    lines = [
        f"from {source} import {', '.join(sorted(names & (used | {'dataclass'})))}"
        for source, names in imports.items()
        if names & (used | {"dataclass"})
    ]
    lines.append(f"from fabricsim.kinds import {', '.join(shared)}")
    listed = sorted([*shared, *(one.name for one in described)])
    lines.append(f"__all__ = {json.dumps(listed)}")
    text = "\n".join(lines) + "\n" + "\n".join(class_stub(base, one) for one in described)
    return HEADER + formatted(text)


def class_stub(base: type[Part], described: Description) -> str:
    body = f'"""{described.doc}' + ('\n"""' if "\n" in described.doc else '"""')
    for name, annotation in described.fields.items():
        body += f"\n{name}: {annotation}" + (" = ..." if annotation.endswith("| None") else "")
    header = f"@dataclass(frozen=True, kw_only=True, repr=False)\nclass {described.name}({base.__name__}):\n"
    return header + textwrap.indent(body, "    ", bool) + "\n"


def formatted(text: str) -> str:
    for arguments in (["check", "--select", "I", "--fix", "--quiet"], ["format", "--quiet"]):
        command = [sys.executable, "-m", "ruff", *arguments, "--line-length", "110"]
        command += ["--stdin-filename", "stub.pyi", "-"]
        text = subprocess.run(command, input=text, text=True, capture_output=True, check=True).stdout
    return text
