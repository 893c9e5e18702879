"""One-way times of single messages on two Blue Gene tori, beside the closed form.

``.venv/bin/pip install matplotlib`` once, then ``.venv/bin/python studies/bluegene-torus/run.py``. Writes
``table.csv`` and ``one-way.png`` beside itself; ends with an error if a time is off.
"""

import csv
import subprocess
import sys
from pathlib import Path

import matplotlib
import tomllib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
SIZES = [4 << step for step in range(16)]
HOPS = [1, 8, 11]
MACHINES = {"bgp": "8 x 8 x 8, 374 MB/s", "bgq": "8 x 4 x 4 x 4 x 2, 1.8 GiB/s"}
UNITS = {"ns": 1000, "MB/s": 10**6, "GiB/s": 2**30}
COLOURS = ["#0072B2", "#E69F00", "#D55E00"]


def quantity(text: str) -> int:
    """A time in ps, or a bandwidth in bytes per second."""
    number, unit = text.split()
    return round(float(number) * UNITS[unit])


def destination(sizes: list[int], hops: int) -> int:
    """A host so many hops from host 0: as far as possible in each dimension in turn."""
    host, stride = 0, 1
    for size in sizes:
        step = min(hops, size // 2)
        host, hops, stride = host + step * stride, hops - step, stride * size
    assert hops == 0, "the torus is too small"
    return host


def closed_form(network: dict, hops: int, size: int) -> float:
    """Picoseconds: every cable and router of the way once, and the bytes once, as packets are cut through."""
    host, link = network["links"]["host"], network["link"]
    cables = 2 * quantity(host["latency"]) + hops * quantity(link["latency"])
    routers = (hops + 1) * quantity(network["router"]["delay"])
    return cables + routers + size * 10**12 / quantity(link["bandwidth"])


def simulate(machine: str, host: int) -> list[dict]:
    """Rows of the example program."""
    command = ["cargo", "run", "--release", "--quiet", "--package", "fabricsim-sim", "--example", "one_way"]
    command += ["--", str(HERE / f"{machine}.toml"), "0", str(host), *map(str, SIZES)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return list(csv.DictReader(done.stdout.splitlines()))


def measure() -> list[dict]:
    """All times: simulated, by the closed form, and the difference."""
    rows = []
    for machine in MACHINES:
        network = tomllib.loads((HERE / f"{machine}.toml").read_text())["network"]
        for hops in HOPS:
            for row in simulate(machine, destination(network["topology"]["sizes"], hops)):
                assert int(row["hops"]) == hops, row
                size, time = int(row["bytes"]), int(row["time_ps"])
                expected = closed_form(network, hops, size)
                rows.append(
                    {
                        "torus": machine,
                        "hops": hops,
                        "bytes": size,
                        "simulated_ns": f"{time / 1000:.3f}",
                        "closed_form_ns": f"{expected / 1000:.3f}",
                        "difference_percent": f"{100 * (time / expected - 1):.4f}",
                    }
                )
    return rows


def draw(rows: list[dict]) -> None:
    """Times over sizes, one panel for each torus."""
    figure, panels = plt.subplots(1, 2, figsize=(10, 4.2), sharey=True)
    for panel, (machine, title) in zip(panels, MACHINES.items(), strict=True):
        for hops, colour in zip(HOPS, COLOURS, strict=True):
            of = [row for row in rows if row["torus"] == machine and row["hops"] == hops]
            sizes = [row["bytes"] for row in of]
            panel.plot(sizes, [float(row["closed_form_ns"]) for row in of], color=colour, linewidth=1)
            simulated = [float(row["simulated_ns"]) for row in of]
            panel.plot(sizes, simulated, "o", color=colour, markersize=4, label=f"{hops} hops")
        panel.set(title=title, xscale="log", yscale="log", xlabel="message in bytes")
        panel.set_xscale("log", base=2)
        panel.grid(color="#DDDDDD")
        panel.legend(title="lines: closed form")
    panels[0].set_ylabel("one-way time in ns")
    figure.tight_layout()
    figure.savefig(HERE / "one-way.png", dpi=110)


def main() -> None:
    rows = measure()
    with (HERE / "table.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    draw(rows)
    worst = max(abs(float(row["difference_percent"])) for row in rows)
    print(f"{len(rows)} times, at most {worst:.4f} % off the closed form")
    if worst > 0.1:
        sys.exit("expected: at most 0.1 %")


if __name__ == "__main__":
    main()
