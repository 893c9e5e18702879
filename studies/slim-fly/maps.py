"""Slim Fly q = 13: maps of buffers over ports and time, and of sends and receives over hosts and time.

After figures 8 and 9 of Wolfe et al. 2016. ``make build python``, ``.venv/bin/pip install matplotlib``
once, then ``.venv/bin/python studies/slim-fly/maps.py`` (some two minutes). Writes ``buffers.png``,
``hosts.png`` and ``maps.csv`` beside itself.
"""

import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from matplotlib.colors import LinearSegmentedColormap

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
import sweep  # noqa: E402
from run import network_and_job  # noqa: E402

LOAD = 0.5
UNTIL_US, BINS = 64, 128
# Routing, pattern, and the VCs that the routing uses.
CASES = [("minimal", "worst case", 2), ("UGAL", "worst case", 4), ("minimal", "uniform", 2)]
# Cividis turned round, begun with the white of the paper: dark is much, and nothing is blank.
LIGHT_TO_DARK = LinearSegmentedColormap.from_list(
    "light_to_dark", ["#FFFFFF", *plt.get_cmap("cividis_r")(np.linspace(0.05, 1, 12))]
)


def experiment(routing: str, pattern: str) -> str:
    # From the first packet on: the maps show how congestion builds up, so nothing is left out as warm-up.
    return (
        network_and_job(routing, pattern, LOAD)
        + f"""[run]
until = "{UNTIL_US} us"
[collect]
series = "vcs"
bin = "{1000 * UNTIL_US // BINS} ns"
"""
    )


def columns(folder: Path, table: str, names: list[str], filters=None) -> dict[str, np.ndarray]:
    """Columns of a table of a result, each as an array, with the bin that a row belongs to as ``bin``."""
    rows = pq.read_table(folder / f"{table}.parquet", columns=["begin_ps", *names], filters=filters)
    found = {name: rows[name].to_numpy() for name in names}
    found["bin"] = rows["begin_ps"].to_numpy() // (UNTIL_US * 1_000_000 // BINS)
    return found


def hottest_router(folder: Path) -> int:
    """The router that the busiest link between routers leaves."""
    links = pq.read_table(folder / "links.parquet", columns=["class", "from", "busy_fraction"])
    of_hosts = pc.is_in(links["class"], pa.array(["injection", "ejection"]))
    links = links.filter(pc.invert(of_hosts))
    busiest = int(np.argmax(links["busy_fraction"].to_numpy()))
    return int(links["from"][busiest].as_py().split()[1])


def links_of(folder: Path, router: int) -> dict[int, str]:
    """Links that leave a router, with their classes, in the order of their ports."""
    links = pq.read_table(folder / "links.parquet", columns=["link", "class", "from"])
    links = links.filter(pc.starts_with(links["from"], pattern=f"router {router} ("))
    port = [int(name.rsplit(" port ")[-1]) for name in links["from"].to_pylist()]
    found = zip(port, links["link"].to_pylist(), links["class"].to_pylist(), strict=True)
    return {link: kind for _, link, kind in sorted(found)}


def buffers(folder: Path, router: int, vcs: int) -> tuple[list[str], np.ndarray]:
    """Share of the buffer that is taken, by VC, port of the router and bin, and the class of each port."""
    links = links_of(folder, router)
    names = ["link", "vc", "used_bytes", "capacity_bytes"]
    rows = columns(folder, "vc_series", names, filters=[("link", "in", list(links))])
    place = {link: place for place, link in enumerate(links)}
    share = np.full((vcs, len(links), BINS), np.nan)
    ports = [place[link] for link in rows["link"]]
    share[rows["vc"], ports, rows["bin"]] = rows["used_bytes"] / rows["capacity_bytes"]
    # A level holds until the next row about the same buffer; at first all are empty.
    for bin in range(BINS):
        before = share[:, :, bin - 1] if bin > 0 else 0
        share[:, :, bin] = np.where(np.isnan(share[:, :, bin]), before, share[:, :, bin])
    return list(links.values()), share


def hosts(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Gbps that each host sends and receives, by host and bin."""
    rows = columns(folder, "host_series", ["host", "bytes_sent", "bytes_received"])
    count = int(rows["host"].max()) + 1
    gbps = 8e3 / (UNTIL_US * 1_000_000 / BINS)
    maps = []
    for name in ("bytes_sent", "bytes_received"):
        found = np.zeros((count, BINS))
        np.add.at(found, (rows["host"], rows["bin"]), gbps * rows[name])
        maps.append(found)
    return maps[0], maps[1]


def mapped(panel, values: np.ndarray, most: float, title: str):
    """A map over time in a panel: dark is much."""
    panel.set_title(title, fontsize=9)
    return panel.imshow(
        values,
        aspect="auto",
        origin="lower",
        interpolation="nearest",
        cmap=LIGHT_TO_DARK,
        vmin=0,
        vmax=most,
        extent=(0, UNTIL_US, -0.5, len(values) - 0.5),
    )


def rounded_up(most: float) -> float:
    """The end of a scale of colours that people know."""
    return next(limit for limit in (1, 2, 5, 10, 20, 50, 100) if most <= limit)


def main() -> None:
    shares, traffic, rows, router = {}, {}, [], None
    for routing, pattern, vcs in CASES:
        with tempfile.TemporaryDirectory() as folder:
            accepted = sweep.run(experiment(routing, pattern), Path(folder))["network"]["accepted_load"]
            # The router that is hottest in the first case is looked at in all of them.
            router = hottest_router(Path(folder)) if router is None else router
            classes, share = buffers(Path(folder), router, vcs)
            shares[routing, pattern], traffic[routing, pattern] = share, hosts(Path(folder))
        between = np.array([kind not in ("injection", "ejection") for kind in classes])
        late = share[:, between, BINS // 2 :]
        for vc in range(vcs):
            by_port = late[vc].mean(axis=1)
            rows.append(
                {
                    "pattern": pattern,
                    "routing": routing,
                    "accepted": f"{accepted:.4f}",
                    "router": router,
                    "vc": vc,
                    "mean_taken": f"{by_port.mean():.4f}",
                    "fullest_port": f"{by_port.max():.4f}",
                    "ports_above_half": int((by_port > 0.5).sum()),
                    "ports": int(between.sum()),
                }
            )
            print(*rows[-1].values(), flush=True)
    sweep.write(rows, HERE / "maps.csv")

    size, wide = len(CASES), max(vcs for _, _, vcs in CASES)
    figure, panels = plt.subplots(
        size, wide, figsize=(3.1 * wide, 2.5 * size), squeeze=False, layout="constrained"
    )
    for line, ((routing, pattern), share) in zip(panels, shares.items(), strict=True):
        most = rounded_up(100 * share.max())
        for vc, panel in enumerate(line):
            if vc >= len(share):
                panel.axis("off")
                continue
            image = mapped(panel, 100 * share[vc], most, f"{pattern}, {routing}: VC {vc}")
            panel.set(xlabel="time (us)", ylabel=f"port of router {router}")
        figure.colorbar(image, ax=line[: len(share)], label="buffer taken (%)")
    figure.savefig(HERE / "buffers.png", dpi=100)

    figure, panels = plt.subplots(size, 2, figsize=(9, 2.6 * size), squeeze=False, layout="constrained")
    for line, ((routing, pattern), maps) in zip(panels, traffic.items(), strict=True):
        for panel, gbps, what in zip(line, maps, ("sends", "receives"), strict=True):
            image = mapped(panel, gbps, 100, f"{pattern}, {routing}: {what}")
            panel.set(xlabel="time (us)", ylabel="host")
    figure.colorbar(image, ax=panels, label="Gbps")
    figure.savefig(HERE / "hosts.png", dpi=100)


if __name__ == "__main__":
    main()
