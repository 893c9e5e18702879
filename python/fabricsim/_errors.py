"""Exceptions of FabricSim. The simulation core writes all messages except those of sweeps and
calibrations.
"""

from __future__ import annotations

__all__ = [
    "ApplicationError",
    "CalibrationError",
    "ExperimentError",
    "FabricSimError",
    "ResultError",
    "SweepError",
    "TraceError",
]


class FabricSimError(Exception):
    """Base of all exceptions of this package. Raised itself for a failed internal check: please report it."""


class ExperimentError(FabricSimError, ValueError):
    """The experiment names something unknown, or cannot be built.

    Attributes
    ----------
    file : str or None
        Where the setting stands: the experiment file, ``"--set"``, or ``"<dict>"`` for experiments that
        are no file.
    line : int or None
        Its line, counted from 1.
    key : str or None
        Full key, for example ``"network.topology.levels"``.
    """

    def __init__(
        self, message: str, file: str | None = None, line: int | None = None, key: str | None = None
    ) -> None:
        super().__init__(message)
        self.file = file
        self.line = line
        self.key = key


class TraceError(FabricSimError):
    """A trace is missing, damaged, in another format, or needs a library that this build lacks."""


class ApplicationError(FabricSimError):
    """The application cannot continue: a deadlock, a violation of MPI's rules, or an exception of its
    program.
    """


class ResultError(FabricSimError):
    """A result folder cannot be read or written."""


class SweepError(FabricSimError, ValueError):
    """A sweep file or a cost table is wrong, or the sweep cannot run.

    Attributes
    ----------
    file : str or None
        The file.
    line : int or None
        The line, counted from 1.
    key : str or None
        Full key, for example ``"axis.0.values"``.
    """

    def __init__(
        self, message: str, file: str | None = None, line: int | None = None, key: str | None = None
    ) -> None:
        place = file or ""
        if file and line:
            place += f":{line}"
        super().__init__(": ".join(part for part in (place, key, message) if part))
        self.file = file
        self.line = line
        self.key = key


class CalibrationError(FabricSimError, ValueError):
    """A file of measurements is wrong, or nothing can be fitted to it.

    Attributes
    ----------
    file : str or None
        The file.
    line : int or None
        The line, counted from 1.
    """

    def __init__(self, message: str, file: str | None = None, line: int | None = None) -> None:
        place = file or ""
        if file and line:
            place += f":{line}"
        super().__init__(": ".join(part for part in (place, message) if part))
        self.file = file
        self.line = line
