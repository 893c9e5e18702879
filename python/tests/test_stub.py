"""The stub of the extension module is complete."""

from __future__ import annotations

import ast
from pathlib import Path

from fabricsim import _core


def test_the_stub_is_complete() -> None:
    stub = ast.parse((Path(_core.__file__).parent / "_core.pyi").read_text(encoding="utf-8"))
    names: set[str] = set()
    methods: dict[str, set[str]] = {}
    for node in stub.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
        if isinstance(node, ast.ClassDef):
            methods[node.name] = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
    public = {name for name in vars(_core) if not name.startswith("__")} | {"__version__"}
    assert names - {"_Size"} == public
    for name, known in methods.items():
        assert known == {method for method in vars(getattr(_core, name)) if not method.startswith("__")}
