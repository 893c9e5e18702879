"""Recipes of packaging/ and the workflow of wheels: what they name is what the manifests have.

Only the source distribution is made here: no test has a daemon for containers, Spack or EasyBuild.
"""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

tomllib = pytest.importorskip("tomllib", reason="reading manifests needs Python 3.11")

ROOT = Path(__file__).parents[2]
PACKAGING = ROOT / "packaging"
CONTAINERFILE = PACKAGING / "Containerfile"
SPACK = PACKAGING / "spack" / "package.py"
WHEELS = ROOT / ".github" / "workflows" / "wheels.yml"

pytestmark = pytest.mark.skipif(not PACKAGING.is_dir(), reason="the sources are not here")


def manifest() -> dict[str, Any]:
    package: dict[str, Any] = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]
    return package


def project() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return found


def requirements(texts: list[str]) -> dict[str, str]:
    """The least version of each package, by name."""
    found = {}
    for text in texts:
        match = re.match(r"([\w.-]+)>=([\d.]+)", text)
        assert match, text
        found[match[1]] = match[2]
    return found


def easyconfig() -> tuple[Path, dict[str, Any]]:
    """The values of the recipe. Its names are those of EasyBuild, such as SOURCE_TAR_GZ."""
    (file,) = (PACKAGING / "easybuild").glob("*.eb")
    values: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), {}, values)
    return file, values


@pytest.mark.parametrize(
    "file", [CONTAINERFILE, SPACK, WHEELS, ROOT / "Makefile"], ids=lambda file: file.name
)
def test_packages_of_cargo_exist(file: Path) -> None:
    names = set(re.findall(r"fabricsim-(?:lib|rank-c)[\w-]+", file.read_text()))
    assert names == {"fabricsim-libmpi", "fabricsim-libmpi-abi", "fabricsim-rank-clock"}
    known = {tomllib.loads(f.read_text())["package"]["name"] for f in ROOT.glob("crates/*/Cargo.toml")}
    assert names <= known


def test_the_source_distribution_has_the_libraries_of_real_programs() -> None:
    included = {i["path"] for i in project()["tool"]["maturin"]["include"] if i["format"] == "sdist"}
    assert {
        f"crates/{name}/**/*" for name in ("libmpi", "libmpi-abi", "libmpi-core", "rank-clock")
    } == included


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The source distribution, made twice."""
    beside = Path(sys.executable).with_name("maturin")
    maturin = str(beside) if beside.is_file() else shutil.which("maturin")
    if maturin is None or shutil.which("cargo") is None:
        pytest.skip("maturin and cargo make the source distribution")
    found = []
    for name in ("first", "second"):
        folder = tmp_path_factory.mktemp(name)
        done = subprocess.run(
            [maturin, "sdist", "--out", str(folder)], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        found += folder.iterdir()
    return found


def test_the_same_sources_make_the_same_distribution(distributions: list[Path]) -> None:
    first, second = (file.read_bytes() for file in distributions)
    assert first == second


def test_the_source_distribution_is_a_workspace_with_all_crates(
    distributions: list[Path], tmp_path: Path
) -> None:
    with tarfile.open(distributions[0]) as archive:
        archive.extractall(tmp_path, filter="data")
    (root,) = tmp_path.iterdir()
    assert root.name == f"fabricsim-{manifest()['version']}"
    assert {"Cargo.lock", "LICENSE", "THIRD-PARTY.md", "pyproject.toml"} <= {f.name for f in root.iterdir()}
    assert not list(root.rglob("*.so")), "what is compiled is no source"
    # `--locked`: the lock file fits the crates that are there.
    command = ["cargo", "metadata", "--no-deps", "--offline", "--locked", "--format-version", "1"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    there = {package["name"] for package in json.loads(done.stdout)["packages"]}
    assert there == {
        tomllib.loads(f.read_text())["package"]["name"] for f in ROOT.glob("crates/*/Cargo.toml")
    }
    # Files that code includes by macros lie where they are in the repository.
    for crate in ("view/assets", "experiment/presets", "libmpi/include"):
        kept = {f.relative_to(ROOT) for f in (ROOT / "crates" / crate).rglob("*") if f.is_file()}
        assert kept and kept <= {f.relative_to(root) for f in root.rglob("*")}, crate


def test_the_container_has_version_compiler_and_steps_that_exist() -> None:
    text = CONTAINERFILE.read_text()
    assert re.findall(r"^ARG VERSION=(.+)$", text, re.MULTILINE) == [manifest()["version"]]
    (rust,) = re.findall(r"library/rust:([\d.]+)-", text)
    assert rust == manifest()["rust-version"]
    stages = re.findall(r"^FROM \S+ AS (\S+)$", text, re.MULTILINE)
    assert set(re.findall(r"from=(\w+)", text)) <= set(stages)
    # A line that goes on, and the next one: no instruction begins inside of another.
    instructions = re.sub(r"\\\n", " ", text)
    known = {"ARG", "CMD", "COPY", "ENTRYPOINT", "FROM", "RUN", "USER", "WORKDIR"}
    lines = [line for line in instructions.splitlines() if line and not line.startswith("#")]
    assert {line.split()[0] for line in lines} <= known
    (extras,) = re.findall(r"\.whl\)\[([\w,]+)\]", text)
    assert set(extras.split(",")) <= set(project()["project"]["optional-dependencies"])


def test_the_recipe_for_spack_has_the_dependencies_of_the_package() -> None:
    tree = ast.parse(SPACK.read_text())
    (recipe,) = (node for node in tree.body if isinstance(node, ast.ClassDef))
    assert recipe.name == "PyFabricsim"
    calls = [
        node for node in ast.walk(recipe) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]

    def first(name: str) -> list[Any]:
        return [
            ast.literal_eval(c.args[0]) for c in calls if isinstance(c.func, ast.Name) and c.func.id == name
        ]

    assert first("version") == [manifest()["version"]]
    assert first("license") == [manifest()["license"]]
    needed = dict(text.partition("@")[::2] for text in first("depends_on"))
    assert needed["rust"] == f"{manifest()['rust-version']}:"
    assert needed["python"] == project()["project"]["requires-python"].removeprefix(">=") + ":"
    assert f"maturin>={needed['py-maturin'].partition(':')[0]},<2" in project()["build-system"]["requires"]
    extras = project()["project"]["optional-dependencies"]
    variants = [name for name in first("variant") if name != "otf2"]
    assert set(variants) <= set(extras)
    python = requirements([*project()["project"]["dependencies"], *(t for v in variants for t in extras[v])])
    of_spack = {name.removeprefix("py-"): least for name, least in needed.items() if name.startswith("py-")}
    assert {name: f"{least}:" for name, least in python.items()} == {
        name: least for name, least in of_spack.items() if name != "maturin"
    }


def test_the_recipe_for_easybuild_has_dependencies_that_are_new_enough() -> None:
    file, values = easyconfig()
    toolchain = values["toolchain"]
    assert file.name == f"fabricsim-{manifest()['version']}-{toolchain['name']}-{toolchain['version']}.eb"
    assert (values["name"], values["version"]) == ("fabricsim", manifest()["version"])
    given = dict(values["builddependencies"] + values["dependencies"])
    extensions = {name: version for name, version, *_ in values["exts_list"]}
    assert extensions["fabricsim"] == manifest()["version"]

    def number(version: str) -> list[int]:
        return [int(part) for part in version.split(".")]

    python = requirements(project()["project"]["dependencies"])
    # A module of EasyBuild for Python from 3.11 on; the other names are those of its modules.
    assert python.pop("tomli") and number(given["Python"]) >= [3, 11]
    names = {"pyarrow": "Arrow", "tomli-w": "tomli_w", "tqdm": "tqdm"}
    assert set(names) == set(python)
    for name, least in python.items():
        assert number((given | extensions)[names[name]]) >= number(least), name
    assert number(given["Rust"]) >= number(manifest()["rust-version"])
    assert number(given["maturin"]) >= [1, 9]
    for _, _, options in (extension for extension in values["exts_list"] if extension[0] != "fabricsim"):
        assert all(re.fullmatch("[0-9a-f]{64}", checksum) for checksum in options["checksums"])


def test_wheels_are_built_for_the_systems_whose_dependencies_are_checked() -> None:
    """scripts/third-party.py lists the crates of these systems. musl and glibc have the same crates."""
    text = WHEELS.read_text()
    targets = set(re.findall(r"- target: (\S+)", text)) | {
        target for line in re.findall(r"target: \[(.+)\]", text) for target in line.split(", ")
    }
    (listed,) = re.findall(
        r"^SYSTEMS = \((.+?)\)$", (ROOT / "scripts/third-party.py").read_text(), re.MULTILINE | re.DOTALL
    )
    systems = set(re.findall(r'"(\S+)"', listed))
    assert {target.replace("-musl", "-gnu") for target in targets} == systems
    assert {target for target in targets if target.endswith("-musl")} == {
        "x86_64-unknown-linux-musl",
        "aarch64-unknown-linux-musl",
    }


def test_the_oldest_rust_is_that_of_the_manifest_everywhere() -> None:
    least = manifest()["rust-version"]
    workflow = (ROOT / ".github/workflows/test.yml").read_text()
    (pattern,) = re.findall(r"sed -n 's/(\^rust-version = .+?)/\\1/p' Cargo.toml", workflow)
    found = re.findall(
        pattern.replace(r"\(", "(").replace(r"\)", ")"), (ROOT / "Cargo.toml").read_text(), re.M
    )
    assert found == [least]
    for page in ("CONTRIBUTING.md", "scripts/install-packages.sh", "scripts/third-party.py"):
        assert f"Rust {least}" in (ROOT / page).read_text(), page
