"""Programs in Python: a generator function per job, called for each rank, yields its operations."""

from __future__ import annotations

import inspect
import json
import sys
import sysconfig
import traceback
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from types import GeneratorType, ModuleType, TracebackType
from typing import Any

from fabricsim import _core
from fabricsim._core import Operation
from fabricsim._input import read_bytes
from fabricsim.record import Record, parse

__all__ = ["Program"]

_PACKAGE = str(Path(__file__).parent)
_LIBRARY = sysconfig.get_path("stdlib")


@dataclass(frozen=True)
class Program:
    """A program for the ranks of a job, as a Python function; the `workload` of a job.

    It must be deterministic: ``function`` yields the same operations whenever it is called with the same
    arguments and gets the same answers. It is called for each rank, at any time and in any thread, and runs
    ahead of the simulation unless it reacts. So no clock, no random numbers without a seed, and nothing that
    ranks share and change.

    Parameters
    ----------
    function : callable
        ``function(rank, ranks, **arguments)``: a generator function that yields what the functions of
        :mod:`fabricsim.mpi` make.
    ranks : int
        Number of ranks, 1 to 16777216.
    arguments : mapping
        Further arguments by name. Values that TOML has: numbers, texts, booleans, lists, tables.
    communicators : callable
        ``communicators(ranks, **arguments)``: world ranks of the members of each communicator, by name, for
        example ``{"even": [0, 2], ("row", 0): [0, 1]}``. Operations refer to them by these names.
    regions : sequence of str
        Names of code regions, for rules on the duration of their computations.
    reacts : bool
        Whether each ``yield`` of an operation that is no request returns an :class:`~fabricsim.mpi.Answer`,
        so that what the program does may depend on times and on the order of messages. Such a program runs
        under `sequential` and `conservative`, and without checkpoints.

    Examples
    --------
    >>> from fabricsim.mpi import Operations, sendrecv
    >>> def ring(rank: int, ranks: int, rounds: int = 1) -> Operations:
    ...     for _ in range(rounds):
    ...         yield sendrecv((rank + 1) % ranks, "1 KiB", (rank - 1) % ranks)
    >>> program = Program(ring, ranks=4, arguments={"rounds": 3})
    >>> len(program.operations(0))  # each of them receives, sends and waits
    9
    """

    function: Callable[..., Iterator[Operation]]
    ranks: int = field(kw_only=True)
    arguments: Mapping[str, Any] = field(default_factory=dict, kw_only=True)
    communicators: Callable[..., Mapping[Any, Sequence[int]]] | None = field(default=None, kw_only=True)
    regions: Sequence[str] = field(default=(), kw_only=True)
    reacts: bool = field(default=False, kw_only=True)

    @classmethod
    def from_file(
        cls,
        path: str | PathLike[str],
        *,
        ranks: int,
        function: str = "program",
        arguments: Mapping[str, Any] | None = None,
        reacts: bool = False,
    ) -> Program:
        """The program that ``workload = { python = path, ... }`` of an experiment file stands for.

        Parameters
        ----------
        path : path
            The file; its function ``communicators`` and its list ``regions`` are taken, if it has them.
        ranks, arguments, reacts
            As above.
        function : str
            Name of the generator function in it.

        Raises
        ------
        OSError
            The file cannot be read.
        AttributeError
            It has no such function.
        """
        module = _load(fspath(path))
        return cls(
            getattr(module, function),
            ranks=ranks,
            arguments=dict(arguments or {}),
            communicators=getattr(module, "communicators", None),
            regions=getattr(module, "regions", ()),
            reacts=reacts,
        )

    def operations(self, rank: int, limit: int | None = None) -> list[Record]:
        """The operations of one rank for the MPI layer, for inspection and for tests of programs.

        Parameters
        ----------
        rank : int
            Which, 0 to ranks - 1.
        limit : int
            At most so many, for programs without an end.

        Returns
        -------
        list of Record
            Each has ``operation``: ``"compute"`` (with ``ps`` and ``region``, its number), ``"send"``,
            ``"receive"``, ``"wait"``, ``"probe"``, ``"collective"``, ``"put"``, ``"get"`` or ``"fence"``. All
            but the first have ``call``, for example ``"MPI_Isend"``, and what belongs to it: ``to``,
            ``from``, ``tag``, ``bytes``, ``communicator`` (its number; 0 is that of all ranks), ``request``,
            ``requests``, ``collective``, ``root``, ``counts``.

        Raises
        ------
        ApplicationError
            The program raises or yields something wrong; its exception is the cause.
        TypeError
            It does not take these arguments, or is no generator function.
        ValueError
            There is no such rank, or a communicator has no such member.
        """
        if not 0 <= rank < self.ranks:
            raise ValueError(f"there is no rank {rank}; the program has the ranks 0 to {self.ranks - 1}")
        text = _core.program_operations(self.given(), rank, self.ranks, dict(self.arguments), limit)
        listed: list[Record] = parse(text)
        return listed

    def to_dict(self) -> dict[str, Any]:
        """The table ``workload`` of an experiment file, as far as a file can express it."""
        name = getattr(self.function, "__name__", type(self.function).__name__)
        table = {
            "python": self._file(),
            "function": name,
            "ranks": self.ranks,
            "arguments": dict(self.arguments),
        }
        return {**table, "reacts": True} if self.reacts else table

    def given(self) -> tuple[Any, Any, list[str], str]:
        """The function, its communicators and regions, and its file, for the simulation core."""
        return self.function, self.communicators, list(self.regions), self._file()

    def _file(self) -> str:
        try:
            return inspect.getsourcefile(inspect.unwrap(self.function)) or "<string>"
        except TypeError:
            return "<string>"


# The simulation core calls the following functions.


def _load(path: str) -> ModuleType:
    """Runs a file, which may import modules beside it. Reads it again on each call."""
    code = compile(read_bytes(Path(path)), path, "exec")
    module = ModuleType(f"_fabricsim_program_{Path(path).stem}")
    module.__file__ = path
    # Dataclasses look up their module there.
    sys.modules[module.__name__] = module
    folder = str(Path(path).parent.resolve())
    sys.path.insert(0, folder)
    try:
        exec(code, module.__dict__)
    finally:
        if folder in sys.path:
            sys.path.remove(folder)
    return module


def _functions(module: ModuleType) -> list[str]:
    """Names of the generator functions of a file."""
    return [name for name, value in vars(module).items() if inspect.isgeneratorfunction(value)]


def _arguments(text: str) -> dict[str, Any]:
    arguments: dict[str, Any] = json.loads(text)
    return arguments


def _start(
    function: Callable[..., Iterator[Operation]], rank: int, ranks: int, arguments: Mapping[str, Any]
) -> GeneratorType[Operation, Any, Any]:
    """The generator of one rank."""
    generator = function(rank, ranks, **arguments)
    if not isinstance(generator, GeneratorType):
        name = getattr(function, "__name__", "the function")
        found = "None" if generator is None else f"an object of type {type(generator).__name__}"
        raise TypeError(
            f"{name} returned {found}; expected a generator, which a function with a yield returns"
        )
    return generator


def _communicators(
    function: Callable[..., Mapping[Hashable, Sequence[int]]] | None,
    ranks: int,
    arguments: Mapping[str, Any],
) -> tuple[dict[Hashable, int], list[list[int]]]:
    """Numbers of communicators by name, from 1, and their members."""
    if function is None:
        return {}, []
    found = function(ranks, **arguments)
    if not isinstance(found, Mapping):
        kind = type(found).__name__
        raise TypeError(f"communicators returned an object of type {kind}; expected a dict of lists of ranks")
    lists = [list(members) for members in found.values()]
    for name, members in zip(found, lists, strict=True):
        if not members:
            raise ValueError(f"communicator {name!r} has no members")
        for member in members:
            if not isinstance(member, int) or not 0 <= member < ranks:
                raise ValueError(
                    f"communicator {name!r} has the member {member!r}; the job has the ranks 0 to {ranks - 1}"
                )
        if len(set(members)) < len(members):
            raise ValueError(f"communicator {name!r} has a member twice")
    return {name: number for number, name in enumerate(found, start=1)}, lists


def _described(error: BaseException, passed: TracebackType | None) -> str:
    """An exception in one line, with the last line of user code that it passed."""
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error}"
    frames = [
        frame
        for frame in traceback.extract_tb(passed)
        if not frame.filename.startswith((_PACKAGE, _LIBRARY, "<frozen "))
    ]
    if not frames and isinstance(error, OSError):
        return f"cannot be read: {error.strerror or error}"
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if not frames:
        return text
    last = frames[-1]
    return f"{Path(last.filename).name}:{last.lineno}: in {last.name}: {text}"


def _line(generator: Any) -> str:
    """The location of the innermost generator's yield: ``"ring.py:7: "``."""
    while inspect.isgenerator(generator.gi_yieldfrom):
        generator = generator.gi_yieldfrom
    frame = generator.gi_frame
    if frame is None:
        return ""
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}: "
