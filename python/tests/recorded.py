"""Synthetic tables over time: small, with known sums, in the schema of docs/formats/tables.md.

Tests of figures therefore do not depend on a simulation.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
from unverified import unverified

# Bins of 1 us that double in width after four.
BINS = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 6), (6, 8), (8, 10), (10, 12)]
BINS_PS = [(begin * 10**6, end * 10**6) for begin, end in BINS]
CALLS = ["MPI_Send", "MPI_Recv", "MPI_Waitall", "MPI_Allreduce"]

U8, U32, U64, TEXT = pyarrow.uint8(), pyarrow.uint32(), pyarrow.uint64(), pyarrow.string()
NAMED = pyarrow.dictionary(pyarrow.int32(), TEXT)


def write(folder: Path, job: str, links: int = 6, vcs: int = 2, ranks: int = 8) -> None:
    """All tables over time for a job, in addition to those of the folder."""
    unverified(folder)
    _class_series(folder)
    _link_and_vc_series(folder, links, vcs)
    _host_router_and_job_series(folder, job)
    _timeline(folder, job, ranks)
    _critical_path(folder, job)


def table(folder: Path, name: str, columns: dict[str, Any], rows: Sequence[Sequence[Any]]) -> None:
    """A Parquet file of several row groups."""
    schema = pyarrow.schema(list(columns.items()))
    values = list(zip(*rows, strict=True))
    arrays = [pyarrow.array(column, kind) for column, kind in zip(values, columns.values(), strict=True)]
    whole = pyarrow.Table.from_arrays(arrays, schema=schema)
    pyarrow.parquet.write_table(whole, folder / f"{name}.parquet", row_group_size=7)


def _class_series(folder: Path) -> None:
    columns = {"begin_ps": U64, "end_ps": U64, "class": NAMED, "links": U64, "bytes": U64, "packets": U64}
    columns |= {"busy_ps": U64, "buffer_full_ps": U64}
    rows = []
    for number, (begin, end) in enumerate(BINS_PS):
        width = end - begin
        for kind, links in (("injection", 72), ("local", 108), ("global", 72), ("ejection", 72)):
            # Global links are idle in the third bin, so that there is no row.
            if kind == "global" and number == 2:
                continue
            # A bin that was written early has its rest in another row.
            if kind == "injection" and number == 0:
                rows.append((begin, end, kind, links, 0, 0, links * width // 10, 0))
            percent = {"injection": 40, "local": 20, "global": 10 + 10 * number, "ejection": 35}[kind]
            busy = links * width * percent // 100
            rows.append((begin, end, kind, links, busy // 320, busy // 82000, busy, busy // 4))
    table(folder, "class_series", columns, rows)


def _link_and_vc_series(folder: Path, links: int, vcs: int) -> None:
    columns = {"begin_ps": U64, "end_ps": U64, "link": U32, "bytes": U64, "packets": U64, "busy_ps": U64}
    columns |= {"buffer_full_ps": U64, "waiting_packets": U32, "waiting_bytes": U64}
    rows = [
        (begin, end, link, 1000 * link, link, (end - begin) // 2, 0, 0, 0)
        for begin, end in BINS_PS
        for link in range(links)
    ]
    table(folder, "link_series", columns, rows)
    columns = {"begin_ps": U64, "end_ps": U64, "link": U32, "vc": U8}
    columns |= {"used_bytes": U32, "capacity_bytes": U32, "used_bytes_max": U32}
    columns |= {"waiting_packets": U32, "waiting_packets_max": U32}
    # Each buffer fills once, at its own time, and keeps its level.
    rows = [
        (*BINS_PS[(link + vc) % len(BINS)], link, vc, 1000 * (link + 1) // links, 1000, 1000, 0, 1)
        for link in range(links)
        for vc in range(vcs)
    ]
    table(folder, "vc_series", columns, sorted(rows))


def _host_router_and_job_series(folder: Path, job: str) -> None:
    columns = {"begin_ps": U64, "end_ps": U64, "host": U32, "packets_sent": U64, "packets_received": U64}
    columns |= {"bytes_sent": U64, "bytes_received": U64, "nic_queue_bytes": U64}
    rows = [
        (begin, end, host, 10 * (1 + host), 20, 10_000 * (1 + host), 20_000, 0)
        for begin, end in BINS_PS
        for host in range(4)
    ]
    table(folder, "host_series", columns, rows)
    columns = {"begin_ps": U64, "end_ps": U64, "router": U32, "packets_sent": U64, "packets_received": U64}
    rows = [(begin, end, router, 5 + router, 6) for begin, end in BINS_PS for router in range(3)]
    table(folder, "router_series", columns, rows)
    columns = {"begin_ps": U64, "end_ps": U64, "job": NAMED, "messages_sent": U64, "bytes_sent": U64}
    columns |= {
        "messages_received": U64,
        "bytes_received": U64,
        "packets_delivered": U64,
        "ranks_finished": U64,
    }
    rows = [(begin, end, job, 4, 4000, 3, 3000, 12, 0) for begin, end in BINS_PS]
    table(folder, "job_series", columns, rows)


def _critical_path(folder: Path, job: str) -> None:
    """From rank 0 to rank 1: half computation, a quarter network, a quarter waits."""
    columns = {"job": NAMED, "kind": TEXT, "rank": U32, "begin_ps": U64, "end_ps": U64}
    rows = [
        (job, kind, rank, begin * 10**6, end * 10**6)
        for kind, rank, begin, end in [
            ("compute", 0, 0, 2),
            ("compute", 0, 2, 4),
            ("network", 0, 4, 7),
            ("wait", 1, 7, 10),
            ("compute", 1, 10, 12),
        ]
    ]
    table(folder, "critical_path", columns, rows)


def _timeline(folder: Path, job: str, ranks: int) -> None:
    """Each rank alternates computation and calls without gaps, and sends to the next rank."""
    end = BINS_PS[-1][1]
    rows = []
    for rank in range(ranks):
        at, turn = 0, 0
        # A call without duration is a row, too.
        rows.append((job, rank, 0, 0, "MPI_Irecv", None))
        while at < end:
            width = 700_000 + 50_000 * ((rank + turn) % 5)
            state = "compute" if turn % 2 == 0 else CALLS[(turn // 2 + rank) % len(CALLS)]
            rows.append((job, rank, at, min(end, at + width), state, "solve" if turn % 4 == 0 else None))
            at, turn = at + width, turn + 1
    columns = {"job": NAMED, "rank": U32, "begin_ps": U64, "end_ps": U64, "state": TEXT, "region": TEXT}
    table(folder, "timeline", columns, sorted(rows, key=lambda row: (row[2], row[1])))
    sent = [
        (
            job,
            rank,
            (rank + 1) % ranks,
            0,
            rank,
            rank,
            (rank + 1) % ranks,
            4096 * (1 + rank),
            0,
            None,
            protocol,
        )
        + tuple(10**6 * (rank + 1) + step for step in (0, 100_000, 300_000, 900_000, 1_000_000))
        for rank in range(ranks)
        for protocol in ("request-to-send", "clear-to-send", "rendezvous")
    ]
    columns = {"job": NAMED, "from_rank": U32, "to_rank": U32, "sequence": U32, "number": U32}
    columns |= {"from_host": U32, "to_host": U32}
    columns |= {"bytes": U64, "tag": pyarrow.int32(), "collective": TEXT, "protocol": TEXT}
    columns |= {name: U64 for name in ("posted_ps", "sent_ps", "injected_ps", "arrived_ps", "matched_ps")}
    table(folder, "messages", columns, sent)
