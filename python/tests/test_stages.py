"""`scripts/test.py`: what the stages of `make test` say, and what it makes of that."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts/test.py"

pytestmark = pytest.mark.skipif(not SCRIPT.is_file(), reason="the scripts are not here")


@pytest.fixture(scope="module")
def stages() -> ModuleType:
    spec = importlib.util.spec_from_file_location("stages_of_make_test", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def read(stages: ModuleType, text: str) -> Any:
    outcome = stages.Outcome()
    for line in text.splitlines(keepends=True):
        outcome.read(line)
    return outcome


def ended(stages: ModuleType, stage: str, outcome: Any, status: int = 0, cpu_s: float = 10.0) -> Any:
    return stages.Ended(stage, status, outcome, cpu_s, 7.0, 1.5, [])


RUST = """\
running 5 tests
SKIPPED traces::are_read: ../shared/traces/a is missing
test traces::are_read ... ok
test other ... SKIPPED traces::are_read: ../shared/traces/b is missing
ok
test whole ... ignored, make test-long runs it
test wrong ... FAILED
test panics - should panic ... FAILED
test result: FAILED. 2 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s
   Doc-tests fabricsim_config
test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s
"""


def test_a_test_that_cannot_run_is_skipped_and_not_passed(stages: ModuleType) -> None:
    outcome = read(stages, RUST)
    assert (outcome.passed, outcome.failed, outcome.skipped) == (4, 2, 2)
    assert outcome.failures == ["wrong", "panics"]
    assert outcome.reasons == {
        "../shared/traces/a is missing": 1,
        "../shared/traces/b is missing": 1,
        "make test-long runs it": 1,
    }


PYTEST = """\
FAILED python/tests/test_new.py::test_wrong - assert 1 == 2
ERROR python/tests/test_view.py::test_page - no browser
SKIPPED [2] python/tests/test_calibrate.py:429: a is neither here nor there
\x1b[31m== 1 failed\x1b[0m, 90 passed, \x1b[33m2 skipped\x1b[0m, 1 error in 9.10s (0:00:09) ==\x1b[0m
"""


def test_the_last_line_of_pytest_is_counted(stages: ModuleType) -> None:
    outcome = read(stages, PYTEST)
    assert (outcome.passed, outcome.failed, outcome.skipped) == (90, 2, 2)
    assert outcome.failures == [
        "python/tests/test_new.py::test_wrong",
        "python/tests/test_view.py::test_page",
    ]
    assert outcome.reasons == {"a is neither here nor there": 2}


def test_the_table_has_each_stage_and_the_sums(stages: ModuleType) -> None:
    rows = [
        ended(stages, "lint", read(stages, "SKIPPED shellcheck: it is not installed\n")),
        ended(stages, "test-rust", read(stages, RUST), status=101),
    ]
    lines = [re.split(r"  +", line) for line in stages.table(rows).splitlines()]
    assert lines == [
        ["stage", "result", "passed", "failed", "skipped", "CPU s", "seconds"],
        ["lint", "ok", "-", "-", "1", "10", "7"],
        ["test-rust", "FAILED", "4", "2", "2", "10", "7"],
        ["all", "4", "2", "3", "20", "14"],
    ]


def test_only_a_stage_that_needs_half_more_is_named(stages: ModuleType) -> None:
    rows = [
        ended(stages, "lint", stages.Outcome(), cpu_s=149),
        ended(stages, "test-rust", stages.Outcome(), cpu_s=901),
    ]
    [warning] = stages.warnings(rows, {"lint": 100, "test-rust": 600}, "some machine")
    assert warning.startswith(
        "test-rust took 901 CPU s; on record for this kind of machine: 600 (load average 1.5 "
    )
    [missing] = stages.warnings(rows, {}, "some machine")
    assert "no record of this kind of machine (some machine); `make record-times` writes one" in missing


def test_a_record_replaces_that_of_its_machine_only(stages: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "times.csv"
    for kind, cpu_s in [("a", 10.0), ("b", 20.0), ("a", 30.0)]:
        stages.write_record(file, kind, [ended(stages, "lint", stages.Outcome(), cpu_s=cpu_s)])
    assert stages.recorded(file, "a") == {"lint": 30}
    assert stages.recorded(file, "b") == {"lint": 20}
    assert stages.recorded(file, "c") == {}
    assert len(file.read_text().splitlines()) == 3


def test_libraries_that_are_compiled_again_are_named(
    stages: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deps = tmp_path / "debug/deps"
    deps.mkdir(parents=True)
    monkeypatch.setenv("CARGO_TARGET_DIR", str(tmp_path))
    for name in ("sim-0a", "same_features-1b", "cli-2c"):
        (deps / f"libfabricsim_{name}.rlib").touch()
    before = stages.libraries()
    assert stages.compiled_again(before, set()) == []
    for name in ("same_features-ff", "cli-ff"):
        (deps / f"libfabricsim_{name}.rlib").touch()
    assert stages.compiled_again(before, {"cli"}) == ["same-features"]


def test_stages_are_those_of_the_makefile(stages: ModuleType) -> None:
    makefile = (ROOT / "Makefile").read_text()
    for stage in stages.STAGES:
        assert re.search(rf"^{stage}:.*##", makefile, re.MULTILINE), f"the Makefile has no target {stage}"
    assert set(stages.COMPILED_AGAIN) <= set(stages.STAGES)
    record = {stage for stage in stages.recorded(stages.TIMES, stages.machine())}
    assert not record or record == set(stages.STAGES), "the record has other stages: `make record-times`"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["test-rusty"], "there is no stage 'test-rusty'; there are lint, test-rust"),
        (["--record", "lint"], "a record is of all stages"),
    ],
)
def test_wrong_arguments_are_told(
    stages: ModuleType,
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["test.py", *arguments])
    with pytest.raises(SystemExit) as stopped:
        stages.main()
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err
