"""A ring: blocks go round while the ranks compute; now and then everyone agrees on a number."""

from __future__ import annotations

from fabricsim.mpi import Operations, allreduce, compute, irecv, isend, waitall


def program(rank: int, ranks: int, rounds: int, block: str, agree_every: int = 4) -> Operations:
    """What one rank does."""
    left, right = (rank - 1) % ranks, (rank + 1) % ranks
    for number in range(1, rounds + 1):
        received = yield irecv(left, block)
        sent = yield isend(right, block)
        # One half of the ring has more to do, in turns.
        slow = (rank < ranks // 2) == (number % 2 == 0)
        yield compute("8 us" if slow else "5 us")
        yield waitall([received, sent])
        if number % agree_every == 0:
            yield allreduce(8)
            # Even and odd ranks by themselves.
            yield allreduce("4 KiB", communicator=("even", "odd")[rank % 2])


def communicators(ranks: int, **_: object) -> dict[str, range]:
    """World ranks of the members of each communicator."""
    return {"even": range(0, ranks, 2), "odd": range(1, ranks, 2)}
