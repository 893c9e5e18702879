"""README and docs/: keys are complete, experiments are valid, commands and snippets run."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fabricsim
from fabricsim.simulate import build

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    page
    for page in [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "examples").glob("*.md"),
    ]
    if page.is_file()
)

# Pages without commands or experiments to run, whose links must lead somewhere, too.
OTHERS = [page for page in (ROOT / "ARCHITECTURE.md", ROOT / "benches/README.md") if page.is_file()]

pytestmark = pytest.mark.skipif(not PAGES, reason="the documentation is not here")


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of a page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


def saved_files(page: Path) -> dict[str, str]:
    """The TOML blocks that a page tells the reader to save, by file name."""
    saved = r"^Save this as `([\w.-]+)`:\n\n```toml\n(.*?)^```$"
    return dict(re.findall(saved, page.read_text(), re.MULTILINE | re.DOTALL))


def pages_with(language: str, word: str = "") -> list[Any]:
    """Pages with a block in this language that contains this word."""
    return [
        pytest.param(page, id=name(page))
        for page in PAGES
        if any(word in block for block in blocks(page, language))
    ]


def key_paths(value: Any, path: str = "") -> Iterator[str]:
    """All keys of an experiment in dots, jobs without numbers; arbitrary names in capitals."""
    # The page describes these tables with the keys of jobs.
    if path in ("job_trace.placement", "job_trace.application.workload", "job_trace.application.compute"):
        yield path
    elif isinstance(value, dict):
        for key, inner in value.items():
            if path in ("network.links", "power.links"):
                key = "CLASS"
            if path == "power.routers":
                key = "KIND"
            if path in ("job.workload.arguments", "job.compute.regions"):
                key = "NAME"
            if path == "mpi.collectives" and isinstance(inner, list):
                key = "COLLECTIVE"
            yield from key_paths(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for inner in value:
            yield from key_paths(inner, path)
    else:
        yield path


SMALL = {
    "dragonfly": ({"hosts_per_router": 1, "routers_per_group": 2, "global_links_per_router": 1}, "ugal"),
    "dragonfly-2d": (
        {"rows": 2, "columns": 2, "hosts_per_router": 1, "links_between_groups": 1, "groups": 2},
        "minimal",
    ),
    "dragonfly-plus": ({"hosts_per_leaf": 2, "leaves_per_group": 2, "global_links_per_spine": 1}, "minimal"),
    "express-mesh": ({"sizes": [5, 3], "gap": 2}, "minimal"),
    "fat-tree": ({"radix": 4}, "adaptive"),
    "graph": ({"edges": [[0, 1], [1, 2], [2, 0]]}, "minimal"),
    "hyperx": ({"shape": [3, 3]}, "minimal"),
    "mesh": ({"sizes": [3, 3]}, "dimension-order"),
    "slim-fly": ({"q": 3}, "minimal"),
    "torus": ({"sizes": [3, 3]}, "dimension-order"),
}


def small(topology: str) -> dict[str, Any]:
    """A small experiment on a topology."""
    parameters, routing = SMALL[topology]
    return {
        "network": {"topology": {"kind": topology, **parameters}, "routing": {"algorithm": routing}},
        "job": [{"traffic": {"pattern": "uniform", "load": 0.1}}],
        "run": {"until": "2 us"},
    }


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like the repository's root, for commands that write results."""
    folder = tmp_path_factory.mktemp("workshop")
    for entry in ("examples", "docs", "crates", "python"):
        if (ROOT / entry).exists():
            (folder / entry).symlink_to(ROOT / entry)
    return folder


class Commands:
    """Commands of pages. A run that has been made under another name is copied: both give the same result."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        # The folder of each run, by its command without that folder and the texts of the files that it reads.
        self.made: dict[str, str] = {}
        self.saved: dict[str, str] = {}

    def save(self, files: dict[str, str]) -> None:
        """The files that a page tells the reader to save."""
        for file, text in files.items():
            (self.folder / file).write_text(text)
        self.saved |= files

    def run(self, command: str, page: str) -> None:
        read = [text for file, text in self.saved.items() if file in command.split()]
        run = re.fullmatch(r"fabricsim run (.*) --out (\S+)", command)
        key = "\n".join([run[1] if run else command, *read])
        if run and key in self.made:
            if run[2] != self.made[key]:
                shutil.rmtree(self.folder / run[2], ignore_errors=True)
                shutil.copytree(self.folder / self.made[key], self.folder / run[2])
        else:
            done = subprocess.run(
                ["bash", "-c", command], cwd=self.folder, env=self.environment, capture_output=True, text=True
            )
            assert done.returncode == 0, f"{page}: {command}\n{done.stderr}"
        # Any command but a run may change a result, as `fabricsim explain` does.
        written = [out for out in self.made.values() if out in command]
        self.made = {other: out for other, out in self.made.items() if out not in written}
        if run:
            self.made[key] = run[2]


@pytest.fixture(scope="module")
def commands(workshop: Path) -> Commands:
    return Commands(workshop)


@pytest.fixture(scope="module")
def reads_otf2() -> bool:
    """Whether this build can read the recorded trace of the examples."""
    try:
        fabricsim.trace_info(ROOT / "examples/traces/otf2-lammps-melt-27")
    except fabricsim.TraceError as error:
        if "library" in str(error):
            return False
        raise
    return True


def test_every_key_of_an_experiment_is_documented(reads_otf2: bool) -> None:
    page = (ROOT / "docs/formats/experiment.md").read_text()
    known = set(re.findall(r"`([\w.-]+)`", page))
    assert set(SMALL) == {kind.name for kind in fabricsim.list_parts("topologies")}, "SMALL has them all"
    experiments: list[Any] = [small(topology) for topology in SMALL]
    for example in sorted((ROOT / "examples").glob("*.toml")):
        if reads_otf2 or "otf2" not in example.read_text():
            experiments.append(example)
    missing: dict[str, str] = {}
    for experiment in experiments:
        filled = fabricsim.check(experiment).experiment
        for path in key_paths(filled):
            if path not in known:
                missing[path] = str(experiment)
    assert not missing


def test_every_part_and_parameter_is_documented() -> None:
    page = (ROOT / "docs/formats/experiment.md").read_text()
    sections = {
        "topologies": "network.topology",
        "routings": "network.routing",
        "patterns": "job.traffic",
        "arrivals": "job.traffic",
        "message-sizes": "job.traffic.message",
        "motifs": "job.workload",
        "presets": "job.workload",
        "router-models": "network.router",
        "nic-models": "network.nic",
        "placements": "job.placement",
        "mappings": "job.mapping",
        "executors": "run.optimistic",
        "collectives": "mpi.collectives",
        "schedulers": "job_trace",
        "job-trace-formats": "job_trace",
    }
    missing = []
    parts = fabricsim.list_parts()
    for kind, listed in parts.items():
        for part in listed:
            for word in part.name.split("/") if kind != "keys" else ():
                if f"`{word}`" not in page and f'`"{word}"`' not in page and f".{word}`" not in page:
                    missing.append(f"{kind}: {part.name}")
            for parameter in (parameter.name for parameter in part.parameters):
                section = part.name if kind == "keys" else sections[kind]
                if f"`{section}.{parameter}`" not in page:
                    missing.append(f"{part.name}: {parameter}")
    assert not missing


def test_the_readme_counts_what_is_registered() -> None:
    parts = {kind: len(listed) for kind, listed in fabricsim.list_parts().items()}
    readme = (ROOT / "README.md").read_text()
    for count in [
        f"messages of {parts['collectives']} algorithms",
        # Stand-ins for applications are registered as motifs, and counted by themselves.
        f"{parts['motifs'] - parts['presets']} motifs from",
        f"synthetic traffic: {parts['patterns']} patterns",
        f"{parts['placements']} placements and {parts['mappings']} mappings",
    ]:
        assert count in readme, f"README.md does not say '{count}'"


def test_the_first_screen_of_the_readme_has_no_measurements() -> None:
    """What the program is comes first. Numbers have conditions, and these are further down."""
    screen = (ROOT / "README.md").read_text().partition("\n## ")[0]
    screen = re.sub(r"^```.*?^```|\]\([^)]*\)|Python 3\.\d+", "", screen, flags=re.MULTILINE | re.DOTALL)
    assert not re.findall(r"\S*\d\S*", screen)


def test_executors_are_those_that_are_registered() -> None:
    """The README has each, the glossary has them all in one row, and no page counts them."""
    executors = [part.name for part in fabricsim.list_parts("executors")]
    glossary = (ROOT / "docs/glossary.md").read_text()
    row = next(line for line in glossary.splitlines() if line.startswith("| executor |"))
    assert set(executors) == set(re.findall(r"`([a-z-]+)`", row))
    readme = (ROOT / "README.md").read_text()
    assert all(f"`{executor}`" in readme for executor in executors)
    counted = re.compile(r"\b(?:the|all) (?:three|four|six|seven) executors\b", re.IGNORECASE)
    assert not [name(page) for page in PAGES + OTHERS if counted.search(page.read_text())]


def test_pages_do_not_say_how_long_a_source_file_is() -> None:
    """Such a number is wrong after the next change, and no reader needs it."""
    said = re.compile(r"\.(?:rs|py)`[^.|]{0,40}\b\d+ lines")
    assert said.search("(`crates/des/src/sequential.rs`, some 160 lines)")
    assert not [name(page) for page in PAGES + OTHERS if said.search(page.read_text())]


@pytest.mark.parametrize("page", pages_with("toml", "[network]"))
def test_experiments_in_the_docs_are_valid(page: Path, tmp_path: Path) -> None:
    for block in blocks(page, "toml"):
        if "[network]" in block:
            file = tmp_path / "experiment.toml"
            file.write_text(block)
            if "preset = " in block.partition("[[job]]")[0]:
                # A part of a real machine is too large for the proof: only read.
                assert build(file, {}).settings()
            else:
                assert fabricsim.check(file).deadlock_free


# The guide has a test of its own, which also compares what the page quotes.
OTHER_PAGES = [page for page in pages_with("sh", "fabricsim ") if page.id != "docs/choose.md"]


def looks(command: str, folder: Path, environment: dict[str, str]) -> None:
    """Runs a command that runs until it is interrupted."""
    arguments = [*command.split(), "--no-browser"]
    view = subprocess.Popen(arguments, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
    assert view.stdout and view.stdout.readline().startswith("http://127.0.0.1:"), command
    view.send_signal(signal.SIGINT)
    assert view.wait(timeout=60) == 0, command


@pytest.mark.parametrize(
    "page", [page for page in pages_with("sh", "fabricsim ") if page.id != "docs/choose.md"]
)
def test_commands_in_the_docs_run(page: Path, commands: Commands, reads_otf2: bool) -> None:
    """The commands of a page run from top to bottom, on the files that the page tells the reader to save."""
    if not reads_otf2:
        pytest.skip("this build reads no OTF2")
    commands.save(saved_files(page))
    for block in blocks(page, "sh"):
        for command in block.splitlines():
            if command.startswith("fabricsim view "):
                looks(command, commands.folder, commands.environment)
            elif command.startswith("fabricsim "):
                commands.run(command, name(page))


def test_the_guide_quotes_its_answer(workshop: Path, commands: Commands, reads_otf2: bool) -> None:
    """The decision on the page is what its commands print."""
    page = ROOT / "docs/choose.md"
    test_commands_in_the_docs_run(page, commands, reads_otf2)
    answer = json.loads((workshop / "results/choose/sweep.json").read_text())["answer"]
    quoted = re.findall(r"^> (.+)$", page.read_text(), re.MULTILINE)
    assert quoted == answer
    assert (workshop / "results/choose/figures/01-cost-against-performance.svg").is_file()


def test_the_quickstart_runs_the_file_that_it_saves() -> None:
    page = ROOT / "docs/quickstart.md"
    commands = "".join(blocks(page, "sh"))
    files = saved_files(page)
    assert files
    for file in files:
        assert f"fabricsim check {file}\n" in commands
        assert f"fabricsim run {file} " in commands


@pytest.mark.parametrize("page", pages_with("python"))
def test_snippets_in_the_docs_run(
    page: Path, workshop: Path, reads_otf2: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The blocks of a page run one after the other, like a notebook."""
    if not reads_otf2:
        pytest.skip("this build reads no OTF2")
    monkeypatch.chdir(workshop)
    monkeypatch.setattr("webbrowser.open", lambda *_: True)
    names: dict[str, Any] = {"__name__": name(page)}
    for number, block in enumerate(blocks(page, "python"), start=1):
        exec(compile(block, f"{name(page)}, snippet {number}", "exec"), names)


def test_the_table_of_the_readme_is_what_the_demo_prints(commands: Commands, reads_otf2: bool) -> None:
    if not reads_otf2:
        pytest.skip("this build reads no OTF2")
    names = ["lammps-fat-tree", "lammps-dragonfly"]
    results = {}
    for each in names:
        commands.run(f"fabricsim run examples/{each}.toml --out results/{each}", "scripts/demo.sh")
        results[each] = fabricsim.load(commands.folder / f"results/{each}")
    table = str(fabricsim.compare(results)).partition("\nrun ")[0]
    shown = blocks(ROOT / "README.md", "text")
    assert table + "\n" in shown, f"the model has changed; put this into README.md:\n{table}"


@pytest.mark.parametrize("page", [pytest.param(page, id=name(page)) for page in PAGES + OTHERS])
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        file = page if not path else (page.parent / path)
        assert file.exists(), f"{name(page)} links to {target}"
        if anchor and file.suffix == ".md":
            headings = re.findall(r"^#+ (.*)$", file.read_text(), re.MULTILINE)
            anchors = {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings}
            assert anchor in anchors, f"{name(page)} links to {target}; there are {sorted(anchors)}"
