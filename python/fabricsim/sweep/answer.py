"""What a sweep answers, in sentences: which network wins at what cost, where each saturates, and which points
rank nothing.

Jobs of ranks are compared by their time, synthetic traffic by the largest load of which all arrives, and then
by the latency of packets, with the core's margins for ties (`fabricsim compare` has the same).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from fabricsim import _core
from fabricsim.sweep import show
from fabricsim.sweep.choice import is_design, load_axis
from fabricsim.sweep.metrics import HOST_BOUND, host_shares
from fabricsim.sweep.plan import Axis, Plan, Point
from fabricsim.sweep.table import has_note

__all__ = ["answer"]

MOST_JOBS = 3
# More uses than this are counted instead of listed.
MOST_USES = 4
# Networks that are named beside the best one.
MOST_OTHERS = 4

Row = dict[str, Any]


@dataclass(frozen=True)
class _Candidate:
    """One of the things that are compared, under one use: its points in the order of the loads."""

    name: str
    rows: tuple[tuple[str, Row], ...]

    @property
    def row(self) -> Row:
        """Its only point."""
        return self.rows[0][1]


@dataclass(frozen=True)
class _Use:
    """Candidates under equal conditions; the name is empty where there is one use only."""

    name: str
    candidates: tuple[_Candidate, ...]


def answer(plan: Plan, summaries: Sequence[Row], currency: str | None) -> list[str]:
    """The sentences, the most important one first.

    Parameters
    ----------
    plan : Plan
        The sweep.
    summaries : sequence of dict
        One row for each point, see `table.summary_rows`.
    currency : str or None
        The currency of the costs; None without a cost table.
    """
    done = [row for row in summaries if row["seeds"]]
    if not done:
        return ["No point has a result."]
    columns = list(dict.fromkeys(name for row in done for name in row))
    costs = _Costs(done, currency)
    times = [name for name in columns if name.startswith("job.") and name.endswith(".time_ns")]
    shares = [name for name in columns if name.startswith("job.") and name.endswith(".delivered_share")]
    load = None if times else load_axis(plan)
    uses = _uses(plan, done, load)
    sentences = []
    ranks = any(is_design(axis) or axis.numbers is None for axis in plan.axes)
    for column in times[:MOST_JOBS]:
        sentences += _times(uses, column, costs) if ranks else _range_of_times(uses, column)
    for column in shares[:MOST_JOBS] if not times else []:
        sentences += _traffic(uses, column, load, costs)
    if len(times or shares) > MOST_JOBS:
        sentences.append(f"{len(times or shares) - MOST_JOBS} more jobs are in the tables.")
    return sentences or ["No job has a time or delivered traffic, so that nothing is ranked."]


def _uses(plan: Plan, rows: Sequence[Row], load: Axis | None) -> list[_Use]:
    """The points by their use, and in it by what is compared: networks or, in a sweep over one network, the
    values of all other axes with names."""
    points = {point.number: point for point in plan.points}
    compared = [axis for axis in plan.axes if is_design(axis) and axis is not load]
    if not compared:
        compared = [axis for axis in plan.axes if axis is not load and axis.numbers is None]
    if not compared:
        compared = [axis for axis in plan.axes if axis is not load]
    others = [axis for axis in plan.axes if axis not in compared and axis is not load]
    found: dict[str, dict[str, list[tuple[str, Row]]]] = {}
    for row in rows:
        point = points[row["point"]]
        use = ", ".join(_said(plan, point, axis) for axis in others)
        name = ", ".join(_step(plan, point, axis) for axis in compared) or "the network"
        at = "" if load is None else _step(plan, point, load)
        found.setdefault(use, {}).setdefault(name, []).append((at, row))
    return [
        _Use(use, tuple(_Candidate(name, tuple(_by_load(of, load))) for name, of in candidates.items()))
        for use, candidates in found.items()
    ]


def _by_load(rows: list[tuple[str, Row]], load: Axis | None) -> list[tuple[str, Row]]:
    if load is None or load.numbers is None:
        return rows
    number = dict(zip((step.label for step in load.steps), load.numbers, strict=True))
    return sorted(rows, key=lambda of: number[of[0]])


def _step(plan: Plan, point: Point, axis: Axis) -> str:
    return point.steps[plan.axes.index(axis)].label


def _said(plan: Plan, point: Point, axis: Axis) -> str:
    """The value of an axis; numbers need its name."""
    label = _step(plan, point, axis)
    return label if axis.numbers is None else f"{axis.name} = {label}"


@dataclass(frozen=True)
class _Best:
    """The best candidate, those equal to it, and the rest with their values over the best one."""

    leaders: tuple[_Candidate, ...]
    others: tuple[tuple[_Candidate, float], ...]
    value: float


def _best(found: Sequence[tuple[_Candidate, Row]], column: str, larger: bool, margin: float) -> _Best:
    """The best by a column; equal are values within the margin, or within the confidence intervals of
    both."""
    sign = -1.0 if larger else 1.0
    order = sorted(found, key=lambda of: sign * of[1][column])
    first = order[0][1]

    def is_equal(row: Row) -> bool:
        difference = abs(float(row[column]) - float(first[column]))
        least = min(float(row[column]), float(first[column]))
        return difference <= max(margin * least, _half(row, column) + _half(first, column))

    leaders = tuple(of for of, row in order if is_equal(row))
    others = tuple((of, row[column] / first[column]) for of, row in order if not is_equal(row))
    return _Best(leaders, others, first[column])


def _half(row: Row, column: str) -> float:
    """Half of a confidence interval; 0 with one seed."""
    high = row.get(f"{column}.high")
    return 0.0 if high is None else float(abs(high - row[column]))


# Jobs of ranks.


def _times(uses: Sequence[_Use], column: str, costs: _Costs) -> list[str]:
    job = column.removeprefix("job.").removesuffix(".time_ns")
    of_uses = [(use, _ranked(use, column, job)) for use in uses]
    unranked = [use for use, ranked in of_uses if ranked is None]
    sentences = []
    if len(uses) > MOST_USES:
        sentences += _overall(uses, column, job, costs)
    else:
        for use, ranked in of_uses:
            if ranked is not None:
                sentences += _time_of_use(use, ranked, column, job, costs)
    if unranked:
        sentences.append(_nothing_ranked(unranked, len(uses), column, job))
    sentences += _partly_unranked([use for use in uses if use not in unranked], column, job)
    return sentences


def _range_of_times(uses: Sequence[_Use], column: str) -> list[str]:
    """The extremes of a sweep over numbers that change no network, such as sizes of messages."""
    job = column.removeprefix("job.").removesuffix(".time_ns")
    found = [(of.name, row) for use in uses for of in use.candidates for _, row in of.rows if row.get(column)]
    if not found:
        return [f"Job {job} has no time: it did not finish."]
    ends = [pick(found, key=lambda of: of[1][column]) for pick in (min, max)]
    said = [f"{_time(row[column])} ({name})" for name, row in ends]
    return [f"Job {job} takes {said[0]}." if len(found) == 1 else f"Job {job} takes {said[0]} to {said[1]}."]


def _ranked(use: _Use, column: str, job: str) -> list[tuple[_Candidate, Row]] | None:
    """The candidates with a time; None if there are none, or if the times tie because the network bounds
    none."""
    found = [(of, row) for of in use.candidates for _, row in of.rows if row.get(column) is not None]
    bound = found and len(found) > 1 and all(has_note(row, HOST_BOUND) for _, row in found)
    if not found or (bound and not _best(found, column, False, _core.TIE_OF_TIMES).others):
        return None
    return found


def _time_of_use(
    use: _Use, ranked: list[tuple[_Candidate, Row]], column: str, job: str, costs: _Costs
) -> list[str]:
    where = f"{use.name}: job {job}" if use.name else f"Job {job}"
    missing = _listed([of.name for of in use.candidates if of.row.get(column) is None])
    unfinished = f" It has no time with {missing}." if missing else ""
    if len(ranked) == 1:
        return [f"{where} takes {_time(ranked[0][1][column])} with {ranked[0][0].name}.{unfinished}"]
    best = _best(ranked, column, False, _core.TIE_OF_TIMES)
    names = _listed([of.name for of in best.leaders])
    if not best.others:
        low, high = min(row[column] for _, row in ranked), max(row[column] for _, row in ranked)
        cheap = costs.cheapest(best.leaders)
        return [
            f"{where} takes equally long with {names}: {_range(low, high)}, which is equal within "
            f"{_limit(ranked, column, _core.TIE_OF_TIMES)}.{cheap}{unfinished}"
        ]
    equal = "" if len(best.leaders) == 1 else " (equal)"
    text = f"{where} takes the least time with {names}{equal}, {_time(best.value)}{costs.at(best.leaders)}"
    slower = _slower([(of.name, ratio) for of, ratio in best.others])
    return [f"{text}; it takes {slower}.{costs.bargains(best)}{unfinished}"]


def _overall(uses: Sequence[_Use], column: str, job: str, costs: _Costs) -> list[str]:
    """Many uses: how often each candidate is the best, and the geometric mean of its times over the best
    ones."""
    wins: dict[str, int] = {}
    ratios: dict[str, list[float]] = {}
    named: dict[str, _Candidate] = {}
    counted = 0
    for use in uses:
        ranked = _ranked(use, column, job)
        if ranked is None or len(ranked) < 2:
            continue
        counted += 1
        best = _best(ranked, column, False, _core.TIE_OF_TIMES)
        for of in best.leaders:
            wins[of.name] = wins.get(of.name, 0) + 1
        for of, row in ranked:
            ratios.setdefault(of.name, []).append(row[column] / best.value)
            named[of.name] = of
    if not counted:
        return []
    whole = {name: _geometric_mean(of) for name, of in ratios.items() if len(of) == counted}
    often = sorted(wins.items(), key=lambda of: -of[1])[: MOST_OTHERS + 1]
    said = _listed([f"{name} in {count}" for name, count in often])
    sentences = [f"Job {job} takes the least time (or ties) with {said} of {counted} combinations."]
    if len(whole) > 1:
        order = sorted(whole.items(), key=lambda of: of[1])
        first, least = order[0]
        slower = _slower([(name, value / least) for name, value in order[1:]])
        at = costs.at([named[first]])
        sentences.append(
            f"By the geometric mean over all of them, {first} is the fastest{at}; it takes {slower}."
        )
    return sentences


def _nothing_ranked(uses: Sequence[_Use], of: int, column: str, job: str) -> str:
    rows = [row for use in uses for candidate in use.candidates for _, row in candidate.rows]
    known = [row for row in rows if row.get(column) is not None]
    if not known:
        names = f" ({_listed([use.name for use in uses][:MOST_USES])})" if of > len(uses) else ""
        return f"Job {job} has no time at {_points(rows)}{names}: it did not finish."
    where = "" if len(uses) == of else f" in {len(uses)} of {of} combinations"
    why = _listed(_reasons(known, job))
    return f"Job {job} ranks nothing{where}: {why} bounds its time, and not the network."


def _partly_unranked(uses: Sequence[_Use], column: str, job: str) -> list[str]:
    rows = [row for use in uses for candidate in use.candidates for _, row in candidate.rows]
    bound = [row for row in rows if row.get(column) is not None and has_note(row, HOST_BOUND)]
    if not bound:
        return []
    why = _listed(_reasons(bound, job))
    return [
        f"At {_points(bound)} of {len(rows)}, {why} bounds the time of job {job}: they say little about the "
        "network."
    ]


def _reasons(rows: Iterable[Row], job: str) -> list[str]:
    """What bounds the time at points with the note, with its share of the critical path."""
    found: dict[str, list[float]] = {}
    for row in rows:
        causes = ("overhead", "computation", "imbalance", "memory")
        parts = {name: row.get(f"job.{job}.{name}_share") or 0.0 for name in causes}
        name, share = max(zip(HOST_BOUND.values(), host_shares(parts), strict=True), key=lambda of: of[1])
        found.setdefault(name, []).append(share)
    return [f"{name} ({_percents(shares)} of the critical path)" for name, shares in found.items()]


# Synthetic traffic.


def _traffic(uses: Sequence[_Use], column: str, load: Axis | None, costs: _Costs) -> list[str]:
    job = column.removeprefix("job.").removesuffix(".delivered_share")
    sentences = []
    for use in uses[:MOST_USES]:
        where = f"{use.name}: " if use.name else ""
        if load is None:
            sentences += _one_load(use, column, job, where, costs)
        else:
            sentences += _loads(use, column, job, where, costs)
    if len(uses) > MOST_USES:
        sentences.append(f"{len(uses) - MOST_USES} more combinations are in the figures and tables.")
    return sentences


def _carries(row: Row, column: str) -> bool:
    """Whether all of the offered traffic arrives at a point."""
    share = row.get(column)
    return share is not None and share >= _core.DELIVERED and not has_note(row, "saturated")


def _loads(use: _Use, column: str, job: str, where: str, costs: _Costs) -> list[str]:
    """The loads that each candidate carries, and the latency at the largest one that all carry."""
    carried: dict[str, list[_Candidate]] = {}
    most: dict[str, int] = {}
    for of in use.candidates:
        whole = 0
        while whole < len(of.rows) and _carries(of.rows[whole][1], column):
            whole += 1
        carried.setdefault(_saturation(of, whole), []).append(of)
        most[of.name] = whole
    order = sorted(carried.items(), key=lambda of: -most[of[1][0].name])
    parts = [f"{_listed([of.name for of in group])} {said}" for said, group in order]
    sentences = [f"{where or f'Of the traffic of job {job}, '}{'; '.join(parts)}."]
    common = min(most.values())
    if len(order) > 1:
        sentences[0] += costs.sentence(order[0][1], use.candidates)
    if common and len(use.candidates) > 1:
        sentences += _latency_at(use, job, common - 1, where)
    return sentences


def _saturation(of: _Candidate, whole: int) -> str:
    """Behind one name or several."""
    labels = [label for label, _ in of.rows]
    if whole == len(labels):
        largest = ", the largest that was tried" if len(labels) > 1 else ""
        return f"can carry all up to a load of {labels[-1]}{largest}"
    if whole == 0:
        return f"cannot carry a load of {labels[0]}{', the least that was tried' if len(labels) > 1 else ''}"
    return f"can carry {labels[whole - 1]} and not {labels[whole]}"


def _latency_at(use: _Use, job: str, place: int, where: str) -> list[str]:
    """Which candidate has the shortest latency at a load that all carry."""
    column = f"job.{job}.latency_mean_ns"
    found = [(of, of.rows[place][1]) for of in use.candidates if of.rows[place][1].get(column)]
    if len(found) < 2:
        return []
    load = found[0][0].rows[place][0]
    at = f"{where}{'at' if where else 'At'} {f'a load of {load}' if load else 'this load'}, which all carry,"
    best = _best(found, column, False, _core.TIE_OF_TRAFFIC)
    if not best.others:
        low, high = min(row[column] for _, row in found), max(row[column] for _, row in found)
        limit = _limit(found, column, _core.TIE_OF_TRAFFIC)
        return [f"{at} mean packet latencies are {_range(low, high)}: equal within {limit}."]
    names = _listed([of.name for of in best.leaders])
    slower = _slower([(of.name, ratio) for of, ratio in best.others])
    return [
        f"{at} the mean packet latency is the shortest with {names}, {_time(best.value)}; it is {slower}."
    ]


def _one_load(use: _Use, column: str, job: str, where: str, costs: _Costs) -> list[str]:
    found = [(of, row) for of in use.candidates for _, row in of.rows if row.get(column) is not None]
    if not found:
        return [f"{where}job {job} offered no traffic."]
    if all(_carries(row, column) for _, row in found):
        all_of = f"{where}{'all' if where else 'All'} deliver what job {job} offers."
        if len(found) == 1:
            return [f"{where}{found[0][0].name} delivers what job {job} offers."]
        return [all_of, *_latency_at(use, job, 0, where)]
    best = _best(found, column, True, _core.TIE_OF_TRAFFIC)
    names = _listed([of.name for of in best.leaders])
    what = f"of the traffic that job {job} offers"
    if not best.others:
        return [
            f"{where}{names} deliver {_percents([row[column] for _, row in found])} {what}: equal, and "
            "saturated."
        ]
    less = [
        f"{of.name} delivers {_percents([best.value * ratio])}" for of, ratio in best.others[:MOST_OTHERS]
    ]
    deliver = "delivers" if len(best.leaders) == 1 else "deliver"
    return [
        f"{where}{names} {deliver} most, {_percents([best.value])} {what}{costs.at(best.leaders)}; "
        f"{_listed(less)}."
    ]


# Costs.


class _Costs:
    """What candidates cost; says nothing without a cost table.

    Networks of different sizes are compared by the cost per host.
    """

    def __init__(self, rows: Sequence[Row], currency: str | None) -> None:
        sizes = {row.get("network.hosts") for row in rows}
        self._column = "network.cost" if len(sizes) == 1 else "network.cost_per_host"
        self._per = "" if len(sizes) == 1 else " per host"
        self._is_known = currency is not None and any(row.get(self._column) is not None for row in rows)
        self._unit = f" {currency}" if currency else ""

    def _cost(self, of: _Candidate) -> float | None:
        cost = of.row.get(self._column)
        return None if cost is None else float(cost)

    def _said(self, cost: float) -> str:
        return f"{show.number(float(f'{cost:.3g}'))}{self._unit}{self._per}"

    def _known(self, of: Iterable[_Candidate]) -> dict[str, float]:
        found = {one.name: self._cost(one) for one in of}
        return {name: cost for name, cost in found.items() if cost is not None}

    def at(self, leaders: Sequence[_Candidate]) -> str:
        """`` at 1.2 M EUR``, of the cheapest of equals."""
        known = self._known(leaders) if self._is_known else {}
        if not known:
            return ""
        name, cost = min(known.items(), key=lambda of: of[1])
        return f" at {self._said(cost)}" + (f" ({name})" if len(leaders) > 1 else "")

    def cheapest(self, equal: Sequence[_Candidate]) -> str:
        """Which of equals costs least."""
        known = self._known(equal) if self._is_known else {}
        if len(known) < 2 or max(known.values()) == min(known.values()):
            return ""
        name, cost = min(known.items(), key=lambda of: of[1])
        other, most = max(known.items(), key=lambda of: of[1])
        more = f"{other} costs {_times_as(most / cost)} as much"
        return f" The cheapest of them is {name}, {self._said(cost)}; {more}."

    def sentence(self, first: Sequence[_Candidate], everyone: Sequence[_Candidate]) -> str:
        """What the first cost, and the cheapest one of all."""
        mine, known = (self._known(first), self._known(everyone)) if self._is_known else ({}, {})
        if not mine:
            return ""
        name, cost = min(mine.items(), key=lambda of: of[1])
        cheap, least = min(known.items(), key=lambda of: of[1])
        among = ", the least of these" if len(mine) > 1 and least < cost else ""
        text = f" {name} costs {self._said(cost)}{among}"
        if least >= cost:
            return f"{text}, the least of all."
        return f"{text}; the cheapest of all is {cheap}, {self._said(least)}."

    def bargains(self, best: _Best) -> str:
        """Up to two candidates that are slower than the best and cheaper, each faster than all that cost
        less."""
        leaders = self._known(best.leaders) if self._is_known else {}
        if not leaders:
            return ""
        limit = reference = min(leaders.values())
        said = []
        for of, ratio in best.others:
            cost = self._cost(of)
            if cost is not None and cost < limit:
                limit = cost
                less = 100 * (1 - cost / reference)
                said.append(f"{of.name} costs {less:.2g} % less and takes {_times_as(ratio)} as long")
        return f" {_listed(said[:2])}." if said else " No other is cheaper."


# Words.


def _listed(names: Sequence[str]) -> str:
    """``a, b and c``."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else ""


def _slower(others: Sequence[tuple[str, float]]) -> str:
    """``1.1 times as long with a, 1.2 times with b and longer with 3 more``."""
    said = [
        f"{_times_as(ratio)}{'' if n else ' as long'} with {name}" for n, (name, ratio) in enumerate(others)
    ]
    more = len(others) - MOST_OTHERS
    return _listed(said[:MOST_OTHERS] + ([f"longer with {more} more"] if more > 0 else []))


def _time(ns: float) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{show.number(float(f'{ns / size:.4g}'))} {unit}"
    return f"{show.number(float(f'{ns:.4g}'))} ns"


def _range(low: float, high: float) -> str:
    first, last = _time(low), _time(high)
    return first if first == last else f"{first} to {last}"


def _times_as(ratio: float) -> str:
    return f"{ratio:.3g} times"


def _limit(found: Sequence[tuple[_Candidate, Row]], column: str, margin: float) -> str:
    values = [row[column] for _, row in found]
    inside = max(values) - min(values) <= margin * min(values)
    return f"{100 * margin:.3g} %" if inside else "the confidence intervals"


def _percents(shares: Sequence[float]) -> str:
    low, high = f"{100 * min(shares):.3g}", f"{100 * max(shares):.3g}"
    return f"{low} %" if low == high else f"{low} to {high} %"


def _points(rows: Sequence[Row]) -> str:
    return f"{len(rows)} point{'s' * (len(rows) != 1)}"


def _geometric_mean(values: Sequence[float]) -> float:
    return math.exp(math.fsum(math.log(value) for value in values) / len(values))
