"""The reference of the Python package, from its sources and stubs; the package is not imported."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any, cast

import griffe
from sphinx.ext.napoleon import Config
from sphinx.ext.napoleon.docstring import NumpyDocstring

# Modules that a program imports by themselves, beside those that the package names.
MODULES = ("mpi", "sweep", "calibrate")
# Types in docstrings are words, not names to look up.
NUMPY = Config(napoleon_use_param=False, napoleon_use_rtype=False, napoleon_use_ivar=True)


def public(module: griffe.Module) -> list[tuple[str, griffe.Object]]:
    """The public names of a module in its order, each with what it stands for."""
    found = []
    for name in module.exports or []:
        member = module.members[str(name)]
        found.append((str(name), member.final_target if isinstance(member, griffe.Alias) else member))
    return found


def docstring(thing: griffe.Object) -> str:
    """The docstring; that of a base class, where a method has none of its own."""
    if thing.docstring:
        return thing.docstring.value
    parent = thing.parent
    if isinstance(parent, griffe.Class):
        for base in parent.mro():
            same = base.members.get(thing.name)
            if same and same.docstring:
                return same.docstring.value
    return ""


def undocumented(name: str, thing: griffe.Object) -> list[str]:
    """Public names without a description. A type says by its value what it is."""
    if isinstance(thing, griffe.Attribute):
        return []
    missing = [] if docstring(thing) else [name]
    if isinstance(thing, griffe.Class):
        texts = "\n".join(base.docstring.value for base in [thing, *thing.mro()] if base.docstring)
        for each, member in own_members(thing):
            if isinstance(member, griffe.Function):
                missing += [f"{name}.{each}"] if not docstring(member) else []
            elif not member.docstring and not in_list(each, texts):
                missing.append(f"{name}.{each}")
    return missing


def in_list(name: str, text: str) -> bool:
    """Whether a list of parameters or attributes in a docstring has this name, alone or among others."""
    return bool(re.search(rf"^\s*(?:[\w*]+, )*{name}(?:, [\w*]+)*(?: :.*)?$", text, re.MULTILINE))


def own_members(thing: griffe.Class) -> list[tuple[str, griffe.Object]]:
    """The public members that a class itself defines."""
    return [
        (name, member)
        for name, member in thing.members.items()
        if not name.startswith("_") and isinstance(member, griffe.Object)
    ]


def markup(text: str) -> str:
    """A docstring as Sphinx reads it, with links to the pages that it names."""
    lines = "\n".join(NumpyDocstring(text, cast(Any, NUMPY)).lines())
    return re.sub(r"``(docs/[\w/-]+)\.md``", r":doc:`\1.md </\1>`", lines)


def signature(function: griffe.Function | griffe.Class) -> str:
    """Parameters and result, without `self` and with defaults."""
    shown, before = [], ""
    for parameter in function.parameters:
        if parameter.name in ("self", "cls"):
            continue
        kind = parameter.kind.value if parameter.kind else ""
        if kind == "keyword-only" and before not in ("keyword-only", "variadic positional"):
            shown.append("*")
        if before == "positional-only" and kind != before:
            shown.append("/")
        before = kind
        stars = {"variadic positional": "*", "variadic keyword": "**"}.get(kind, "")
        text = f"{stars}{parameter.name}"
        text += f": {parameter.annotation}" if parameter.annotation else ""
        # A field of a stub has dots instead of its default, which is None everywhere.
        default = "None" if str(parameter.default) == "..." else str(parameter.default)
        text += f" = {default}" if parameter.default is not None and not stars else ""
        shown.append(text)
    if before == "positional-only":
        shown.append("/")
    returns = f" -> {function.returns}" if isinstance(function, griffe.Function) and function.returns else ""
    return f"({', '.join(shown)}){returns}"


def directive(kind: str, name: str, options: str, body: str) -> str:
    """An entry of the reference."""
    text = f".. py:{kind}:: {name}\n{textwrap.indent(options, '   ')}\n"
    return text + textwrap.indent(body.strip(), "   ") + "\n\n"


def entry(name: str, thing: griffe.Object) -> str:
    """One name with its members."""
    body = markup(docstring(thing)) + "\n\n"
    if isinstance(thing, griffe.Function):
        return directive("function", name + signature(thing), "", body)
    if isinstance(thing, griffe.Attribute):
        value = f":value: {thing.value}\n" if thing.value is not None else ""
        return directive("data", name, value, body)
    assert isinstance(thing, griffe.Class), name
    texts = thing.docstring.value if thing.docstring else ""
    for each, member in own_members(thing):
        if isinstance(member, griffe.Function):
            kind = "classmethod" if "classmethod" in member.labels else ""
            kind = "staticmethod" if "staticmethod" in member.labels else kind
            body += directive(
                "method", each + signature(member), f":{kind}:\n" if kind else "", markup(docstring(member))
            )
        elif isinstance(member, griffe.Attribute) and not in_list(each, texts):
            annotation = f":type: {member.annotation}\n" if member.annotation else ""
            body += directive("attribute", each, annotation, markup(docstring(member)))
    bases = ", ".join(str(base) for base in thing.bases)
    note = f"Base: ``{bases}``\n\n" if bases in ("Exception",) or bases.endswith("Error") else ""
    kind = "exception" if note else "class"
    # The constructor of an exception is not for callers.
    shown = name if note or not len(thing.parameters) else name + signature(thing)
    return directive(kind, shown, "", note + body)


def pages(folder: Path) -> tuple[dict[str, str], list[str]]:
    """The pages by name, and a message for each public name without a docstring."""
    package = griffe.load("fabricsim", search_paths=[folder], allow_inspection=False, resolve_aliases=True)
    assert isinstance(package, griffe.Module)
    named = [(name, thing) for name, thing in public(package) if isinstance(thing, griffe.Module)]
    modules = {f"fabricsim.{name}": thing for name, thing in named}
    for name in MODULES:
        module = package.members[name]
        assert isinstance(module, griffe.Module)
        modules[f"fabricsim.{name}"] = module
    found, missing = {}, []
    for name, module in {"fabricsim": package, **dict(sorted(modules.items()))}.items():
        title = "Python reference" if module is package else name
        text = f"{title}\n{'=' * len(title)}\n\n.. py:module:: {name}\n\n{markup(docstring(module))}\n\n"
        missing += [] if docstring(module) else [name]
        if module is package:
            # The modules are pages of their own.
            text += (
                ".. toctree::\n   :caption: Modules\n   :titlesonly:\n\n"
                + "".join(f"   {each}\n" for each in sorted(modules))
                + "\n"
            )
        for each, thing in sorted(public(module), key=lambda pair: pair[0].lower()):
            if each.startswith("_") or isinstance(thing, griffe.Module):
                continue
            missing += undocumented(f"{name}.{each}", thing)
            # The same class is one entry, where it is at home.
            text += entry(each, thing)
        found[name] = text
    return found, [f"{name}: a public name without a docstring" for name in missing]
