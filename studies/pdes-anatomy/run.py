"""Where the time of a run goes: both parallel executors on threads and processes.

See README.md; ``studies/study.py`` has the options. The full study needs a program with MPI (``make mpi``)
and a quiet machine.
"""

import os
import re
import sys
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from study import COLOURS, Case, Check, Row, Study, at_least, at_most, markdown, select  # noqa: E402

NETWORKS = {
    "dragonfly": "1,056 hosts",
    "short-links": "1,056 hosts, host links of 10 ps",
    "slim-fly-74k": "73,926 hosts",
}
EXECUTORS = ["conservative", "optimistic"]
# Processes, and threads of each. Four processes on two cores would say nothing about the large network.
MACHINES = [(1, 1), (1, 2), (2, 1), (4, 1)]
LARGE_MACHINES = MACHINES[:3]
# Of several runs the fastest counts: the machine is shared with others.
RUNS = 3
PHASES = {
    "processing": ("carrying out events", COLOURS[0]),
    "queue": ("queue, mail, commit", COLOURS[4]),
    "rollback": ("taking events back", COLOURS[1]),
    "synchronisation": ("agreeing with others", COLOURS[5]),
    "idle": ("idle", COLOURS[6]),
}
# Further runs over the shortest latency, which is the lookahead: that of the cables of hosts. Each network by
# name, with its topology, its jobs of uniform traffic (hosts, None for all of them, and load), the time of a
# run, latencies, and the number of rounds. In a round every executor runs once.
SMALL = 'kind = "dragonfly", hosts_per_router = 4, routers_per_group = 8, global_links_per_router = 4'
MIDDLE = 'kind = "dragonfly", hosts_per_router = 8, routers_per_group = 16, global_links_per_router = 8'
LARGE = 'kind = "dragonfly", hosts_per_router = 16, routers_per_group = 32, global_links_per_router = 16'
MILLION = 'kind = "slim-fly", q = 163, hosts_per_router = 19'
LATENCIES = ("1 ps", "10 ps", "100 ps", "1 ns", "10 ns", "100 ns")
FEWER = ("10 ps", "1 ns", "100 ns")
# Those of copper and optical cables of 20 cm to 20 m.
CABLES = ("1 ns", "10 ns", "100 ns")
SWEPT = {
    "1,056 hosts": (SMALL, ((None, 0.5),), "20 us", LATENCIES, 15),
    "16,512 hosts": (MIDDLE, ((None, 0.5),), "2 us", LATENCIES, 5),
    # One job on the first eighth of the hosts: its hosts and routers are divided among the threads.
    "16,512 hosts, an eighth": (MIDDLE, ((2064, 0.5),), "10 us", FEWER, 9),
    # All hosts have jobs, so threads get equal numbers of ports, and the first one has most of the work.
    "16,512 hosts, uneven": (MIDDLE, ((2064, 0.5), (14448, 0.005)), "10 us", FEWER, 7),
    "262,656 hosts": (LARGE, ((None, 0.5),), "300 ns", FEWER, 3),
    "1,009,622 hosts": (MILLION, ((None, 0.1),), "600 ns", ("10 ps", "100 ns"), 2),
}
SWEPT_KINDS = [("sequential", 1), ("conservative", 1), ("conservative", 2), ("optimistic", 2), ("auto", 2)]
# The same in processes, which exchange events with messages. Four of them take turns on two cores.
SWEPT_PROCESSES = (2, 4)
IN_PROCESSES = ("1,056 hosts", "16,512 hosts")
RUNS_IN_PROCESSES = 2
# More processes than cores take turns, and containers run as root (Open MPI; others ignore it).
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}


def launcher(processes: int) -> tuple[str, ...]:
    return ("mpirun", "-n", str(processes)) if processes > 1 else ()


def case(network: str, executor: str, processes: int, threads: int, run: int, until: str = "") -> Case:
    columns = {
        "network": network,
        "latency": "10 ps" if network == "short-links" else "50 ns",
        "executor": executor,
        "processes": processes,
        "threads": threads,
        "run": run,
    }
    experiment = (HERE / f"{network}.toml").read_text()
    if until:
        experiment = re.sub('until = ".*"', f'until = "{until}"', experiment)
    # The comment makes each run one of its own, which no earlier one answers.
    experiment += f"# run {run}\n"
    return Case(
        columns,
        experiment,
        ("--executor", executor, "--threads", str(threads)),
        launcher=launcher(processes),
    )


def swept(
    network: str, latency: str, executor: str, threads: int, run: int, until: str = "", processes: int = 1
) -> Case:
    """A run of the networks over the lookahead."""
    topology, traffic, usual, *_ = SWEPT[network]
    jobs = "\n".join(
        f'[[job]]\ntraffic = {{ pattern = "uniform", load = {load} }}\n'
        + (f"hosts = {hosts}\n" if hosts else "")
        for hosts, load in traffic
    )
    columns = {
        "network": network,
        "latency": latency,
        "executor": executor,
        "processes": processes,
        "threads": threads,
        "run": run,
    }
    experiment = f"""\
[network]
topology = {{ {topology} }}
routing = {{ algorithm = "minimal" }}
link = {{ bandwidth = "100 Gbps", latency = "100 ns" }}
links = {{ host = {{ latency = "{latency}" }} }}
router = {{ delay = "100 ns", buffer = "100 KB" }}
packet = "256 B"

{jobs}
[run]
until = "{until or usual}"

[collect]
host_latency = true
# run {run}
"""
    return Case(
        columns,
        experiment,
        ("--executor", executor, "--threads", str(threads)),
        launcher=launcher(processes),
    )


def machines(network: str) -> list[tuple[int, int]]:
    return LARGE_MACHINES if network == "slim-fly-74k" else MACHINES


def kinds(network: str) -> list[tuple[str, int, int]]:
    """Executor, processes and threads of each row of a network."""
    parallel = [(executor, *machine) for executor in EXECUTORS for machine in machines(network)]
    return [("sequential", 1, 1), *parallel]


def cases(smoke: bool) -> list[Case]:
    if smoke:
        of_swept = [
            swept("1,056 hosts", latency, executor, threads, 1, "1 us")
            for latency in ("10 ps", "100 ns")
            for executor, threads in SWEPT_KINDS
        ]
        return of_swept + [
            case(network, executor, 1, threads, 1, until)
            for network, until in (
                ("dragonfly", "2 us"),
                ("short-links", "500 ns"),
                ("slim-fly-74k", "700 ns"),
            )
            for executor, threads in (("sequential", 1), ("conservative", 2), ("optimistic", 2))
        ]
    # Runs of one machine follow each other, so that all of them meet the same load of the machine.
    anatomy = [
        case(network, executor, processes, threads, run)
        for network in NETWORKS
        for run in range(1, RUNS + 1)
        for executor, processes, threads in kinds(network)
    ]
    over_lookahead = [
        swept(network, latency, executor, threads, run)
        for network, (*_, latencies, runs) in SWEPT.items()
        for latency in latencies
        for run in range(1, runs + 1)
        for executor, threads in SWEPT_KINDS
    ]
    in_processes = [
        swept(network, latency, executor, 1, run, processes=processes)
        for network in IN_PROCESSES
        for latency in FEWER
        for run in range(1, RUNS_IN_PROCESSES + 1)
        for processes in SWEPT_PROCESSES
        for executor in EXECUTORS
    ]
    return anatomy + over_lookahead + in_processes


def lost_in_trials(gears: list[dict]) -> float:
    """Share of the time of `auto` beyond that of all its events in the gear of the longest time.

    It compares parts of one run, so it does not depend on what else the machine does from run to run.
    """
    if not gears:
        return 0.0
    longest = max(gears, key=lambda gear: gear["wall_s"])
    events = sum(gear["events"] for gear in gears)
    wall_s = sum(gear["wall_s"] for gear in gears)
    return 1 - events / longest["events"] * longest["wall_s"] / wall_s


def measure(summary: dict, _folder: Path | None) -> dict[str, object]:
    cost = summary["run"]
    # Shares are those of all threads' time together.
    seconds = {phase: sum(thread[phase] for thread in cost["thread_seconds"]) for phase in PHASES}
    total = sum(seconds.values())
    return {
        "digest": summary["digest"][:16],
        "gear": f"{cost['executor']} {cost['threads']}",
        "lost_in_trials": round(lost_in_trials(cost.get("auto", [])), 4),
        "wall_s": round(cost["wall_s"], 3),
        "cpu_s": round(cost["cpu_s"], 3),
        "memory_mib": round(cost["peak_rss_bytes"] / 2**20),
        "events_committed": cost["events_committed"],
        "events_remote": cost["events_remote"],
        "efficiency": round(cost["efficiency"], 4),
        "primary_rollbacks": cost["primary_rollbacks"],
        "secondary_rollbacks": cost["secondary_rollbacks"],
        "anti_messages": cost["anti_messages"],
        "rounds": cost["windows"] + cost["gvt_rounds"],
        **{f"{phase}_share": round(seconds[phase] / total, 4) for phase in PHASES},
    }


def fastest(
    rows: list[Row], network: str, executor: str, processes: int, threads: int, latency: str = ""
) -> Row:
    names = {"network": network, "executor": executor, "processes": processes, "threads": threads}
    of = select(rows, **names, **({"latency": latency} if latency else {}))
    return min(of, key=lambda row: float(row["wall_s"]))


def swept_times(rows: list[Row], network: str, latency: str) -> dict[tuple[str, int], float]:
    """Wall-clock seconds of each executor with its threads."""
    return {
        kind: float(fastest(rows, network, kind[0], 1, kind[1], latency)["wall_s"]) for kind in SWEPT_KINDS
    }


def swept_points() -> list[tuple[str, str]]:
    return [(network, latency) for network, (*_, latencies, _) in SWEPT.items() for latency in latencies]


def by_round(rows: list[Row], network: str, latency: str, kind: tuple[str, int]) -> list[float]:
    """Wall-clock seconds of an executor with its threads, in the order of the rounds."""
    executor, threads = kind
    of = select(rows, network=network, latency=latency, executor=executor, processes=1, threads=threads)
    return [float(row["wall_s"]) for row in sorted(of, key=lambda row: int(row["run"]))]


def in_turn(
    rows: list[Row], network: str, latency: str, one: tuple[str, int], other: tuple[str, int]
) -> float:
    """Time of one executor over that of another in the same round, median over the rounds.

    The machine is shared, and its speed changes from minute to minute. A round takes seconds.
    """
    times = [by_round(rows, network, latency, kind) for kind in (one, other)]
    return median(a / b for a, b in zip(*times, strict=True))


def auto_over_best(rows: list[Row], network: str, latency: str) -> float:
    """Over the fixed choice whose median time is the shortest."""
    fixed = [kind for kind in SWEPT_KINDS if kind[0] != "auto"]
    best = min(fixed, key=lambda kind: median(by_round(rows, network, latency, kind)))
    return in_turn(rows, network, latency, ("auto", 2), best)


def optimistic_over_conservative(rows: list[Row], network: str, latency: str) -> float:
    return in_turn(rows, network, latency, ("optimistic", 2), ("conservative", 2))


def memory_ratio(rows: list[Row], network: str, latency: str) -> float:
    """Memory of optimistic over that of conservative, two threads, in their fastest runs."""
    of = [fastest(rows, network, executor, 1, 2, latency) for executor in ("optimistic", "conservative")]
    optimistic, conservative = (int(row["memory_mib"]) for row in of)
    return optimistic / conservative


def wall(rows: list[Row], network: str, executor: str, processes: int = 1, threads: int = 1) -> float:
    return float(fastest(rows, network, executor, processes, threads)["wall_s"])


def auto_loss(rows: list[Row], network: str, latency: str) -> float:
    """Median over the runs."""
    of = select(rows, network=network, latency=latency, executor="auto")
    return median(float(row["lost_in_trials"]) for row in of)


def in_part(case: Case) -> bool:
    """Without the largest network, and one latency of the two."""
    return case.columns["network"] != "slim-fly-74k" and case.columns["latency"] != "10 ps"


def checks(rows: list[Row], smoke: bool) -> list[Check]:
    found = []
    for network in NETWORKS:
        if smoke and not select(rows, network=network):
            continue
        of = select(rows, network=network)
        digests = {row["digest"] for row in of}
        events = {row["events_committed"] for row in of}
        text = f"{len(of)} rows, digests: {', '.join(sorted(digests))}"
        same = len(digests) == 1 and len(events) == 1
        found.append(Check(f"{network}: one digest, and one number of events", text, same))
        threads = fastest(rows, network, "optimistic", 1, 2)
        found.append(
            at_least(
                f"{network}: efficiency of optimistic on two threads", float(threads["efficiency"]), 0.95
            )
        )
    if smoke:
        return found
    two = {executor: wall(rows, "dragonfly", executor, threads=2) for executor in EXECUTORS}
    alone = {executor: wall(rows, "dragonfly", executor) for executor in EXECUTORS}
    short = {executor: wall(rows, "short-links", executor, threads=2) for executor in EXECUTORS}
    large = "slim-fly-74k"
    large_optimistic = fastest(rows, large, "optimistic", 1, 2)
    found += [
        at_most(
            "dragonfly: time of conservative, two threads over one",
            two["conservative"] / alone["conservative"],
            0.8,
            ".2f",
        ),
        at_most(
            "dragonfly, one thread: time of optimistic over conservative",
            alone["optimistic"] / alone["conservative"],
            1.25,
            ".2f",
        ),
        at_most(
            "short-links, two threads: time of optimistic over conservative",
            short["optimistic"] / short["conservative"],
            1,
            ".2f",
        ),
        at_least(
            f"{large}: share of processing of optimistic on two threads",
            float(large_optimistic["processing_share"]),
            0.6,
            ".2f",
        ),
    ]
    for network, latency in swept_points():
        digests = {row["digest"] for row in select(rows, network=network, latency=latency)}
        if len(digests) != 1:
            found.append(Check(f"{network}, {latency}: one digest", ", ".join(sorted(digests)), False))
    autos = sorted(auto_over_best(rows, *point) for point in swept_points())
    found.append(at_most("auto over the best fixed choice, median", median(autos), 1.3, ".2f"))
    losses = [auto_loss(rows, *point) for point in swept_points()]
    found.append(at_most("share of its time that auto lost in trials, worst case", max(losses), 0.2, ".2f"))
    return found


def aims(rows: list[Row]) -> list[Check]:
    """What the executors are to reach over the lookahead; not all of it is."""
    large = "slim-fly-74k"
    # Not a check: two threads of a virtual machine may share a core, which lasts for minutes.
    found = [
        at_most(
            f"{large}: time of conservative, two threads over one",
            wall(rows, large, "conservative", threads=2) / wall(rows, large, "conservative"),
            1 / 1.6,
            ".2f",
        )
    ]
    ratio = optimistic_over_conservative
    for network, (*_, latencies, _) in SWEPT.items():
        is_uneven = "uneven" in network
        for latency in latencies:
            if not is_uneven and latency not in CABLES:
                continue
            found.append(
                at_most(
                    f"{network}, {latency}, two threads: time of optimistic over conservative",
                    ratio(rows, network, latency),
                    1 if is_uneven else 1.3,
                    ".2f",
                )
            )
        found.append(
            at_most(
                f"{network}, two threads: memory of optimistic over conservative, largest",
                max(memory_ratio(rows, network, latency) for latency in latencies),
                2,
                ".2f",
            )
        )
    for network in ("1,056 hosts", "16,512 hosts"):
        found.append(
            at_most(
                f"{network}, 1 ps, two threads: time of optimistic over conservative",
                ratio(rows, network, "1 ps"),
                1,
                ".2f",
            )
        )
    autos = [auto_over_best(rows, *point) for point in swept_points()]
    found.append(at_most("auto over the best fixed choice, worst case", max(autos), 1.1, ".2f"))
    losses = [auto_loss(rows, *point) for point in swept_points()]
    found.append(at_most("share of its time that auto lost in trials, worst case", max(losses), 0.09, ".2f"))
    return found


def label(row: Row) -> str:
    if row["processes"] != "1":
        return f"{row['processes']} processes"
    return f"{row['threads']} thread" + ("s" if row["threads"] != "1" else "")


def all_fastest(rows: list[Row], network: str) -> list[Row]:
    return [fastest(rows, network, *kind) for kind in kinds(network)]


def blocks(rows: list[Row]) -> dict[str, str]:
    titles = ["network", "executor", "on", "wall s", "CPU s", "efficiency", "rollbacks", "anti-messages"]
    lines = []
    for network in NETWORKS:
        for row in all_fastest(rows, network):
            rollbacks = int(row["primary_rollbacks"]) + int(row["secondary_rollbacks"])
            line = [network, row["executor"], label(row), f"{float(row['wall_s']):.2f}"]
            line += [f"{float(row['cpu_s']):.2f}", f"{float(row['efficiency']):.4f}", f"{rollbacks:,}"]
            line += [f"{int(row['anti_messages']):,}", f"{int(row['rounds']):,}"]
            line += [f"{100 * float(row[f'{phase}_share']):.0f} %" for phase in PHASES]
            lines.append(line)
    table = markdown([*titles, "windows or GVTs", *PHASES], lines)

    def ratio(network: str, one: tuple, other: tuple) -> str:
        return f"{wall(rows, network, *one) / wall(rows, network, *other):.2f}"

    short = fastest(rows, "short-links", "conservative", 1, 1)
    processes = [row for row in rows if row["executor"] == "optimistic" and row["processes"] != "1"]
    taken_back = 100 * max(1 - float(row["efficiency"]) for row in processes)
    threads = fastest(rows, "dragonfly", "optimistic", 1, 2)
    conclusions = f"""\
- **Long cables.** On `dragonfly`, two threads of `conservative` take \
{ratio("dragonfly", ("conservative", 1, 2), ("conservative", 1, 1))} of the time of one, two processes \
{ratio("dragonfly", ("conservative", 2, 1), ("conservative", 1, 1))}. `optimistic` takes \
{ratio("dragonfly", ("optimistic", 1, 1), ("conservative", 1, 1))} of the time of `conservative` on one \
thread, where it keeps no history, and {ratio("dragonfly", ("optimistic", 1, 2), ("conservative", 1, 2))} on \
two. Efficiency is {threads["efficiency"]} on two threads.
- **Short cables.** On `short-links`, `conservative` synchronises {int(short["rounds"]):,} times: \
{100 * float(short["processing_share"]):.0f} % of its time on one thread are events. `optimistic` on two \
threads takes {ratio("short-links", ("optimistic", 1, 2), ("conservative", 1, 2))} of the time of \
`conservative`, and {ratio("short-links", ("optimistic", 1, 2), ("sequential", 1, 1))} of that of \
`sequential`.
- Processes roll back more than threads, since they exchange events only at synchronisation, but at most \
{taken_back:.1f} % of events are taken back. Rollback is nowhere a visible share: it costs less than \
synchronisation."""
    large = "slim-fly-74k"
    window = fastest(rows, large, "conservative", 1, 1)
    events = round(int(window["events_committed"]) / int(window["rounds"]), -3)
    large_network = f"""\
- **74 thousand hosts.** Both executors spend most of the time on events: a window of 50 ns holds \
{events:,.0f} of them. In figure 12 of the paper conservative runs mostly wait for GVT; this does not hold \
here. `optimistic` takes {ratio(large, ("optimistic", 1, 2), ("conservative", 1, 2))} times as long as \
`conservative` on two threads."""
    blocks = {"shares": table, "conclusions": conclusions, "large network": large_network}
    return blocks | swept_blocks(rows) | processes_blocks(rows)


def swept_blocks(rows: list[Row]) -> dict[str, str]:
    names = ["sequential", "conservative 1", "conservative 2", "optimistic 2", "auto 2"]
    titles = ["network", "latency", "events per window", *names, "efficiency", "auto is", "auto over best"]
    titles.append("lost in trials")
    lines, wins = [], {executor: [] for executor in ("sequential", *EXECUTORS)}
    for network, latency in swept_points():
        times = swept_times(rows, network, latency)
        windows = fastest(rows, network, "conservative", 1, 1, latency)
        per_window = int(windows["events_committed"]) / int(windows["rounds"])
        fixed = {kind: wall_s for kind, wall_s in times.items() if kind[0] != "auto"}
        winner = min(fixed, key=lambda kind: fixed[kind])
        wins[winner[0]].append(per_window)
        walls = [f"**{t:.2f}**" if kind == winner else f"{t:.2f}" for kind, t in times.items()]
        efficiency = float(fastest(rows, network, "optimistic", 1, 2, latency)["efficiency"])
        gear = fastest(rows, network, "auto", 1, 2, latency)["gear"]
        over = f"{auto_over_best(rows, network, latency):.2f}"
        lines.append(
            [network, latency, f"{per_window:,.0f}", *walls, f"{efficiency:.4f}", gear, over]
            + [f"{100 * auto_loss(rows, network, latency):.0f} %"],
        )
    ratios = {point: optimistic_over_conservative(rows, *point) for point in swept_points()}
    even = [point for point in ratios if "uneven" not in point[0]]
    longest = [ratios[point] for point in even if point[1] in CABLES]
    shortest = [ratios[point] for point in even if point[1] in ("1 ps", "10 ps")]
    uneven = [ratios[point] for point in ratios if point not in even]
    autos = sorted(auto_over_best(rows, *point) for point in swept_points())
    losses = sorted(auto_loss(rows, *point) for point in swept_points())
    worst = max(swept_points(), key=lambda point: auto_over_best(rows, *point))
    one_thread = by_round(rows, *worst, ("conservative", 1))
    within = sum(ratio <= 1.1 for ratio in autos)
    least = {executor: min(of, default=0) for executor, of in wins.items()}
    most = {executor: max(of, default=0) for executor, of in wins.items()}
    fastest_text = "; ".join(
        f"`{executor}` in {len(of)} cases, with {least[executor]:,.0f} to {most[executor]:,.0f} events per "
        "window"
        if len(of) > 1
        else f"`{executor}` in one case, with {of[0]:,.0f} events per window"
        for executor, of in wins.items()
        if of
    )
    text = f"""\
- **Which executor.** The fastest is {fastest_text}.
- **Two threads, optimistic over conservative.** The time is {min(longest):.2f} to {max(longest):.2f} of \
that of `conservative` with cables of 1 to 100 ns, and {min(shortest):.2f} to {max(shortest):.2f} with 1 or \
10 ps. With nearly all traffic on the first eighth of the hosts it is {min(uneven):.2f} to {max(uneven):.2f}.
- **`auto`** takes {median(autos):.2f} of the time of the best fixed choice (median of {len(autos)} cases), \
at most 1.10 in {within} of them, and {autos[-1]:.2f} in the worst ({worst[0]}, {worst[1]}). Within its own \
runs it loses {100 * median(losses):.0f} % of the time to trials and slower gears (median), \
{100 * losses[-1]:.0f} % in the worst case. Single runs of `conservative` on one thread took \
{min(one_thread):.2f} to {max(one_thread):.2f} s for {worst[0]}, {worst[1]}."""
    reached = [[aim.expected, aim.measured, "yes" if aim.holds else "**no**"] for aim in aims(rows)]
    return {
        "aims": markdown(["aim", "reached", "holds"], reached),
        "lookahead": markdown(titles, lines),
        "lookahead conclusions": text,
    }


def processes_blocks(rows: list[Row]) -> dict[str, str]:
    """The networks over the lookahead, on threads and in processes."""
    machines = [(1, 2), *((processes, 1) for processes in SWEPT_PROCESSES)]
    names = ["2 threads", *(f"{processes} processes" for processes in SWEPT_PROCESSES)]
    titles = ["network", "latency", *(f"{executor}, {name}" for name in names for executor in EXECUTORS)]
    titles += [f"rolled back in {processes}" for processes in SWEPT_PROCESSES]
    lines, ratios, taken_back = [], {}, []
    for network in IN_PROCESSES:
        for latency in FEWER:
            walls, rolled_back = [], []
            for machine in machines:
                of = {executor: fastest(rows, network, executor, *machine, latency) for executor in EXECUTORS}
                times = {executor: float(row["wall_s"]) for executor, row in of.items()}
                walls += [f"{times[executor]:.2f}" for executor in EXECUTORS]
                if machine[0] > 1:
                    ratios[latency, network, machine[0]] = times["optimistic"] / times["conservative"]
                    rolled_back.append(100 * (1 - float(of["optimistic"]["efficiency"])))
            taken_back += rolled_back
            lines.append([network, latency, *walls, *(f"{share:.1f} %" for share in rolled_back)])
    of_latency = {latency: [ratio for key, ratio in ratios.items() if key[0] == latency] for latency in FEWER}
    spans = "; ".join(f"{min(of):.2f} to {max(of):.2f} with {latency}" for latency, of in of_latency.items())
    text = f"""\
- **Processes.** `optimistic` over `conservative` in two and four processes: {spans}. Each window of \
`conservative` costs an exchange of messages among all processes, and a round of `optimistic` holds many \
windows. At most {max(taken_back):.1f} % of the events are rolled back."""
    return {"processes": markdown(titles, lines), "processes conclusions": text}


def swept_figure(rows: list[Row], folder: Path) -> None:
    import matplotlib.pyplot as plt

    picoseconds = {"1 ps": 1, "10 ps": 10, "100 ps": 100, "1 ns": 1e3, "10 ns": 1e4, "100 ns": 1e5}
    marks = dict(zip(SWEPT_KINDS, "os^vD", strict=True))
    figure, panels = plt.subplots(1, len(SWEPT), figsize=(18, 4), sharex=True)
    for panel, (network, (*_, latencies, _)) in zip(panels, SWEPT.items(), strict=True):
        for number, (executor, threads) in enumerate(SWEPT_KINDS):
            times = [swept_times(rows, network, latency)[(executor, threads)] for latency in latencies]
            panel.plot(
                [picoseconds[latency] for latency in latencies],
                times,
                marker=marks[(executor, threads)],
                color=COLOURS[number],
                label=f"{executor}, {threads} thread" + ("s" if threads > 1 else ""),
            )
        panel.set_xscale("log")
        panel.set_ylim(bottom=0)
        panel.set_title(network, fontsize=10)
        panel.set_xlabel("latency of host cables (ps)")
    panels[0].set_ylabel("wall-clock time (s)")
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="lower center", ncols=len(SWEPT_KINDS), frameon=False)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    figure.savefig(folder / "lookahead.png", dpi=110)


def figures(rows: list[Row], folder: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(NETWORKS), figsize=(15, 4.6), sharey=True)
    hatches = dict(zip(PHASES, ("", "//", "xx", "..", "\\\\"), strict=True))
    for panel, (network, title) in zip(panels, NETWORKS.items(), strict=True):
        mine = [row for row in all_fastest(rows, network) if row["executor"] in EXECUTORS]
        number = len(machines(network))
        places = [i + (i >= number) for i in range(len(mine))]
        bottom = [0.0] * len(mine)
        for phase, (name, colour) in PHASES.items():
            shares = [100 * float(row[f"{phase}_share"]) for row in mine]
            panel.bar(
                places,
                shares,
                bottom=bottom,
                color=colour,
                label=name,
                width=0.8,
                hatch=hatches[phase],
                edgecolor="white",
            )
            bottom = [b + s for b, s in zip(bottom, shares, strict=True)]
        for place, row in zip(places, mine, strict=True):
            panel.text(place, 101, f"{float(row['wall_s']):.2f} s", ha="center", fontsize=8)
        panel.set_xticks(places, [label(row) for row in mine], rotation=35, ha="right", fontsize=8)
        for i, executor in enumerate(EXECUTORS):
            panel.text((number - 1) / 2 + i * (number + 1), 108, executor, ha="center", weight="bold")
        panel.set_title(f"{network}: {title}", pad=14)
        panel.set_ylim(0, 115)
    panels[0].set_ylabel("share of all threads' time (%)")
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="lower center", ncols=len(PHASES), frameon=False)
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    figure.savefig(folder / "anatomy.png", dpi=110)
    swept_figure(rows, folder)


if __name__ == "__main__":
    for name, text in ENVIRONMENT.items():
        os.environ.setdefault(name, text)
    Study(HERE, cases, measure, checks, blocks, figures, alone=True, in_part=in_part).main()
