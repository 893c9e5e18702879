"""Calibration: parameters of ``[mpi]`` and ``[network]`` from measurements between two hosts of a machine.

>>> from fabricsim import calibrate
>>> tables = calibrate.read_all(["osu_latency.out", "osu_bw.out"])  # doctest: +SKIP
>>> found = calibrate.preset(calibrate.calibrate(tables))  # doctest: +SKIP
>>> fabricsim.run("experiment.toml", set=found.to_dict())  # doctest: +SKIP

``docs/calibrate.md`` tells what is fitted from what. ``fabricsim calibrate`` is the command.
"""

from __future__ import annotations

from fabricsim.calibrate.calibration import Calibration, Given, calibrate
from fabricsim.calibrate.checks import CalibrationWarning, warnings
from fabricsim.calibrate.measurement import Measurement, Row
from fabricsim.calibrate.model import Framing
from fabricsim.calibrate.preset import Entry, Missing, Preset, preset
from fabricsim.calibrate.reading import read, read_all

__all__ = [
    "Calibration",
    "CalibrationWarning",
    "Entry",
    "Framing",
    "Given",
    "Measurement",
    "Missing",
    "Preset",
    "Row",
    "calibrate",
    "preset",
    "read",
    "read_all",
    "warnings",
]
