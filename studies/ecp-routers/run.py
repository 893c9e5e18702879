"""The runs of SST/macro, SST/Merlin and CODES with the routers of these simulators, beside `packet`.

After the milestone report of the Exascale Computing Project on network topologies. See README.md;
``studies/study.py`` has the options. Networks, codes and parameters are those of the study ecp-topologies.
"""

import functools
import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOPOLOGY_STUDY = HERE.parent / "ecp-topologies"
sys.path[:0] = [str(HERE.parent), str(TOPOLOGY_STUDY)]
import networks  # noqa: E402
from networks import CODES, LOCAL, PAR, PLACEMENTS, SIZES, SMALL_HALO, TOPOLOGIES, experiment  # noqa: E402
from study import (  # noqa: E402
    Case,
    Check,
    Row,
    Study,
    at_least,
    at_most,
    markdown,
    number,
    read_table,
    select,
    topology_colour,
    within,
)

TREE, HYPERX, DRAGONFLY, PLUS = TOPOLOGIES
PACKET = "packet"
SCULPIN, IN_ORDER = "SCULPIN", "SCULPIN, in order"
LRU, ROTATING, BY_VC = "hr_router", "hr_router, rotating", "hr_router, loads of VCs"
STORED = "CODES"
# The NIC of Merlin's stack takes time for each message that the report does not state.
NIC_1US, NIC_2US = "hr_router, NIC 1 us", "hr_router, NIC 2 us"
NIC = 'nic_injection_delay = "{0} ns"\nnic_reception_delay = "{0} ns"'
MEMORY = 'nic = { memory_bandwidth = "200 Gbps" }'
CYCLES = 'speedup = 1.5, flit = "16 B", '
# Keys of the router, and more keys of the network.
ROUTERS = {
    PACKET: ("", ""),
    SCULPIN: ('model = "output-queued", ', MEMORY),
    IN_ORDER: ('model = "output-queued", ', MEMORY + '\nnic_arbiter = "in-order"'),
    LRU: ('model = "crossbar", arbiter = "least-recently-used", ' + CYCLES, ""),
    NIC_1US: ('model = "crossbar", arbiter = "least-recently-used", ' + CYCLES, NIC.format(500)),
    NIC_2US: ('model = "crossbar", arbiter = "least-recently-used", ' + CYCLES, NIC.format(1000)),
    BY_VC: ('model = "crossbar", arbiter = "least-recently-used", ' + CYCLES, ""),
    ROTATING: ('model = "crossbar", arbiter = "rotating", ' + CYCLES, ""),
    STORED: (
        'model = "crossbar", arbiter = "first-come", crossbar_bandwidth = "1000 Tbps", '
        'switching = "store-and-forward", ',
        "",
    ),
}
# The routings that the report states, by simulator. The study of the topologies has the same text for each
# but progressive adaptive routing in the HyperX.
MACRO, MINIMAL, MERLIN, OF_CODES = "SST/macro, adaptive", "SST/macro, minimal", "Merlin", "CODES"
ROUTINGS = {
    MACRO: {
        TREE: 'algorithm = "scatter"',
        HYPERX: 'algorithm = "par", bias = "{par_bias}"',
        DRAGONFLY: PAR + LOCAL,
        PLUS: PAR,
    },
    MINIMAL: networks.ROUTINGS[networks.MINIMAL],
    MERLIN: networks.ROUTINGS[networks.MERLIN],
    OF_CODES: networks.ROUTINGS[networks.ADAPTIVE] | networks.ROUTINGS[networks.MINIMAL_ADAPTIVE],
}
# The load that Merlin compares: the queue of the packet's virtual channel.
QUEUE_OF_VC = ', metric = "queue", metric_scope = "vc"'
# The same with one gateway for each pair of hosts and group, whatever its load.
HASHED = "SST/macro, hashed"
ROUTINGS[HASHED] = {DRAGONFLY: PAR.replace('"adaptive"', '"hashed"') + LOCAL}
# More seeds of the halo with random placement, where the networks of a claim differ little.
SEEDS = [2, 3]
SEEDS_OF_CODES = [*SEEDS, 4, 5]
OWN = {MACRO: SCULPIN, HASHED: SCULPIN, MINIMAL: SCULPIN, MERLIN: LRU, OF_CODES: STORED}


def case(
    routing: str,
    topology: str,
    size: str,
    placement: str,
    code: str,
    router: str,
    gbps: int = 200,
    seed: int = 1,
    small: bool = False,
) -> Case:
    columns = {
        "routing": routing,
        "topology": topology,
        "size": size,
        "gbps": gbps,
        "placement": placement,
        "code": code,
        "router": router,
        "seed": seed,
    }
    keys, more = ROUTERS[router]
    text = experiment(
        topology,
        size,
        gbps,
        ROUTINGS[routing][topology] + (QUEUE_OF_VC if router == BY_VC else ""),
        SMALL_HALO if small else CODES[code],
        placement,
        more,
        router=keys,
        seed=seed,
    )
    return Case(columns, text, ("--threads", "1"))


def cases(smoke: bool) -> list[Case]:
    if smoke:
        return [
            case(MINIMAL, TREE, "8K", "linear", "halo", router, small=True)
            for router in (PACKET, SCULPIN, LRU)
        ]
    others = (HYPERX, DRAGONFLY, PLUS)
    found = []

    def add(
        routing: str,
        topologies: tuple[str, ...],
        sizes: tuple[str, ...] = ("8K",),
        code: str = "halo",
        router: str = "",
        placements: list[str] = PLACEMENTS,
        gbps: int = 200,
        seed: int = 1,
    ) -> None:
        found.extend(
            case(routing, topology, size, placement, code, router or OWN[routing], gbps, seed)
            for topology in topologies
            for size in sizes
            for placement in placements
        )

    every = tuple(SIZES)
    for code in ("halo", "all-to-all"):
        # Scatter in the fat tree is in both sets.
        add(MINIMAL, (TREE,), every, code)
        add(MACRO, others, code=code)
        add(MACRO, (HYPERX,), code=code, router=PACKET)
        add(MACRO, (DRAGONFLY,), every[1:], code)
        add(MINIMAL, others, every, code)
    add(MERLIN, tuple(TOPOLOGIES))
    add(MERLIN, (TREE,), ("8K", "32K"), "sweep", PACKET)
    for router in (LRU, NIC_1US, NIC_2US):
        add(MERLIN, (TREE,), ("8K", "32K"), "sweep", router)
    add(OF_CODES, tuple(TOPOLOGIES))
    add(OF_CODES, tuple(TOPOLOGIES), code="all-to-all")
    add(HASHED, (DRAGONFLY,), every)
    add(MERLIN, tuple(TOPOLOGIES), router=ROTATING)
    add(MERLIN, others, router=BY_VC)
    # Equal injection bandwidth of a rank.
    for router in (PACKET, LRU):
        add(MERLIN, tuple(TOPOLOGIES), gbps=800, router=router)
        add(MERLIN, tuple(TOPOLOGIES), ("32K",), router=router)
        add(MERLIN, (TREE,), code="sweep", gbps=800, router=router)
    add(MINIMAL, (TREE,), router=IN_ORDER)
    add(MACRO, others, router=IN_ORDER)
    for seed in SEEDS_OF_CODES:
        add(OF_CODES, tuple(TOPOLOGIES), placements=["random"], seed=seed)
    for seed in SEEDS:
        add(OF_CODES, (HYPERX,), placements=["random"], router=PACKET, seed=seed)
        add(MINIMAL, (TREE,), every, placements=["random"], seed=seed)
        add(MACRO, (DRAGONFLY,), every, placements=["random"], seed=seed)
    # Whether the program has the times of the other study still.
    add(MINIMAL, (TREE, DRAGONFLY), router=PACKET, placements=["linear"])
    return found


def measure(summary: dict, _folder: Path | None) -> dict[str, object]:
    job, network = summary["jobs"][0], summary["network"]
    shares = {link["class"]: link["share"] for link in job["bound_by"]["links"]}
    inside = sum(share for kind, share in shares.items() if kind not in ("injection", "ejection"))
    return {
        "time_us": f"{job['time_ns'] / 1000:.2f}",
        "mpi_us": f"{job['mpi_ns'] / 1000:.2f}",
        "links_between_routers_share": f"{inside:.3f}",
        "packet_hops": network["packet_hops"],
        "cpu_s": f"{summary['run']['cpu_s']:.1f}",
    }


@functools.cache
def _topology_rows() -> list[Row]:
    return read_table(TOPOLOGY_STUDY)


def _other_study(routing: str, topology: str) -> str:
    """The routings of ecp-topologies that are the same for this network."""
    if routing == OF_CODES and topology == HYPERX:
        return networks.MINIMAL_ADAPTIVE
    return routing if routing == MERLIN else networks.MINIMAL if routing == MINIMAL else networks.ADAPTIVE


def time(
    rows: list[Row],
    routing: str,
    topology: str,
    router: str = "",
    code: str = "halo",
    placement: str = "linear",
    size: str = "8K",
    gbps: int = 200,
    seed: int = 1,
) -> float:
    """The time in microseconds with the simulator's own router, or with the one that is named.

    Times with ``packet`` that the study of the topologies has were not run here.
    """
    router = router or OWN[routing]
    columns = {"topology": topology, "size": size, "placement": placement, "code": code, "gbps": gbps}
    if routing == MACRO and topology == TREE:
        routing = MINIMAL
    run_here = (routing, topology) == (MACRO, HYPERX) or code == "sweep"
    run_here |= (routing, topology) == (OF_CODES, HYPERX) and seed > 1
    run_here |= routing == MERLIN and (size == "32K" or gbps == 800)
    if router == PACKET and not run_here:
        old = {"routing": _other_study(routing, topology), "variant": "base"}
        return number(_topology_rows(), "time_us", **columns, **old)
    return number(rows, "time_us", routing=routing, router=router, seed=seed, **columns)


def ratio(rows: list[Row], routing: str, router: str, one: str, other: str, **columns: str | int) -> float:
    """The time on one network over that on another."""
    return time(rows, routing, one, router, **columns) / time(rows, routing, other, router, **columns)


# A claim: simulator with routings, statement, what is compared, limit as text, the values of a router, and
# whether they are as the claim says.
Claim = tuple[str, str, str, str, Callable[[str], list[float]], Callable[[list[float]], bool]]
DEGRADED, BAD, PATHOLOGICAL, BEST, ALIKE = 1.1, 1.3, 2.0, 1.1, 1.02
SLOWER = (1.3, 1.5)


def claims(rows: list[Row]) -> list[Claim]:
    """The claims of the report that compare networks, sizes or placements."""
    found: list[Claim] = []

    def over_tree(
        routing: str, topology: str, sizes: tuple[str, ...], **of: str
    ) -> Callable[[str], list[float]]:
        return lambda router: [
            ratio(rows, routing, router, topology, TREE, size=size, **of) for size in sizes
        ]

    patterns = [(code, placement) for code in ("halo", "all-to-all") for placement in PLACEMENTS]
    every = tuple(SIZES)
    for code, placement in patterns:
        of = {"code": code, "placement": placement}
        found.append(
            (
                MACRO,
                "dragonfly degrades at 16K and 32K",
                f"{code}, {placement}: over fat tree, 8K, 16K, 32K",
                f"16K and 32K: at least {DEGRADED} times that of 8K",
                over_tree(MACRO, DRAGONFLY, every, **of),
                lambda values: min(values[1:]) >= DEGRADED * values[0],
            )
        )
    for statement, topology, sizes, limit in (
        ("Dragonfly+ is bad at 32K", PLUS, ("32K",), BAD),
        ("HyperX is bad at 8K and 16K", HYPERX, ("8K", "16K"), BAD),
        ("dragonfly is pathological", DRAGONFLY, every, PATHOLOGICAL),
    ):
        for code, placement in patterns:
            found.append(
                (
                    MINIMAL,
                    statement,
                    f"{code}, {placement}: over fat tree, {', '.join(sizes)}",
                    f"at least {limit}",
                    over_tree(MINIMAL, topology, sizes, code=code, placement=placement),
                    lambda values, limit=limit: min(values) >= limit,
                )
            )

    def others(routing: str, placement: str, topologies: tuple[str, ...]) -> Callable[[str], list[float]]:
        return lambda router: [
            ratio(rows, routing, router, topology, TREE, placement=placement) for topology in topologies
        ]

    found += [
        (
            MERLIN,
            "fat tree is clearly best with linear placement",
            f"halo, linear, 8K: {HYPERX}, {DRAGONFLY}, {PLUS} over fat tree",
            f"at least {BEST}",
            others(MERLIN, "linear", (HYPERX, DRAGONFLY, PLUS)),
            lambda values: min(values) >= BEST,
        ),
        (
            MERLIN,
            "dragonfly and HyperX are often better with random placement",
            f"halo, random, 8K: {HYPERX}, {DRAGONFLY} over fat tree",
            "below 1",
            others(MERLIN, "random", (HYPERX, DRAGONFLY)),
            lambda values: max(values) < 1,
        ),
        (
            MERLIN,
            "40 % slower from 8K to 32K",
            "sweep, fat tree: 32K over 8K, linear, random",
            f"{SLOWER[0]} to {SLOWER[1]}",
            lambda router: [
                time(rows, MERLIN, TREE, router, "sweep", placement, "32K")
                / time(rows, MERLIN, TREE, router, "sweep", placement)
                for placement in PLACEMENTS
            ],
            lambda values: all(SLOWER[0] <= value <= SLOWER[1] for value in values),
        ),
        (
            OF_CODES,
            "HyperX is bad with linear placement",
            "halo, linear, 8K: over fat tree",
            f"at least {BEST}",
            others(OF_CODES, "linear", (HYPERX,)),
            lambda values: min(values) >= BEST,
        ),
        (
            OF_CODES,
            "HyperX is best with random placement",
            "halo, random, 8K: over the best of the others, by seed",
            "below 1 with most seeds",
            lambda router: [
                max(_codes_seeds(rows, router, seed))
                for seed in (1, *(SEEDS if router == PACKET else SEEDS_OF_CODES))
            ],
            lambda values: sum(value < 1 for value in values) > len(values) / 2,
        ),
        (
            OF_CODES,
            "Dragonfly+ is at least as good as dragonfly",
            "halo, 8K: over dragonfly, linear, random",
            f"at most {ALIKE}",
            lambda router: [
                ratio(rows, OF_CODES, router, PLUS, DRAGONFLY, placement=placement)
                for placement in PLACEMENTS
            ],
            lambda values: max(values) <= ALIKE,
        ),
    ]
    for routing in (MACRO, MERLIN, OF_CODES):
        found.append(
            (
                routing,
                "random placement costs",
                f"halo, 8K: random over linear, {', '.join(TOPOLOGIES)}",
                "above 1",
                lambda router, routing=routing: [
                    time(rows, routing, topology, router, placement="random")
                    / time(rows, routing, topology, router)
                    for topology in TOPOLOGIES
                ],
                lambda values: min(values) > 1,
            )
        )
    return found


def _claims_table(rows: list[Row]) -> str:
    lines = []
    for routing, statement, compared, limit, values_of, holds in claims(rows):
        line = [routing, statement, compared, limit]
        verdicts = []
        for router in (PACKET, OWN[routing]):
            values = values_of(router)
            line.append(", ".join(f"{value:.2f}" for value in values))
            verdicts.append("yes" if holds(values) else "no")
        lines.append([*line, *verdicts])
    header = ["simulator", "claim", "compared", "it holds if", PACKET, "own router"]
    return markdown([*header, f"holds with {PACKET}", "with own router"], lines)


def _times_table(rows: list[Row]) -> str:
    """Time with `packet`, with the simulator's own router, and their ratio."""
    lines = []
    for routing, codes in (
        (MACRO, ("halo", "all-to-all")),
        (MINIMAL, ("halo", "all-to-all")),
        (MERLIN, ("halo", "sweep")),
        (OF_CODES, ("halo", "all-to-all")),
    ):
        for code in codes:
            for size in SIZES:
                for placement in PLACEMENTS:
                    line = []
                    for topology in TOPOLOGIES:
                        columns = {"code": code, "placement": placement, "size": size, "gbps": 200}
                        known = MINIMAL if (routing, topology) == (MACRO, TREE) else routing
                        names = {"routing": known, "router": OWN[routing], "topology": topology}
                        here = select(rows, seed=1, **names, **columns)
                        if not here:
                            line.append("")
                            continue
                        own = time(rows, routing, topology, **columns)
                        packet = time(rows, routing, topology, PACKET, **columns)
                        line.append(f"{packet:,.1f}, {own:,.1f}, {own / packet:.2f}")
                    if any(line):
                        lines.append([routing, OWN[routing], code, size, placement, *line])
    return markdown(["routings of", "router", "code", "hosts", "placement", *TOPOLOGIES], lines)


def _both(
    rows: list[Row], routing: str, topology: str, one: dict[str, object], other: dict[str, object]
) -> str:
    """The ratio of two kinds of runs with linear and random placement."""
    values = [
        time(rows, routing, topology, placement=placement, **one)
        / time(rows, routing, topology, placement=placement, **other)
        for placement in PLACEMENTS
    ]
    return " / ".join(f"{value:.2f}" for value in values)


def _variants_table(rows: list[Row]) -> str:
    lines = []
    for routing, router in ((MERLIN, ROTATING), (MERLIN, BY_VC), (MACRO, IN_ORDER)):
        own = OWN[routing]
        line = [f"{router} over {own}"]
        for topology in TOPOLOGIES:
            absent = (router, topology) == (BY_VC, TREE)
            line.append("" if absent else _both(rows, routing, topology, {"router": router}, {"router": own}))
        lines.append(line)
    return markdown(["halo, 8K", *(f"{topology}, linear / random" for topology in TOPOLOGIES)], lines)


def _gateways_table(rows: list[Row]) -> str:
    """The dragonfly over the fat tree by the choice of gateways."""
    lines = []
    for name, routing, router in (
        ("by load, packet", MACRO, PACKET),
        ("by load, SCULPIN", MACRO, SCULPIN),
        ("hashed, SCULPIN", HASHED, SCULPIN),
    ):
        line = [name]
        for size in SIZES:
            values = [
                time(rows, routing, DRAGONFLY, router, placement=placement, size=size)
                / time(rows, MACRO, TREE, router, placement=placement, size=size)
                for placement in PLACEMENTS
            ]
            line.append(" / ".join(f"{value:.2f}" for value in values))
        lines.append(line)
    header = ["halo, dragonfly over fat tree: gateways, router"]
    return markdown([*header, *(f"{size}, linear / random" for size in SIZES)], lines)


def _macro_seeds(rows: list[Row], seed: int) -> list[float]:
    """The dragonfly over the fat tree with SCULPIN and random placement, by size."""
    of = {"placement": "random", "seed": seed}
    return [ratio(rows, MACRO, SCULPIN, DRAGONFLY, TREE, size=size, **of) for size in SIZES]


def _codes_seeds(rows: list[Row], router: str, seed: int) -> list[float]:
    """The HyperX over the other networks with the routings of CODES and random placement."""
    of = {"placement": "random", "seed": seed}
    hyperx = time(rows, OF_CODES, HYPERX, router, **of)
    others = (TREE, DRAGONFLY, PLUS)
    if router == PACKET and seed in SEEDS:
        # Seeds are variants of the study of the topologies.
        known = {
            "routing": networks.ADAPTIVE,
            "size": "8K",
            "gbps": 200,
            "placement": "random",
            "code": "halo",
        }
        known["variant"] = f"seed {seed}"
        return [
            hyperx / number(_topology_rows(), "time_us", topology=topology, **known) for topology in others
        ]
    return [hyperx / time(rows, OF_CODES, topology, router, **of) for topology in others]


def _seeds_table(rows: list[Row]) -> str:
    lines = []
    for seed in (1, *SEEDS_OF_CODES):
        parts = [
            _macro_seeds(rows, seed) if seed in (1, *SEEDS) else [],
            _codes_seeds(rows, PACKET, seed) if seed in (1, *SEEDS) else [],
            _codes_seeds(rows, STORED, seed),
        ]
        lines.append([str(seed), *(", ".join(f"{value:.2f}" for value in part) for part in parts)])
    header = ["halo, random: seed", "SCULPIN: dragonfly over fat tree, 8K, 16K, 32K"]
    header += [f"{name}: HyperX over {TREE}, {DRAGONFLY}, {PLUS}" for name in (PACKET, STORED)]
    return markdown(header, lines)


NICS = (PACKET, LRU, NIC_1US, NIC_2US)


def _sweep_over(rows: list[Row], router: str, placement: str) -> float:
    large = time(rows, MERLIN, TREE, router, "sweep", placement, "32K")
    return large / time(rows, MERLIN, TREE, router, "sweep", placement)


def _nic_table(rows: list[Row]) -> str:
    lines = [
        [router, *(f"{_sweep_over(rows, router, placement):.2f}" for placement in PLACEMENTS)]
        for router in NICS
    ]
    return markdown(["sweep, fat tree, 32K over 8K", *PLACEMENTS], lines)


def _injection_table(rows: list[Row]) -> str:
    lines = []
    few, many = {"size": "8K", "gbps": 800}, {"size": "32K", "gbps": 200}
    for code in ("halo", "sweep"):
        for router in (PACKET, LRU):
            of = {"code": code, "router": router}
            cells = [
                _both(rows, MERLIN, topology, few | of, many | of)
                if code == "halo" or topology == TREE
                else ""
                for topology in TOPOLOGIES
            ]
            lines.append([code, router, *cells])
    header = ["8K, 800 Gbps, over 32K, 200 Gbps, Merlin", "router"]
    return markdown([*header, *(f"{topology}, linear / random" for topology in TOPOLOGIES)], lines)


def _again(rows: list[Row]) -> list[float]:
    """Times with `packet` of the program of this study over those in the study of the topologies."""
    return [
        number(rows, "time_us", routing=MINIMAL, topology=topology, router=PACKET)
        / time(rows, MINIMAL, topology, PACKET)
        for topology in (TREE, DRAGONFLY)
    ]


def _over_packet(rows: list[Row], routing: str, topologies: list[str] | None = None) -> list[float]:
    """Times with the simulator's own router over those with `packet`."""
    found = []
    for row in select(rows, routing=routing, router=OWN[routing], seed=1):
        if topologies and row["topology"] not in topologies:
            continue
        names = ("topology", "code", "placement", "size")
        columns = {name: row[name] for name in names} | {"gbps": int(row["gbps"])}
        known = select(
            _topology_rows(), routing=_other_study(routing, row["topology"]), variant="base", **columns
        )
        known += select(rows, routing=routing, router=PACKET, **columns)
        if known:
            found.append(float(row["time_us"]) / time(rows, routing, router=PACKET, **columns))
    return found


def _alike(values: list[float]) -> float:
    """The share of ratios within one percent."""
    return sum(abs(value - 1) <= 0.01 for value in values) / len(values)


def checks(rows: list[Row], smoke: bool) -> list[Check]:
    if smoke:
        packet, sculpin, crossbar = (float(row["time_us"]) for row in rows)
        return [
            at_most("fat tree, linear: SCULPIN over packet", sculpin / packet, 1.02),
            at_least("fat tree, linear: hr_router over packet", crossbar / packet, 0.98),
        ]
    found = [
        within(f"packet, {name}: time over that in ecp-topologies", value, 0.999, 1.001)
        for name, value in zip((TREE, DRAGONFLY), _again(rows), strict=True)
    ]
    minimal = _over_packet(rows, MINIMAL)
    macro = [_macro_seeds(rows, seed) for seed in (1, *SEEDS)]
    found += [
        at_least("minimal routing: least ratio of SCULPIN to packet", min(minimal), 0.85),
        at_most("minimal routing: greatest ratio of SCULPIN to packet", max(minimal), 1.02),
        at_least("minimal routing: share of ratios within one percent", _alike(minimal), 0.9),
        at_least("adaptive: greatest ratio of SCULPIN to packet", max(_over_packet(rows, MACRO)), 1.1),
        at_most(
            "SCULPIN, random, three seeds: dragonfly over fat tree, greatest ratio of 32K to 8K",
            max(large / small for small, _, large in macro),
            0.95,
        ),
        at_least(
            "SCULPIN, random, three seeds: dragonfly over fat tree, least ratio of 16K to 8K",
            min(middle / small for small, middle, _ in macro),
            1.1,
        ),
        at_most(
            "sweep: hr_router over packet, greatest ratio of 32K over 8K",
            max(_sweep_over(rows, LRU, each) / _sweep_over(rows, PACKET, each) for each in PLACEMENTS),
            1.02,
        ),
        within("sweep, linear, NIC of 1 us: 32K over 8K", _sweep_over(rows, NIC_1US, "linear"), *SLOWER),
    ]
    return found


def _span(values: list[float]) -> str:
    least, greatest = f"{min(values):.2f}", f"{max(values):.2f}"
    return least if least == greatest else f"{least} to {greatest}"


def conclusions(rows: list[Row]) -> str:
    changed = []
    for routing, statement, compared, _, values_of, holds in claims(rows):
        if holds(values_of(PACKET)) != holds(values_of(OWN[routing])):
            changed.append(f"{routing}, {statement} ({compared.partition(':')[0]})")
    verdicts = f"{len(changed) or 'none'} of {len(claims(rows))}"
    if changed:
        verdicts += f" ({'; '.join(changed)})"
    minimal = _over_packet(rows, MINIMAL)
    seeds = (1, *SEEDS_OF_CODES)
    stored = [value for seed in seeds for value in _codes_seeds(rows, STORED, seed)]
    best = [seed for seed in seeds if max(_codes_seeds(rows, STORED, seed)) < 1]
    packets = [seed for seed in (1, *SEEDS) if max(_codes_seeds(rows, PACKET, seed)) < 1]
    degraded = {
        placement: [
            ratio(rows, MACRO, SCULPIN, DRAGONFLY, TREE, placement=placement, size=size) for size in SIZES
        ]
        for placement in PLACEMENTS
    }
    nic = {router: [_sweep_over(rows, router, placement) for placement in PLACEMENTS] for router in NICS}
    return f"""\
- **Claims.** Comparisons that hold with `packet` only or with the simulator's own router only: {verdicts}.
- **Minimal routing.** With SCULPIN {round(len(minimal) * _alike(minimal))} of {len(minimal)} times are \
within a hundredth of those with `packet`, and all are {_span(minimal)} of them. So the router is not the \
reason why the claims of figures 13 to 15 hold for the halo and mostly not for the all-to-all.
- **Adaptive routing.** With SCULPIN the HyperX, the dragonfly and the Dragonfly+ take \
{_span(_over_packet(rows, MACRO))} times as long as with `packet`. All these runs have the note \
[`no-back-pressure`](../../docs/trust.md#no-back-pressure). The halo on the dragonfly takes \
{", ".join(f"{value:.2f}" for value in degraded["linear"])} times the fat tree with linear placement and \
{", ".join(f"{value:.2f}" for value in degraded["random"])} times with random placement (8K, 16K, 32K). \
With random placement this ratio is greatest at 16K and least at 32K, with \
three seeds. With hashed gateways it is least at 32K with both placements.
- **Merlin.** With `hr_router` a time is {_span(_over_packet(rows, MERLIN))} of that with `packet`, and \
both claims on the halo hold. The sweep on 32K hosts takes {_span(nic[LRU])} times as long as on 8K, with \
`packet` {_span(nic[PACKET])} times. With a NIC of 1 us for a message it takes \
{_span(nic[NIC_1US])} times as long: the ratio depends on the NIC, not on the router.
- **CODES.** With stored packets the HyperX with minimal adaptive routing and random placement takes \
{_span(stored)} times the time of another network. It is the best network with {len(best)} of \
{len(seeds)} seeds, and with `packet` with {len(packets)} of {1 + len(SEEDS)}: one seed does not decide."""


def blocks(rows: list[Row]) -> dict[str, str]:
    return {
        "conclusions": conclusions(rows),
        "times": _times_table(rows),
        "claims": _claims_table(rows),
        "variants": _variants_table(rows),
        "seeds": _seeds_table(rows),
        "gateways": _gateways_table(rows),
        "nic": _nic_table(rows),
        "injection": _injection_table(rows),
    }


def figures(rows: list[Row], folder: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D

    sets = [
        (MACRO, "halo"),
        (MACRO, "all-to-all"),
        (MINIMAL, "halo"),
        (MINIMAL, "all-to-all"),
        (MERLIN, "halo"),
        (OF_CODES, "halo"),
        (OF_CODES, "all-to-all"),
    ]
    figure, panel = plt.subplots(figsize=(10, 4.6))
    for place, (routing, code) in enumerate(sets):
        for beside, topology in enumerate(TOPOLOGIES):
            x = place + 0.18 * (beside - 1.5)
            values = []
            for placement in PLACEMENTS:
                of = {"code": code, "placement": placement}
                own = time(rows, routing, topology, **of)
                values.append(own / time(rows, routing, topology, PACKET, **of))
            colour = topology_colour(topology)
            panel.plot([x, x], values, color=colour, linewidth=1)
            panel.plot(x, values[0], "o", color=colour)
            panel.plot(x, values[1], "D", color=colour, markerfacecolor="white")
    panel.axhline(1, color="#888888", linewidth=1)
    labels = [f"{routing.replace(', ', chr(10))}\n{code}\n({OWN[routing]})" for routing, code in sets]
    panel.set_xticks(range(len(sets)), labels)
    panel.set_ylabel("8,192 hosts: time over that with packet")
    panel.grid(axis="y", color="#DDDDDD")
    handles = [
        Line2D([], [], marker="o", linestyle="", color=topology_colour(name), label=name)
        for name in TOPOLOGIES
    ]
    handles += [
        Line2D([], [], marker="o", linestyle="", color="black", label="linear placement"),
        Line2D(
            [], [], marker="D", linestyle="", color="black", markerfacecolor="white", label="random placement"
        ),
    ]
    figure.legend(handles=handles, loc="upper center", ncols=6, frameon=False)
    figure.tight_layout(rect=(0, 0, 1, 0.93))
    figure.savefig(folder / "ratios.png", dpi=100)


if __name__ == "__main__":
    Study(HERE, cases, measure, checks, blocks, figures).main()
