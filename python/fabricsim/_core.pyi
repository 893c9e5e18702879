from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import Any, TypeAlias, final

from typing_extensions import disjoint_base

__all__ = [
    "COLOURS",
    "DELIVERED",
    "NETWORK_BOUNDS",
    "TIE_OF_TIMES",
    "TIE_OF_TRAFFIC",
    "Answer",
    "Completed",
    "CostTable",
    "Experiment",
    "Message",
    "Operation",
    "Request",
    "Session",
    "__version__",
    "begin_collective",
    "begin_collective_of_parts",
    "begin_exchange",
    "begin_receive",
    "begin_receive_matched",
    "begin_send",
    "call_number",
    "cancel",
    "collective",
    "collective_of_parts",
    "compare",
    "compare_runs",
    "compute",
    "deliveries",
    "exchange",
    "explain",
    "explained_summary",
    "export",
    "list_parts",
    "main",
    "new_communicator",
    "one_sided",
    "page_script",
    "page_style",
    "probe",
    "program_operations",
    "receive",
    "receive_matched",
    "regenerate_report",
    "router_kind",
    "send",
    "send_receive",
    "trace_info",
    "verify_summary",
    "verify_table",
    "wait",
]

_Size: TypeAlias = int | str

__version__: str
COLOURS: str
DELIVERED: float
NETWORK_BOUNDS: float
TIE_OF_TIMES: float
TIE_OF_TRAFFIC: float

@final
class CostTable:
    @staticmethod
    def from_toml(text: str, file: str) -> CostTable: ...
    @property
    def currency(self) -> str: ...
    @property
    def note(self) -> str: ...
    @property
    def has_electricity(self) -> bool: ...
    def bill(self, parts: str) -> str: ...
    def electricity(self, watts: float) -> str: ...

@final
class Experiment:
    @staticmethod
    def load(path: str | PathLike[str], set: list[tuple[str, str]]) -> Experiment: ...
    @staticmethod
    def from_toml(
        text: str,
        name: str,
        set: list[tuple[str, str]],
        programs: Mapping[str, tuple[Any, Any, list[str], str]],
    ) -> Experiment: ...
    def settings(self) -> str: ...
    def check(self) -> tuple[str, str]: ...
    def work(self) -> str: ...
    def run(
        self,
        out: str | PathLike[str],
        progress: Callable[[float, float | None], object] | None = None,
        interference: bool = False,
    ) -> str: ...

@final
class Session:
    @staticmethod
    def load(path: str | PathLike[str], set: list[tuple[str, str]], hosts: list[int] | None) -> Session: ...
    @staticmethod
    def from_toml(
        text: str,
        name: str,
        set: list[tuple[str, str]],
        programs: Mapping[str, tuple[Any, Any, list[str], str]],
        hosts: list[int] | None,
    ) -> Session: ...
    def hosts(self) -> list[int]: ...
    def now_ps(self) -> int: ...
    def send(self, at_ps: int, source: int, destination: int, bytes: int) -> int: ...
    def advance(self, until_ps: int) -> list[tuple[int, int]]: ...
    def finish(self, out: str | PathLike[str]) -> tuple[list[tuple[int, int]], str]: ...
    def close(self) -> None: ...

@disjoint_base
class Operation:
    """Something that a rank does; a program yields it. Made by the functions of ``fabricsim.mpi``."""

@final
class Request(Operation):
    """An operation that goes on while the rank does: yield it, and later wait for it."""

@final
class Message:
    """A message that a probe has taken, for its receive."""

@final
class Completed:
    """A complete request, or the message of a receive or probe."""

    @property
    def request(self) -> Request | None:
        """The request; None for a receive or probe."""
    @property
    def message(self) -> Message | None:
        """The message of a matched probe."""
    @property
    def source(self) -> int | None:
        """Rank that sent the message."""
    @property
    def tag(self) -> int | None:
        """Tag of the message."""
    @property
    def bytes(self) -> int | None:
        """Bytes of the message."""

@final
class Answer:
    """What an operation has brought."""

    @property
    def now(self) -> float:
        """Time of the rank in seconds."""
    @property
    def flag(self) -> bool:
        """Whether a test or probe has found something."""
    @property
    def completed(self) -> list[Completed]:
        """What the operation has completed."""

def main(arguments: list[str]) -> int: ...
def list_parts() -> str: ...
def trace_info(path: str | PathLike[str]) -> str: ...
def regenerate_report(folder: str | PathLike[str]) -> str: ...
def explain(folder: str | PathLike[str], job: str | None = None) -> str: ...
def explained_summary(folder: str | PathLike[str]) -> str: ...
def export(
    folder: str | PathLike[str],
    format: str,
    out: str | PathLike[str],
    table: str | None = None,
    links: int | None = None,
) -> str: ...
def compare(folders: list[tuple[str, str | PathLike[str]]]) -> str: ...
def compare_runs(folders: list[tuple[str, str | PathLike[str]]]) -> str: ...
def deliveries(summary: str) -> str: ...
def router_kind(coordinates: str) -> str: ...
def verify_summary(folder: str | PathLike[str], force: bool) -> None: ...
def verify_table(path: str | PathLike[str]) -> None: ...
def program_operations(
    given: tuple[Any, Any, list[str], str],
    rank: int,
    ranks: int,
    arguments: dict[str, Any],
    limit: int | None,
) -> str: ...
def call_number(name: str) -> int: ...
def compute(time: float | str, region: str | None) -> Operation: ...
def send(call: int, dest: int, bytes: _Size, tag: int, communicator: object) -> Operation: ...
def begin_send(call: int, dest: int, bytes: _Size, tag: int, communicator: object) -> Request: ...
def receive(
    call: int, source: int | None, bytes: _Size, tag: int | None, communicator: object
) -> Operation: ...
def begin_receive(
    call: int, source: int | None, bytes: _Size, tag: int | None, communicator: object
) -> Request: ...
def send_receive(
    send: tuple[int, _Size, int],
    receive: tuple[int | None, _Size, int | None],
    communicator: object,
) -> Operation: ...
def receive_matched(message: Message, bytes: _Size) -> Operation: ...
def begin_receive_matched(message: Message, bytes: _Size) -> Request: ...
def cancel(request: Request) -> Operation: ...
def new_communicator(name: object, members: Iterable[int]) -> Operation: ...
def wait(call: int, requests: Iterable[Request]) -> Operation: ...
def probe(call: int, source: int | None, tag: int | None, communicator: object) -> Operation: ...
def collective(call: int, bytes: _Size, root: int, communicator: object) -> Operation: ...
def begin_collective(call: int, bytes: _Size, root: int, communicator: object) -> Request: ...
def collective_of_parts(call: int, counts: Iterable[_Size], root: int, communicator: object) -> Operation: ...
def begin_collective_of_parts(
    call: int, counts: Iterable[_Size], root: int, communicator: object
) -> Request: ...
def exchange(
    call: int, sends: Iterable[_Size], receives: Iterable[_Size], communicator: object
) -> Operation: ...
def begin_exchange(
    call: int, sends: Iterable[_Size], receives: Iterable[_Size], communicator: object
) -> Request: ...
def page_script() -> str: ...
def page_style() -> str: ...
def one_sided(call: int, peer: int, bytes: _Size, communicator: object) -> Operation: ...
