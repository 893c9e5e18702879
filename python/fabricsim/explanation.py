"""The critical path of a job: why it takes its time."""

from __future__ import annotations

from fabricsim import _core
from fabricsim.record import Record, parse
from fabricsim.result import Result, Tables

__all__ = ["explain"]


def explain(result: Result, job: str | None = None) -> Record:
    """Explain the time of each job of MPI ranks: its parts, and what it waits for.

    The critical path is the chain of computation, overheads and messages that leads from the start of a job
    to the end of its last rank; ``docs/methods/critical-path.md`` says how it is found. Its steps become the
    table ``critical_path`` of the result.

    Parameters
    ----------
    result : Result
        Of a run with ``collect = {"timeline": True, "waits": True}``.
    job : str, optional
        Name of the only job to explain.

    Returns
    -------
    Record
        ``docs/formats/critical-path.md`` describes all keys. Times are in nanoseconds.

    Raises
    ------
    ResultError
        The run has not collected what is needed, has no such job, or none of MPI ranks; the folder is gone
        or damaged.

    Examples
    --------
    >>> path = fabricsim.explain(result).jobs[0]  # doctest: +SKIP
    >>> path.wait_ns / path.time_ns  # doctest: +SKIP
    >>> print(path.text)  # doctest: +SKIP
    """
    found: Record = parse(_core.explain(result.folder, job))
    # The result has a new table.
    result.tables = Tables(result.folder)
    return found
