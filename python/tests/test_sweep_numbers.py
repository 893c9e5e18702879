"""Arithmetic of sweeps: confidence intervals against known values, costs, fronts, distributions."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

import fabricsim
from fabricsim import SweepError, sweep
from fabricsim.sweep import charts, derived, load_costs, metrics, show
from fabricsim.sweep.confidence import mean, t_quantile
from fabricsim.sweep.costs import total
from fabricsim.sweep.inventory import inventory
from fabricsim.sweep.table import Row, summary_rows


# Table of Student's t, for example Abramowitz and Stegun, Table 26.10, and NIST's handbook, 1.3.6.7.2.
@pytest.mark.parametrize(
    ("probability", "freedom", "expected"),
    [
        (0.975, 1, 12.706),
        (0.975, 2, 4.303),
        (0.975, 4, 2.776),
        (0.975, 9, 2.262),
        (0.95, 1, 6.314),
        (0.95, 29, 1.699),
        (0.995, 4, 4.604),
        (0.995, 60, 2.660),
        (0.9995, 3, 12.924),
        (0.9, 100, 1.290),
    ],
)
def test_quantiles_of_students_t(probability: float, freedom: int, expected: float) -> None:
    assert t_quantile(probability, freedom) == pytest.approx(expected, abs=6e-4)


def test_quantiles_approach_those_of_the_normal_distribution() -> None:
    assert t_quantile(0.975, 10**6) == pytest.approx(1.959964, abs=1e-5)
    assert t_quantile(0.5, 3) == pytest.approx(0, abs=1e-9)
    with pytest.raises(ValueError):
        t_quantile(1.0, 3)


def test_a_mean_with_its_interval() -> None:
    # Gosset's own data: additional hours of sleep with the second drug.
    sleep = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    found = mean(sleep, 0.95)
    assert found.mean == pytest.approx(2.33)
    # 2.33 ± 2.2622 * 2.0022 / sqrt(10)
    assert (found.low, found.high) == (pytest.approx(0.8977, abs=1e-4), pytest.approx(3.7623, abs=1e-4))
    wider = mean(sleep, 0.99)
    assert wider.low is not None and found.low is not None and wider.low < found.low
    assert mean([3.0], 0.95) == mean([3.0], 0.5)
    assert mean([3.0], 0.95).low is None
    same = mean([2.0, 2.0, 2.0], 0.95)
    assert (same.low, same.high) == (2.0, 2.0)


COSTS = """
currency = "EUR"
[[switch]]
ports = 8
cost = 100
[[switch]]
ports = 16
cost = 150
[[switch]]
name = "big one"
kind = "spine"
cost = 10
per_port = 20
[[cable]]
kind = "electrical"
up_to = "3 m"
cost = 5
per_metre = 1
[[cable]]
kind = "optical"
cost = 50
per_metre = 0.5
per_gbps = 0.1
per_gbps_metre = 0.01
[length]
host = "2 m"
far = "1000 cm"
latency_per_metre = "5 ns"
[nic]
cost = 7
per_gbps = 0.5
[host]
cost = 1000
"""


def network(**more: Any) -> dict[str, Any]:
    """Ten hosts with two ports each."""
    cable = {"bandwidth_bits_per_s": 100_000_000_000, "latency_ps": 10_000}
    return {
        "hosts": 10,
        "nics": 20,
        "cables": [
            {"class": "host", "count": 20.0, **cable},
            {"class": "near", "count": 4.0, **cable},
            {"class": "far", "count": 2.0, **cable},
        ],
        "routers": [
            {"kind": "leaf", "ports": 8, "count": 3},
            {"kind": "leaf", "ports": 9, "count": 1},
            {"kind": "spine", "ports": 4, "count": 2},
        ],
        **more,
    }


@pytest.fixture
def table(tmp_path: Path) -> Any:
    """A function that makes a cost table from a text."""

    def make(text: str) -> Any:
        (tmp_path / "costs.toml").write_text(text)
        return load_costs(tmp_path / "costs.toml")

    return make


def test_a_bill(table: Any) -> None:
    items = table(COSTS).of(network())
    assert [(item.count, item.each) for item in items] == [
        (3, 100),  # leaves that the small switch does for
        (1, 150),  # nine ports need the larger one
        (2, 10 + 20 * 4),  # an entry for spines
        (20, 5 + 2),  # 2 m to the hosts
        (4, 5 + 2),  # 10 ns are 2 m
        (2, 50 + 0.5 * 10 + (0.1 + 0.01 * 10) * 100),  # 10 m, by length
        (20, 7 + 0.5 * 100),
        (10, 1000),
    ]
    assert total(items) == 300 + 150 + 180 + 140 + 28 + 2 * 75 + 20 * 57 + 10_000
    assert [item.name for item in items][:5] == [
        "switch of 8 ports as leaf with 8 ports",
        "switch of 16 ports as leaf with 9 ports",
        "big one as spine with 4 ports",
        "electrical cable: host, 2 m",
        "electrical cable: near, 2 m",
    ]


def test_electricity_at_the_mean_power(table: Any) -> None:
    summary = {"network": {"energy": {"mean_power_w": 2500.0}}}
    assert table(COSTS).electricity_of(summary) is None
    item = table(COSTS + "[electricity]\nprice_per_kwh = 0.2\nyears = 5\npue = 1.1").electricity_of(summary)
    # 2.5 kW for 5 * 8760 h, and a tenth more for the building.
    assert (item.count, item.each) == (pytest.approx(120_450), 0.2)
    assert item.cost == pytest.approx(24_090)
    assert item.name == "electricity (kWh): 2,500 W for 43,800 h, PUE 1.1"
    hours = table(COSTS + "[electricity]\nprice_per_kwh = 1\nhours = 2")
    assert hours.electricity_of(summary).cost == pytest.approx(5)
    for without in ({"network": {}}, {"network": {"energy": {"mean_power_w": None}}}):
        with pytest.raises(SweepError, match=r"expected a table \[power\]"):
            hours.electricity_of(without)


def test_columns_of_the_schedule_of_a_job_trace() -> None:
    schedule = {
        "utilisation": 0.75,
        "simulated_jobs": 12,
        "wait_s": {"mean": 30.0, "p50": 20.0, "p90": 90.0, "p99": 95.0, "max": 100.0},
        "bounded_slowdown": None,
    }
    columns = metrics._schedule(schedule)
    assert columns == {
        "schedule.utilisation": 0.75,
        "schedule.simulated_jobs": 12,
        "schedule.wait_mean_s": 30.0,
        "schedule.wait_p90_s": 90.0,
        "schedule.wait_max_s": 100.0,
        "schedule.bounded_slowdown_mean": None,
    }
    # Each is described, and listed for messages.
    for column in columns:
        assert metrics.describe(column) is not None
        assert column in metrics.COLUMNS
    assert metrics._schedule(None) == {}


def test_columns_of_the_busiest_period() -> None:
    period = {"begin_ps": 0, "end_ps": 8000, "links": 40, "full_links": 10, "blocked_links": 2}
    columns = metrics._busiest_period({"busiest_period": period})
    assert columns == {"network.full_links_peak": 0.25, "network.blocked_links_peak": 0.05}
    for column in columns:
        assert metrics.describe(column) is not None
        assert column in metrics.COLUMNS
    for without in (None, {"series": "off"}, {"busiest_period": period | {"links": 0}}):
        assert metrics._busiest_period(without) == {}


def test_entries_for_a_class_or_bandwidth(table: Any) -> None:
    text = """
    [[switch]]
    per_port = 1
    [[cable]]
    class = ["far", "host"]
    cost = 9
    [[cable]]
    bandwidth = "100 Gbps"
    cost = 3
    [[cable]]
    bandwidth = "200 Gbps"
    cost = 2
    """
    items = table(text).of(network(routers=[]))
    assert [item.each for item in items] == [9, 3, 9]


def test_a_switch_with_a_bandwidth_has_no_faster_port(table: Any) -> None:
    text = """
    [[switch]]
    bandwidth = "100 Gbps"
    cost = 1
    [[switch]]
    bandwidth = "200 Gbps"
    cost = 2
    [[cable]]
    cost = 0
    """
    rates = [50, 100, 150, 200]
    routers = [
        {"kind": "router", "ports": 4, "bandwidth_bits_per_s": rate * 10**9, "count": 1} for rate in rates
    ]
    items = table(text).of(network(routers=routers, cables=[]))
    assert [item.each for item in items] == [1, 1, 2, 2]
    too_fast = routers[0] | {"bandwidth_bits_per_s": 400 * 10**9}
    with pytest.raises(SweepError, match=r"no \[\[switch\]\] for .* of up to 400 Gbps"):
        table(text).of(network(routers=[too_fast], cables=[]))


def test_rates_of_cables_are_rounded_as_by_the_simulation(table: Any) -> None:
    text = '[[switch]]\nper_port = 1\n[[cable]]\nbandwidth = "1.8 GiB/s"\ncost = 4'
    cable = {"class": "x", "count": 1, "bandwidth_bits_per_s": 15_461_882_266, "latency_ps": 100_000}
    assert [item.each for item in table(text).of(network(routers=[], cables=[cable]))] == [4]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"routers": [{"kind": "leaf", "ports": 17, "count": 1}]},
            r"no \[\[switch\]\] for .* 'leaf' with 17 ports",
        ),
        ({"cables": [{"class": "x", "count": 1, "bandwidth_bits_per_s": 10**9, "latency_ps": 10**8}]}, None),
    ],
)
def test_what_a_table_lacks_is_named(table: Any, change: dict[str, Any], message: str | None) -> None:
    if message is not None:
        with pytest.raises(SweepError, match=message):
            table(COSTS).of(network(**change))
    short = COSTS.replace('kind = "optical"', 'kind = "optical"\nup_to = "15 m"')
    long = network(cables=[{"class": "x", "count": 1, "bandwidth_bits_per_s": 10**9, "latency_ps": 100_000}])
    with pytest.raises(SweepError, match=r"no \[\[cable\]\] for links of class 'x' with 1 Gbps and 20 m"):
        table(short).of(long)
    unknown = "[[switch]]\nper_port = 1\n[[cable]]\nper_metre = 1"
    with pytest.raises(SweepError, match=r"no known length: expected length\.x"):
        table(unknown).of(long)


@pytest.mark.parametrize(
    ("text", "line", "key", "message"),
    [
        ("[[cable]]\ncost = 1", None, "switch", "at least one"),
        ("[[switch]]\ncost = 1", None, "cable", "at least one"),
        ("[[switch]]\nport = 1", 2, "switch.0.port", "did you mean 'ports'?"),
        ("[[switch]]\nports = 0", 2, "switch.0.ports", "at least 1"),
        ("[[switch]]\ncost = '1'", 2, "switch.0.cost", "expected a number"),
        ("[[cable]]\nup_to = 3", 2, "cable.0.up_to", "a length such as"),
        ("[[cable]]\nup_to = '3 ns'", 2, "cable.0.up_to", "a length such as"),
        ("[[cable]]\nkind = 'optic'", 2, "cable.0.kind", "did you mean 'optical'?"),
        ("[length]\nhost = '-1 m'", 2, "length.host", "a length such as"),
        ("[length]\nlatency_per_metre = '0 ns'", 2, "length.latency_per_metre", "more than nothing"),
        ("[nics]\ncost = 3", 1, "nics", "did you mean 'nic'?"),
        ("[electricity]\nyears = 5", 1, "electricity.price_per_kwh", "missing"),
        ("[electricity]\nprice_per_kwh = 1", 1, "electricity.years", "one of the keys"),
        ("[electricity]\nprice_per_kwh = 1\nyears = 1\nhours = 1", 3, "electricity.years", "one of the keys"),
        ("[electricity]\nprice_per_kwh = 1\nhours = 0", 3, "electricity.hours", "more than 0"),
        ("[electricity]\nprice_per_kwh = 1\nyears = 1\npue = 0.9", 4, "electricity.pue", "at least 1"),
        ("[[switch]]\ncost = inf", 2, "switch.0.cost", "expected a number from -1e+30 to 1e+30, found inf"),
        ("[[switch]]\ncost = nan", 2, "switch.0.cost", "expected a number from"),
        (f"[[switch]]\ncost = {'9' * 400}", 2, "switch.0.cost", "999 (400 characters)"),
        (f"[[switch]]\nports = {'9' * 400}", 2, "switch.0.ports", "999 (400 characters)"),
        ("[[switch]]\nports = 1_000_000_001", 2, "switch.0.ports", "at most 1,000,000,000"),
        ("[[switch]]\nbandwidth = 100", 2, "switch.0.bandwidth", "a data rate such as"),
        (f"[[cable]]\nup_to = '{'9' * 5000} m'", 2, "cable.0.up_to", "is too large; expected a length"),
        ("[electricity]\nprice_per_kwh = 1\nyears = 1e300", 3, "electricity.years", "to 1e+30"),
        ("[electricity]\nprice = 1", 2, "electricity.price", "expected one of: price_per_kwh"),
    ],
)
def test_wrong_cost_tables(table: Any, text: str, line: int | None, key: str, message: str) -> None:
    with pytest.raises(SweepError) as found:
        table(text)
    assert (found.value.line, found.value.key) == (line, key)
    assert message in str(found.value)


def test_what_networks_consist_of(traffic: dict[str, Any]) -> None:
    traffic["network"]["links"] = {"dimension-0": {"latency": "20 ns"}, "host": {"bandwidth": "50 Gbps"}}
    traffic["network"]["rails"] = 2
    found = fabricsim.run(traffic)
    assert inventory(found.links, found.summary) == {
        "hosts": 8,
        "nics": 16,
        "cables": [
            {
                "class": name,
                "bandwidth_bits_per_s": bandwidth * 10**9,
                "latency_ps": latency * 1000,
                "count": 16.0,
            }
            # A torus of 4 x 4 has 16 cables in each dimension.
            for name, bandwidth, latency in [
                ("dimension-0", 100, 20),
                ("dimension-1", 100, 50),
                ("host", 50, 50),
            ]
        ],
        "routers": [{"kind": "router", "ports": 5, "bandwidth_bits_per_s": 100 * 10**9, "count": 16}],
    }


def test_kinds_of_routers() -> None:
    experiment = {
        "network": {
            "topology": {"kind": "fat-tree", "radix": 4, "levels": 3},
            "routing": {"algorithm": "adaptive"},
        },
        "job": [{"traffic": {"pattern": "uniform", "load": 0.1}}],
        "run": {"until": "1 us"},
    }
    found = fabricsim.run(experiment)
    assert inventory(found.links, found.summary)["routers"] == [
        {"kind": kind, "ports": 4, "bandwidth_bits_per_s": 100 * 10**9, "count": count}
        for kind, count in [("core", 4), ("leaf", 8), ("spine", 8)]
    ]


def test_pareto_fronts() -> None:
    points = [(1.0, 5.0), (2.0, 4.0), (2.0, 6.0), (3.0, 5.0), (4.0, 9.0), (4.0, 1.0), (1.0, 5.0)]
    assert charts.pareto_front(points, larger_is_better=True) == [0, 2, 4]
    assert charts.pareto_front(points, larger_is_better=False) == [0, 1, 5]
    assert charts.pareto_front([], larger_is_better=True) == []


def test_numbers_for_people() -> None:
    assert [show.number(n) for n in (0, 3, 1234567.0, 12345.678, 0.0123456, 99.987)] == [
        "0",
        "3",
        "1,234,567",
        "12,346",
        "0.01235",
        "99.99",
    ]
    assert [show.number(n) for n in (9.9e99, float("inf"), -12345678.5)] == ["9.9e+99", "inf", "-12,345,678"]


def derived_plan(tmp_path: Path, formulas: str, report: str = "") -> Any:
    (tmp_path / "base.toml").write_text("")
    file = tmp_path / "sweep.toml"
    file.write_text(
        'experiment = "base.toml"\nseeds = 2\n[[axis]]\nkey = "network.packet"\nvalues = ["256 B", "512 B"]\n'
        f'[[axis]]\nkey = "network.rails"\nvalues = [1, 2]\n{formulas}{report}'
    )
    return sweep.load(file)


def derived_rows(plan: Any, values: dict[tuple[int, int], dict[str, Any]]) -> list[Row]:
    """Rows of all cases; `values` has measures by point and seed."""
    rows = [Row(case) for case in plan.cases]
    for row in rows:
        row.measures = dict(values.get((row.case.point.number, row.case.seed), {}))
    return rows


def test_a_derived_column_is_relative_to_the_baseline_of_the_same_seed(tmp_path: Path) -> None:
    formula = (
        '[[derived]]\nname = "rate"\nformula = "sum(baseline([job.*.time_ns]) / [job.*.time_ns])"\n'
        '[[derived]]\nname = "double"\nformula = "2 * [derived.rate] - -1 ** 2"\n'
    )
    plan = derived_plan(tmp_path, formula)
    times = {
        (0, 1): (10.0, 40.0),
        (0, 2): (12.0, 40.0),
        (1, 1): (20.0, 20.0),
        (2, 1): (5.0, 80.0),
        (2, 2): (6.0, 20.0),
        (3, 1): (10.0, 10.0),
    }
    rows = derived_rows(
        plan, {at: {"job.a.time_ns": a, "job.b.c.time_ns": b} for at, (a, b) in times.items()}
    )
    assert derived.add(plan, rows) == []
    found = {(row.case.point.number, row.case.seed): row.measures["derived.rate"] for row in rows}
    # The first axis has 256 B and 512 B: points 0 and 1 are their own baselines, and those of 2 and 3.
    assert found[0, 1] == found[0, 2] == found[1, 1] == 2.0
    assert (found[2, 1], found[2, 2], found[3, 1]) == (2.5, 4.0, 4.0)
    # Seed 2 of points 1 and 3 has no values.
    assert found[1, 2] is None and found[3, 2] is None
    assert rows[0].measures["derived.double"] == 5.0
    # Over seeds, a mean with its interval.
    summary = summary_rows(plan, rows)[2]
    assert summary["derived.rate"] == 3.25 and summary["derived.rate.low"] < 3.25


def test_the_report_names_the_baseline_of_derived_columns(tmp_path: Path) -> None:
    formula = '[[derived]]\nname = "speed-up"\nformula = "baseline([job.a.time_ns]) / [job.a.time_ns]"\n'
    report = '[report]\ny = ["derived.speed-up"]\n[report.baseline]\n"network.rails" = 2\n'
    plan = derived_plan(tmp_path, formula, report)
    rows = derived_rows(plan, {(n, s): {"job.a.time_ns": 10.0 * (n + 1)} for n in range(4) for s in (1, 2)})
    assert derived.add(plan, rows) == []
    found = {row.case.point.number: row.measures["derived.speed-up"] for row in rows}
    assert found == {0: 2.0, 1: 1.0, 2: 40 / 30, 3: 1.0}


def test_what_a_derived_column_lacks_is_said(tmp_path: Path) -> None:
    formula = (
        '[[derived]]\nname = "x"\nformula = "1 / [job.typo.time_ns]"\n'
        '[[derived]]\nname = "y"\nformula = "1 / ([job.a.time_ns] - [job.a.time_ns])"\n'
        '[[derived]]\nname = "z"\nformula = "sum([job.*.jain])"\n'
    )
    plan = derived_plan(tmp_path, formula)
    rows = derived_rows(plan, {(n, s): {"job.a.time_ns": 1.0} for n in range(4) for s in (1, 2)})
    assert derived.add(plan, rows) == [
        "derived.x has no value at any point: no run has job.typo.time_ns",
        "derived.y has no value at any point: a division by zero",
        "derived.z has no value at any point: no run has job.*.jain",
    ]


@pytest.mark.parametrize(
    ("formula", "reason"),
    [
        ("[job.a.time_ns] / 0", "a division by zero"),
        ("([job.a.time_ns] - 9) ** 0.5", "a root of a negative number"),
        ("geomean(0 * [job.*.time_ns])", "a geometric mean of a number that is not positive"),
        ("(1e99 * [job.a.time_ns]) * 1e99", "a number above 1e+100"),
        ("10 ** (400 * [job.a.time_ns])", "a number above 1e+100"),
        ("[job.a.slowdown] + 1", "job.a.slowdown is null"),
    ],
)
def test_a_formula_without_a_value_says_why(tmp_path: Path, formula: str, reason: str) -> None:
    plan = derived_plan(tmp_path, f'[[derived]]\nname = "x"\nformula = "{formula}"\n')
    of_run = {"job.a.time_ns": 1.0, "job.a.slowdown": None}
    rows = derived_rows(plan, {(n, s): of_run for n in range(4) for s in (1, 2)})
    assert derived.add(plan, rows) == [f"derived.x has no value at any point: {reason}"]
    assert all(row.measures == of_run | {"derived.x": None} for row in rows)


def test_a_formula_that_fails_leaves_the_other_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    formulas = (
        '[[derived]]\nname = "x"\nformula = "[job.a.time_ns] ** 2"\n'
        '[[derived]]\nname = "y"\nformula = "[job.a.time_ns] + 2"\n'
    )
    plan = derived_plan(tmp_path, formulas)

    def fails(*_: float) -> float:
        raise TypeError("no power today")

    monkeypatch.setitem(derived._OPERATORS, ast.Pow, fails)
    rows = derived_rows(plan, {(n, s): {"job.a.time_ns": 1.0} for n in range(4) for s in (1, 2)})
    assert derived.add(plan, rows) == ["derived.x has no value at any point: TypeError: no power today"]
    assert {(row.measures["derived.x"], row.measures["derived.y"]) for row in rows} == {(None, 3.0)}
    # When the file is read, the same is an error of the file.
    with pytest.raises(SweepError, match="cannot be evaluated: TypeError: no power today"):
        derived_plan(tmp_path, formulas)


def test_formulas_up_to_the_limits_have_values_and_intervals(tmp_path: Path) -> None:
    sum_of_many = " + ".join(["[job.a.time_ns]"] * 195)
    plan = derived_plan(
        tmp_path,
        f'[[derived]]\nname = "many"\nformula = "{sum_of_many}"\n'
        '[[derived]]\nname = "large"\nformula = "9e99 * [job.a.time_ns]"\n',
    )
    rows = derived_rows(plan, {(n, s): {"job.a.time_ns": 1.0 / s} for n in range(4) for s in (1, 2)})
    assert derived.add(plan, rows) == []
    assert rows[0].measures["derived.many"] == 195.0
    summary = summary_rows(plan, rows)[0]
    assert summary["derived.large"] == pytest.approx(6.75e99)
    assert summary["derived.large.low"] < summary["derived.large"] < summary["derived.large.high"]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('formula = "1"', "expected a name of letters"),
        ('name = "a b"\nformula = "1"', "expected a name of letters"),
        ('name = "a"', "formula: missing"),
        ('name = "a"\nformula = "1 + 2"', "no column in brackets"),
        ('name = "a"\nformula = "[network.cots]"', "did you mean 'network.cost'?"),
        ('name = "a"\nformula = "[network.cost] +"', "not an expression"),
        (
            'name = "a"\nformula = "network.cost"',
            "no column in brackets|expected numbers, columns in brackets",
        ),
        ('name = "a"\nformula = "total([job.*.time_ns])"', "unknown function 'total'"),
        ('name = "a"\nformula = "[job.*.time_ns]"', "one value for each job"),
        ('name = "a"\nformula = "__import__(\'os\')"', "unknown function '__import__'"),
        ('name = "a"\nformula = "[network.cost] if True else 1"', "expected numbers, columns"),
        ('name = "a"\nformula = "[derived.b]"', "no derived column 'derived.b' above"),
        ('name = "a"\nformula = "[network.cost]"\nunit = "x"', "unknown key 'unit'"),
        (f'name = "a"\nformula = "{"9" * 400} * [network.cost]"', r"a number above 1e\+100"),
        ('name = "a"\nformula = "1e999 * [network.cost]"', r"a number above 1e\+100"),
        (
            f'name = "a"\nformula = "{" + ".join(["[run.cpu_s]"] * 600)}"',
            "more than 200 operations .*: split it into several derived columns",
        ),
        (f'name = "a"\nformula = "{"-" * 300}[network.cost]"', "more than 200 operations"),
        (f'name = "a"\nformula = "{"(" * 300}[network.cost]{")" * 300}"', "not an expression"),
        (f'name = "a"\nformula = "{"+".join(["[network.cost]"] * 1000)}"', "has 14,999 characters; at most"),
    ],
)
def test_wrong_derived_columns_are_refused(tmp_path: Path, table: str, message: str) -> None:
    with pytest.raises(SweepError, match=message) as error:
        derived_plan(tmp_path, f"[[derived]]\n{table}\n")
    assert "sweep.toml:" in str(error.value)


def test_the_report_knows_only_derived_columns_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(SweepError, match=r"'derived\.b' is no column of results"):
        derived_plan(
            tmp_path, '[[derived]]\nname = "a"\nformula = "[network.cost]"\n', '[report]\ny = ["derived.b"]\n'
        )
