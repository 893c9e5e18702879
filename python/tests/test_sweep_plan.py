"""Sweep files: their points, and one error with file, line and key for each mistake."""

from __future__ import annotations

import time
import tracemalloc
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from fabricsim import SweepError, sweep
from fabricsim.sweep.quantity import Quantity

LOAD = """
[[axis]]
key = "job.0.traffic.load"
values = [0.1, 0.2]
"""


@pytest.fixture
def given(tmp_path: Path) -> Any:
    """A function that makes a plan from the text of a sweep file."""

    def plan(text: str) -> sweep.Plan:
        file = tmp_path / "sweep.toml"
        file.write_text(text)
        return sweep.load(file)

    return plan


def values(given: Any, text: str) -> list[Any]:
    """The values of the only axis."""
    (axis,) = given(f'experiment = "e.toml"\n[[axis]]\nkey = "network.packet"\nvalues = {text}\n').axes
    return [step.changes["network.packet"] for step in axis.steps]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[1, 2.5, 'x']", [1, 2.5, "x"]),
        ("{ from = 1, to = 4, step = 1 }", [1, 2, 3, 4]),
        ("{ from = 9, to = 3, step = -3 }", [9, 6, 3]),
        ("{ from = 1, to = 2, step = 0.5 }", [1.0, 1.5, 2.0]),
        # A tenth is not a binary number; users write its multiples.
        ("{ from = 0.1, to = 0.9, step = 0.1 }", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]),
        ("{ from = 1, to = 100, factor = 3 }", [1, 3, 9, 27, 81]),
        ("{ from = 0.5, to = 0.1, factor = 0.5 }", [0.5, 0.25, 0.125]),
        ("{ from = 0, to = 10, count = 5 }", [0, 2, 5, 8, 10]),
        ("{ from = 0.0, to = 1.0, count = 5 }", [0.0, 0.25, 0.5, 0.75, 1.0]),
        ('{ from = 1, to = 1000, count = 4, scale = "geometric" }', [1, 10, 100, 1000]),
        (
            '{ from = "50 Gbps", to = "200 Gbps", step = "50 Gbps" }',
            ["50 Gbps", "100 Gbps", "150 Gbps", "200 Gbps"],
        ),
        # Values of one kind in different units appear in the first unit.
        ('{ from = "500 Mbps", to = "1 Gbps", step = "250 Mbps" }', ["500 Mbps", "750 Mbps", "1000 Mbps"]),
        ('{ from = "1 KiB", to = "4 KiB", factor = 2 }', ["1 KiB", "2 KiB", "4 KiB"]),
        ('{ from = "0.5 us", to = "2 us", factor = 2 }', ["0.5 us", "1 us", "2 us"]),
        ('{ from = "10 ns", to = "1 us", count = 3, scale = "geometric" }', ["10 ns", "100 ns", "1000 ns"]),
        # Nothing exists between 1 and 2 bytes.
        ('{ from = "1 B", to = "4 B", count = 7 }', ["1 B", "2 B", "3 B", "4 B"]),
        ('{ from = "1 GB/s", to = "3 GB/s", step = "8 Gbps" }', ["1 GB/s", "2 GB/s", "3 GB/s"]),
    ],
)
def test_values(given: Any, text: str, expected: list[Any]) -> None:
    found = values(given, text)
    assert found == expected
    assert [type(value) for value in found] == [type(value) for value in expected]


def test_quantities_are_exact() -> None:
    quantity = Quantity.parse("12.5 GB/s")
    assert quantity is not None and quantity.of("bps") == 100_000_000_000
    assert str(quantity) == "12.5 GB/s"
    assert Quantity.parse("0.1 Tbit/s") == Quantity(quantity.amount, "bps", "Tbit/s")
    assert Quantity.parse("12.5") is None and Quantity.parse("3 parsec") is None
    assert quantity.of("ps") is None


def test_axes_are_multiplied_in_their_order(given: Any) -> None:
    plan = given(
        """
        experiment = "e.toml"
        seeds = 2
        [set]
        "run.until" = "5 us"
        [[axis]]
        name = "network"
        [axis.variants.small]
        "network.topology" = { kind = "torus", sizes = [2, 2] }
        "network.packet" = "64 B"
        [axis.variants."with its own file"]
        experiment = "other.toml"
        [[axis]]
        [axis.zip]
        "network.link.latency" = ["1 ns", "2 ns"]
        "mpi.nic_gap" = { from = "1 us", to = "2 us", step = "1 us" }
        """
        + LOAD
    )
    assert [axis.name for axis in plan.axes] == [
        "network",
        "network.link.latency and mpi.nic_gap",
        "job.0.traffic.load",
    ]
    assert len(plan.points) == 2 * 2 * 2
    assert [point.label for point in plan.points[:3]] == [
        "small, 1 ns, 1 us, 0.1",
        "small, 1 ns, 1 us, 0.2",
        "small, 2 ns, 2 us, 0.1",
    ]
    cases = list(plan.cases)
    assert [case.seed for case in cases[:3]] == [1, 2, 1]
    assert cases[0].point.experiment == plan.file.parent / "e.toml"
    assert cases[-1].point.experiment == plan.file.parent / "other.toml"
    # Tables come first: keys within them change them afterwards.
    assert cases[1].overrides == [
        ("run.until", '"5 us"'),
        ("network.topology", '{ kind = "torus", sizes = [2, 2] }'),
        ("network.packet", '"64 B"'),
        ("mpi.nic_gap", '"1 us"'),
        ("run.seed", "2"),
        ("network.link.latency", '"1 ns"'),
        ("job.0.traffic.load", "0.1"),
    ]


def test_a_sweep_may_be_one_experiment(given: Any) -> None:
    plan = given('experiment = "e.toml"\nseeds = [7, 3]')
    assert [case.seed for case in plan.cases] == [7, 3]
    assert plan.confidence == 0.95
    assert plan.name == "sweep"


@pytest.mark.parametrize(
    ("text", "line", "key", "message"),
    [
        ("experiment = 3", 1, "experiment", "expected a text, found 3"),
        ("seeds = 2", None, "experiment", "missing"),
        ('experiment = "e"\nseed = 2', 2, "seed", "did you mean 'seeds'?"),
        ('experiment = "e"\nseeds = []', 2, "seeds", "empty list"),
        ('experiment = "e"\nseeds = 0', 2, "seeds", "at least 1"),
        ('experiment = "e"\nseeds = [1, 1]', 2, "seeds", "different"),
        ('experiment = "e"\nseeds = [1, "two"]', 2, "seeds", "whole numbers"),
        ('experiment = "e"\nconfidence = 95', 2, "confidence", "between 0 and 1"),
        (
            'experiment = "e"\nconfidence = 0.9999999999999999',
            2,
            "confidence",
            "at most 0.999999999, found 0.9",
        ),
        ('experiment = "e"\nkeep = "all"', 2, "keep", "expected 'summaries', 'results'"),
        ('experiment = "e"\n[set]\nnetwork.packet = "1 B"', 3, "set.network", "in quotes"),
        ('experiment = "e"\n[set]\n"netwrok.packet" = "1 B"', 3, "set.netwrok.packet", "mean 'network'?"),
        ('experiment = "e"\n[[axis]]\nkey = "run.seed"\nvalue = [1]', 4, "axis.0.value", "mean 'values'?"),
        ('experiment = "e"\n[[axis]]\nkey = "run.seed"\nvalues = []', 4, "axis.0.values", "empty list"),
        ('experiment = "e"\n[[axis]]\nkey = "run.seed"', 2, "axis.0.values", "missing"),
        ('experiment = "e"\n[[axis]]\nkey = "run.seed"\nvalues = [1, 1]', 4, "axis.0.values", "twice"),
        ('experiment = "e"\n[[axis]]\nkeys = "run.seed"', 3, "axis.0.keys", "did you mean 'key'?"),
        ('experiment = "e"\n[[axis]]\nname = "x"', 2, "axis.0", "exactly one of"),
        (f'experiment = "e"{LOAD}{LOAD}', 6, "axis.1", "another axis"),
        (
            f'experiment = "e"{LOAD}[[axis]]\nname = "b"\nzip = {{ "job.0.traffic.load" = [1] }}',
            5,
            "axis.1",
            "too",
        ),
        ('experiment = "e"\nseeds = 2\n[[axis]]\nkey = "run.seed"\nvalues = [1]', 3, "axis.0", "'seeds'"),
        (
            'experiment = "e"\n[[axis]]\nzip = { "run.seed" = [1, 2], "run.until" = ["1 us"] }',
            3,
            "axis.0.zip",
            "2 of 'run.seed', 1 of 'run.until'",
        ),
        (
            'experiment = "e"\n[[axis]]\nzip = { "run.seed" = [1, 1], "run.until" = ["1 us", "1 us"] }',
            3,
            "axis.0.zip",
            "'1, 1 us' is there twice",
        ),
        ('experiment = "e"\n[[axis]]\nzip = {}', 3, "axis.0.zip", "expected keys"),
        ('experiment = "e"\n[[axis]]\nzip = { "run.seed" = [] }', 3, "axis.0.zip.run.seed", "empty list"),
        ('experiment = "e"\n[[axis]]\n[axis.variants]\n', 3, "axis.0.variants", "expected a table"),
        (
            'experiment = "e"\n[report]\nx = "lod"\n[[axis]]\nname = "load"\nkey = "run.seed"\nvalues = [1]',
            3,
            "report.x",
            "'load'?",
        ),
        (
            f'experiment = "e"\n[report]\nbaseline = {{ "job.0.traffic.load" = 0.3 }}{LOAD}',
            3,
            None,
            "no value of this axis",
        ),
        (
            'experiment = "e"\n[report]\ny = ["network.latency_mean"]',
            3,
            "report.y",
            "network.latency_mean_ns",
        ),
        ('experiment = "e"\n[cluster]\nworkers = 0', 3, "cluster.workers", "at least 1"),
        ('experiment = "e"\n[cluster]\njobqueue = { kind = "slrm" }', 3, "cluster.jobqueue.kind", "'slurm'?"),
        ('experiment = "e"\n[cluster]\njobqueue = { cores = 2 }', 3, "cluster.jobqueue.kind", "missing"),
        (
            'experiment = "e"\n[cluster]\nscheduler = "tcp://a:1"\nworkers = 2',
            4,
            "cluster.workers",
            "this machine",
        ),
        ('experiment = "e"\naxis = 3', 2, "axis", "list of tables"),
        (
            'experiment = "e"\nseeds = 1000000000',
            2,
            "seeds",
            "1,000,000,000 seeds of 1 point give 1,000,000,000 runs; at most 1,000,000 are possible",
        ),
        (f'experiment = "e"\nseeds = {2**70}', 2, "seeds", "more than 10^21 runs"),
        (f'experiment = "e"\nseeds = 500001{LOAD}', 2, "seeds", "500,001 seeds of 2 points give 1,000,002"),
        (
            f'experiment = "e"\nseeds = [1, {2**63}]',
            2,
            "seeds",
            "from 0 to 2^63 - 1, found 9223372036854775808",
        ),
        ('experiment = "e\\u0000"', 1, "experiment", "null character"),
        (f'experiment = "e"\nseeds = {"9" * 5000}', 2, None, "a number has more than 4,300 digits"),
        (f'experiment = "e"\nx = {"[" * 5000}', None, None, "nested too deeply"),
        (
            f'experiment = "e"\n{"x" * 10_000} = 1',
            2,
            None,
            "xxx (10,000 characters)'; the keys here are 'axis'",
        ),
        (
            'experiment = "e"\n[[axis]]\nname = "digest"\n[axis.variants.a]\n"run.seed" = 1',
            2,
            "axis.0",
            "'digest' would be a column of this axis and a column of each sweep; expected another name",
        ),
        (
            'experiment = "e"\n[[axis]]\nname = "job.a.time_ns"\n[axis.variants.a]\n"run.seed" = 1',
            2,
            "axis.0",
            "and a column of results",
        ),
        (
            'experiment = "e"\n[[axis]]\nname = "experiment"\n[axis.variants.a]\nexperiment = "f"',
            2,
            "axis.0",
            "and the column of the experiment files",
        ),
        (
            'experiment = "e"\n[[axis]]\nname = "a"\nzip = { "run.seed" = [1] }\n'
            '[[axis]]\nname = "run.seed"\n[axis.variants.a]\n"run.until" = "1 us"',
            5,
            "axis.1",
            "and one of axis 'a'",
        ),
        ('experiment = "e"\n[cluster]\nworkers = 1000000000', 3, "cluster.workers", "at most 4,096"),
        (
            'experiment = "e"\n[cluster]\njobqueue = { kind = "slurm", jobs = 1000000000 }',
            3,
            "cluster.jobqueue.jobs",
            "at most 10,000",
        ),
        ('experiment = "e\n', 1, None, "not valid TOML"),
    ],
)
def test_what_is_wrong_has_one_error_with_its_place(
    given: Any, tmp_path: Path, text: str, line: int | None, key: str | None, message: str
) -> None:
    with pytest.raises(SweepError) as found:
        given(text)
    error = found.value
    assert error.file == str(tmp_path / "sweep.toml")
    assert error.line == line
    if key is not None:
        assert error.key == key
    assert message in str(error)
    assert str(error).count("\n") == 0


@pytest.mark.parametrize(
    ("text", "key", "message"),
    [
        ("{ from = 1, to = 2 }", "", "exactly one of 'step', 'factor' and 'count'"),
        ("{ from = 1, to = 2, step = 1, count = 2 }", "", "exactly one of"),
        ("{ from = 1, step = 1 }", "to", "missing"),
        ("{ from = 1, to = 2, step = 0 }", "step", "leads away"),
        ("{ from = 1, to = 2, step = -1 }", "step", "leads away"),
        ("{ from = 1, to = 2, factor = 0.5 }", "factor", "leads away"),
        ("{ from = 0, to = 2, factor = 2 }", "", "positive"),
        ("{ from = 1, to = 2, count = 1 }", "count", "at least 2"),
        ("{ from = 2, to = 2, count = 3 }", "to", "another value"),
        ("{ from = 1, to = 1e9, step = 1 }", "step", "at most"),
        ('{ from = 1, to = "2 ns", step = 1 }', "to", "same kind"),
        ('{ from = "1 B", to = "2 ns", count = 3 }', "to", "same kind"),
        ('{ from = "1 ns", to = "2 ns", step = 1 }', "step", "same kind"),
        ('{ from = "one", to = "2 ns", step = 1 }', "from", "not a quantity"),
        ("{ from = 1, to = 2, stepp = 1 }", "", "exactly one of"),
        ("{ from = 1, to = 2, step = 1, scales = 1 }", "scales", "unknown key 'scales'"),
        ("{ from = 1, to = inf, step = 1 }", "to", "expected a number"),
        ("3", "", "expected a list of values, or a range"),
        (
            "{ from = 1, to = 1000, factor = 1.0000000001 }",
            "factor",
            "gives 69,077,552,794 values; at most 100,000 are possible",
        ),
        ("{ from = 1, to = 3, factor = 1.0000000000000002 }", "factor", "more than 10^15 values"),
        ("{ from = 1e30, to = 1e-30, factor = 0.9999999999999999 }", "factor", "more than 10^18 values"),
        ("{ from = 0, to = 1e30, step = 5e-324 }", "step", "more than 10^353 values"),
        (f"{{ from = 0, to = 1, count = {2**70} }}", "count", "more than 10^21 values"),
        (f"{{ from = 1, to = {'9' * 400}, step = 1 }}", "to", "to 1e+30, found 9999"),
        ("{ from = 1, to = 1e300, count = 3 }", "to", "expected a number from -1e+30 to 1e+30"),
        ("{ from = 1, to = 2, factor = inf }", "factor", "expected a number from -1e+30 to 1e+30"),
        (f'{{ from = "1 B", to = "{"9" * 5000} B", step = "1 B" }}', "to", "of at most 40 digits"),
    ],
)
def test_wrong_ranges_name_their_key(given: Any, text: str, key: str, message: str) -> None:
    with pytest.raises(SweepError) as found:
        values(given, text)
    assert found.value.line == 4
    assert found.value.key == ("axis.0.values" if not key else f"axis.0.values.{key}")
    assert message in str(found.value)


@pytest.mark.parametrize("lengths", [(1000, 1000, 2), (2000, 3000, 100_000), (2, 500_001)])
def test_points_are_counted_before_they_are_made(given: Any, lengths: tuple[int, ...]) -> None:
    keys = ("network.packet", "run.until", "job.0.traffic.load")
    text = 'experiment = "e"\n' + "".join(
        f'[[axis]]\nkey = "{key}"\nvalues = {{ from = 1, to = {length}, step = 1 }}\n'
        for key, length in zip(keys, lengths, strict=False)
    )
    tracemalloc.start()
    try:
        with pytest.raises(SweepError) as found:
            given(text)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # The values of the axes up to the first that is too much, and nothing for each point.
    assert most < 10e6
    expected = {
        (1000, 1000, 2): "axis.2: with the axes above gives 2,000,000 points (1,000 x 1,000 x 2); at most",
        (2000, 3000, 100_000): "axis.1: with the axes above gives 6,000,000 points (2,000 x 3,000); at most",
        (2, 500_001): "axis.1.values.step: gives 500,001 values; at most 100,000 are possible",
    }
    assert expected[lengths] in str(found.value)


def test_a_zip_of_many_keys_is_bounded(given: Any) -> None:
    of_key = "= { from = 1, to = 100000, step = 1 }\n"
    text = "".join(f'"network.x{n}" {of_key}' for n in range(30))
    with pytest.raises(
        SweepError, match=r"x0: gives 3,000,000 values with the other keys; at most 1,000,000"
    ):
        given(f'experiment = "e"\n[[axis]]\n[axis.zip]\n{text}')


def test_a_long_zip_is_read_in_linear_time(given: Any) -> None:
    of_key = "= { from = 1, to = 50000, step = 1 }\n"
    begun = time.process_time()
    plan = given(f'experiment = "e"\n[[axis]]\n[axis.zip]\n"network.packet" {of_key}"run.until" {of_key}')
    # Each with each other: 1.25 billion comparisons.
    assert len(plan.points) == 50_000 and time.process_time() - begun < 30


def test_geometric_ranges_of_many_values_are_exact_in_bounded_memory(given: Any) -> None:
    tracemalloc.start()
    try:
        found = values(given, "{ from = 1.0, to = 1.5, factor = 1.0001 }")
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(found) == 4055
    # The nearest floating-point numbers of the exact powers.
    assert [found[n] for n in (1, 1000, 4054)] == [
        float(Fraction(10001, 10000) ** n) for n in (1, 1000, 4054)
    ]
    # All bits of the powers would take 27 MB.
    assert most < 15e6


def test_values_beyond_64_bits_are_no_numbers_of_a_curve(given: Any) -> None:
    (axis,) = given(
        f'experiment = "e"\n[[axis]]\nkey = "network.packet"\nvalues = [1, {"9" * 400}, "{"9" * 5000} B"]'
    ).axes
    assert axis.numbers is None


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SweepError, match=r"nothing\.toml: cannot be read"):
        sweep.load(tmp_path / "nothing.toml")
