"""The networks, routings, codes and parameters of the study, as text of an experiment."""

RANKS = 32_768
# Hosts of the three sizes, and ranks on each.
SIZES = {"8K": (8_192, 4), "16K": (16_384, 2), "32K": (32_768, 1)}
BANDWIDTHS = [200, 400, 800]
PLACEMENTS = ["linear", "random"]
TOPOLOGIES = {
    "fat tree": {
        "8K": 'kind = "fat-tree", radix = 64, leaves = 256',
        "16K": 'kind = "fat-tree", radix = 64, leaves = 512',
        "32K": 'kind = "fat-tree", radix = 64, leaves = 1024',
    },
    "HyperX": {
        "8K": 'kind = "hyperx", hosts_per_router = 16, shape = [8, 8, 8], width = [2, 2, 2]',
        "16K": 'kind = "hyperx", hosts_per_router = 16, shape = [16, 8, 8], width = [1, 2, 2]',
        "32K": 'kind = "hyperx", hosts_per_router = 16, shape = [16, 16, 8], width = [1, 1, 2]',
    },
    "dragonfly": {
        size: f'kind = "dragonfly", hosts_per_router = 16, routers_per_group = 32, groups = {groups}, '
        f"links_between_groups = {links}"
        for size, groups, links in (("8K", 16, 32), ("16K", 32, 16), ("32K", 64, 8))
    },
    "Dragonfly+": {
        size: f'kind = "dragonfly-plus", hosts_per_leaf = 32, leaves_per_group = 32, groups = {groups}, '
        f"links_between_groups = {links}"
        for size, groups, links in (("8K", 8, 128), ("16K", 16, 64), ("32K", 32, 32))
    },
}
# Sets of routings by the simulator of the report that had them, then our own.
ADAPTIVE, MINIMAL, MERLIN = "adaptive", "minimal", "Merlin"
MINIMAL_ADAPTIVE, GLOBAL, LATE = "minimal-adaptive", "global detours", "late detours"
PAR = 'algorithm = "par", paths = "adaptive", bias = "{par_bias}"'
UGAL = 'algorithm = "ugal", paths = "hashed", bias = "{par_bias}"'
# PAR whose bias is above the buffer of a virtual channel: the first detour waits for full buffers.
LATE_PAR = 'algorithm = "par", paths = "adaptive", bias = "122880 B"'
# Detours inside the groups of a dragonfly.
LOCAL = ', local = "ugal"'
ROUTINGS = {
    ADAPTIVE: {
        "fat tree": 'algorithm = "adaptive"',
        "HyperX": 'algorithm = "dal", bias = "{bias}"',
        "dragonfly": PAR + LOCAL,
        "Dragonfly+": PAR,
    },
    MINIMAL: {
        "fat tree": 'algorithm = "scatter"',
        "HyperX": 'algorithm = "minimal"',
        "dragonfly": 'algorithm = "minimal", paths = "hashed"',
        "Dragonfly+": 'algorithm = "minimal", paths = "hashed"',
    },
    MERLIN: {
        "fat tree": 'algorithm = "destination-mod-k"',
        "HyperX": 'algorithm = "doal", bias = "{bias}"',
        "dragonfly": UGAL,
        "Dragonfly+": UGAL,
    },
    MINIMAL_ADAPTIVE: {"HyperX": 'algorithm = "minimal-adaptive"'},
    # PAR without detours inside groups.
    GLOBAL: {"dragonfly": PAR},
    LATE: {"dragonfly": LATE_PAR + LOCAL, "Dragonfly+": LATE_PAR},
}
# The codes with less data for each rank, and at the report's sizes. The barriers of the motif are left out:
# they would take as long as the smaller halo itself.
CUBE = "pex = 32, pey = 32, pez = 32"
HALO = f'motif = "halo3d-26", {CUBE}, barriers = false, '
A2A = f'motif = "subcom3d-a2a", {CUBE}, bytes_z = "0 B", '
CODES = {
    "halo": HALO + "nx = 64, ny = 64, nz = 64, vars = 1",
    "sweep": 'motif = "sweep3d", pex = 256, pey = 128, nx = 40, ny = 40, nz = 40, kba = 10',
    "all-to-all": A2A + 'bytes_x = "8 KiB", bytes_y = "8 KiB"',
}
# For the smoke run: 8 KiB per face.
SMALL_HALO = HALO + "nx = 32, ny = 32, nz = 32, vars = 1"
PAPER_CODES = {
    "halo": HALO + "nx = 128, ny = 128, nz = 128, vars = 10",
    "all-to-all": A2A + 'bytes_x = "32 KiB", bytes_y = "32 KiB"',
}
# Buffers, delays and biases are not in the report. The memory has 400 GB/s: our default of 80 Gbps is slower
# than the NIC. DAL and DOAL take detours from a load of a third of `bias` on (three dimensions), PAR and UGAL
# from `par_bias` on. Both are below the buffer of a virtual channel, also in the variants.
BASE = {
    "buffer": "512 KB",
    "packet": "4 KiB",
    "bias": "122880 B",
    "par_bias": "32 KiB",
    "seed": 1,
    "overhead": "0 ps",
    # Keys of the router before `delay`: none is the router model `packet`.
    "router": "",
}


def bandwidths(code: str, size: str) -> list[int]:
    """The Gbps of the links; all of them for the halo only, as a full run has 80 minutes of CPU time."""
    if code == "halo":
        return BANDWIDTHS
    return [200, 800] if size == "8K" else [200]


def experiment(
    topology: str,
    size: str,
    bandwidth: int,
    routing: str,
    code: str,
    placement: str,
    more: str = "",
    **changed: object,
) -> str:
    """An experiment of one run; ``routing`` and ``code`` are texts of their tables.

    ``more``: further keys of the network.
    """
    values = BASE | changed
    return f"""
[network]
topology = {{ {TOPOLOGIES[topology][size]} }}
routing = {{ {routing.format(**values)} }}
link = {{ bandwidth = "{bandwidth} Gbps", latency = "50 ns" }}
router = {{ {values["router"]}delay = "100 ns", buffer = "{values["buffer"]}" }}
memory = {{ bandwidth = "400 GB/s", latency = "100 ns" }}
packet = "{values["packet"]}"
{more}
[mpi]
send_overhead = "{values["overhead"]}"
receive_overhead = "{values["overhead"]}"
[[job]]
workload = {{ {code} }}
placement = "{placement}"
ranks_per_host = {SIZES[size][1]}
[run]
seed = {values["seed"]}
[collect]
series = "off"
"""
