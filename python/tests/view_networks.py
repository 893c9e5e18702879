"""Networks for the tests of the map, and short runs of them."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from view_results import command


@dataclass(frozen=True)
class Network:
    """A network of a test: its topology and routing, number of hosts, and what its map shows."""

    topology: str
    routing: str
    hosts: int
    #: Number of frames, and whether members of cells are pairs or links.
    frames: int
    of: str
    #: Other keys of the network.
    more: str = ""


NETWORKS = {
    "dragonfly-72": Network(
        'kind = "dragonfly", hosts_per_router = 2, routers_per_group = 4, global_links_per_router = 2',
        "minimal",
        72,
        1,
        "pairs",
    ),
    "dragonfly-1056": Network(
        'kind = "dragonfly", hosts_per_router = 4, routers_per_group = 8, global_links_per_router = 4',
        "minimal",
        1056,
        1,
        "pairs",
    ),
    "dragonfly-8320": Network(
        'kind = "dragonfly", hosts_per_router = 8, routers_per_group = 16, '
        "global_links_per_router = 4, groups = 65",
        "minimal",
        8320,
        1,
        "pairs",
    ),
    "dragonfly-planes-72": Network(
        'kind = "dragonfly", hosts_per_router = 2, routers_per_group = 4, global_links_per_router = 2',
        "minimal",
        72,
        2,
        "pairs",
        "planes = 2\nrails = 2",
    ),
    "dragonfly-2d-60": Network(
        'kind = "dragonfly-2d", hosts_per_router = 2, rows = 2, columns = 3, column_links = 2, '
        "links_between_groups = 2, groups = 5",
        "minimal",
        60,
        1,
        "pairs",
    ),
    "dragonfly-plus-1088": Network(
        'kind = "dragonfly-plus", hosts_per_leaf = 8, leaves_per_group = 8, global_links_per_spine = 2',
        "minimal",
        1088,
        1,
        "pairs",
    ),
    "fat-tree-72": Network('kind = "fat-tree", levels = 2, radix = 12', "destination-mod-k", 72, 4, "links"),
    "fat-tree-1024": Network(
        'kind = "fat-tree", levels = 3, radix = 16', "destination-mod-k", 1024, 6, "links"
    ),
    "torus-72": Network('kind = "torus", sizes = [3, 4, 6]', "dimension-order", 72, 6, "links"),
    "torus-1056": Network('kind = "torus", sizes = [8, 11, 12]', "dimension-order", 1056, 12, "links"),
    "mesh-72": Network('kind = "mesh", sizes = [8, 9]', "dimension-order", 72, 1, "links"),
    "hyperx-1024": Network(
        'kind = "hyperx", shape = [8, 8, 4], hosts_per_router = 4', "minimal", 1024, 4, "links"
    ),
    "slim-fly-100": Network('kind = "slim-fly", q = 5, hosts_per_router = 2', "minimal", 100, 1, "pairs"),
    "slim-fly-968": Network('kind = "slim-fly", q = 11, hosts_per_router = 4', "minimal", 968, 1, "pairs"),
    "graph-72": Network(
        'kind = "graph", hosts_per_router = 12, '
        "edges = [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 0], [0, 3, 2]]",
        "minimal",
        72,
        1,
        "pairs",
    ),
}

#: Sums of all cells of a map.
CELLS = """() => fabricsim.state.panels[0].view.layout.frames.flatMap((of, number) => of.cells.map(cell => ({
    frame: number, row: cell.row, column: cell.column, name: cell.name, members: cell.members.length,
    links: cell.sum.links, mean: cell.sum.mean, most: cell.sum.most, full: cell.sum.full,
    blocked: cell.sum.blocked, held: cell.sum.held, busy: cell.sum.busy })))"""


def run(
    folder: Path,
    network: Network,
    pattern: str = "uniform",
    load: float = 0.3,
    series: str = "off",
    until_us: int | None = None,
) -> Path:
    """A short run."""
    until_us = until_us or (1 if network.hosts > 5000 else 2 if network.hosts > 500 else 5)
    file = folder / "experiment.toml"
    file.write_text(
        f"""
        [network]
        topology = {{ {network.topology} }}
        routing = {{ algorithm = "{network.routing}" }}
        link = {{ bandwidth = "200 Gbps", latency = "50 ns" }}
        packet = "1 KiB"
        {network.more}
        [[job]]
        name = "load"
        traffic = {{ pattern = "{pattern}", load = {load} }}
        [run]
        until = "{until_us} us"
        [collect]
        series = "{series}"
        """
    )
    result = folder / "result"
    subprocess.run([command(), "run", str(file), "--out", str(result)], check=True, capture_output=True)
    return result
