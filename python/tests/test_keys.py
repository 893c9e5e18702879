"""scripts/key-tables.py: types and defaults of the experiment page and of the classes are the registry's."""

from __future__ import annotations

import dataclasses
import importlib.util
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fabricsim

SCRIPT = Path(__file__).parents[2] / "scripts" / "key-tables.py"

pytestmark = pytest.mark.skipif(not SCRIPT.is_file(), reason="the sources are not here")

PAGE = "docs/formats/experiment.md"
EXPERIMENT = "python/fabricsim/experiment.py"
WORKLOAD = "python/fabricsim/workload.py"


@pytest.fixture(scope="module")
def script() -> Any:
    spec = importlib.util.spec_from_file_location("key_tables", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Its dataclasses look up their module while it is executed.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def keys(script: Any) -> list[Any]:
    return list(script.registry())


def text_of(script: Any, file: str) -> str:
    return str((script.ROOT / file).read_text(encoding="utf-8"))


def one(keys: list[Any], part: str, name: str) -> Any:
    return next(key for key in keys if key.part == part and key.facts["name"] == name)


def with_facts(keys: list[Any], part: str, name: str, **facts: Any) -> list[Any]:
    """The registry with other facts of a parameter; None removes a fact."""
    found = []
    for key in keys:
        if key.part == part and key.facts["name"] == name:
            merged = {fact: value for fact, value in (key.facts | facts).items() if value is not None}
            key = dataclasses.replace(key, facts=merged)
        found.append(key)
    assert found != keys
    return found


def with_key(script: Any, keys: list[Any], kind: str, part: str, **facts: Any) -> list[Any]:
    """The registry with another parameter."""
    parameter = {"name": "novel", "type": "size", "default": "3 KiB", "summary": "something new"}
    return [*keys, script.Key(kind, part, parameter | facts)]


def same(text: str) -> list[str]:
    """A text without its line breaks."""
    return text.split()


def test_page_and_classes_are_those_of_the_registry(script: Any, capsys: pytest.CaptureFixture[str]) -> None:
    ended = script.main(["--check"])
    assert ended == 0, capsys.readouterr().err


def test_every_parameter_of_the_registry_is_compared(script: Any, keys: list[Any]) -> None:
    parts = fabricsim.list_parts()
    count = {kind: sum(len(part.parameters) for part in listed) for kind, listed in parts.items()}
    assert script.mend(PAGE, text_of(script, PAGE), keys).keys == sum(count.values()) > 500
    modules = [file for file in script.files() if file != PAGE]
    compared = sum(script.mend(file, text_of(script, file), keys).keys for file in modules)
    assert compared == sum(count[kind] for kind in ("keys", "executors", "router-models", "nic-models")) > 100


def another(key: Any) -> Any:
    """A key with another constant default."""
    default = key.facts.get("default")
    if default is None:
        return key
    if key.choices:
        new = key.choices[(key.choices.index(default) + 1) % len(key.choices)]
    elif isinstance(default, bool):
        new = not default
    else:
        new = "7 us" if isinstance(default, str) else default + 7
    return dataclasses.replace(key, facts=key.facts | {"default": new})


@pytest.mark.parametrize("file", [PAGE, EXPERIMENT, WORKLOAD, "python/fabricsim/kinds.py"])
def test_every_changed_default_is_written_and_taken_back(script: Any, keys: list[Any], file: str) -> None:
    text = text_of(script, file)
    changed = [another(key) for key in keys]
    mended = script.mend(file, text, changed)
    # This meaning names only the choice that is not the default: the script cannot write the other one.
    by_hand = script.mend(file, mended.text, changed).findings
    assert len(by_hand) == (file == PAGE) and all("write the choices router" in each for each in by_hand)
    assert len(mended.findings) > {PAGE: 200, EXPERIMENT: 60, WORKLOAD: 9}.get(file, 0)
    assert same(script.mend(file, mended.text, keys).text) == same(text)


@pytest.mark.parametrize(
    ("part", "name", "facts", "row"),
    [
        # A constant.
        ("network", "packet", {"default": "512 B"}, '| `network.packet` | size | `"512 B"` | largest'),
        # One of several parts of a row; all of them but one; one key of several.
        (
            "sweep3d",
            "iterations",
            {"default": 5},
            "| whole number ≥ 1 | 1 (`crystal-router`: 100; `sweep3d`: 5) |",
        ),
        (
            "crystal-router",
            "iterations",
            {"default": 1},
            "`job.workload.iterations` | whole number ≥ 1 | 1 |",
        ),
        ("sweep3d", "nz", {"default": 70}, "`sweep3d`: 50, 50, 70)"),
        # Required, computed, constant.
        ("run", "warmup", {"default": None}, "| `run.warmup` | time | required |"),
        (
            "run",
            "warmup",
            {"default": None, "computed": "a tenth of it"},
            "| `run.warmup` | time | a tenth of it |",
        ),
        ("run", "until", {"default": "1 ms", "computed": None}, '| `run.until` | time | `"1 ms"` |'),
        ("job_trace", "file", {"default": "a.csv"}, '| `job_trace.file` | path | `"a.csv"` |'),
        # Another type; a narrower one of the page is kept only if it is one of it.
        ("run", "until", {"type": "size"}, "| `run.until` | size | none |"),
        ("network", "rails", {"type": "time"}, "| `network.rails` | time | 1 |"),
        ("run", "until", {"type": "time or auto"}, '| `run.until` | time or `"auto"` | none |'),
        (
            "collect",
            "waits",
            {"type": "list of integer"},
            "| `collect.waits` | list of whole numbers | false |",
        ),
    ],
)
def test_a_changed_parameter_is_found_and_mended(
    script: Any, keys: list[Any], part: str, name: str, facts: dict[str, Any], row: str
) -> None:
    changed = with_facts(keys, part, name, **facts)
    mended = script.mend(PAGE, text_of(script, PAGE), changed)
    assert row in mended.text
    assert len(mended.findings) == 1 and f".{name}`" in mended.findings[0].partition(":")[0]
    # A word such as auto is in the meaning, which is prose.
    left = script.mend(PAGE, mended.text, changed).findings
    assert not left or facts["type"] == "time or auto"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('| `network.packet` | size | `"256 B"` |', "| `network.packet` | size | 256 |"),
        ("| `run.watchdog` | time |", "| `run.watchdog` | whole number |"),
        ("| `collect.waits` | true or false | false |", "| `collect.waits` | true, false | `false` |"),
        ("| `network.topology.levels` | 2 to 8 | 3 |", "| `network.topology.levels` | 2 to 8 | 2 |"),
        ('(`allreduce`: `"8 B"`; `incast`', '(`allreduce`: `"9 B"`; `incast`'),
        (" 1 (`crystal-router`: 100) |", " 1 (`crystal-router`: 100; `nonesuch`: 7) |"),
    ],
)
def test_a_changed_row_is_mended(script: Any, keys: list[Any], old: str, new: str) -> None:
    text = text_of(script, PAGE)
    assert text.count(old) == 1
    mended = script.mend(PAGE, text.replace(old, new), keys)
    assert mended.findings and mended.text == text


@pytest.mark.parametrize(
    ("old", "new", "finding"),
    [
        # A constant of a key whose default follows from others; a choice that is not named.
        (
            "| `run.until` | time | none |",
            "| `run.until` | time | 5 |",
            "`run.until`: the default is none, not 5",
        ),
        (
            ', `"by-destination"` or `"by-rank"` |',
            " and others |",
            "write the choices by-destination, by-rank",
        ),
        # Keys and parts that the registry lacks.
        (
            "| `run.seed` |",
            "| `run.nonesuch` | text | none | x |\n| `run.seed` |",
            "the registry has no `run.nonesuch`",
        ),
        (
            "| **`hyperx`** |",
            "| `network.topology.q` | text | 1 | x |\n| **`hyperx`** |",
            "below graph: the registry has no",
        ),
        (
            "| **`hyperx`** |",
            "| **`nonesuch`** | | | x |\n| **`hyperx`** |",
            "names `nonesuch`, which is not",
        ),
        ("| `mpi.collectives.scan` |", "| `mpi.collectives.scam` |", "`mpi.collectives.scan` has no row"),
        ("| `mpi.collectives.scan` |", "| `mpi.collectives.scam` |", "has no `mpi.collectives.scam`"),
    ],
)
def test_what_does_not_belong_on_the_page_is_named(
    script: Any, keys: list[Any], old: str, new: str, finding: str
) -> None:
    text = text_of(script, PAGE)
    assert text.count(old) == 1
    findings = script.mend(PAGE, text.replace(old, new), keys).findings
    assert any(finding in each for each in findings), findings


@pytest.mark.parametrize(
    ("kind", "part", "before", "row"),
    [
        (
            "keys",
            "network",
            "`network.rail_stripe_threshold`",
            '| `network.novel` | size | `"3 KiB"` | something new |',
        ),
        ("keys", "run", "`run.credits`", '| `run.novel` | size | `"3 KiB"` | something new |'),
        (
            "executors",
            "optimistic",
            "`run.optimistic.memory`",
            '| `run.optimistic.novel` | size | `"3 KiB"` | s',
        ),
        (
            "topologies",
            "slim-fly",
            "half of the links",
            '| `network.topology.novel` | size | `"3 KiB"` | something',
        ),
        # Below a heading of several parts; below one that says that there are no parameters.
        (
            "routings",
            "par",
            "`ugal` only: virtual channels of a path",
            '| `network.routing.novel` | size | `"3 KiB"` | `par`: some',
        ),
        (
            "routings",
            "scatter",
            "| **`scatter`** | | | for `fat-tree` |",
            "| `network.routing.novel` | size |",
        ),
        # Parts without heading.
        (
            "placements",
            "clusters",
            "`job.placement.first`",
            '| `job.placement.novel` | size | `"3 KiB"` | `clusters`:',
        ),
        ("message-sizes", "file", "`job.traffic.message.file`", "| `job.traffic.message.novel` | size |"),
    ],
)
def test_a_new_key_gets_its_row(
    script: Any, keys: list[Any], kind: str, part: str, before: str, row: str
) -> None:
    changed = with_key(script, keys, kind, part)
    mended = script.mend(PAGE, text_of(script, PAGE), changed)
    assert len(mended.findings) == 1 and "novel` of" in mended.findings[0] or kind == "keys"
    lines = mended.text.splitlines()
    place = next(number for number, line in enumerate(lines) if ".novel`" in line)
    assert before in lines[place - 1] and lines[place].startswith(row)
    assert script.mend(PAGE, mended.text, changed) == script.Mended(mended.text, [], len(changed))


def test_the_row_of_a_new_key_names_its_choices(script: Any, keys: list[Any]) -> None:
    facts = {"type": "choice", "choices": ["red", "blue"], "default": "red"}
    changed = with_key(script, keys, "keys", "collect", **facts)
    mended = script.mend(PAGE, text_of(script, PAGE), changed)
    assert '| `collect.novel` | text | `"red"` | something new: `"red"`, `"blue"` |' in mended.text
    assert not script.mend(PAGE, mended.text, changed).findings


@pytest.mark.parametrize(
    ("kind", "part", "finding"),
    [
        ("topologies", "nonesuch", "`nonesuch` has no heading row"),
        ("keys", "nonesuch", "no table has keys of `nonesuch`"),
        ("nonesuch", "part", "has no table for parts of nonesuch"),
    ],
)
def test_a_key_without_a_place_is_named(
    script: Any, keys: list[Any], kind: str, part: str, finding: str
) -> None:
    text = text_of(script, PAGE)
    mended = script.mend(PAGE, text, with_key(script, keys, kind, part))
    assert mended.text == text and len(mended.findings) == 1 and finding in mended.findings[0]


@pytest.mark.parametrize(
    ("file", "part", "name", "facts", "written"),
    [
        (EXPERIMENT, "run", "seed", {"default": 5}, "placement, mapping (default: 5)."),
        (EXPERIMENT, "network.memory", "bandwidth", {"default": "5 Gbps"}, "100 Gbps; of memory: 5 Gbps)."),
        (EXPERIMENT, "run", "until", {"default": "1 s", "computed": None}, "a job of ranks (default: 1 s)."),
        (EXPERIMENT, "run", "seed", {"type": "time"}, "    seed: Time | None = None\n"),
        (
            EXPERIMENT,
            "run",
            "seed",
            {"type": "integer or never"},
            '    seed: int | Literal["never"] | None = None\n',
        ),
        (EXPERIMENT, "job_trace", "first", {"default": None}, "    first: int\n"),
        (EXPERIMENT, "network.traffic_class", "name", {"computed": "none"}, "    name: str | None = None\n"),
        (WORKLOAD, "job.workload.phases.over", "axes", {"type": "size"}, "    axes: Size | None = None\n"),
    ],
)
def test_a_field_follows_its_parameter(
    script: Any, keys: list[Any], file: str, part: str, name: str, facts: dict[str, Any], written: str
) -> None:
    changed = with_facts(keys, part, name, **facts)
    mended = script.mend(file, text_of(script, file), changed)
    assert " ".join(same(written)) in " ".join(same(mended.text)) and len(mended.findings) == 1
    compile(mended.text, file, "exec")
    assert not script.mend(file, mended.text, changed).findings


def test_choices_of_a_field_follow_its_parameter(script: Any, keys: list[Any]) -> None:
    changed = with_facts(keys, "job.workload.phases", "over", choices=["all", "some"])
    changed = with_facts(changed, "job.workload.phases", "collective", choices=["x" * 50, "y" * 50])
    mended = script.mend(WORKLOAD, text_of(script, WORKLOAD), changed)
    assert 'over : {"all", "some"} or Over\n' in mended.text
    assert '    over: Literal["all", "some"] | Over | Table | None = None\n' in mended.text
    assert f'collective : {{"{"x" * 50}", \\\n            "{"y" * 50}"}}\n' in mended.text
    compile(mended.text, WORKLOAD, "exec")
    assert not script.mend(WORKLOAD, mended.text, changed).findings
    taken_back = script.mend(WORKLOAD, mended.text, keys)
    assert not script.mend(WORKLOAD, taken_back.text, keys).findings


def test_a_new_key_gets_its_field(script: Any, keys: list[Any]) -> None:
    changed = with_key(script, keys, "keys", "network")
    mended = script.mend(EXPERIMENT, text_of(script, EXPERIMENT), changed)
    assert mended.findings == ["Network.novel is missing"]
    assert "\n    rail_stripe_threshold: Size | None = None\n    novel: Size | None = None\n\n" in mended.text
    documented = '    novel : Size, such as "4 KiB"\n        Something new (default: 3 KiB).\n    """\n'
    assert documented in mended.text
    compile(mended.text, EXPERIMENT, "exec")
    assert not script.mend(EXPERIMENT, mended.text, changed).findings


def test_a_field_that_the_registry_lacks_is_named(script: Any, keys: list[Any]) -> None:
    fewer = [key for key in keys if key.path != "run.watchdog"]
    findings = script.mend(EXPERIMENT, text_of(script, EXPERIMENT), fewer).findings
    assert findings == ["Run.watchdog is no key of the registry: remove it"]


@pytest.mark.parametrize("declared", ["seed: int | None = 1", "seed: int", "seed: str | None = None"])
def test_a_changed_field_is_mended(script: Any, keys: list[Any], declared: str) -> None:
    text = text_of(script, EXPERIMENT)
    changed = text.replace("    seed: int | None = None\n", f"    {declared}\n")
    assert changed != text
    mended = script.mend(EXPERIMENT, changed, keys)
    assert mended.text == text and len(mended.findings) == 1 and "Run.seed: " in mended.findings[0]


def test_a_field_without_documentation_is_named(script: Any, keys: list[Any]) -> None:
    text = text_of(script, EXPERIMENT)
    assert text.count("    seed : int\n") == 1
    mended = script.mend(EXPERIMENT, text.replace("    seed : int\n", "    seeds : int\n"), keys)
    assert mended.findings == ["Run.seed: write its meaning into the documentation of the class"]


@pytest.fixture
def copied(script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str, str], None]:
    """A function that replaces a text in a copy of a file, on which the script then works."""
    for file in script.files():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(script.ROOT / file, tmp_path / file)
    monkeypatch.setattr(script, "ROOT", tmp_path)

    def change(file: str, old: str, new: str) -> None:
        text = (tmp_path / file).read_text(encoding="utf-8")
        assert old in text
        (tmp_path / file).write_text(text.replace(old, new), encoding="utf-8")

    return change


def test_the_command_names_what_differs_and_writes_it(
    script: Any, copied: Callable[[str, str, str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    before = {file: text_of(script, file) for file in script.files()}
    copied(PAGE, '| `run.watchdog` | time | `"1 ms"` |', '| `run.watchdog` | time | `"2 ms"` |')
    copied(EXPERIMENT, "mapping (default: 1).", "mapping (default: 2).")
    changed = {file: text_of(script, file) for file in script.files()}
    assert script.main(["--check"]) == 1
    assert {file: text_of(script, file) for file in script.files()} == changed
    said = capsys.readouterr().err
    assert f'{PAGE}: `run.watchdog`: the default is `"1 ms"`, not `"2 ms"`' in said
    assert f"{EXPERIMENT}: Run.seed: the words 'default: 1', not 2" in said
    assert "'scripts/key-tables.py' writes" in said
    assert script.main([]) == 0
    assert {file: text_of(script, file) for file in script.files()} == before


def test_the_command_fails_where_it_cannot_mend(
    script: Any,
    keys: list[Any],
    copied: Callable[[str, str, str], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    copied(PAGE, "| `run.seed` |", "| `run.nonesuch` | text | none | x |\n| `run.seed` |")
    changed = with_key(script, keys, "keys", "network.novelty")
    monkeypatch.setattr(script, "registry", lambda: changed)
    assert script.main([]) == 1
    said = capsys.readouterr().err
    assert "`run.nonesuch`: the registry has no `run.nonesuch`: remove it" in said
    assert "`network.novelty.novel` has no class" in said
    assert "no table has keys of `network.novelty`: begin one" in said
