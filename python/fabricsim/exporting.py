"""Results in the formats of other tools."""

from __future__ import annotations

import json
import warnings
from os import PathLike
from pathlib import Path

from fabricsim import _core
from fabricsim.result import Result

__all__ = ["export"]


def export(
    result: Result | str | PathLike[str],
    format: str,
    out: str | PathLike[str],
    *,
    table: str | None = None,
    links: int | None = None,
) -> Path:
    """Write a result in the format of another tool: a trace viewer, a spreadsheet, a graph program.

    ``docs/exports.md`` says what each format holds, and with what it opens. What is not in the export
    because the run has not collected it is a warning.

    Parameters
    ----------
    result : Result, str or os.PathLike
        A result, or its folder, which may also be that of a run that was killed.
    format : str
        ``"csv"``, ``"graphml"``, ``"perfetto"``; ``fabricsim export --help`` lists them all.
    out : str or os.PathLike
        What to write: a file, or for ``"csv"`` without ``table`` a folder. An earlier export there is
        replaced.
    table : str, optional
        With ``"csv"``: the only table to write.
    links : int, optional
        With ``"perfetto"``: so many links have curves of their own.

    Returns
    -------
    pathlib.Path
        What was written.

    Raises
    ------
    ResultError
        The folder is no result, lacks a table that the format needs, or the place is taken.
    ValueError
        There is no such format.

    Examples
    --------
    >>> fabricsim.export(result, "perfetto", "lammps.pftrace")  # doctest: +SKIP
    """
    folder = result.folder if isinstance(result, Result) else result
    for note in json.loads(_core.export(folder, format, out, table, links)):
        warnings.warn(note, stacklevel=2)
    return Path(out)
