"""One switch: what it accepts when all hosts send all the time, and how long packets wait at a link.

See README.md; ``studies/study.py`` has the options.
"""

import sys
from collections import Counter, defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from study import (  # noqa: E402
    COLOURS,
    OTHER,
    Case,
    Check,
    Row,
    Study,
    at_least,
    at_most,
    markdown,
    number,
    select,
    within,
)

PORTS = [2, 4, 8, 16, 32, 64]
# Table I of Karol, Hluchyj and Morgan (1987); the limit of many ports is 2 - sqrt(2).
KAROL = {2: 0.75, 4: 0.6553, 8: 0.6184}
LIMIT = 2 - 2**0.5
# The chain of a switch of more ports has too many states.
MOST_PORTS_SOLVED = 32
MODELS = {
    "input-queued, random": 'model = "input-queued", arbiter = "random"',
    "input-queued, round-robin": 'model = "input-queued", arbiter = "round-robin"',
    "packet": 'model = "packet"',
}
QUEUED = list(MODELS)[:2]
LOADS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
# 256 B at 100 Gbps, and the two cables of a packet's way, in ns.
SERVICE = 20.48
CABLES = 2.0
# Hosts, self included or not, simulated time and warm-up of the two kinds of waiting.
WAITING = {"one queue": (2, False, "40 ms", "1 ms"), "two queues": (32, True, "4 ms", "200 us")}
OUTPUT_PORTS = WAITING["two queues"][0]
SEEDS = [1, 2, 3]
# Numbers of ports that further seeds run.
SEEDED = [8, 32]


def experiment(hosts: int, model: str, load: float, to_self: bool, until: str, warmup: str, seed: int) -> str:
    """One switch; cables and pipeline take next to nothing, buffers hold 256 packets or more."""
    return f"""
[network]
topology = {{ kind = "hyperx", shape = [1], hosts_per_router = {hosts} }}
routing = {{ algorithm = "minimal" }}
link = {{ bandwidth = "100 Gbps", latency = "1 ns" }}
router = {{ {MODELS[model]}, delay = "0 ns", buffer = "1 MB" }}
packet = "256 B"
[[job]]
traffic = {{ pattern = "uniform", include_self = {str(to_self).lower()}, load = {load} }}
[run]
until = "{until}"
warmup = "{warmup}"
executor = "sequential"
seed = {seed}
"""


def chain(ports: int) -> float:
    """Throughput of Karol's saturated switch: the chain of how many first packets want each output.

    A state is how often each number occurs among the outputs. In a slot each output that is wanted takes one
    packet, and the packet behind it wants any output with equal probability.
    """

    def add(state: tuple[int, ...]) -> list[tuple[tuple[int, ...], float]]:
        numbers = Counter(state)
        numbers[0] = ports - len(state)
        grown = []
        for wanted, outputs in numbers.items():
            rest = list(state)
            if wanted:
                rest.remove(wanted)
            grown.append((tuple(sorted([*rest, wanted + 1])), outputs / ports))
        return grown

    successors: dict = {}
    states = {(1,) * ports: 1.0}
    throughput, before = 0.0, 1.0
    while abs(throughput - before) > 1e-7:
        before = throughput
        throughput = sum(p * len(state) for state, p in states.items()) / ports
        # By packets that have chosen so far; outputs that nobody wants are left out.
        chosen: list = [defaultdict(float) for _ in range(ports + 1)]
        for state, p in states.items():
            left = tuple(number - 1 for number in state if number > 1)
            chosen[sum(left)][left] += p
        for packets in range(ports):
            for state, p in chosen[packets].items():
                if state not in successors:
                    successors[state] = add(state)
                for grown, share in successors[state]:
                    chosen[packets + 1][grown] += p * share
        states = chosen[ports]
    return throughput


def saturation(ports: int, model: str, seed: int, until: str = "2 ms") -> Case:
    columns = {
        "part": "saturation",
        "ports": ports,
        "model": model,
        "load": 1.0,
        "seed": seed,
        "expected": EXPECTED[ports] if model in QUEUED else "1.00000",
    }
    return Case(columns, experiment(ports, model, 1.0, True, until, "200 us", seed))


def waiting(part: str, load: float) -> Case:
    hosts, to_self, until, warmup = WAITING[part]
    mean = load / (2 * (1 - load))
    expected = mean if part == "one queue" else mean * (2 - 1 / hosts)
    columns = {
        "part": part,
        "ports": hosts,
        "model": "packet",
        "load": load,
        "seed": 1,
        "expected": f"{expected:.5f}",
    }
    return Case(columns, experiment(hosts, "packet", load, to_self, until, warmup, 1))


# Accepted loads of the chain by ports, "" where it is not solved; filled by `cases`.
EXPECTED: dict[int, str] = {}


def cases(smoke: bool) -> list[Case]:
    ports = [8] if smoke else PORTS
    for number_of in ports:
        EXPECTED[number_of] = f"{chain(number_of):.5f}" if number_of <= MOST_PORTS_SOLVED else ""
    if smoke:
        return [saturation(8, model, 1) for model in MODELS] + [waiting("two queues", 0.5)]
    saturated = [
        saturation(number_of, model, seed)
        for seed in SEEDS
        for number_of in (ports if seed == 1 else SEEDED)
        for model in MODELS
    ]
    return saturated + [waiting(part, load) for part in WAITING for load in LOADS]


def measure(summary: dict, _folder: Path | None) -> dict[str, object]:
    network = summary["network"]
    wait = (network["latency_ns"]["mean"] - CABLES - SERVICE) / SERVICE
    # At full load queues grow throughout the run, so that the wait means nothing.
    below = network["offered_load"] < 0.95
    return {"accepted": f"{network['accepted_load']:.5f}", "waiting": f"{wait:.5f}" if below else ""}


def apart(rows: list[Row], column: str) -> float:
    """The greatest difference of a column from the expected values, in percent."""
    return max(100 * abs(float(row[column]) / float(row["expected"]) - 1) for row in rows if row["expected"])


def checks(rows: list[Row], smoke: bool) -> list[Check]:
    queued = [row for row in rows if row["part"] == "saturation" and row["model"] in QUEUED]
    packet = [float(row["accepted"]) for row in select(rows, part="saturation", model="packet")]
    two = apart(select(rows, part="two queues"), "waiting")
    found = [
        at_most("input-queued: accepted load off the chain (%)", apart(queued, "accepted"), 0.5, ".2f"),
        at_least("input-queued: least accepted load, against 2 - √2", least(queued), LIMIT, ".4f"),
        within("packet: least accepted load (output queues: 1)", min(packet), 0.98, 1),
        at_most("two queues: waiting off the formulas (%)", two, 3, ".2f"),
    ]
    if smoke:
        return found
    one = apart(select(rows, part="one queue"), "waiting")
    found.append(at_most("one queue: waiting off M/D/1 (%)", one, 3, ".2f"))
    for ports, known in KAROL.items():
        solved = number(rows, "expected", part="saturation", ports=ports, model=QUEUED[0], seed=1)
        found.append(
            at_most(
                f"the chain of {ports} ports is that of Karol: difference", abs(solved - known), 1e-4, ".5f"
            )
        )
    for seed in SEEDS:
        for ports in SEEDED:
            of = select(rows, part="saturation", ports=ports, seed=seed)
            values = {row["model"]: float(row["accepted"]) for row in of}
            found.append(
                at_least(
                    f"seed {seed}, {ports} ports: packet over the better arbiter of input-queued",
                    values["packet"] / max(values[model] for model in QUEUED),
                    1.5,
                    ".2f",
                )
            )
    return found


def least(rows: list[Row]) -> float:
    return min(float(row["accepted"]) for row in rows)


def blocks(rows: list[Row]) -> dict[str, str]:
    def known(ports: int, model: str, seed: int, column: str = "accepted") -> str:
        text = select(rows, part="saturation", ports=ports, model=model, seed=seed)[0][column]
        return f"{float(text):.4f}" if text else ""

    lines = []
    for ports in PORTS:
        karol = f"{KAROL[ports]:.4f}" if ports in KAROL else ""
        values = [known(ports, model, 1) for model in MODELS]
        lines.append([str(ports), karol, known(ports, QUEUED[0], 1, "expected"), *values])
    saturated = markdown(["ports", "Karol", "chain", *MODELS], lines)

    lines = []
    for load in LOADS:
        one, two = (select(rows, part=part, load=load)[0] for part in WAITING)
        output = float(two["waiting"]) - float(one["expected"])
        slots = float(two["expected"]) - float(one["expected"])
        values = [one["expected"], one["waiting"], two["waiting"], output, slots]
        lines.append([str(load), *(f"{float(value):.4f}" for value in values)])
    header = ["load", "M/D/1", "one queue", "two queues", "at the output", "(N-1)/N M/D/1"]
    waits = markdown(header, lines)

    lines = [
        [f"{ports} ports, seed {seed}", *(known(ports, model, seed) for model in MODELS)]
        for ports in SEEDED
        for seed in SEEDS
    ]
    many = known(64, QUEUED[0], 1)
    gap = 100 * (1 - min(float(known(ports, "packet", 1)) for ports in PORTS))
    conclusions = (
        f"- **What holds.** A switch with one FIFO per input accepts {many} of the links with 64 ports, as "
        "Karol's limit says. It does not depend on the arbiter: a requested output sends, whichever input it "
        "selects.\n"
        "- **What it means.** `packet` is a switch with output queues. Real switches have several VCs or "
        "virtual output queues and lie between the two models. A result that depends on the choice of the "
        "model needs the model of the real switch.\n"
        f"- At load 1 the model `packet` misses up to {gap:.1f} %, the growth of queues in 2 ms."
    )
    buyer = (
        "- **For a buyer.** A switch that serves each input in order loses "
        f"{100 * (1 - float(many)):.0f} % of its links under uniform traffic with 64 ports. Ask how many "
        "virtual channels or virtual output queues a switch has, and compare networks with both router "
        "models if the answer is few."
    )
    seeds = markdown(["accepted load", *MODELS], lines)
    return {
        "saturation": saturated,
        "waiting": waits,
        "seeds": seeds,
        "conclusions": conclusions,
        "buyer": buyer,
    }


def figures(rows: list[Row], folder: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
    left.axhline(LIMIT, color=OTHER, linestyle="--", linewidth=1, label="2 - √2, many ports")
    styles = zip(MODELS, (COLOURS[0], COLOURS[1], COLOURS[2]), ("o", "x", "s-"), strict=True)
    for model, colour, style in styles:
        of = select(rows, part="saturation", model=model, seed=1)
        ports = [int(row["ports"]) for row in of]
        left.plot(ports, [float(row["accepted"]) for row in of], style, color=colour, label=model)
    solved = [row for row in select(rows, part="saturation", model=QUEUED[0], seed=1) if row["expected"]]
    left.plot(
        [int(row["ports"]) for row in solved],
        [float(row["expected"]) for row in solved],
        "k-",
        label="Karol et al., solved",
    )
    left.set_xscale("log", base=2)
    left.set_xticks(PORTS, [str(ports) for ports in PORTS])
    left.set_ylim(0.5, 1.05)
    left.set_xlabel("ports")
    left.set_ylabel("accepted load when all hosts send all the time")

    one, two = (select(rows, part=part) for part in WAITING)
    right.plot(LOADS, [float(row["expected"]) for row in one], "k-", label="M/D/1: ρ / 2(1 - ρ)")
    right.plot(
        LOADS, [float(row["waiting"]) for row in one], "o", color=COLOURS[0], label="at an injection link"
    )
    output = [float(b["waiting"]) - float(a["expected"]) for a, b in zip(one, two, strict=True)]
    right.plot(LOADS, output, "x", color=COLOURS[1], label=f"at an output of {OUTPUT_PORTS} ports")
    right.set_yscale("log")
    right.set_xlabel("load ρ")
    right.set_ylabel("mean waiting (packet times)")
    for panel in (left, right):
        panel.grid(color="#DDDDDD")
        panel.legend()
    figure.savefig(folder / "switch.png", dpi=110)


if __name__ == "__main__":
    Study(HERE, cases, measure, checks, blocks, figures).main()
