"""Operations of MPI for programs in Python: what a rank's generator function yields.

>>> from fabricsim.mpi import Operations, irecv, isend, waitall
>>> def program(rank: int, ranks: int) -> Operations:
...     received = yield irecv((rank - 1) % ranks, "64 KiB")
...     sent = yield isend((rank + 1) % ranks, "64 KiB")
...     yield waitall([received, sent])

An operation takes effect when it is yielded. The ``yield`` of a request returns the request, as above; every
other ``yield`` returns None, or an :class:`Answer` in a program with ``reacts=True``:

>>> from fabricsim.mpi import Reactions, testany, waitany
>>> def master(rank: int, ranks: int) -> Reactions:
...     pending = []
...     for worker in range(1, ranks):
...         pending.append((yield irecv(worker, "8 B")))
...     while pending:
...         answer = yield waitany(pending)
...         pending.remove(answer.completed[0].request)

These parameters mean the same in all functions:

``bytes``
    A number of bytes, or a text with a unit such as ``"64 KiB"``. Where a message is received: the size of
    the buffer, which it must fit.
``dest``, ``source``, ``root``
    Ranks in the communicator. ``source=None``: any.
``tag``
    0 to 2147483647. Where a message is received, ``tag=None``: any.
``communicator``
    The name of one that the program's function ``communicators`` gives, or that :func:`new_communicator` has
    made; None: all ranks of the job.

All functions raise ``TypeError`` or ``ValueError`` for a value that is not a number, is negative or too
large, or has an unknown unit. A rank that the communicator does not have, a communicator that does not exist,
and a wait for a request that is not active end the run with an ``ApplicationError`` that names the line.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable, Iterable
from typing import Any, TypeAlias

from fabricsim import _core
from fabricsim._core import Answer, Completed, Message, Operation, Request

__all__ = [
    "Answer",
    "Communicator",
    "Completed",
    "Message",
    "Operation",
    "Operations",
    "Reactions",
    "Request",
    "Size",
    "Time",
    "allgather",
    "allgatherv",
    "allreduce",
    "alltoall",
    "alltoallv",
    "barrier",
    "bcast",
    "bsend",
    "cancel",
    "compute",
    "exscan",
    "fence",
    "gather",
    "gatherv",
    "get",
    "iallgather",
    "iallgatherv",
    "iallreduce",
    "ialltoall",
    "ialltoallv",
    "ibarrier",
    "ibcast",
    "ibsend",
    "iexscan",
    "igather",
    "igatherv",
    "irecv",
    "improbe",
    "imrecv",
    "iprobe",
    "ireduce",
    "ireduce_scatter",
    "ireduce_scatter_block",
    "irsend",
    "iscan",
    "iscatter",
    "iscatterv",
    "isend",
    "issend",
    "mprobe",
    "mrecv",
    "new_communicator",
    "probe",
    "put",
    "recv",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_block",
    "rsend",
    "scan",
    "scatter",
    "scatterv",
    "send",
    "sendrecv",
    "ssend",
    "test",
    "testall",
    "testany",
    "testsome",
    "wait",
    "waitall",
    "waitany",
    "waitsome",
]

#: Return type of the generator function of a program.
Operations: TypeAlias = Generator[Operation, Request, None]
#: The same of a program with ``reacts=True``, whose ``yield`` returns an :class:`Answer`.
Reactions: TypeAlias = Generator[Operation, Any, None]
#: Bytes, or a text with a unit.
Size: TypeAlias = "int | str"
#: Seconds, or a text with a unit.
Time: TypeAlias = "float | str"
#: Name of a communicator; None: all ranks of the job.
Communicator: TypeAlias = "Hashable | None"

_number = _core.call_number
_SEND = _number("MPI_Send")
_SSEND = _number("MPI_Ssend")
_BSEND = _number("MPI_Bsend")
_RSEND = _number("MPI_Rsend")
_ISEND = _number("MPI_Isend")
_ISSEND = _number("MPI_Issend")
_IBSEND = _number("MPI_Ibsend")
_IRSEND = _number("MPI_Irsend")
_RECV = _number("MPI_Recv")
_IRECV = _number("MPI_Irecv")
_WAIT = _number("MPI_Wait")
_WAITALL = _number("MPI_Waitall")
_WAITANY = _number("MPI_Waitany")
_WAITSOME = _number("MPI_Waitsome")
_TEST = _number("MPI_Test")
_TESTALL = _number("MPI_Testall")
_TESTANY = _number("MPI_Testany")
_TESTSOME = _number("MPI_Testsome")
_PROBE = _number("MPI_Probe")
_IPROBE = _number("MPI_Iprobe")
_MPROBE = _number("MPI_Mprobe")
_IMPROBE = _number("MPI_Improbe")
_PUT = _number("MPI_Put")
_GET = _number("MPI_Get")
_WIN_FENCE = _number("MPI_Win_fence")
_BARRIER = _number("MPI_Barrier")
_IBARRIER = _number("MPI_Ibarrier")
_BCAST = _number("MPI_Bcast")
_IBCAST = _number("MPI_Ibcast")
_REDUCE = _number("MPI_Reduce")
_IREDUCE = _number("MPI_Ireduce")
_ALLREDUCE = _number("MPI_Allreduce")
_IALLREDUCE = _number("MPI_Iallreduce")
_ALLGATHER = _number("MPI_Allgather")
_IALLGATHER = _number("MPI_Iallgather")
_ALLGATHERV = _number("MPI_Allgatherv")
_IALLGATHERV = _number("MPI_Iallgatherv")
_ALLTOALL = _number("MPI_Alltoall")
_IALLTOALL = _number("MPI_Ialltoall")
_ALLTOALLV = _number("MPI_Alltoallv")
_IALLTOALLV = _number("MPI_Ialltoallv")
_GATHER = _number("MPI_Gather")
_IGATHER = _number("MPI_Igather")
_GATHERV = _number("MPI_Gatherv")
_IGATHERV = _number("MPI_Igatherv")
_SCATTER = _number("MPI_Scatter")
_ISCATTER = _number("MPI_Iscatter")
_SCATTERV = _number("MPI_Scatterv")
_ISCATTERV = _number("MPI_Iscatterv")
_REDUCE_SCATTER = _number("MPI_Reduce_scatter")
_IREDUCE_SCATTER = _number("MPI_Ireduce_scatter")
_REDUCE_SCATTER_BLOCK = _number("MPI_Reduce_scatter_block")
_IREDUCE_SCATTER_BLOCK = _number("MPI_Ireduce_scatter_block")
_SCAN = _number("MPI_Scan")
_ISCAN = _number("MPI_Iscan")
_EXSCAN = _number("MPI_Exscan")
_IEXSCAN = _number("MPI_Iexscan")


def compute(time: Time, *, region: str | None = None) -> Operation:
    """Compute for this time.

    Parameters
    ----------
    time
        Seconds, which are rounded to picoseconds, or a text such as ``"10 us"``; at most 100 days. The job's
        ``compute`` applies to it.
    region
        The part of the application that does so: one of the program's ``regions``.
    """
    return _core.compute(time, region)


def send(dest: int, bytes: Size, *, tag: int = 0, communicator: Communicator = None) -> Operation:
    """Send: eager for small messages; large ones wait for the receiver."""
    return _core.send(_SEND, dest, bytes, tag, communicator)


def ssend(dest: int, bytes: Size, *, tag: int = 0, communicator: Communicator = None) -> Operation:
    """Send, and continue when the receive has begun."""
    return _core.send(_SSEND, dest, bytes, tag, communicator)


def bsend(dest: int, bytes: Size, *, tag: int = 0, communicator: Communicator = None) -> Operation:
    """Send from a buffer, without waiting for the receiver."""
    return _core.send(_BSEND, dest, bytes, tag, communicator)


def rsend(dest: int, bytes: Size, *, tag: int = 0, communicator: Communicator = None) -> Operation:
    """Send to a receive that is known to be posted."""
    return _core.send(_RSEND, dest, bytes, tag, communicator)


def isend(dest: int, bytes: Size, *, tag: int = 0, communicator: Communicator = None) -> Request:
    """Begin a :func:`send`."""
    return _core.begin_send(_ISEND, dest, bytes, tag, communicator)


def issend(dest: int, bytes: Size, *, tag: int = 0, communicator: Communicator = None) -> Request:
    """Begin an :func:`ssend`."""
    return _core.begin_send(_ISSEND, dest, bytes, tag, communicator)


def ibsend(dest: int, bytes: Size, *, tag: int = 0, communicator: Communicator = None) -> Request:
    """Begin a :func:`bsend`."""
    return _core.begin_send(_IBSEND, dest, bytes, tag, communicator)


def irsend(dest: int, bytes: Size, *, tag: int = 0, communicator: Communicator = None) -> Request:
    """Begin an :func:`rsend`."""
    return _core.begin_send(_IRSEND, dest, bytes, tag, communicator)


def recv(
    source: int | None, bytes: Size, *, tag: int | None = None, communicator: Communicator = None
) -> Operation:
    """Receive a message of at most this many bytes."""
    return _core.receive(_RECV, source, bytes, tag, communicator)


def irecv(
    source: int | None, bytes: Size, *, tag: int | None = None, communicator: Communicator = None
) -> Request:
    """Begin a :func:`recv`."""
    return _core.begin_receive(_IRECV, source, bytes, tag, communicator)


def sendrecv(
    dest: int,
    bytes: Size,
    source: int | None,
    receive_bytes: Size | None = None,
    *,
    tag: int = 0,
    receive_tag: int | None = None,
    communicator: Communicator = None,
) -> Operation:
    """Send and receive at the same time, and wait for both.

    Parameters
    ----------
    dest, bytes, tag
        Of the message that is sent.
    source, receive_bytes, receive_tag
        Of the message that is received; `receive_bytes` is `bytes` if it is left out.
    communicator
        Of both.
    """
    received = bytes if receive_bytes is None else receive_bytes
    return _core.send_receive((dest, bytes, tag), (source, received, receive_tag), communicator)


def wait(request: Request) -> Operation:
    """Wait until a request is complete; it may be yielded again afterwards."""
    return _core.wait(_WAIT, (request,))


def waitall(requests: Iterable[Request]) -> Operation:
    """Wait until all requests are complete."""
    return _core.wait(_WAITALL, requests)


def waitany(requests: Iterable[Request]) -> Operation:
    """Wait until one request is complete, the first of the list if several are; the answer says which."""
    return _core.wait(_WAITANY, requests)


def waitsome(requests: Iterable[Request]) -> Operation:
    """Wait until one request is complete, and take all that are; the answer says which."""
    return _core.wait(_WAITSOME, requests)


def test(request: Request) -> Operation:
    """Take a request if it is complete; the answer's `flag` says whether it is."""
    return _core.wait(_TEST, (request,))


def testall(requests: Iterable[Request]) -> Operation:
    """Take all requests if they are complete; the answer's `flag` says whether they are."""
    return _core.wait(_TESTALL, requests)


def testany(requests: Iterable[Request]) -> Operation:
    """Take the first request of the list that is complete; the answer says which, if any."""
    return _core.wait(_TESTANY, requests)


def testsome(requests: Iterable[Request]) -> Operation:
    """Take all requests that are complete; the answer says which, if any."""
    return _core.wait(_TESTSOME, requests)


def probe(
    source: int | None = None, *, tag: int | None = None, communicator: Communicator = None
) -> Operation:
    """Wait until a message that :func:`recv` would receive has arrived, without receiving it."""
    return _core.probe(_PROBE, source, tag, communicator)


def iprobe(
    source: int | None = None, *, tag: int | None = None, communicator: Communicator = None
) -> Operation:
    """Look for a message that :func:`recv` would receive; the answer's `flag` says whether there is one.

    For programs with ``reacts=True``, as the functions for tests, :func:`waitany`, :func:`waitsome` and those
    from here to :func:`new_communicator`.
    """
    return _core.probe(_IPROBE, source, tag, communicator)


def mprobe(
    source: int | None = None, *, tag: int | None = None, communicator: Communicator = None
) -> Operation:
    """Wait for a message and take it; `completed` has it as `message`, which :func:`mrecv` receives."""
    return _core.probe(_MPROBE, source, tag, communicator)


def improbe(
    source: int | None = None, *, tag: int | None = None, communicator: Communicator = None
) -> Operation:
    """Take a message if there is one, as :func:`mprobe` does; the answer's `flag` says whether there is."""
    return _core.probe(_IMPROBE, source, tag, communicator)


def mrecv(message: Message, bytes: Size) -> Operation:
    """Receive a message that :func:`mprobe` or :func:`improbe` has taken."""
    return _core.receive_matched(message, bytes)


def imrecv(message: Message, bytes: Size) -> Request:
    """Begin an :func:`mrecv`."""
    return _core.begin_receive_matched(message, bytes)


def cancel(request: Request) -> Operation:
    """Cancel a receive that has no message yet; the answer's `flag` says whether it is cancelled.

    Wait for the request in both cases. A send or a collective goes on.
    """
    return _core.cancel(request)


def new_communicator(name: Hashable, members: Iterable[int]) -> Operation:
    """Make a communicator of these ranks of the job, in this order, for `communicator=name` from here on.

    All members make it, with the same name and members, before they use it; the same name with others is
    another communicator. It takes no time: a program that models ``MPI_Comm_split`` has an :func:`allgather`
    before it.
    """
    return _core.new_communicator(name, members)


def put(dest: int, bytes: Size, *, communicator: Communicator = None) -> Operation:
    """Write into the memory of another rank; complete on both sides at the next :func:`fence`."""
    return _core.one_sided(_PUT, dest, bytes, communicator)


def get(source: int, bytes: Size, *, communicator: Communicator = None) -> Operation:
    """Read from the memory of another rank; complete at the next :func:`fence`."""
    return _core.one_sided(_GET, source, bytes, communicator)


def fence(*, communicator: Communicator = None) -> Operation:
    """Complete all puts and gets of all ranks of the communicator since the last fence."""
    return _core.one_sided(_WIN_FENCE, 0, 0, communicator)


def barrier(*, communicator: Communicator = None) -> Operation:
    """Wait for all ranks of the communicator."""
    return _core.collective(_BARRIER, 0, 0, communicator)


def ibarrier(*, communicator: Communicator = None) -> Request:
    """Begin a :func:`barrier`."""
    return _core.begin_collective(_IBARRIER, 0, 0, communicator)


def bcast(bytes: Size, root: int = 0, *, communicator: Communicator = None) -> Operation:
    """The root sends this many bytes to all ranks."""
    return _core.collective(_BCAST, bytes, root, communicator)


def ibcast(bytes: Size, root: int = 0, *, communicator: Communicator = None) -> Request:
    """Begin a :func:`bcast`."""
    return _core.begin_collective(_IBCAST, bytes, root, communicator)


def reduce(bytes: Size, root: int = 0, *, communicator: Communicator = None) -> Operation:
    """The root receives the sum of vectors of this many bytes."""
    return _core.collective(_REDUCE, bytes, root, communicator)


def ireduce(bytes: Size, root: int = 0, *, communicator: Communicator = None) -> Request:
    """Begin a :func:`reduce`."""
    return _core.begin_collective(_IREDUCE, bytes, root, communicator)


def allreduce(bytes: Size, *, communicator: Communicator = None) -> Operation:
    """All ranks receive the sum of vectors of this many bytes."""
    return _core.collective(_ALLREDUCE, bytes, 0, communicator)


def iallreduce(bytes: Size, *, communicator: Communicator = None) -> Request:
    """Begin an :func:`allreduce`."""
    return _core.begin_collective(_IALLREDUCE, bytes, 0, communicator)


def allgather(bytes: Size, *, communicator: Communicator = None) -> Operation:
    """All ranks receive the contributions of all ranks, of this many bytes each."""
    return _core.collective(_ALLGATHER, bytes, 0, communicator)


def iallgather(bytes: Size, *, communicator: Communicator = None) -> Request:
    """Begin an :func:`allgather`."""
    return _core.begin_collective(_IALLGATHER, bytes, 0, communicator)


def allgatherv(counts: Iterable[Size], *, communicator: Communicator = None) -> Operation:
    """All ranks receive the contributions of all ranks.

    Parameters
    ----------
    counts
        Bytes that each rank of the communicator gives; the same list in all ranks.
    communicator
        As in all functions.
    """
    return _core.collective_of_parts(_ALLGATHERV, counts, 0, communicator)


def iallgatherv(counts: Iterable[Size], *, communicator: Communicator = None) -> Request:
    """Begin an :func:`allgatherv`."""
    return _core.begin_collective_of_parts(_IALLGATHERV, counts, 0, communicator)


def alltoall(bytes: Size, *, communicator: Communicator = None) -> Operation:
    """Each rank sends this many bytes to each rank, itself included."""
    return _core.collective(_ALLTOALL, bytes, 0, communicator)


def ialltoall(bytes: Size, *, communicator: Communicator = None) -> Request:
    """Begin an :func:`alltoall`."""
    return _core.begin_collective(_IALLTOALL, bytes, 0, communicator)


def alltoallv(
    sends: Iterable[Size], receives: Iterable[Size], *, communicator: Communicator = None
) -> Operation:
    """Each rank sends each rank a part of a different size.

    Parameters
    ----------
    sends
        Bytes that this rank sends to each rank of the communicator.
    receives
        Bytes that it receives from each; what one rank sends and what the other one receives must agree.
    communicator
        As in all functions.
    """
    return _core.exchange(_ALLTOALLV, sends, receives, communicator)


def ialltoallv(
    sends: Iterable[Size], receives: Iterable[Size], *, communicator: Communicator = None
) -> Request:
    """Begin an :func:`alltoallv`."""
    return _core.begin_exchange(_IALLTOALLV, sends, receives, communicator)


def gather(bytes: Size, root: int = 0, *, communicator: Communicator = None) -> Operation:
    """The root receives this many bytes from each rank."""
    return _core.collective(_GATHER, bytes, root, communicator)


def igather(bytes: Size, root: int = 0, *, communicator: Communicator = None) -> Request:
    """Begin a :func:`gather`."""
    return _core.begin_collective(_IGATHER, bytes, root, communicator)


def gatherv(counts: Iterable[Size], root: int = 0, *, communicator: Communicator = None) -> Operation:
    """The root receives from each rank its part of `counts`; the same list in all ranks."""
    return _core.collective_of_parts(_GATHERV, counts, root, communicator)


def igatherv(counts: Iterable[Size], root: int = 0, *, communicator: Communicator = None) -> Request:
    """Begin a :func:`gatherv`."""
    return _core.begin_collective_of_parts(_IGATHERV, counts, root, communicator)


def scatter(bytes: Size, root: int = 0, *, communicator: Communicator = None) -> Operation:
    """Each rank receives this many bytes from the root."""
    return _core.collective(_SCATTER, bytes, root, communicator)


def iscatter(bytes: Size, root: int = 0, *, communicator: Communicator = None) -> Request:
    """Begin a :func:`scatter`."""
    return _core.begin_collective(_ISCATTER, bytes, root, communicator)


def scatterv(counts: Iterable[Size], root: int = 0, *, communicator: Communicator = None) -> Operation:
    """Each rank receives from the root its part of `counts`; the same list in all ranks."""
    return _core.collective_of_parts(_SCATTERV, counts, root, communicator)


def iscatterv(counts: Iterable[Size], root: int = 0, *, communicator: Communicator = None) -> Request:
    """Begin a :func:`scatterv`."""
    return _core.begin_collective_of_parts(_ISCATTERV, counts, root, communicator)


def reduce_scatter(counts: Iterable[Size], *, communicator: Communicator = None) -> Operation:
    """Each rank receives its part of `counts` of the sum of vectors; the same list in all ranks."""
    return _core.collective_of_parts(_REDUCE_SCATTER, counts, 0, communicator)


def ireduce_scatter(counts: Iterable[Size], *, communicator: Communicator = None) -> Request:
    """Begin a :func:`reduce_scatter`."""
    return _core.begin_collective_of_parts(_IREDUCE_SCATTER, counts, 0, communicator)


def reduce_scatter_block(bytes: Size, *, communicator: Communicator = None) -> Operation:
    """Each rank receives this many bytes of the sum of vectors."""
    return _core.collective(_REDUCE_SCATTER_BLOCK, bytes, 0, communicator)


def ireduce_scatter_block(bytes: Size, *, communicator: Communicator = None) -> Request:
    """Begin a :func:`reduce_scatter_block`."""
    return _core.begin_collective(_IREDUCE_SCATTER_BLOCK, bytes, 0, communicator)


def scan(bytes: Size, *, communicator: Communicator = None) -> Operation:
    """Each rank receives the sum of the vectors of all ranks up to itself."""
    return _core.collective(_SCAN, bytes, 0, communicator)


def iscan(bytes: Size, *, communicator: Communicator = None) -> Request:
    """Begin a :func:`scan`."""
    return _core.begin_collective(_ISCAN, bytes, 0, communicator)


def exscan(bytes: Size, *, communicator: Communicator = None) -> Operation:
    """Each rank receives the sum of the vectors of all ranks before itself."""
    return _core.collective(_EXSCAN, bytes, 0, communicator)


def iexscan(bytes: Size, *, communicator: Communicator = None) -> Request:
    """Begin an :func:`exscan`."""
    return _core.begin_collective(_IEXSCAN, bytes, 0, communicator)
