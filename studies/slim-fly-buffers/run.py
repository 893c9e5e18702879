"""Slim Fly q = 13: virtual channels, sends and receives over time.

Figures 8 and 9 of Wolfe et al. 2016. See README.md; ``studies/study.py`` has the options.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from study import COLOURS, Case, Check, Row, Study, at_least, at_most, markdown, number, read_table, select  # noqa: E402

LOADS = [0.5, 0.9, 0.95, 1.0]
VCS = 2
PACKET, BUFFER = 256, 100_000
UNTIL_US, BINS = 60, 60
# What is varied at the loads 0.9 and 1.0: the seed, the buffer of a port and the packet.
VARIANTS = {
    "seed 2": (2, BUFFER, PACKET),
    "seed 3": (3, BUFFER, PACKET),
    "buffer 50 KB": (1, 50_000, PACKET),
    "packet 1 KiB": (1, BUFFER, 1_024),
}
VARIED = [0.9, 1.0]
# The last part of the time, in which levels are averaged.
LATE = 10


def experiment(load: float, q: int, hosts: int, variant: str = "base") -> str:
    seed, buffer, packet = VARIANTS.get(variant, (1, BUFFER, PACKET))
    return f"""
[network]
topology = {{ kind = "slim-fly", q = {q}, hosts_per_router = {hosts} }}
routing = {{ algorithm = "minimal" }}
link = {{ bandwidth = "100 Gbps", latency = "50 ns" }}
router = {{ delay = "100 ns", buffer = "{buffer} B" }}
packet = "{packet} B"
[[job]]
traffic = {{ pattern = "uniform", load = {load}, arrival = "fixed", phase = "zero" }}
[run]
until = "{UNTIL_US} us"
seed = {seed}
[collect]
series = "vcs"
bin = "{1000 * UNTIL_US // BINS} ns"
"""


def cases(smoke: bool) -> list[Case]:
    network = (5, 4) if smoke else (13, 9)
    found = [("base", load) for load in LOADS[:: 3 if smoke else 1]]
    if not smoke:
        found += [(variant, load) for variant in VARIANTS for load in VARIED]
    return [
        Case({"variant": variant, "load": load}, experiment(load, *network, variant), tables=True)
        for variant, load in found
    ]


def levels(folder: Path, column: str) -> tuple["np.ndarray", "np.ndarray"]:  # noqa: F821
    """A level of the ports between routers by VC, port and bin, and the buffers' capacity in bytes."""
    import numpy as np
    import pyarrow.parquet as pq

    links = pq.read_table(folder / "links.parquet", columns=["link", "class"]).to_pydict()
    pairs = zip(links["link"], links["class"], strict=True)
    ports = [link for link, kind in pairs if kind not in ("injection", "ejection")]
    place = np.full(max(links["link"]) + 1, -1)
    place[ports] = np.arange(len(ports))
    rows = pq.read_table(
        folder / "vc_series.parquet", columns=["begin_ps", "link", "vc", "capacity_bytes", column]
    )
    at = place[rows["link"].to_numpy()]
    kept = at >= 0
    bins = rows["begin_ps"].to_numpy()[kept] // (UNTIL_US * 1_000_000 // BINS)
    level = np.full((VCS, len(ports), BINS), np.nan)
    level[rows["vc"].to_numpy()[kept], at[kept], bins] = rows[column].to_numpy()[kept]
    # A level holds until the next row about the same buffer; at first all are empty.
    for bin in range(BINS):
        before = level[:, :, bin - 1] if bin > 0 else 0
        level[:, :, bin] = np.where(np.isnan(level[:, :, bin]), before, level[:, :, bin])
    return level, rows["capacity_bytes"].to_numpy()[kept].max()


def measure(summary: dict, folder: Path | None) -> dict[str, object]:
    used, capacity = levels(folder, "used_bytes")
    waiting, _ = levels(folder, "waiting_packets")
    size, unit = summary["experiment"]["network"]["packet"].split()
    packet = int(size) * {"B": 1, "KiB": 1024}[unit]
    found: dict[str, object] = {
        "ports": used.shape[1],
        "accepted": f"{summary['network']['accepted_load']:.4f}",
    }
    for vc in range(VCS):
        late = used[vc, :, -LATE:] / capacity
        found[f"taken_vc{vc}"] = f"{late.mean():.4f}"
        found[f"fullest_vc{vc}"] = f"{late.mean(axis=1).max():.4f}"
        # Waiting packets as a part of one VC's buffer, which is how the paper shows them.
        share = waiting[vc, :, -LATE:] * packet / capacity
        found[f"waiting_vc{vc}"] = f"{share.mean():.4f}"
        found[f"most_waiting_vc{vc}"] = f"{share.mean(axis=1).max():.4f}"
    return found


def waiting_over_time(case: Case, _summary: dict, folder: Path) -> list[dict[str, object]]:
    """Packets that wait for a port and VC, over all ports: mean, 90th percentile and maximum by bin."""
    import numpy as np

    if case.columns["variant"] != "base":
        return []
    waiting, _ = levels(folder, "waiting_packets")
    rows = []
    for vc in range(VCS):
        for bin in range(BINS):
            of = waiting[vc, :, bin]
            values = {"mean": of.mean(), "p90": np.percentile(of, 90), "maximum": of.max()}
            place = {"load": case.columns["load"], "vc": vc, "end_us": (bin + 1) * UNTIL_US / BINS}
            rows.append(place | {name: f"{value:.2f}" for name, value in values.items()})
    return rows


def traffic_over_time(case: Case, _summary: dict, folder: Path) -> list[dict[str, object]]:
    """Packets that a host, and a router, sends and receives in a bin: means over all of them."""
    import numpy as np
    import pyarrow.parquet as pq

    if case.columns["variant"] != "base":
        return []
    rows = [{"load": case.columns["load"], "end_us": (bin + 1) * UNTIL_US / BINS} for bin in range(BINS)]
    for kind in ("host", "router"):
        names = ["packets_sent", "packets_received"]
        table = pq.read_table(folder / f"{kind}_series.parquet", columns=["begin_ps", kind, *names])
        count = int(table[kind].to_numpy().max()) + 1
        bins = table["begin_ps"].to_numpy() // (UNTIL_US * 1_000_000 // BINS)
        for name in names:
            sums = np.bincount(bins, weights=table[name].to_numpy(), minlength=BINS) / count
            for row, value in zip(rows, sums, strict=True):
                row[f"{kind}_{name}"] = f"{value:.3f}"
    return rows


def checks(rows: list[Row], smoke: bool) -> list[Check]:
    if smoke:
        first, last = (float(row["waiting_vc0"]) for row in rows)
        return [
            Check(
                "more packets wait at a load of 1.0 than of 0.5", f"{last:.4f} and {first:.4f}", last > first
            )
        ]
    waiting = [number(rows, "waiting_vc0", load=load, variant="base") for load in LOADS]
    text = ", ".join(f"{value:.4f}" for value in waiting)
    return [
        Check("packets that wait in VC 0 grow with the load", text, waiting == sorted(waiting)),
        at_most(
            "load 0.9: mean part of a buffer taken, VC 0",
            number(rows, "taken_vc0", load=0.9, variant="base"),
            0.05,
        ),
        at_least(
            "load 1.0: packets that wait in VC 0 over those of load 0.9", waiting[3] / waiting[1], 5, ".1f"
        ),
        *(
            at_least(
                f"{variant}: packets that wait in VC 0 at a load of 1.0 over those at 0.9",
                number(rows, "waiting_vc0", load=1.0, variant=variant)
                / number(rows, "waiting_vc0", load=0.9, variant=variant),
                2,
                ".1f",
            )
            for variant in VARIANTS
        ),
    ]


def blocks(rows: list[Row]) -> dict[str, str]:
    def percent(row: Row, column: str) -> str:
        return f"{100 * float(row[column]):.1f} %"

    columns = [
        f"{name}_vc{vc}" for name in ("waiting", "most_waiting", "taken", "fullest") for vc in range(VCS)
    ]
    header = ["load", "accepted", "waiting, VC 0", "VC 1", "port with most, VC 0", "VC 1"]
    header += ["taken downstream, VC 0", "VC 1", "fullest port, VC 0", "VC 1"]
    lines = [
        [row["load"], row["accepted"], *(percent(row, column) for column in columns)]
        for row in select(rows, variant="base")
    ]
    varied = [
        [row["variant"], row["load"], row["accepted"], *(percent(row, column) for column in columns)]
        for load in VARIED
        for row in select(rows, load=load)
    ]
    over_time = select(read_table(HERE, "traffic"), load=1.0)
    first, late = over_time[0], over_time[-LATE:]

    def mean(column: str) -> float:
        return sum(float(row[column]) for row in late) / len(late)

    begun, received = float(first["host_packets_sent"]), float(first["host_packets_received"])
    burst = (
        f"At a load of 1.0 a host begins {begun:.1f} packets in the first microsecond, and "
        f"{mean('host_packets_sent'):.1f} per microsecond in the last {LATE}. It receives {received:.1f} and "
        f"{mean('host_packets_received'):.1f}. A router sends "
        f"{float(first['router_packets_sent']):.0f} in the first, and {mean('router_packets_sent'):.0f} per "
        "microsecond later."
    )
    sensitivity = markdown(["variant", *header], varied)
    return {"levels": markdown(header, lines), "burst": burst, "sensitivity": sensitivity}


def figures(rows: list[Row], folder: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    waiting, traffic = read_table(folder, "waiting"), read_table(folder, "traffic")
    figure, panels = plt.subplots(
        VCS, len(LOADS), figsize=(12, 5), sharex=True, sharey="row", layout="constrained"
    )
    for vc in range(VCS):
        for panel, load in zip(panels[vc], LOADS, strict=True):
            of = select(waiting, load=load, vc=vc)
            time = [float(row["end_us"]) for row in of]
            for name, colour in zip(("maximum", "p90", "mean"), COLOURS, strict=False):
                panel.plot(
                    time,
                    [float(row[name]) for row in of],
                    color=colour,
                    label=name.replace("p90", "90th percentile"),
                )
            panel.set_yscale("symlog", linthresh=1)
            panel.set(title=f"load {load}, VC {vc}")
            panel.grid(color="#DDDDDD")
        panels[vc, 0].set_ylabel("packets that wait for a port")
    for panel in panels[-1]:
        panel.set_xlabel("time (us)")
    panels[0, 0].legend()
    figure.savefig(folder / "waiting.png", dpi=100)

    figure, panels = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    of = select(traffic, load=1.0)
    for panel, kind in zip(panels, ("host", "router"), strict=True):
        for name, colour, style in zip(("sent", "received"), COLOURS, ("-", "--"), strict=False):
            values = [float(row[f"{kind}_packets_{name}"]) for row in of]
            panel.plot([float(row["end_us"]) for row in of], values, style, color=colour, label=name)
        panel.set(title=f"mean {kind}, load 1.0", xlabel="time (us)", ylabel="packets per us", ylim=(0, None))
        panel.grid(color="#DDDDDD")
        panel.legend()
    figure.savefig(folder / "traffic.png", dpi=100)


if __name__ == "__main__":
    details = {"waiting": waiting_over_time, "traffic": traffic_over_time}
    Study(HERE, cases, measure, checks, blocks, figures, details).main()
