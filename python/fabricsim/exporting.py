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
    """Export a result to the format of another tool: a trace viewer, a spreadsheet, a graph program.

    ``docs/exports.md`` describes the contents of each format and the programs that open it. A warning names
    data that the export lacks because the run did not collect them.

    Parameters
    ----------
    result : Result, str or os.PathLike
        A result, or its folder, which may also be that of a run that was killed.
    format : str
        ``"csv"``, ``"graphml"``, ``"otf2"``, ``"perfetto"``; ``fabricsim export --help`` lists them all.
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
