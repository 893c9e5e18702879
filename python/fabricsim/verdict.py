"""The verdict on a run, typed. ``docs/methods/verdict.md`` describes its rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fabricsim.experiment import Toml

__all__ = ["Comparison", "Confidence", "Verdict", "VerdictPlace", "VerdictTime"]


@dataclass(frozen=True)
class VerdictPlace:
    """A place that a verdict names.

    Attributes
    ----------
    found : str
        The place in words, with its numbers.
    link_class : str or None
        Class of the links there; None if they are not of one class.
    links : tuple of int
        Numbers of single links, as in ``result.links``; empty for a whole class.
    """

    found: str
    link_class: str | None
    links: tuple[int, ...]


@dataclass(frozen=True)
class VerdictTime:
    """An interval that a verdict names, in nanoseconds of simulated time, and what happens in it."""

    begin_ns: float
    end_ns: float
    found: str


@dataclass(frozen=True)
class Comparison:
    """A run to compare with.

    Attributes
    ----------
    differs : str
        What differs, in words.
    set : dict
        The changed keys and their values in TOML, for ``fabricsim.run(experiment, set=comparison.set)``.
        A table replaces the one of the experiment.
    """

    differs: str
    set: dict[str, Toml]


@dataclass(frozen=True)
class Confidence:
    """How far to trust a verdict: ``high``, ``medium`` or ``low``, and why not more."""

    level: str
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Verdict:
    """One sentence about a run, then where, when, why, what to try.

    Attributes
    ----------
    rule : str
        Name of the rule that holds.
    headline : str
        The finding in one sentence.
    places, times, causes
        Where, when (empty if it is not known), why.
    comparisons : tuple of Comparison
        What to try: runs to compare with. None of them promises anything.
    confidence : Confidence
        How far to trust it.
    """

    rule: str
    headline: str
    places: tuple[VerdictPlace, ...]
    times: tuple[VerdictTime, ...]
    causes: tuple[str, ...]
    comparisons: tuple[Comparison, ...]
    confidence: Confidence

    def __str__(self) -> str:
        lines = [self.headline]
        lines += [f"  where   {place.found}" for place in self.places]
        for time in self.times:
            lines.append(f"  when    {time.begin_ns / 1e3:g} us to {time.end_ns / 1e3:g} us: {time.found}")
        lines += [f"  why     {cause}" for cause in self.causes]
        lines += [
            f"  try     {comparison.differs}: {_pairs(comparison.set)}" for comparison in self.comparisons
        ]
        reasons = "; ".join(self.confidence.reasons)
        return "\n".join([*lines, f"  trust   {self.confidence.level}" + (f": {reasons}" if reasons else "")])


def _pairs(changed: Mapping[str, str]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in changed.items())


def from_json(verdict: Mapping[str, Any]) -> Verdict:
    """The object ``verdict`` of ``summary.json``."""
    return Verdict(
        rule=verdict["rule"],
        headline=verdict["headline"],
        places=tuple(
            VerdictPlace(place["found"], place["class"], tuple(place["links"])) for place in verdict["places"]
        ),
        times=tuple(
            VerdictTime(time["begin_ns"], time["end_ns"], time["found"]) for time in verdict["times"]
        ),
        causes=tuple(verdict["causes"]),
        comparisons=tuple(
            Comparison(
                comparison["differs"],
                {changed["key"]: Toml(changed["value"]) for changed in comparison["set"]},
            )
            for comparison in verdict["comparisons"]
        ),
        confidence=Confidence(verdict["confidence"]["level"], tuple(verdict["confidence"]["reasons"])),
    )
