"""Result folders for the tests of `fabricsim view`: a small run, with synthetic series and timelines."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from unverified import unverified

BINS = 20
WIDTH_PS = 1_000_000
#: The only link with a load of 1, and its time.
HOT_LINK = 70
HOT_BINS = range(8, 12)

EXPERIMENT = """
[network]
topology = { kind = "dragonfly", hosts_per_router = 2, routers_per_group = 4, global_links_per_router = 1 }
routing = { algorithm = "minimal" }
link = { bandwidth = "100 Gbps", latency = "50 ns" }
packet = "1 KiB"

[[job]]
name = "rows"
workload = { motif = "subcom3d-a2a", ranks = 8, bytes_x = "8 KiB", bytes_y = "8 KiB", bytes_z = "8 KiB" }

[run]
until = "20 us"
"""

TYPES = {
    "begin_ps": pa.uint64(),
    "end_ps": pa.uint64(),
    "link": pa.uint32(),
    "rank": pa.uint32(),
    "vc": pa.uint8(),
    "from_rank": pa.uint32(),
    "to_rank": pa.uint32(),
    "waiting_packets": pa.uint32(),
    "used_bytes": pa.uint32(),
    "used_bytes_max": pa.uint32(),
    "waiting_packets_max": pa.uint32(),
    "capacity_bytes": pa.uint32(),
    "tag": pa.int32(),
}


def command() -> str:
    """The `fabricsim` command of this Python, or of the path."""
    beside = Path(sys.executable).with_name("fabricsim")
    found = str(beside) if beside.exists() else shutil.which("fabricsim")
    assert found, "the command fabricsim is installed with the package"
    return found


def run(folder: Path) -> Path:
    """A small dragonfly with one job of eight ranks."""
    file = folder / "small.toml"
    file.write_text(EXPERIMENT)
    result = folder / "small"
    subprocess.run([command(), "run", str(file), "--out", str(result)], check=True, capture_output=True)
    return result


def write(folder: Path, table: str, rows: list[dict[str, Any]]) -> None:
    """Writes rows as a table of a result."""
    unverified(folder)
    columns = {}
    for name in rows[0]:
        values = [row[name] for row in rows]
        is_text = any(isinstance(value, str) for value in values)
        kind = TYPES.get(name, pa.string() if is_text else pa.uint64())
        columns[name] = pa.array(values, kind)
    pq.write_table(pa.table(columns), folder / f"{table}.parquet", row_group_size=500)


def busy(link: int, number: int) -> float:
    """The load of a link in a bin."""
    if link == HOT_LINK and number in HOT_BINS:
        return 1.0
    return max(0.0, 0.35 + 0.3 * math.sin(1.7 * link + 0.4 * number))


def series(folder: Path) -> None:
    """Series of all links, of the kinds of links and of VCs."""
    links = pq.read_table(folder / "links.parquet")
    kinds = links["class"].to_pylist()
    of_link, of_class, of_vc = [], [], []
    for number in range(BINS):
        span = {"begin_ps": number * WIDTH_PS, "end_ps": (number + 1) * WIDTH_PS}
        sums: dict[str, list[int]] = {}
        for link, kind in enumerate(kinds):
            busy_ps = int(busy(link, number) * WIDTH_PS)
            if busy_ps == 0:
                continue
            sums.setdefault(kind, []).append(busy_ps)
            rest = {"bytes": busy_ps // 80, "packets": busy_ps // 80_000, "busy_ps": busy_ps}
            full = {"buffer_full_ps": busy_ps // 5, "waiting_packets": busy_ps // 100_000}
            waiting = {"waiting_bytes": busy_ps // 100}
            of_link.append({**span, "link": link, **rest, **full, **waiting})
            if kind in ("local", "global"):
                vc = {"link": link, "vc": number % 2, "used_bytes": busy_ps // 100, "capacity_bytes": 10_000}
                waiting = {"waiting_packets": number % 3, "waiting_packets_max": 3}
                of_vc.append({**span, **vc, "used_bytes_max": busy_ps // 90, **waiting})
        for kind, loads in sums.items():
            total = {"class": kind, "links": kinds.count(kind), "busy_ps": sum(loads)}
            of_class.append({**span, **total, "bytes": 0, "packets": 0, "buffer_full_ps": 0})
    write(folder, "link_series", of_link)
    write(folder, "class_series", of_class)
    write(folder, "vc_series", of_vc)


def timeline(folder: Path) -> None:
    """Eight ranks that compute and send to the next one, five times; the critical path goes through them."""
    rows, messages, path = [], [], []
    for turn in range(5):
        for rank in range(8):
            begin = turn * 4_000_000
            middle = begin + 1_500_000 + 200_000 * rank
            for state, start, end in [
                ("compute", begin, middle),
                ("MPI_Send", middle, middle + 300_000),
                ("MPI_Recv", middle + 300_000, begin + 4_000_000),
            ]:
                span = {"rank": rank, "begin_ps": start, "end_ps": end}
                rows.append({"job": "rows", **span, "state": state, "region": None})
            times = {"posted_ps": middle, "sent_ps": middle + 100_000, "injected_ps": middle + 200_000}
            arrived = {"arrived_ps": middle + 500_000, "matched_ps": middle + 600_000}
            ends = {"from_rank": rank, "to_rank": (rank + 1) % 8, "bytes": 8192, "tag": 1}
            how = {"collective": None, "protocol": "eager"}
            messages.append({"job": "rows", **ends, **how, **times, **arrived})
        step = {"job": "rows", "step": turn, "rank": turn, "holder": None, "message": None}
        span = {"begin_ps": turn * 4_000_000, "end_ps": (turn + 1) * 4_000_000}
        path.append({**step, **span, "kind": "network", "link": HOT_LINK, "reason": "wire"})
    write(folder, "timeline", rows)
    write(folder, "messages", messages)
    write(folder, "critical_path", path)


def verdict(folder: Path) -> None:
    """A verdict that names single links, a class, no class, and a time."""
    unverified(folder)
    file = folder / "summary.json"
    summary = json.loads(file.read_text())
    summary["verdict"] = {
        "rule": "few-full-links",
        "headline": "One link is full for 20 % of the time.",
        "places": [
            {"found": "global link 70", "class": "global", "links": [HOT_LINK]},
            {"found": "also global links", "class": "global", "links": []},
            {"found": "MPI calls", "class": None, "links": []},
        ],
        "times": [{"begin_ns": 8_000.0, "end_ns": 12_000.0, "found": "the link is full"}],
        "causes": ["Routing minimal does not use the free ones"],
        "comparisons": [
            {"differs": f"routing {name}", "set": [{"key": "network.routing", "value": f'"{name}"'}]}
            for name in ("ugal", "valiant")
        ],
        "confidence": {"level": "medium", "reasons": ["a note"]},
    }
    file.write_text(json.dumps(summary))


def large(folder: Path, like: Path, routers: int, links_per_router: int, bins: int = 0) -> None:
    """A network of many links, each router linked to its followers, with loads of all links in some bins.

    The rest is another result's.
    """
    folder.mkdir()
    shutil.copy(like / "summary.json", folder)
    unverified(folder)
    side = math.isqrt(routers)
    places = {
        "router": pa.array(range(routers), pa.uint32()),
        "label": pa.array([f"({r % side}, {r // side})" for r in range(routers)]),
        "group": pa.array([None] * routers, pa.uint32()),
        "x": pa.array([(r % side + 0.5) / side for r in range(routers)], pa.float32()),
        "y": pa.array([(r // side + 0.5) / side for r in range(routers)], pa.float32()),
        "hosts": pa.array([0] * routers, pa.uint32()),
    }
    pq.write_table(pa.table(places), folder / "routers.parquet")
    count = routers * links_per_router
    begins = [link // links_per_router for link in range(count)]
    ends = [
        (r + (1, side, 7, 3 * side + 5)[link % 4] * (1 + link % 3)) % routers for link, r in enumerate(begins)
    ]
    numbers = {
        "link": (range(count), pa.uint32()),
        "from_id": (begins, pa.uint32()),
        "to_id": (ends, pa.uint32()),
        "from_port": ([0] * count, pa.uint32()),
        "to_port": ([0] * count, pa.uint32()),
        "bandwidth_bits_per_s": ([100_000_000_000] * count, pa.uint64()),
        "bytes": ([0] * count, pa.uint64()),
        "packets": ([0] * count, pa.uint64()),
        "busy_ps": ([0] * count, pa.uint64()),
        "buffer_full_ps": ([0] * count, pa.uint64()),
        "busy_fraction": ([(link % 97) / 97 for link in range(count)], pa.float64()),
    }
    table = {name: pa.array(values, kind) for name, (values, kind) in numbers.items()}
    for name, word in [("class", "local"), ("from_kind", "router"), ("to_kind", "router")]:
        table[name] = pa.array([word] * count)
    pq.write_table(pa.table(table), folder / "links.parquet")
    if bins == 0:
        return
    every = [link for _ in range(bins) for link in range(count)]
    begin = [number * WIDTH_PS for number in range(bins) for _ in range(count)]
    busy_ps = [
        (7 * link + 13 * (at // WIDTH_PS)) % 100 * WIDTH_PS // 100
        for link, at in zip(every, begin, strict=True)
    ]
    rows = {
        "begin_ps": pa.array(begin, pa.uint64()),
        "end_ps": pa.array([at + WIDTH_PS for at in begin], pa.uint64()),
        "link": pa.array(every, pa.uint32()),
        "busy_ps": pa.array(busy_ps, pa.uint64()),
        "buffer_full_ps": pa.array([busy // 4 for busy in busy_ps], pa.uint64()),
    }
    pq.write_table(pa.table(rows), folder / "link_series.parquet", row_group_size=count)
