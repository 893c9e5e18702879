"""`fabricsim calibrate`: wrong files first, then known parameters, real files, warnings, the command."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import fabricsim
from fabricsim import CalibrationError, Program, calibrate, mpi
from fabricsim.calibrate import Framing, Given, Measurement, Row
from fabricsim.calibrate.calibration import Calibration
from fabricsim.calibrate.checks import WARNINGS, warnings
from fabricsim.calibrate.command import main
from fabricsim.calibrate.link import Link, by_times
from fabricsim.calibrate.model import GAP, Thresholds, coefficients
from fabricsim.calibrate.robust import minimise
from fabricsim.calibrate.simulation import simulate
from fabricsim.calibrate.table import is_number, is_size, row_lines

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FIXTURES = Path(__file__).parent / "calibrate"
SHARED = Path(__file__).parents[3] / "shared/machines/measurements/raw"
SIZES = [0, *(2**power for power in range(23))]
WINDOW = 64


# Wrong files.


def written(folder: Path, text: str, name: str = "file.out") -> Path:
    path = folder / name
    path.write_text(text)
    return path


OSU = "# OSU MPI Latency Test v5.6.2\n# Size          Latency (us)\n"
OSU_BANDWIDTH = "# OSU MPI Bandwidth Test v5.6.2\n# Size      Bandwidth (MB/s)\n"
IMB = "# Benchmarking PingPong \n# #processes = 2 \n   #bytes #repetitions      t[usec]   Mbytes/sec\n"
RATE = (
    "# OSU MPI Multiple Bandwidth / Message Rate Test v5.6.2\n# [ pairs: {} ] [ window size: {} ]\n"
    "# Size                  MB/s        Messages/s\n1 1.0 100\n"
)
NCCL = (
    "# Collective test starting: sendrecv_perf\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)\n"
)


@pytest.mark.parametrize(
    ("text", "line", "error"),
    [
        ("", 1, "the file is empty; expected output of OSU"),
        ("\n \n", 1, "the file is empty"),
        ("#!/bin/sh\nsrun osu_latency\n", 2, "not the output of a known benchmark; expected a line such as"),
        ("# only a comment\n", 1, "not the output of a known benchmark"),
        (OSU, 1, "the table of 'Latency Test' has no rows"),
        (OSU + "8  1.0\n" + OSU.replace("(us)", "(ms)") + "8  1.0\n", 5, r"unit ms; expected us"),
        (
            OSU + "8  1.0\n# Size   Latency (ms)\n16  1.0\n",
            4,
            "the unit changes from us to ms; expected one unit, us",
        ),
        (OSU_BANDWIDTH.replace("MB/s", "GB/s") + "8 1.0\n", 2, "unit GB/s; expected MB/s"),
        (OSU + "8  1.0\n8  1.1\n", 4, r"size 8 B is already in line 3; .* file of its own"),
        (OSU + "8\n", 3, "expected a size and a value in us; found '8'"),
        (OSU + "8 nan\n", 3, "expected a value in us, a number of at least 0; found 'nan'"),
        (OSU + "8 -1\n", 3, "a number of at least 0"),
        (OSU + "8.5 1\n", 3, "expected the size of a message, a whole number of bytes; found '8.5'"),
        (OSU + "99999999999999999999 1\n", 3, "whole number of bytes"),
        ("# OSU MPI Latency Test v5.6.2\n8  1.0\n", 2, "expected the line '# Size ...'"),
        ("# Intel(R) MPI Benchmarks 2019 Update 5, MPI-1 part\n", 1, "no line '# Benchmarking NAME'"),
        (IMB, 1, "the table of 'PingPong' has no rows"),
        (
            IMB.replace("t[usec]", "t[msec]") + "8 1000 1 1\n",
            3,
            r"no column t\[usec\]; expected microseconds",
        ),
        (IMB + "8 1000\n", 4, "expected a row of '#bytes #repetitions"),
        (NCCL, 3, "the table has no rows"),
        (NCCL.replace("(GB/s)", "(MB/s)") + "8 1 float none -1 1 1 1 0\n", 3, r"expected \(us\) \(GB/s\)"),
        (NCCL + "8 1 float none -1 1\n", 4, "expected at least 8 columns, found 6"),
        (NCCL + "# Collective test starting: all_reduce_perf\n", 4, "a second test, all_reduce_perf"),
        ("bytes,latency_ms\n8,1\n", 1, "unknown column 'latency_ms'; expected 'bytes' and one or more of"),
        ("bytes\n8\n", 1, "expected 'bytes' and one or more of"),
        ("bytes,latency_us\n8\n", 2, "expected 2 cells, found 1"),
        ("bytes,latency_us\n8,fast\n", 2, "expected latency_us, a number of at least 0; found 'fast'"),
        ("bytes,latency_us\n", 1, "column latency_us has no values"),
        ("# pairs: many\nbytes,latency_us\n8,1\n", 1, "'# pairs: many': expected a whole number"),
        ("# pairs: ²\nbytes,aggregate_MBps\n8,1\n", 1, "'# pairs: ²': expected a whole number from 1"),
        ("# a: b\n# window: 0\nbytes,bandwidth_MBps\n8,1\n", 2, "whole number from 1 to 16,384; found '0'"),
        (f"# window: {'9' * 5000}\nbytes,bandwidth_MBps\n8,1\n", 1, r"999 \(5,000 characters\)"),
        (RATE.format("9" * 5000, 64), 2, "pairs: expected a whole number from 1 to 1,000,000; found '9999"),
        (
            RATE.format(2, 10**9),
            2,
            "window size: expected a whole number from 1 to 16,384; found '1000000000'",
        ),
        (IMB.replace("= 2", "= " + "9" * 5000) + "8 1000 1 1\n", 2, "#processes: expected a whole number"),
        (OSU + "8 1.0\n16 1.0\n" + "9" * 5000 + " 1.0\n", 5, "size of a message, a whole number of bytes"),
        (OSU + "8 1.0\n16 1.0\n" + "9" * 5000 + "\n", 5, "expected a size and a value in us"),
        (
            NCCL + f"# Out of bounds values : {'9' * 5000} OK\n",
            4,
            "the benchmark says itself",
        ),
        (
            "bytes,latency_us\n" + "".join(f"{n},1\n" for n in range(2001)),
            2002,
            "the table has more than 2,000 sizes; expected fewer, such as the powers of two",
        ),
        ("bytes,aggregate_MBps\n8,1\n", 1, "aggregate_MBps needs a line '# pairs: NUMBER'"),
    ],
)
def test_wrong_files_are_refused_with_file_and_line(text: str, line: int, error: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    with pytest.raises(CalibrationError, match=error) as raised:
        calibrate.read(path)
    assert (raised.value.file, raised.value.line) == (str(path), line)
    assert str(raised.value).startswith(f"{path}:{line}: ")


OSU_CHECKED = OSU.replace("Latency (us)", "Latency (us)    Validation")
IMB_CHECKED = IMB.replace("Mbytes/sec", "Mbytes/sec  defects")


@pytest.mark.parametrize(
    ("text", "line", "error"),
    [
        (
            OSU_CHECKED + "8 1.0 Pass\n16 1.0 Fail\n32 1.0 Pass\n",
            4,
            "16 B: validation Fail: the benchmark says",
        ),
        (OSU_BANDWIDTH + "8 1.0 Fail\n", 3, "8 B: validation Fail"),
        (
            OSU + "8 1.0\nDATA VALIDATION ERROR: osu_latency exited with status 1 on message size 16.\n",
            4,
            "on message size 16.*Find the fault and measure again",
        ),
        (IMB_CHECKED + "8 1000 1.0 8.0 0.00\n16 1000 1.0 16.0 3.00\n", 5, "16 B: 3.00 defects"),
        (IMB + "8 1000 1.0 8.0\n1: Error PingPong,size = 16,sample #0\n", 5, "size = 16"),
        (IMB + "8 1000 1.0 8.0\nProcess 1: Got invalid buffer:\n", 5, "Got invalid buffer"),
        (
            IMB + "8 1000 1.0 8.0\n16 time-out.; Time limit reached\n32 1000 1.0 32.0\n",
            5,
            "16 B: IMB gave up: time-out.*Delete this line",
        ),
        (NCCL + "8 1 float none -1 1 1 1 0\n16 2 float none -1 1 1 1 7\n", 5, "16 B: wrong 7: the benchmark"),
        (
            NCCL.replace("#wrong", "error  time algbw busbw error")
            + "8 1 float none -1 1 1 1 0 1 1 1 2e+01*\n",
            4,
            r"8 B: error 2e\+01\*",
        ),
        (NCCL + "8 1 float none -1 1 1 1 N/A\n# Out of bounds values : 2 FAILED\n", 5, "values : 2 FAILED"),
        (NCCL + "8 1 float none -1 1 1 1 0\n Out of bounds values : 1 FAILED\n", 5, "values : 1 FAILED"),
    ],
)
def test_measurements_that_say_they_are_wrong_are_refused(
    text: str, line: int, error: str, tmp_path: Path
) -> None:
    path = written(tmp_path, text)
    with pytest.raises(CalibrationError, match=error) as raised:
        calibrate.read(path)
    assert (raised.value.file, raised.value.line) == (str(path), line)


@pytest.mark.parametrize(
    "text",
    [
        OSU_CHECKED + "8 1.0 Pass\n16 1.5 Pass\n",
        IMB_CHECKED + "8 1000 1.0 8.0 0.00\n16 1000 1.5 11.0 0.00\n",
        NCCL + "8 1 float none -1 1 1 1.0 0\n16 2 float none -1 1 1 1.5 N/A\n# Out of bounds values : 0 OK\n",
    ],
)
def test_measurements_that_pass_their_checks_are_read(text: str, tmp_path: Path) -> None:
    (table,) = calibrate.read(written(tmp_path, text))
    assert [(row.size, row.value) for row in table.rows] == [(8, 1.0), (16, 1.5)]


TABLES = {
    "osu": OSU + "8 1.0\n16 1.5\n",
    "imb": IMB + "8 1000 1.0 8.0\n16 1000 1.5 11.0\n",
    "nccl": NCCL + "8 1 float none -1 1 1 1.0 0\n16 2 float none -1 1 1 1.5 0\n",
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(
    "text",
    [
        "2 nodes were used\n",
        "12:30:01 job 4711 is finished\n",
        "\n2026-11-02T12:30:01\n",
        "\n3 of 4\n24 8.5 GB\n",
        "\n42\n",
        "0 errors\n\n17 1.2 3.4\n",
        "done\n4096\n",
    ],
)
def test_text_after_a_table_may_begin_with_a_digit(table: str, text: str, tmp_path: Path) -> None:
    (read,) = calibrate.read(written(tmp_path, TABLES[table] + text))
    assert [row.size for row in read.rows] == [8, 16]
    # Before a table, too.
    (read,) = calibrate.read(written(tmp_path, "2 nodes\n12:30:01 begin\n" + TABLES[table]))
    assert [row.size for row in read.rows] == [8, 16]


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("damaged", ["32\n", "32 1#7\n", "4x\n", "32.5 1\n", "32 1 fl\n"])
def test_damaged_rows_are_errors(table: str, damaged: str, tmp_path: Path) -> None:
    lines = TABLES[table].splitlines(keepends=True)
    last = len(lines)
    # As the last row, cut off, and between two rows.
    texts = [("".join([*lines[:-1], damaged, lines[-1]]), last)]
    if damaged.startswith("32 ") or damaged == "32\n":
        texts.append((TABLES[table] + damaged, last + 1))
    for text, line in texts:
        path = written(tmp_path, text)
        with pytest.raises(CalibrationError, match="expected") as raised:
            calibrate.read(path)
        assert (raised.value.file, raised.value.line) == (str(path), line)


def test_a_table_goes_on_after_a_message_of_the_library(tmp_path: Path) -> None:
    (table,) = calibrate.read(written(tmp_path, OSU + "8 1.0\n[host1] UCX WARN x\n\n16 1.5\n2 hosts\n"))
    assert [row.size for row in table.rows] == [8, 16]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            OSU + "0 1.0\n8 0\n16 1\n32 1\n64 1\n",
            ":4: 8 B: the value is 0; expected a time or a rate above 0",
        ),
        (OSU + "0 1.0\n8 1\n", "half round-trip times of 2 sizes; expected 5 to 2,000"),
        (
            "# OSU MPI Allreduce Latency Test v5.6.2\n# Size  Avg Latency(us)\n4 5.5\n",
            "nothing to fit in OSU All",
        ),
    ],
)
def test_what_cannot_be_fitted_is_an_error(text: str, error: str, tmp_path: Path) -> None:
    tables = calibrate.read(written(tmp_path, text))
    with pytest.raises(CalibrationError, match=error):
        calibrate.calibrate(tables)


def test_missing_files_are_errors(tmp_path: Path) -> None:
    with pytest.raises(CalibrationError, match="nowhere.out: cannot be read: No such file"):
        calibrate.read(tmp_path / "nowhere.out")


def test_a_long_log_after_a_table_is_read_in_linear_time() -> None:
    log = [f"2024-01-01 12:00:{n:02} a line of a job script" for n in range(20_000)]
    lines = ["1 1.0", "2 1.1", *log, "4 1.2", *log]
    looked = []

    def well_formed(words: list[str]) -> bool:
        looked.append(words)
        return len(words) == 2 and is_size(words[0]) and is_number(words[1])

    # Lines before a row are damaged ones, those after the last are text.
    assert list(row_lines(lines, 0, len(lines), well_formed)) == list(range(20_003))
    assert len(looked) <= 2 * len(lines)


def test_windows_of_many_sizes_are_thinned_for_the_simulation(monkeypatch: pytest.MonkeyPatch) -> None:
    def jobs(sizes: int, window: int) -> list[str]:
        given: list[Any] = []

        def run(experiment: Any) -> Any:
            given.append(experiment)
            raise InterruptedError

        monkeypatch.setattr("fabricsim.calibrate.simulation.run", run)
        with pytest.raises(InterruptedError):
            simulate({}, [8], range(1, sizes + 1), window, 1)
        return [job["name"] for job in given[0]["job"]]

    assert jobs(20, 64) == ["latency-8", *(f"window-{size}" for size in range(1, 21))]
    # A million messages: each sixteenth size, and each second.
    assert jobs(1000, 16_384)[:3] == ["latency-8", "window-1", "window-17"]
    assert jobs(100, 16_384)[1:4] == ["window-1", "window-3", "window-5"]


# The robust fit.


def test_an_outlier_has_no_influence_on_the_fit() -> None:
    rows = [(1.0, float(x)) for x in range(9)]
    targets = [3.0 + 2.0 * x for x in range(9)]
    targets[4] = 1000.0
    solution = minimise(rows, targets, ((None, None), (None, None)))
    assert solution is not None
    assert solution.values == pytest.approx((3.0, 2.0), abs=1e-4)


def test_bounds_hold() -> None:
    rows = [(1.0, float(x)) for x in range(9)]
    targets = [3.0 - 2.0 * x for x in range(9)]
    solution = minimise(rows, targets, ((None, None), (0.0, None)))
    assert solution is not None and solution.at_bound == {1}
    # The median of the targets.
    assert solution.values == pytest.approx((-5.0, 0.0), abs=1e-3)


def test_dependent_columns_have_no_solution() -> None:
    assert minimise([(1.0, 2.0), (2.0, 4.0), (3.0, 6.0)], [1.0, 2.0, 3.0], ((None, None),) * 2) is None


# Measurements by the simulator, with the programs of the benchmarks written again.


def ping_pong(rank: int, ranks: int, size: int) -> mpi.Operations:
    for _ in range(2):
        if rank == 0:
            yield mpi.send(1, size)
            yield mpi.recv(1, size)
        else:
            yield mpi.recv(0, size)
            yield mpi.send(0, size)


def stream(rank: int, ranks: int, size: int) -> mpi.Operations:
    requests = []
    for _ in range(WINDOW):
        requests.append((yield mpi.irecv(0, size) if rank else mpi.isend(1, size)))
    yield mpi.waitall(requests)
    if rank:
        yield mpi.send(0, 4)
    else:
        yield mpi.recv(1, 4)


LIBRARY = {"send_overhead": "250 ns", "receive_overhead": "350 ns", "eager_threshold": "8 KiB"}
# Two cables, a switch and both NICs: 450 ns.
NETWORK = {
    "link": {"bandwidth": "200 Gbps", "latency": "40 ns"},
    "router": {"delay": "120 ns"},
    "nic_injection_delay": "100 ns",
    "nic_reception_delay": "150 ns",
}


def measured(
    library: Mapping[str, Any], network: Mapping[str, Any] = NETWORK
) -> tuple[dict[int, float], dict[int, float]]:
    """Half round-trip times in us and bandwidths in MB/s, in pairs of hosts at one leaf of a tree."""
    windows = [2**power for power in range(21)]
    jobs = [("latency", size, Program(ping_pong, ranks=2, arguments={"size": size})) for size in SIZES]
    jobs += [("window", size, Program(stream, ranks=2, arguments={"size": size})) for size in windows]
    result = fabricsim.run(
        {
            "network": {
                "topology": {"kind": "fat-tree", "radix": 8},
                "routing": {"algorithm": "destination-mod-k"},
                **network,
            },
            "mpi": dict(library),
            "job": [{"name": f"{kind}-{size}", "workload": program} for kind, size, program in jobs],
        }
    )
    times = {job.name: job.time_ns for job in result.summary.jobs}
    return (
        {size: times[f"latency-{size}"] / 4e3 for size in SIZES},
        {size: WINDOW * size / times[f"window-{size}"] * 1e3 for size in windows},
    )


def noisy(values: Mapping[int, float], noise: float, seed: int) -> dict[int, float]:
    generator = random.Random(seed)
    return {size: value * (1 + generator.gauss(0, noise)) for size, value in values.items()}


def as_osu(values: Mapping[int, float], head: str = OSU) -> str:
    return head + "".join(f"{size:<12}{value:>12.4f}\n" for size, value in values.items())


def fitted(
    folder: Path, latency: Mapping[int, float], bandwidth: Mapping[int, float] | None = None, **given: Any
) -> Calibration:
    tables = calibrate.read(written(folder, as_osu(latency), "osu_latency.out"))
    if bandwidth is not None:
        tables += calibrate.read(written(folder, as_osu(bandwidth, OSU_BANDWIDTH), "osu_bw.out"))
    return calibrate.calibrate(tables, Given(**given))


@pytest.fixture(scope="module")
def plain() -> tuple[dict[int, float], dict[int, float]]:
    return measured(LIBRARY)


COPYING = {
    "send_overhead": "200 ns",
    "receive_overhead": "200 ns",
    "eager_threshold": "16 KiB",
    "short_threshold": "128 B",
    "receive_copy_bandwidth": "20 Gbps",
}


@pytest.fixture(scope="module")
def copying() -> tuple[dict[int, float], dict[int, float]]:
    return measured(COPYING)


def keys(calibration: Calibration) -> dict[str, str]:
    return {entry.key: entry.value for entry in calibrate.preset(calibration).entries}


def ns(text: str) -> float:
    number, unit = text.split()
    assert unit == "ns"
    return float(number)


def mbps(text: str) -> float:
    number, unit = text.split()
    assert unit == "Mbps"
    return float(number)


def test_the_formulas_are_those_of_the_simulator(
    plain: tuple[dict[int, float], dict[int, float]], copying: tuple[dict[int, float], dict[int, float]]
) -> None:
    for (latency, _), thresholds, values in (
        (plain, Thresholds(None, 8192), (0.6, 0.45, 0.04, 0.0)),
        (copying, Thresholds(128, 16384), (0.4, 0.45, 0.04, 0.4)),
    ):
        for size, time in latency.items():
            row = coefficients(size, thresholds, Framing())
            # A picosecond for each rounded rate.
            assert sum(x * y for x, y in zip(row, values, strict=True)) == pytest.approx(time, abs=1e-4), size


def test_packet_headers_are_in_the_formulas() -> None:
    network = {**NETWORK, "packet": "1 KiB", "packet_header": "30 B"}
    latency, _ = measured(LIBRARY, network)
    for size, time in latency.items():
        row = coefficients(size, Thresholds(None, 8192), Framing(packet=1024, packet_header=30))
        assert sum(x * y for x, y in zip(row, (0.6, 0.45, 0.04, 0.0), strict=True)) == pytest.approx(
            time, abs=1e-4
        )


def test_exact_times_give_parameters_within_two_percent(
    plain: tuple[dict[int, float], dict[int, float]], tmp_path: Path
) -> None:
    calibration = fitted(tmp_path, *plain, switch_latency=0.12, cable_latency=0.04)
    found = keys(calibration)
    assert calibration.separation == "jump"
    assert found["mpi.eager_threshold"] == "8192 B"
    # Messages of a window share the link, end together, and then wait for the receiver's CPU: the plateau is
    # a little low, and the latency makes up for it.
    assert ns(found["mpi.send_overhead"]) == pytest.approx(250, rel=0.02)
    assert ns(found["mpi.receive_overhead"]) == pytest.approx(350, rel=0.001)
    assert mbps(found["network.link.bandwidth"]) == pytest.approx(200_000, rel=0.01)
    nic = ns(found["network.nic_injection_delay"]) + ns(found["network.nic_reception_delay"])
    assert nic == pytest.approx(250, rel=0.02)
    assert (found["network.link.latency"], found["network.router.delay"]) == ("40 ns", "120 ns")
    assert "mpi.send_copy_bandwidth" not in found
    assert not warnings(calibration)


@pytest.mark.parametrize("seed", range(4))
def test_known_parameters_are_recovered_from_noisy_times(
    plain: tuple[dict[int, float], dict[int, float]], seed: int, tmp_path: Path
) -> None:
    """Noise of 2 %: overheads within 10 %, network latency 15 %, the link 4 %, the threshold exactly."""
    latency, bandwidth = (noisy(values, 0.02, seed) for values in plain)
    calibration = fitted(tmp_path, latency, bandwidth)
    assert (
        calibration.overhead is not None and calibration.network is not None and calibration.link is not None
    )
    assert calibration.fit is not None
    assert calibration.fit.thresholds == Thresholds(None, 8192)
    assert calibration.overhead.value == pytest.approx(0.6, rel=0.1)
    assert calibration.network.value == pytest.approx(0.45, rel=0.15)
    assert calibration.link.value == pytest.approx(25.0, rel=0.04)
    assert calibration.message_time is not None
    assert calibration.message_time.value == pytest.approx(0.35, rel=0.05)
    # The uncertainty is of the size of the error.
    assert abs(calibration.overhead.value - 0.6) < 3 * calibration.overhead.error < 0.18


@pytest.mark.parametrize("seed", range(4))
def test_two_slopes_show_the_copies(
    copying: tuple[dict[int, float], dict[int, float]], seed: int, tmp_path: Path
) -> None:
    """Noise of 2 %, latency only: the eager threshold exactly, copies within 10 %, overheads within 25 %."""
    calibration = fitted(tmp_path, noisy(copying[0], 0.02, seed))
    assert calibration.fit is not None
    found = keys(calibration)
    assert found["mpi.eager_threshold"] == "16384 B"
    # The copy of 128 B takes 0.05 of 0.9 us: the place of this change is uncertain, its slope is not.
    assert calibration.fit.thresholds.short in (-1, 64, 128, 256)
    # Half of the copies at each side, each twice as fast: 0.4 ns per byte together.
    assert mbps(found["mpi.send_copy_bandwidth"]) == pytest.approx(40_000, rel=0.1)
    assert calibration.overhead is not None and calibration.network is not None
    assert calibration.overhead.value == pytest.approx(0.4, rel=0.25)
    assert calibration.network.value == pytest.approx(0.45, rel=0.25)
    assert abs(calibration.overhead.value - 0.4) < 3 * calibration.overhead.error
    assert mbps(found["network.link.bandwidth"]) == pytest.approx(200_000, rel=0.03)


def test_repetitions_reduce_the_noise(
    plain: tuple[dict[int, float], dict[int, float]], tmp_path: Path
) -> None:
    """Five files of each benchmark: overheads and network latency within 6 %, the link within 2 %."""
    tables = []
    for seed in range(5):
        for values, head in zip(plain, (OSU, OSU_BANDWIDTH), strict=True):
            tables += calibrate.read(written(tmp_path, as_osu(noisy(values, 0.02, seed), head)))
    calibration = calibrate.calibrate(tables)
    assert calibration.overhead is not None and calibration.network is not None
    assert calibration.link is not None
    assert calibration.overhead.value == pytest.approx(0.6, rel=0.06)
    assert calibration.network.value == pytest.approx(0.45, rel=0.06)
    assert calibration.link.value == pytest.approx(25.0, rel=0.02)


def test_exact_copies_give_the_exact_short_threshold(
    copying: tuple[dict[int, float], dict[int, float]], tmp_path: Path
) -> None:
    found = keys(fitted(tmp_path, copying[0]))
    assert (found["mpi.short_threshold"], found["mpi.eager_threshold"]) == ("128 B", "16384 B")


def test_without_a_jump_nothing_tells_overhead_and_latency_apart(tmp_path: Path) -> None:
    latency, bandwidth = measured({**LIBRARY, "eager_threshold": "8 MiB"})
    calibration = fitted(tmp_path, latency)
    assert calibration.separation == "none" and calibration.overhead is None
    assert calibration.together is not None
    assert calibration.together.value == pytest.approx(1.05, abs=0.01)
    found = calibrate.preset(calibration)
    assert found.to_dict()["mpi"] == {"eager_threshold": "4194304 B"}
    missing = {one.key: one.reason for one in found.missing}
    assert "nothing tells the two apart" in missing["mpi.send_overhead, mpi.receive_overhead"]
    assert not found.complete
    # The user's latencies tell them apart; NIC pipelines cannot be told from overheads.
    given = keys(fitted(tmp_path, latency, switch_latency=0.12, cable_latency=0.04))
    assert ns(given["mpi.send_overhead"]) == pytest.approx(425, abs=3)
    assert "network.nic_injection_delay" not in given
    # A window gives the larger overhead, so the sum within its half.
    calibration = fitted(tmp_path, latency, bandwidth)
    assert calibration.separation == "window" and calibration.overhead is not None
    assert abs(calibration.overhead.value - 0.6) <= calibration.overhead.error


def test_a_simulation_with_the_preset_repeats_the_measurement(
    plain: tuple[dict[int, float], dict[int, float]],
    copying: tuple[dict[int, float], dict[int, float]],
    tmp_path: Path,
) -> None:
    for latency, bandwidth in (plain, copying):
        calibration = fitted(tmp_path, latency, bandwidth, switch_latency=0.12, cable_latency=0.04)
        found = calibrate.preset(calibration)
        assert found.complete
        again = simulate(found.to_dict(), latency, [1, 2, 4, 8], WINDOW, switches=1)
        assert calibration.fit is not None
        for size, time, predicted in zip(SIZES, latency.values(), calibration.fit.predicted, strict=True):
            assert again.latency[size] == pytest.approx(time, rel=0.01), size
            assert again.latency[size] == pytest.approx(predicted, rel=0.001), size


def test_several_switches_between_the_hosts_are_simulated(
    plain: tuple[dict[int, float], dict[int, float]], tmp_path: Path
) -> None:
    latency, bandwidth = plain
    calibration = fitted(tmp_path, latency, bandwidth, switches=3, switch_latency=0.06, cable_latency=0.02)
    found = calibrate.preset(calibration)
    again = simulate(found.to_dict(), [0, 2**16], [], WINDOW, switches=3)
    assert again.latency[2**16] == pytest.approx(latency[2**16], rel=0.01)


# Real files.


@pytest.fixture
def raw() -> Callable[[str], Path]:
    def find(name: str) -> Path:
        for folder in (FIXTURES, SHARED):
            if (folder / name).is_file():
                return folder / name
        pytest.skip(f"{name} is neither in {FIXTURES} nor in {SHARED}")

    return find


@pytest.mark.parametrize(
    ("name", "kind", "sizes", "pairs", "first", "last"),
    [
        ("stackhpc-alaska-ib-ompi-osu_latency.out", "latency", 24, 1, (0, 1.00), (4194304, 351.21)),
        ("stackhpc-alaska-ib-ompi-osu_bw.out", "bandwidth", 23, 1, (1, 0.00753), (4194304, 12.16486)),
        ("stackhpc-alaska-ib-ompi-osu_bibw.out", "bidirectional", 23, 1, (1, 0.00984), (4194304, 20.7991)),
        ("stackhpc-alaska-ib-ompi-osu_mbw_mr_1_0.out", "message-rate", 23, 32, (1, 0.06885), None),
        ("stackhpc-alaska-ib-ompi-osu_mbw_mr_2.out", "message-rate", 23, 1, (1, 0.00759), None),
        ("stackhpc-alaska-ib-ompi-imb_pingpong.out", "latency", 24, 1, (0, 1.03), (4194304, 352.68)),
        ("stackhpc-csd3-ib-impi-imb_pingpong.out", "latency", 24, 1, (0, 1.09), (4194304, 347.52)),
        ("stackhpc-alaska-ib-ompi-osu_allreduce.out", "collective", 0, 1, None, None),
        ("stackhpc-alaska-ib-ompi-imb_biband_4.out", "collective", 0, 1, None, None),
        ("h100-cluster01-all_reduce_perf-10n-g1.log", "collective", 10, 1, (33554432, 42.98), None),
        ("h100-cluster01-alltoall_perf-10n-g8.log", "collective", 10, 1, (33553920, 34.15), None),
    ],
)
def test_real_files_are_read(
    raw: Callable[[str], Path],
    name: str,
    kind: str,
    sizes: int,
    pairs: int,
    first: tuple[int, float] | None,
    last: tuple[int, float] | None,
) -> None:
    (table,) = calibrate.read(raw(name))
    assert (table.kind, table.pairs) == (kind, pairs)
    assert len(table.rows) == sizes
    for expected, row in ((first, table.rows[:1]), (last, table.rows[-1:])):
        if expected is not None:
            assert row[0].size == expected[0]
            assert row[0].value == pytest.approx(expected[1], rel=1e-3)


def test_conditions_come_from_the_header(raw: Callable[[str], Path]) -> None:
    (table,) = calibrate.read(raw("stackhpc-csd3-ib-impi-imb_pingpong.out"))
    assert table.conditions["date"] == "Thu Oct  1 16:20:15 2020"
    assert table.conditions["program"] == "IMB 2019 Update 6"
    (table,) = calibrate.read(raw("h100-cluster01-all_reduce_perf-10n-g8.log"))
    assert (table.ranks_per_host, table.conditions["hosts"]) == (8, "10")
    assert table.conditions["program"] == "nccl-tests 2.17.8"


def test_a_real_pair_of_files_is_fitted(raw: Callable[[str], Path]) -> None:
    names = ("osu_latency", "osu_bw", "osu_mbw_mr_1_0", "osu_mbw_mr_2")
    tables = calibrate.read_all(raw(f"stackhpc-alaska-ib-ompi-{name}.out") for name in names)
    calibration = calibrate.calibrate(tables, Given(switch_latency=0.1, cable_latency=0.01))
    assert calibration.link is not None and calibration.together is not None and calibration.fit is not None
    # 100 Gbps less headers of packets; smallest messages take 1.02 us.
    assert calibration.link.value == pytest.approx(12.16, rel=0.005)
    assert calibration.together.value == pytest.approx(1.02, rel=0.03)
    assert calibration.fit.mean_residual < 0.12
    # The library's handshake takes 4 us: our model has no CPU time there, and says so.
    names_of = {warning.name for warning in warnings(calibration)}
    assert {"large-handshake", "poor-fit"} <= names_of
    assert calibration.separation == "window"
    assert calibration.gap is None and "grows with the pairs" in calibration.gap_reason
    found = calibrate.preset(calibration)
    assert found.complete
    again = simulate(found.to_dict(), calibration.latency, [], 64, switches=1)
    for size, predicted in zip(calibration.fit.sizes, calibration.fit.predicted, strict=True):
        assert again.latency[size] == pytest.approx(predicted, rel=0.002), size


def test_bus_bandwidth_gives_the_link_only_with_one_rank_on_each_host(raw: Callable[[str], Path]) -> None:
    one = calibrate.read(raw("h100-cluster01-all_reduce_perf-10n-g1.log"))
    calibration = calibrate.calibrate(one)
    assert calibration.link is not None and calibration.link.value == pytest.approx(48.6, rel=0.01)
    assert list(keys(calibration)) == ["network.link.bandwidth"]
    eight = calibrate.read(raw("h100-cluster01-all_reduce_perf-10n-g8.log"))
    calibration = calibrate.calibrate(eight)
    assert calibration.link is None and "several ranks on a host" in calibration.link_source
    assert not keys(calibration)


# Warnings: each has a case with it and one without.

STRAIGHT = {size: 1.0 + size * 1e-4 for size in SIZES}
RATES = {size: 10_000 * size / (size + 1500) for size in SIZES[1:]}
Rates = dict[int, float]


def raised(folder: Path, latency: Rates, bandwidth: Rates | None = None, **given: Any) -> set[str]:
    return {warning.name for warning in warnings(fitted(folder, latency, bandwidth, **given))}


def changed(values: Rates, factor: float, least: int, most: int = 1 << 30) -> Rates:
    return {size: value * (factor if least <= size <= most else 1) for size, value in values.items()}


# The link from half round-trip times alone. Times are in closed form: a handshake may take any time.


def times_of(
    gbps: float,
    base: float = 1.2,
    handshake: float = 0.0,
    eager: int = 16384,
    copy: float = 0.0,
    largest: int = 1 << 22,
    noise: float = 0.0,
    seed: int = 0,
) -> dict[int, float]:
    """Half round-trip times in us as printed; `copy` in ns per byte."""
    generator = random.Random(seed)
    found = {}
    for size in SIZES:
        if size <= largest:
            time = base + 8e-3 / gbps * (size + 32) + (handshake if size > eager else copy * 1e-3 * size)
            found[size] = round(time * (1 + generator.gauss(0, noise)), 2)
    return found


def link_of(times: Mapping[int, float]) -> Link:
    rows = tuple(Row(3 + at, size, time) for at, (size, time) in enumerate(times.items()))
    return by_times(times, [Measurement("file.out", "OSU", "latency", rows)], Framing(), None)


@pytest.mark.parametrize("noise", [0.0, 0.02])
@pytest.mark.parametrize("handshake", [0.0, 1.0, 3.0, 6.0, 10.0, 15.0, 20.0])
def test_the_uncertainty_holds_the_link(handshake: float, noise: float) -> None:
    generator = random.Random(int(handshake * 100 + noise * 1000))
    for seed in range(4):
        gbps = 10 * 40 ** generator.random()
        largest = generator.choice([1 << 20, 1 << 22])
        times = times_of(
            gbps,
            generator.uniform(0.5, 5.0),
            handshake,
            # At least three sizes after it, which exact times need.
            largest >> generator.randint(3, 12),
            generator.choice([0.0, 0.05, 0.2]),
            largest,
            noise,
            seed,
        )
        link = link_of(times)
        if link.bandwidth is None:
            assert noise and "measure again" in link.source
            continue
        found, error = link.bandwidth.value * 8, link.bandwidth.error * 8
        assert abs(found - gbps) <= error, (gbps, found, error, times)
        assert link.bandwidth.value >= max(size / (time * 1e3) for size, time in times.items()) * (1 - 1e-9)
        if not noise:
            assert found == pytest.approx(gbps, rel=0.005)
            assert error <= 0.02 * gbps
            assert not link.doubts


@pytest.mark.parametrize("eager", [1 << 19, 1 << 20, 1 << 21])
def test_a_handshake_among_the_largest_sizes_makes_the_link_uncertain(eager: int) -> None:
    """A protocol change where the slope is looked for: the uncertainty holds the truth, or there is none."""
    for gbps in (10.0, 50.0, 100.0, 400.0):
        for handshake in (2.0, 20.0):
            link = link_of(times_of(gbps, handshake=handshake, eager=eager))
            if link.bandwidth is not None:
                assert abs(link.bandwidth.value * 8 - gbps) <= link.bandwidth.error * 8


@pytest.mark.parametrize("eager", [1 << 12, 1 << 15, 1 << 22])
@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_sizes_up_to_64_kib_do_not_determine_the_link(eager: int, noise: float, tmp_path: Path) -> None:
    times = times_of(100.0, handshake=6.0, eager=eager, copy=0.1, largest=1 << 16, noise=noise)
    calibration = fitted(tmp_path, times)
    assert calibration.link is None
    found = calibrate.preset(calibration)
    reason = next(one.reason for one in found.missing if one.key == "network.link.bandwidth")
    least = 8e-3 * (1 << 16) / times[1 << 16]
    assert "fewer than 4 half round-trip times of at least 64 KiB" in reason
    assert f"at least {least:.4g} Gbps, which 65536 B in {tmp_path}/osu_latency.out:20 prove" in reason


@pytest.mark.parametrize("handshake", [0.0, 6.0, 15.0])
def test_a_long_handshake_does_not_make_the_link_slow(handshake: float, tmp_path: Path) -> None:
    calibration = fitted(tmp_path, times_of(100.0, handshake=handshake))
    assert mbps(keys(calibration)["network.link.bandwidth"]) == pytest.approx(100_000, rel=0.002)
    names = {warning.name for warning in warnings(calibration)}
    assert ("large-handshake" in names) == (handshake > 0)
    assert "bandwidth-in-doubt" not in names
    # The fit has the link's bandwidth, so that a simulation with the preset repeats it.
    assert calibration.link is not None and calibration.fit is not None
    assert calibration.fit.values[GAP] == pytest.approx(1 / calibration.link.value)


def test_a_row_bounds_the_link_and_what_contradicts_it_is_said(tmp_path: Path) -> None:
    times = times_of(100.0)
    # From 64 KiB on ever slower: the slope is 20 % less than what 64 KiB prove.
    times.update({size: times[1 << 16] * 1.02 * (size >> 16) for size in times if size > 1 << 16})
    times[1 << 16] *= 0.8
    calibration = fitted(tmp_path, times)
    proven = (1 << 16) / (times[1 << 16] * 1e3)
    assert calibration.link is not None and calibration.fit is not None
    assert calibration.link.value == pytest.approx(proven, rel=1e-3)
    slope = ((1 << 22) - (1 << 17)) / (times[1 << 22] - times[1 << 17]) * 1e-3
    assert calibration.link.value - calibration.link.error <= slope
    texts = [one.text for one in warnings(calibration) if one.name == "bandwidth-in-doubt"]
    assert any("osu_latency.out:20: 65536 B prove" in text and "covers both" in text for text in texts)
    # Windows: a single message that is faster than all windows.
    calibration = fitted(tmp_path, STRAIGHT, changed(RATES, 0.7, 0))
    assert calibration.link is not None
    assert calibration.link.value == pytest.approx(10.0, rel=0.005)
    assert calibration.link.value - calibration.link.error <= 7.0
    assert "bandwidth-in-doubt" in {one.name for one in warnings(calibration)}


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("stackhpc-alaska-ib-ompi-osu_latency.out", 96, 98),
        ("stackhpc-alaska-ib-ompi-imb_pingpong.out", 96, 98),
        ("stackhpc-csd3-ib-impi-imb_pingpong.out", 97, 99),
    ],
)
def test_real_latencies_alone_give_the_link(
    raw: Callable[[str], Path], name: str, least: float, most: float
) -> None:
    """Ports of 100 Gbps. The windows of the first machine reach 97.3 Gbps."""
    (table,) = calibrate.read(raw(name))
    calibration = calibrate.calibrate([table])
    assert calibration.link is not None
    found, error = calibration.link.value * 8, calibration.link.error * 8
    assert found >= max(8e-3 * row.size / row.value for row in table.rows)
    assert least <= found <= most
    assert found - error <= 97.3 <= found + error < 105


def test_the_row_that_proves_most_counts_of_all_files(tmp_path: Path) -> None:
    """The median of the files is slower; the fastest one is possible."""
    tables = []
    for gbps in (80.0, 82.0, 95.0):
        tables += calibrate.read(written(tmp_path, as_osu(times_of(gbps)), f"{gbps}.out"))
    calibration = calibrate.calibrate(tables)
    assert calibration.link is not None
    assert calibration.link.value * 8 == pytest.approx(95.0, rel=0.01)
    assert (calibration.link.value - calibration.link.error) * 8 <= 82.0
    texts = [one.text for one in warnings(calibration) if one.name == "bandwidth-in-doubt"]
    assert any("95.0.out:26: 4194304 B prove" in text for text in texts)


def test_windows_without_large_sizes_leave_the_link_to_the_times(tmp_path: Path) -> None:
    small = {size: rate for size, rate in RATES.items() if size <= 1 << 12}
    calibration = fitted(tmp_path, STRAIGHT, small)
    assert calibration.link is not None and calibration.link.value == pytest.approx(10.0, rel=0.005)
    calibration = fitted(tmp_path, {size: time for size, time in STRAIGHT.items() if size <= 1 << 14}, small)
    assert calibration.link is None
    assert "256 KiB in a window" in calibration.link_source and "prove" in calibration.link_source


def test_rows_of_one_direction_alone_give_the_link(raw: Callable[[str], Path]) -> None:
    (table,) = calibrate.read(raw("stackhpc-alaska-ib-ompi-osu_bw.out"))
    calibration = calibrate.calibrate([table])
    assert calibration.link is not None and calibration.fit is None
    assert calibration.link.value == pytest.approx(12.16, rel=0.005)
    assert calibration.link.value >= max(row.value for row in table.rows)
    assert list(keys(calibration)) == ["network.link.bandwidth"]


@pytest.mark.parametrize(
    ("name", "bad", "good"),
    [
        ("inside-host", (changed(STRAIGHT, 0.5, 0), None), (changed(STRAIGHT, 0.7, 0), None)),
        ("inside-host", (STRAIGHT, changed(RATES, 11, 0)), (STRAIGHT, changed(RATES, 9, 0))),
        ("tcp", (changed(STRAIGHT, 9, 0), None), (changed(STRAIGHT, 7, 0), None)),
        ("falling-bandwidth", (STRAIGHT, changed(RATES, 0.8, 2**20)), (STRAIGHT, changed(RATES, 0.9, 2**20))),
        ("falling-latency", (changed(STRAIGHT, 0.9, 8, 8), None), (changed(STRAIGHT, 0.97, 8, 8), None)),
        ("few-sizes", ({size: STRAIGHT[size] for size in SIZES[:11]}, None), (STRAIGHT, None)),
        ("few-sizes", ({size: STRAIGHT[size] for size in SIZES[:20]}, None), (STRAIGHT, None)),
        ("few-sizes", ({size: STRAIGHT[size] for size in SIZES[8:]}, None), (STRAIGHT, RATES)),
        ("slope-contradicts-window", (STRAIGHT, changed(RATES, 1.3, 0)), (STRAIGHT, changed(RATES, 1.1, 0))),
    ],
)
def test_warnings(
    name: str, bad: tuple[Rates, Rates | None], good: tuple[Rates, Rates | None], tmp_path: Path
) -> None:
    assert name in WARNINGS
    assert name in raised(tmp_path, *bad)
    assert name not in raised(tmp_path, *good)


def test_files_that_disagree(tmp_path: Path) -> None:
    for factor, expected in ((1.25, True), (1.15, False)):
        one = written(tmp_path, as_osu(STRAIGHT), "one.out")
        other = written(tmp_path, as_osu(changed(STRAIGHT, factor, 64, 64)), "other.out")
        found = warnings(calibrate.calibrate(calibrate.read_all([one, other])))
        texts = [warning.text for warning in found if warning.name == "files-disagree"]
        assert bool(texts) == expected
        if expected:
            assert (
                "one.out" in texts[0]
                and "other.out" in texts[0]
                and "25 %" in texts[0]
                and "64 B" in texts[0]
            )


def test_half_duplex_hosts(tmp_path: Path) -> None:
    for factor, expected in ((1.3, True), (1.9, False)):
        tables = calibrate.read(written(tmp_path, as_osu(STRAIGHT), "a.out"))
        tables += calibrate.read(written(tmp_path, as_osu(RATES, OSU_BANDWIDTH), "b.out"))
        head = OSU_BANDWIDTH.replace("Bandwidth Test", "Bi-Directional Bandwidth Test")
        tables += calibrate.read(written(tmp_path, as_osu(changed(RATES, factor, 0), head), "c.out"))
        names = {warning.name for warning in warnings(calibrate.calibrate(tables))}
        assert ("half-duplex" in names) == expected


def test_warnings_of_the_fit(plain: tuple[dict[int, float], dict[int, float]], tmp_path: Path) -> None:
    latency, bandwidth = plain
    assert not raised(tmp_path, latency, bandwidth)
    # A handshake of 5 us is beyond two network latencies.
    slow = {size: time + (5.0 if size > 8192 else 0.0) for size, time in latency.items()}
    assert "large-handshake" in raised(tmp_path, slow, bandwidth)
    # A step in the middle of the rendezvous range: no part of the model.
    stepped = changed(latency, 2.5, 2**16)
    assert "poor-fit" in raised(tmp_path, stepped)


def test_thresholds_that_differ_from_those_of_lines(raw: Callable[[str], Path]) -> None:
    names = ("osu_latency", "osu_bw")
    tables = calibrate.read_all(raw(f"stackhpc-alaska-ib-ompi-{name}.out") for name in names)
    found = {warning.name: warning.text for warning in warnings(calibrate.calibrate(tables))}
    assert "8192 B" in found["thresholds-differ"]
    known = calibrate.calibrate(tables, Given(eager_threshold=8192))
    assert "thresholds-differ" not in {warning.name for warning in warnings(known)}
    assert keys(known)["mpi.eager_threshold"] == "8192 B"


def test_windows_that_differ_from_a_simulation(
    copying: tuple[dict[int, float], dict[int, float]], tmp_path: Path
) -> None:
    latency, bandwidth = copying
    for rate, expected in ((2.0, True), (1.0, False)):
        rates = {**bandwidth, 8192: 0.0}
        calibration = fitted(tmp_path, latency, bandwidth, switch_latency=0.12, cable_latency=0.04)
        simulated = simulate(calibrate.preset(calibration).to_dict(), [0], [8192], WINDOW, switches=1)
        rates[8192] = rate * simulated.bandwidth[8192] * 1e3
        calibration = fitted(tmp_path, latency, rates, switch_latency=0.12, cable_latency=0.04)
        names = {warning.name for warning in warnings(calibration, simulated)}
        assert ("window-differs" in names) == expected


def test_the_gap_of_a_nic_shows_where_more_pairs_bring_nothing(tmp_path: Path) -> None:
    for rates, expected in (({4: 80.0, 8: 82.0}, 12.2), ({4: 80.0, 8: 160.0}, None), ({8: 82.0}, None)):
        tables = calibrate.read(written(tmp_path, as_osu(STRAIGHT)))
        for pairs, rate in rates.items():
            text = f"# pairs: {pairs}\nbytes,aggregate_MBps\n1,{rate}\n8,{8 * rate}\n"
            tables += calibrate.read(written(tmp_path, text, f"{pairs}.csv"))
        found = keys(calibrate.calibrate(tables))
        assert ("mpi.nic_gap" in found) == (expected is not None)
        if expected is not None:
            assert ns(found["mpi.nic_gap"]) == pytest.approx(expected, rel=0.01)


# The command.


def test_the_command_writes_a_preset_that_runs(
    plain: tuple[dict[int, float], dict[int, float]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    latency = written(tmp_path, as_osu(noisy(plain[0], 0.01, 1)), "osu_latency.out")
    bandwidth = written(tmp_path, as_osu(plain[1], OSU_BANDWIDTH), "osu_bw.out")
    out = tmp_path / "preset.toml"
    status = main(
        [
            *(str(latency), str(bandwidth), "--out", str(out)),
            *("--switch-latency", "120 ns", "--cable-latency", "40 ns"),
        ]
    )
    printed = capsys.readouterr().out
    assert status == 0
    assert "simulated us" in printed and "mpi.eager_threshold" in printed and "not determined" in printed
    text = out.read_text()
    assert f"# - {latency}: OSU Latency Test, 24 sizes" in text
    assert "#     date: not in the file" in text
    tables = tomllib.loads(text)
    assert set(tables) == {"mpi", "network"}
    network = {"topology": {"kind": "torus", "sizes": [4, 4]}, "routing": {"algorithm": "dimension-order"}}
    job = {"name": "app", "workload": Program(ping_pong, ranks=2, arguments={"size": 8})}
    result = fabricsim.run({"network": network, "job": [job]}, set=tables)
    assert result.summary.experiment.mpi.eager_threshold == "8 KiB"


def test_the_command_prints_json_and_draws(
    plain: tuple[dict[int, float], dict[int, float]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    latency = written(tmp_path, as_osu(plain[0]), "osu_latency.out")
    for ending in ("png", "svg", "pdf"):
        figure = tmp_path / f"figure.{ending}"
        assert main([str(latency), "--json", "--no-simulation", "--figure", str(figure)]) == 0
        assert figure.stat().st_size > 1000
    printed = json.loads(capsys.readouterr().out.rpartition("\n{\n")[2].join(["{\n", ""]))
    assert printed["preset"]["mpi"]["eager_threshold"] == "8192 B"
    assert len(printed["latency"]) == 24
    assert {"key", "reason"} == set(printed["missing"][0])


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--switch-latency", "1 ns"], "--switch-latency and --cable-latency: expected both or none"),
        (["--switch-latency", "1", "--cable-latency", "1 ns"], "--switch-latency: expected a time such as"),
        (["--switch-latency", "1 ns", "--cable-latency", "0 ns"], "--cable-latency: expected at least 1 ps"),
        (["--switch-latency", "1 s", "--cable-latency", "1 ns"], "take 1e+06 us together, but the smallest"),
        (["--switches", "0"], "--switches: expected 1 to 16, found 0"),
        (["--packet", "0 B"], "--packet: expected at least 1 B"),
        (["--header-size", "3 ns"], "--header-size: expected a size such as"),
        (["--packet", "9" * 5000 + " B"], '--packet: expected a size such as "64 B"; found \'9999'),
        (["--figure", "figure.doc"], "expected a file that ends in .png, .svg or .pdf"),
    ],
)
def test_wrong_arguments(
    arguments: list[str], error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if "--figure" in arguments:
        pytest.importorskip("matplotlib")
    latency = written(tmp_path, as_osu(STRAIGHT))
    assert main([str(latency), *arguments]) == 2
    assert error in capsys.readouterr().err


def test_wrong_files_end_the_command_with_status_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "")
    assert main([str(path)]) == 2
    assert capsys.readouterr().err.startswith(f"fabricsim: {path}:1: the file is empty")


def test_a_preset_that_cannot_be_written_is_status_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    latency = written(tmp_path, as_osu(STRAIGHT))
    assert main([str(latency), "--no-simulation", "--out", str(tmp_path / "no" / "preset.toml")]) == 1
    assert "cannot be written" in capsys.readouterr().err
