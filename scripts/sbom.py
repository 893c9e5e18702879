#!/usr/bin/env python3
"""What a release contains, as a software bill of materials: CycloneDX 1.6 in JSON.

    scripts/sbom.py            prints it
    scripts/sbom.py FILE       writes it

Own code, as no tool covers all of it: cyclonedx-bom describes an environment of Python and sees no crates
inside a module. maturin and cargo-cyclonedx list the crates of one package (newer versions of maturin do so
in each wheel), and know neither the JavaScript and C that crates bring along, nor the Python dependencies,
nor the libraries of real programs. What is linked is what `THIRD-PARTY.md` lists (scripts/third-party.py), on
Linux and macOS, with and without MPI.

The same commit has the same file: the time is that of the commit, the serial number that of the content.
"""

from __future__ import annotations

import datetime
import importlib.util
import json
import re
import subprocess
import sys
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import tomllib

ROOT = Path(__file__).resolve().parents[1]
# Scope of names for serial numbers, so that equal contents have equal numbers.
SERIAL_NUMBERS = uuid.UUID("6f8f5f7e-7c0b-5a55-9c3b-3e1d6b1f6a52")


def third_party() -> Any:
    """scripts/third-party.py, which is a command and has no name that `import` takes."""
    name = "third_party"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / "third-party.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        # Its dataclasses look up their module while it is executed.
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


def spdx(expression: str) -> str:
    """A licence expression without the slash of older manifests."""
    return re.sub(r"\s*/\s*", " OR ", expression)


def checksums() -> dict[tuple[str, str], str]:
    """SHA-256 of the published packages, by name and version, as Cargo.lock has them."""
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))
    return {(p["name"], p["version"]): p["checksum"] for p in lock["package"] if "checksum" in p}


def crate_component(package: dict[str, Any], checksum: str | None) -> dict[str, Any]:
    """A crate as `cargo metadata` describes it."""
    purl = f"pkg:cargo/{package['name']}@{package['version']}"
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": purl,
        "name": package["name"],
        "version": package["version"],
        "scope": "required",
        "purl": purl,
    }
    if package["description"]:
        component["description"] = " ".join(package["description"].split())
    if package["license"]:
        component["licenses"] = [{"expression": spdx(package["license"])}]
    if checksum:
        component["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    if package["repository"]:
        component["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return component


def embedded_component(item: Any) -> dict[str, Any]:
    """A library in another language that is compiled in."""
    return {
        "type": "library",
        "bom-ref": f"embedded:{item.name}@{item.version}",
        "name": item.name,
        "version": item.version.strip(),
        "scope": "required",
        "licenses": [{"expression": spdx(item.licence.strip())}],
        "externalReferences": [{"type": "vcs", "url": item.repository}],
        "properties": [{"name": "fabricsim:within", "value": item.within}],
    }


def python_requirements() -> list[tuple[str, str, str | None]]:
    """Name, requirement and extra (`None`: always installed) of each Python dependency of users."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    # These extras are for the developers and are not installed with a release.
    extras = {k: v for k, v in project["optional-dependencies"].items() if k not in ("test", "docs", "dev")}
    given: list[tuple[str, str | None]] = [(text, None) for text in project["dependencies"]]
    given += [(text, extra) for extra, texts in extras.items() for text in texts]
    found = []
    for text, extra in given:
        match = re.fullmatch(r"([A-Za-z0-9._-]+)\s*(.*)", text)
        assert match is not None, text
        found.append((re.sub(r"[-_.]+", "-", match[1]).lower(), match[2], extra))
    return found


def python_components() -> list[dict[str, Any]]:
    """The Python dependencies. pip chooses their versions, so a component has the requirement instead."""
    by_name: dict[str, list[tuple[str, str | None]]] = {}
    for name, requirement, extra in python_requirements():
        by_name.setdefault(name, []).append((requirement, extra))
    return [
        {
            "type": "library",
            "bom-ref": f"pkg:pypi/{name}",
            "name": name,
            "scope": "required" if any(extra is None for _, extra in uses) else "optional",
            "purl": f"pkg:pypi/{name}",
            "properties": [
                {"name": f"fabricsim:requirement{'' if extra is None else f':{extra}'}", "value": requirement}
                for requirement, extra in uses
            ],
        }
        for name, uses in sorted(by_name.items())
    ]


def needs(resolved: Iterable[dict[str, Any]], references: dict[str, str]) -> dict[str, list[str]]:
    """What each linked crate is linked with. `references` has the crates by the package's identifier."""
    edges: dict[str, list[str]] = {}
    for node in resolved:
        if node["id"] in references:
            used = [
                references[dependency["pkg"]]
                for dependency in node["deps"]
                if dependency["pkg"] in references and any(k["kind"] is None for k in dependency["dep_kinds"])
            ]
            edges[references[node["id"]]] = sorted(set(used))
    return edges


def commit_time() -> str:
    """The time of the commit, in UTC; of sources without a repository the time of the manifest."""
    asked = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    seconds = float(asked.stdout.strip() or (ROOT / "Cargo.toml").stat().st_mtime)
    return datetime.datetime.fromtimestamp(int(seconds), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def document() -> dict[str, Any]:
    """The bill of materials.

    # Errors
    `ThirdPartyError` of scripts/third-party.py: cargo is missing or fails.
    """
    tools = third_party()
    described = json.loads(tools.cargo("metadata", "--all-features", "--format-version", "1"))
    linked = tools.linked()
    packages = [p for p in described["packages"] if (p["name"], p["version"]) in linked]
    sums = checksums()
    crates = [crate_component(p, sums.get((p["name"], p["version"]))) for p in packages]
    crates.sort(key=lambda component: component["bom-ref"])
    references = {p["id"]: f"pkg:cargo/{p['name']}@{p['version']}" for p in packages}
    embedded = [embedded_component(item) for item in tools.embedded_in(tools.shipped(tools.dependencies()))]
    python = python_components()
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    version = manifest["workspace"]["package"]["version"]
    root = f"pkg:pypi/fabricsim@{version}"
    of_root = sorted(f"pkg:cargo/{name}@{version}" for name in tools.RELEASED)
    graph = {
        root: of_root + [c["bom-ref"] for c in embedded] + [c["bom-ref"] for c in python],
        **needs(described["resolve"]["nodes"], references),
    }
    bill: dict[str, Any] = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": commit_time(),
            "tools": {"components": [{"type": "application", "name": "scripts/sbom.py", "version": version}]},
            "component": {
                "type": "application",
                "bom-ref": root,
                "name": "fabricsim",
                "version": version,
                "purl": root,
                "licenses": [{"expression": "Apache-2.0"}],
            },
        },
        "components": crates + embedded + python,
        "dependencies": [{"ref": ref, "dependsOn": used} for ref, used in graph.items()],
    }
    bill["serialNumber"] = f"urn:uuid:{uuid.uuid5(SERIAL_NUMBERS, json.dumps(bill, sort_keys=True))}"
    return bill


def text_of(bill: dict[str, Any]) -> str:
    """The file's content."""
    return json.dumps(bill, indent=1) + "\n"


def main(arguments: Sequence[str]) -> int:
    if len(arguments) > 1 or any(argument.startswith("-") for argument in arguments):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        text = text_of(document())
    except third_party().ThirdPartyError as error:
        print(f"sbom.py: {error}", file=sys.stderr)
        return 1
    if arguments:
        Path(arguments[0]).write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
