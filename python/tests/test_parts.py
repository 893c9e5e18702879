"""Classes of experiments against the registries of the simulation core and docs/formats/experiment.md.

A new part, parameter or key without a class or field fails these tests.
"""

from __future__ import annotations

import dataclasses
import inspect
import os
import re
import sys
import typing
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import pytest
from part_stubs import stub, stub_path

import fabricsim
from fabricsim import (
    arrival,
    experiment,
    kinds,
    mapping,
    message,
    motif,
    placement,
    routing,
    topology,
    traffic,
)
from fabricsim import workload as workloads
from fabricsim.part import Part, _alternatives, field_hints

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/formats/experiment.md"
FILES = sorted([*(ROOT / "tests/corpus").glob("*.toml"), *(ROOT / "examples").glob("*.toml")])

# Modules whose classes the registry makes, with the kind of their parts.
MADE = {
    topology: kinds.Topology,
    routing: kinds.Routing,
    traffic: kinds.Pattern,
    arrival: kinds.Arrival,
    message: kinds.MessageSize,
    motif: kinds.Motif,
    placement: kinds.Placement,
    mapping: kinds.RankMapping,
}
BASES: dict[str, type[Part]] = {base.part_kind: base for base in (*MADE.values(), workloads.Source)}
# Fields of a kind rather than parameters of a part.
COMMON = {"patterns": {"load", "arrival", "message"}, "trace-formats": {"path", "clock", "runtime_logs"}}
CLASSES: list[type] = [
    getattr(experiment, name) for name in experiment.__all__ if name not in ("ExperimentLike", "dumps")
] + [part for base in BASES.values() for part in base.parts.values()]


def names(kind: str) -> set[str]:
    return {part.name for part in fabricsim.list_parts(kind)}


def values(hint: Any) -> set[Any]:
    """The literals of a type."""
    return {
        value
        for member in _alternatives(hint)
        if typing.get_origin(member) is Literal
        for value in typing.get_args(member)
    }


def test_every_kind_of_parts_is_tested_here() -> None:
    # Presets are motifs too.
    others = {"collectives", "executors", "keys", "mpi-presets", "presets", "router-models", "nic-models"}
    # Names only.
    others |= {"schedulers", "job-trace-formats", "machines", "hardware"}
    assert set(fabricsim.list_parts()) == set(BASES) | others


@pytest.mark.parametrize("module", MADE, ids=lambda module: module.__name__)
def test_stubs_are_those_of_the_registry(module: ModuleType) -> None:
    pytest.importorskip("ruff", reason="ruff comes with the extra dev")
    file, text = stub_path(module.__name__), stub(module.__name__, MADE[module])
    if os.environ.get("UPDATE_EXPECTED"):
        file.write_text(text, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == text, f"{file.name}: UPDATE_EXPECTED=1 makes it again"


@pytest.mark.parametrize("kind", BASES)
def test_every_registered_part_has_a_class_with_its_parameters(kind: str) -> None:
    parts = fabricsim.list_parts(kind)
    registered = {part.name: {parameter.name for parameter in part.parameters} for part in parts}
    typed = {
        name: set(part.parameters()) - COMMON.get(kind, set()) for name, part in BASES[kind].parts.items()
    }
    if kind == "trace-formats":
        # Programs are no trace formats.
        assert typed.pop("command") == {"ranks", "compute", "clocks"}
        assert typed.pop("python") == {"ranks", "function", "arguments", "reacts"}
        # Windows are the same for all recordings, so that they are keys of their own.
        for recording in ("dumpi", "liballprof", "otf2"):
            typed[recording].remove("window")
    assert typed == registered


def shown(parameter: Any) -> str | None:
    """A constant default as text; None if there is none."""
    default = parameter.get("default")
    return str(default).lower() if isinstance(default, bool) else None if default is None else str(default)


@pytest.mark.parametrize("kind", BASES)
def test_types_and_defaults_of_fields_are_those_of_the_registry(kind: str) -> None:
    for part in fabricsim.list_parts(kind):
        cls = BASES[kind].parts[part.name]
        hints = field_hints(cls)
        needed = {field.name for field in dataclasses.fields(cls) if field.default is dataclasses.MISSING}
        text = inspect.getdoc(cls) or ""
        for parameter in part.parameters:
            name = f"{cls.__name__}.{parameter.name}"
            required = "default" not in parameter and "computed" not in parameter
            assert (parameter.name in needed) == required, name
            choices = {value for value in values(hints[parameter.name]) if isinstance(value, str)}
            assert choices == set(parameter.get("choices", ())), name
            written = re.search(rf"^{parameter.name} : .*\n((?:    .*\n?)+)", text, re.MULTILINE)
            assert written, name
            if (default := shown(parameter)) is not None:
                described = " ".join(written[1].split())
                assert re.search(rf'default:? "?{re.escape(default)}\b', described), name


@pytest.mark.parametrize("kind", BASES)
def test_a_class_is_named_after_its_part(kind: str) -> None:
    for name, part in BASES[kind].parts.items():
        module = sys.modules[part.__module__]
        assert part.__name__ == "".join(word.capitalize() for word in name.split("-"))
        assert part.__name__ in module.__all__
        assert getattr(module, part.__name__) is part


def test_names_without_a_class_are_those_of_the_registries() -> None:
    assert values(field_hints(experiment.Router)["model"]) == names("router-models")
    assert values(field_hints(experiment.Nic)["model"]) == names("nic-models")
    assert values(field_hints(experiment.Run)["executor"]) == names("executors")
    assert values(field_hints(experiment.Mpi)["preset"]) == names("mpi-presets")
    arrivals = values(field_hints(traffic.Uniform)["arrival"])
    assert arrivals == names("arrivals")
    for kind, hint in (("placements", "placement"), ("mappings", "mapping")):
        simple = {part.name for part in fabricsim.list_parts(kind) if not part.parameters}
        assert simple <= values(field_hints(experiment.Job)[hint]) <= names(kind)
    parameters = {
        parameter.name for part in fabricsim.list_parts("router-models") for parameter in part.parameters
    }
    assert parameters <= set(field_hints(experiment.Router))
    for executor in fabricsim.list_parts("executors"):
        for parameter in executor.parameters:
            assert parameter.name in field_hints(experiment.Optimistic)


def test_every_algorithm_of_a_collective_is_a_name_of_its_field() -> None:
    algorithms: dict[str, set[str]] = {}
    for part in fabricsim.list_parts("collectives"):
        collective, _, algorithm = part.name.partition("/")
        algorithms.setdefault(collective.replace("-", "_"), set()).add(algorithm)
    # Variants with a vector of counts have a subset of the algorithms of the others.
    hints = field_hints(experiment.Collectives)
    for collective, hint in hints.items():
        known = algorithms.get(collective) or algorithms[collective.removesuffix("v")]
        assert values(hint) <= known
        if collective in algorithms:
            assert values(hint) == known
    assert set(algorithms) <= set(hints)


@pytest.mark.parametrize(
    "cls", CLASSES, ids=lambda cls: f"{cls.__module__.rpartition('.')[2]}.{cls.__name__}"
)
def test_every_field_is_documented_and_quantities_have_an_example(cls: type) -> None:
    text = inspect.getdoc(cls) or ""
    assert len(text.splitlines()[0]) > 10
    described = dict(re.findall(r"^(\w+) : (.*)$", text, re.MULTILINE))
    fields = [field.name for field in dataclasses.fields(cls)]
    assert list(described) == [name for name in described if name in fields], "in no other order"
    assert set(described) == set(fields)
    source = inspect.get_annotations(cls)
    for name, hint in source.items():
        # The classes that the registry makes have types in place of texts, and always an example.
        written = isinstance(hint, str) and name in described and "Mapping" not in hint
        if written and re.search(r"\b(Time|Size|Rate)\b", hint):
            assert "such as" in described[name], f"{cls.__name__}.{name} shows no unit"


# The keys of the page


# Tables that are those of a job, which the page describes there.
AS_IN_JOBS = [
    "job_trace.placement",
    *(f"job_trace.application.{name}" for name in ("workload", "compute", "mapping")),
]
# Names of arbitrary keys, by the table; elsewhere NAME.
ARBITRARY = {"network.links": "CLASS", "power.links": "CLASS", "power.routers": "KIND"}


# Arrays of tables beside those of jobs.
TABLES = (experiment.Routers, experiment.TraceApplication, experiment.TrafficClass)


def paths(hint: Any, path: str) -> Iterator[str]:
    """The keys that fields of this type reach, as the page writes them."""
    if path in AS_IN_JOBS:
        yield path
        return
    for member in _alternatives(hint):
        origin = typing.get_origin(member)
        if origin is Mapping:
            item = typing.get_args(member)[1]
            # A plain table can replace a class.
            if item is not Any:
                yield from paths(item, f"{path}.{ARBITRARY.get(path, 'NAME')}")
            elif path == "job.workload.arguments":
                yield f"{path}.NAME"
        elif origin is Sequence and any(
            member is experiment.Rule for member in _alternatives(typing.get_args(member)[0])
        ):
            yield from paths(experiment.Rule, "mpi.collectives.COLLECTIVE")
        elif origin is Sequence and (
            table := next(
                (one for one in TABLES if one in _alternatives(typing.get_args(member)[0])),
                None,
            )
        ):
            yield from paths(table, path)
        elif origin is Sequence and workloads.Phase in _alternatives(typing.get_args(member)[0]):
            yield path
            # A motif can be a phase, and phases contain phases.
            if not path.endswith(".phases.phases"):
                yield f"{path}.{kinds.Motif.part_key}"
                yield from paths(workloads.Phase, path)
        elif isinstance(member, type) and issubclass(member, Part):
            yield from parts_of(member, path)
        elif member is fabricsim.Program:
            continue
        elif dataclasses.is_dataclass(member):
            for name, inner in field_hints(typing.cast(type, member)).items():
                key = name.replace("_", "-") if member is experiment.Collectives else name
                key = {"jobs": "job", "applications": "application", "from_": "from"}.get(key, key)
                # The number of jobs of a trace.
                key = "jobs" if member is experiment.JobTrace and name == "jobs" else key
                yield from paths(inner, f"{path}.{key}" if path else key)
        elif member is not type(None):
            yield path


def parts_of(base: type[Part], path: str) -> Iterator[str]:
    inner = path.rpartition(".")[0] if base is arrival.Arrival else path
    if base is not workloads.Source:
        yield f"{inner}.{base.part_key}"
    for name, part in base.parts.items():
        for field, hint in field_hints(part).items():
            key = name if base is workloads.Source and field == "path" else field
            yield from paths(hint, f"{inner}.{key}")


def documented() -> dict[str, str]:
    """The keys of the page with the rows that describe them."""
    rows: dict[str, str] = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("| `"):
            for key in re.findall(r"`([\w.-]+)`", line.split(" | ")[0]):
                if "." in key:
                    rows[key] = rows.get(key, "") + line
    return rows


def reachable() -> set[str]:
    found = set()
    for name, hint in field_hints(experiment.Experiment).items():
        if name == "jobs":
            found |= set(paths(experiment.Job, "job"))
        else:
            found |= set(paths(hint, name))
    return found


@pytest.mark.skipif(not PAGE.is_file(), reason="the documentation is not here")
def test_every_documented_key_is_a_field() -> None:
    missing = set(documented()) - reachable()
    assert not missing


@pytest.mark.skipif(not PAGE.is_file(), reason="the documentation is not here")
def test_every_field_is_a_documented_key() -> None:
    assert not reachable() - set(documented())


@pytest.mark.skipif(not PAGE.is_file(), reason="the documentation is not here")
def test_the_values_that_a_field_names_are_documented() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for cls in CLASSES:
        for name, hint in field_hints(cls).items():
            for value in values(hint):
                shown = f'`"{value}"`' in page or f"`{value}`" in page or f" {value} " in page
                assert shown, f"{cls.__name__}.{name}: {value}"


# Files


@pytest.mark.skipif(not FILES, reason="the corpus is not here")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_file_is_the_same_as_a_typed_object(file: Path) -> None:
    tables = tomllib.loads(file.read_text(encoding="utf-8"))
    typed = fabricsim.Experiment.from_dict(tables)
    assert typed.to_dict() == tables
    assert list(untyped(typed)) == []
    # The same with all defaults, as results have it.
    try:
        filled = fabricsim.check(file).experiment
    except fabricsim.TraceError as error:
        assert "library" in str(error), error
        return
    typed = fabricsim.Experiment.from_dict(filled)
    assert typed.to_dict() == filled
    assert list(untyped(typed)) == []


def test_phases_are_typed_at_every_depth() -> None:
    inner = [{"collective": "alltoall", "bytes": "4 KiB", "over": {"axes": [0], "grid": [4, 2]}}]
    table = {
        "motif": "phases",
        "ranks": 8,
        "phases": [{"motif": "halo3d", "nx": 4}, {"phases": inner, "iterations": 3}, {"compute": "1 us"}],
    }
    job = {"workload": table}
    typed = fabricsim.Experiment.from_dict({"network": {"topology": {"kind": "torus"}}, "job": [job]})
    found = typed.jobs[0].workload  # type: ignore[union-attr]
    over = workloads.Over(axes=[0], grid=[4, 2])
    alltoall = workloads.Phase(collective="alltoall", bytes="4 KiB", over=over)
    assert found == motif.Phases(
        ranks=8,
        phases=[
            motif.Halo3d(nx=4),
            workloads.Phase(iterations=3, phases=[alltoall]),
            workloads.Phase(compute="1 us"),
        ],
    )
    assert typed.to_dict()["job"] == [job]


def untyped(value: Any, path: str = "") -> Iterator[str]:
    """Tables in a typed object without a class, except those with arbitrary keys."""
    if isinstance(value, Mapping):
        # Motifs of a job trace have no ranks, so they are tables.
        if path == ".job_trace.applications.workload":
            return
        if path.rpartition(".")[2] not in ("links", "regions", "arguments", "routers"):
            yield path
        for key, item in value.items():
            yield from untyped(item, f"{path}.{key}")
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from untyped(item, path)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from untyped(getattr(value, field.name), f"{path}.{field.name}")


@pytest.mark.skipif(not FILES, reason="the corpus is not here")
def test_a_file_that_is_loaded_finds_what_lies_beside_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    file = ROOT / "examples/ring-goal.toml"
    typed = fabricsim.Experiment.load(file)
    assert isinstance(typed.jobs[0], fabricsim.Job)
    assert isinstance(typed.jobs[0].workload, workloads.Goal)
    assert Path(typed.jobs[0].workload.path).is_absolute()
    assert fabricsim.run(typed).digest == fabricsim.run(file).digest


def test_what_is_no_file_or_no_experiment_says_so(tmp_path: Path) -> None:
    with pytest.raises(fabricsim.ExperimentError, match="No such file"):
        fabricsim.Experiment.load(tmp_path / "nothing.toml")
    (tmp_path / "wrong.toml").write_text("network = {")
    with pytest.raises(fabricsim.ExperimentError, match="wrong.toml"):
        fabricsim.Experiment.load(tmp_path / "wrong.toml")
    for wrong in ({}, {"network": {}}, {"network": {}, "job": 7}, {"network": {}, "job": [], "netwrok": {}}):
        with pytest.raises(fabricsim.ExperimentError):
            fabricsim.Experiment.from_dict(wrong)


def test_a_key_that_is_not_known_reaches_the_core(traffic: dict[str, Any]) -> None:
    traffic["network"]["topology"]["sices"] = [4, 4]
    typed = fabricsim.Experiment.from_dict(traffic)
    with pytest.raises(fabricsim.ExperimentError, match="did you mean 'sizes'"):
        fabricsim.check(typed)


# Through the core


def small_network(**parts: Any) -> fabricsim.Network:
    return fabricsim.Network(
        **{"topology": topology.Torus(sizes=[4, 4]), "routing": routing.DimensionOrder(), **parts}
    )


@pytest.mark.parametrize("name", sorted(placement.Placement.parts))
def test_placements_reach_the_core(name: str, tmp_path: Path) -> None:
    (tmp_path / "hosts.txt").write_text("3\n1\n2\n0\n")
    given: dict[str, dict[str, Any]] = {
        "clusters": {"size": 2},
        "file": {"file": tmp_path / "hosts.txt"},
        "hostlist": {"hostlist": "nid[0000-0003]"},
        "round-robin": {"over": "routers"},
    }
    part = placement.Placement.parts[name](**given.get(name, {}))
    if name == "random-groups":
        pytest.skip("a torus has no groups")
    job = fabricsim.Job(workload=motif.Allreduce(ranks=4), placement=typing.cast(Any, part))
    asked = fabricsim.check(fabricsim.Experiment(network=small_network(), jobs=[job])).experiment
    found = asked.job[0].placement
    assert name in (found if isinstance(found, str) else [found.get("kind"), *found])


def test_arrivals_and_sizes_stand_where_the_file_has_them() -> None:
    pattern = traffic_of(
        arrival=arrival.OnOff(burst="2 us", peak=0.8),
        message=message.Bimodal(small="64 B", large="4 KiB", large_share=0.25),
    )
    asked = fabricsim.check(pattern).experiment.job[0].traffic
    assert (asked.arrival, asked.burst, asked.peak) == ("on-off", "2 us", 0.8)
    assert asked.message == {
        "distribution": "bimodal",
        "small": "64 B",
        "large": "4 KiB",
        "large_share": 0.25,
    }


def traffic_of(**parts: Any) -> fabricsim.Experiment:
    return fabricsim.Experiment(
        network=small_network(),
        jobs=[fabricsim.Job(traffic=traffic.Uniform(load=0.2, **parts))],
        run=fabricsim.Run(until="5 us"),
    )


def test_an_object_shows_what_was_given() -> None:
    network = fabricsim.Network(topology=topology.Torus(sizes=[4, 4]), routing=routing.DimensionOrder())
    assert repr(network) == "Network(topology=Torus(sizes=[4, 4]), routing=DimensionOrder())"
    names = {**vars(fabricsim), **vars(topology), **vars(routing)}
    assert eval(repr(network), names) == network


def test_rules_for_collectives_reach_the_core() -> None:
    rules = [
        fabricsim.Rule(algorithm="bruck", below="1 KiB"),
        fabricsim.Rule(algorithm="recursive-doubling", power_of_two=True, ranks_below=64),
        fabricsim.Rule(algorithm="ring"),
    ]
    asked = fabricsim.Experiment(
        network=small_network(),
        jobs=[fabricsim.Job(workload=motif.Allreduce(ranks=16, bytes="1 MiB"))],
        mpi=fabricsim.Mpi(
            preset="openmpi-tcp",
            collectives=fabricsim.Collectives(allgather=rules, reduce_scatter="ring", allreduce="ring"),
        ),
    )
    found = fabricsim.run(asked)
    mpi = found.summary.experiment.mpi
    assert mpi.eager_threshold == "64 KiB"
    assert mpi.collectives["reduce-scatter"] == "ring"
    assert [rule.algorithm for rule in mpi.collectives.allgather] == ["bruck", "recursive-doubling", "ring"]
    # The experiment of a result runs again, with the same result.
    assert fabricsim.run(found.experiment).digest == found.digest


def test_a_typed_and_a_plain_experiment_are_the_same() -> None:
    typed = fabricsim.Experiment(
        network=small_network(
            link=fabricsim.Link(bandwidth="200 Gbps"),
            links={"host": fabricsim.Link(latency="20 ns")},
            router=fabricsim.Router(model="input-queued", arbiter="random"),
        ),
        jobs=[
            fabricsim.Job(
                name="halo",
                workload=motif.Halo3d(pex=2, pey=2, pez=2, iterations=3),
                mapping=mapping.Blocked(grid=[2, 2, 2], block=[2, 1, 1]),
                compute=fabricsim.Compute(each="2 us"),
            )
        ],
        run=fabricsim.Run(seed=5, optimistic=fabricsim.Optimistic(batch=4)),
    )
    plain = {
        "network": {
            "topology": {"kind": "torus", "sizes": [4, 4]},
            "routing": {"algorithm": "dimension-order"},
            "link": {"bandwidth": "200 Gbps"},
            "links": {"host": {"latency": "20 ns"}},
            "router": {"model": "input-queued", "arbiter": "random"},
        },
        "job": [
            {
                "name": "halo",
                "workload": {"motif": "halo3d", "pex": 2, "pey": 2, "pez": 2, "iterations": 3},
                "mapping": {"kind": "blocked", "grid": [2, 2, 2], "block": [2, 1, 1]},
                "compute": {"each": "2 us"},
            }
        ],
        "run": {"seed": 5, "optimistic": {"batch": 4}},
    }
    assert typed.to_dict() == plain
    assert fabricsim.run(typed).digest == fabricsim.run(plain).digest
