"""The command ``fabricsim calibrate``: its options, what it prints, its exit status.

Exit status: 0 done, with or without warnings; 1 a file cannot be written, or a library is missing; 2 a file
of measurements or an argument is wrong; 130 interrupted.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import uuid
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from fabricsim._errors import CalibrationError
from fabricsim.calibrate.calibration import Given, calibrate
from fabricsim.calibrate.checks import warnings
from fabricsim.calibrate.figure import need_plots
from fabricsim.calibrate.figure import write as write_figure
from fabricsim.calibrate.model import Framing
from fabricsim.calibrate.preset import preset, to_toml
from fabricsim.calibrate.reading import read_all
from fabricsim.calibrate.report import as_json, text
from fabricsim.calibrate.simulation import simulate
from fabricsim.sweep.quantity import Quantity
from fabricsim.sweep.section import shortened

__all__ = ["main"]

FAILED, WRONG_INPUT, INTERRUPTED = 1, 2, 130
_PS_PER_US = 10**6
_MOST_SWITCHES = 16


def main(arguments: Sequence[str]) -> int:
    """Runs the command with the arguments after ``fabricsim calibrate``; returns the exit status."""
    options = _parser().parse_args(arguments)
    try:
        if options.figure is not None:
            need_plots()
    except CalibrationError as error:
        return _fail(error, FAILED)
    try:
        return _run(options)
    except CalibrationError as error:
        return _fail(error, WRONG_INPUT)
    except KeyboardInterrupt:
        print("fabricsim: interrupted", file=sys.stderr)
        return INTERRUPTED
    except OSError as error:
        print(f"fabricsim: {error.filename}: cannot be written: {error.strerror}", file=sys.stderr)
        return FAILED


def _run(options: argparse.Namespace) -> int:
    given = _given(options)
    calibration = calibrate(read_all(options.files), given)
    found = preset(calibration)
    simulated = None
    if found.complete and not options.no_simulation and (calibration.latency or calibration.bandwidth):
        simulated = simulate(
            found.to_dict(), calibration.latency, calibration.bandwidth, calibration.window, given.switches
        )
    warned = warnings(calibration, simulated)
    if options.out is not None:
        today = datetime.date.today().isoformat()
        _write(options.out, to_toml(found, calibration, warned, today))
    if options.figure is not None:
        write_figure(calibration, simulated, options.figure)
    if options.json:
        print(json.dumps(as_json(calibration, found, warned, simulated), indent=2))
        return 0
    print(text(calibration, found, warned, simulated), end="")
    if simulated is None and not options.no_simulation and calibration.latency:
        print("\nnot simulated: the preset lacks keys of the network or the library, see above")
    for name, file in (("preset", options.out), ("figure", options.figure)):
        if file is not None:
            print(f"{name}   {file}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="fabricsim calibrate",
        allow_abbrev=False,
        description="Fit [mpi] and [network] to measurements between two hosts: output of OSU "
        "micro-benchmarks (osu_latency, osu_bw, osu_bibw, osu_mbw_mr), IMB PingPong and nccl-tests, or CSV. "
        "Several files of one benchmark are repetitions. Prints the parameters, their uncertainty, the fit "
        "over size and warnings. What the measurements do not determine is listed and not written.",
    )
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help="output of a benchmark, or CSV")
    parser.add_argument("--out", type=Path, metavar="PRESET.toml", help="write the preset")
    parser.add_argument(
        "--figure",
        type=Path,
        metavar="FILE",
        help="write times, fit and residuals over size (.png, .svg or .pdf)",
    )
    parser.add_argument(
        "--switch-latency", metavar="TIME", help='latency of a switch between the hosts, for example "130 ns"'
    )
    parser.add_argument("--cable-latency", metavar="TIME", help='latency of a cable, for example "15 ns"')
    parser.add_argument(
        "--switches", type=int, default=1, metavar="N", help="switches between the hosts [default: 1]"
    )
    parser.add_argument(
        "--eager-threshold", metavar="SIZE", help="largest eager message, if you know it [default: searched]"
    )
    normal = Framing()
    for option, default, key in (
        ("--header-size", normal.header, "mpi.header_size"),
        ("--control-size", normal.control, "mpi.control_size"),
        ("--packet", normal.packet, "network.packet"),
        ("--packet-header", normal.packet_header, "network.packet_header"),
    ):
        parser.add_argument(
            option,
            default=f"{default} B",
            metavar="SIZE",
            help=f"{key} that the fit uses [default: %(default)s]",
        )
    parser.add_argument(
        "--no-simulation",
        action="store_true",
        help="do not run the benchmarks in the simulator with the preset",
    )
    parser.add_argument("--json", action="store_true", help="print JSON: preset, warnings, fit by size")
    return parser


def _given(options: argparse.Namespace) -> Given:
    if not 1 <= options.switches <= _MOST_SWITCHES:
        raise CalibrationError(f"--switches: expected 1 to {_MOST_SWITCHES}, found {options.switches}")
    if (options.switch_latency is None) != (options.cable_latency is None):
        raise CalibrationError("--switch-latency and --cable-latency: expected both or none")
    cable = _time(options.cable_latency, "--cable-latency")
    if cable is not None and cable <= 0:
        raise CalibrationError("--cable-latency: expected at least 1 ps, which the simulator needs")
    threshold = options.eager_threshold
    return Given(
        options.switches,
        _time(options.switch_latency, "--switch-latency"),
        cable,
        None if threshold is None else _size(threshold, "--eager-threshold", 0),
        Framing(
            _size(options.header_size, "--header-size", 0),
            _size(options.control_size, "--control-size", 0),
            _size(options.packet, "--packet", 1),
            _size(options.packet_header, "--packet-header", 0),
        ),
    )


def _time(value: str | None, option: str) -> float | None:
    """Microseconds."""
    if value is None:
        return None
    amount = _amount(value, "ps", option, 'a time such as "130 ns"')
    if not 0 <= amount <= 10**12:
        raise CalibrationError(f"{option}: expected 0 to 1 s, found {value!r}")
    return float(amount / _PS_PER_US)


def _size(value: str, option: str, least: int) -> int:
    amount = _amount(value, "B", option, 'a size such as "64 B"')
    if amount.denominator != 1 or not least <= amount <= 2**40:
        raise CalibrationError(f"{option}: expected at least {least} B, in whole bytes; found {value!r}")
    return int(amount)


def _amount(value: str, base: str, option: str, expected: str) -> Fraction:
    quantity = Quantity.parse(value)
    amount = None if quantity is None else quantity.of(base)
    if amount is None:
        raise CalibrationError(f"{option}: expected {expected}; found {shortened(value)!r}")
    return amount


def _write(file: Path, content: str) -> None:
    """Writes a file completely or not at all."""
    aside = file.with_name(f".{file.name}-{uuid.uuid4().hex[:8]}")
    try:
        aside.write_text(content, encoding="utf-8")
        aside.replace(file)
    finally:
        aside.unlink(missing_ok=True)


def _fail(error: Exception, status: int) -> int:
    print(f"fabricsim: {error}", file=sys.stderr)
    return status
