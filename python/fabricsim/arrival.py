"""Arrival processes: the times between messages of synthetic traffic. The `arrival` of a pattern of traffic.

A field that is ``None`` is left to the simulator's default. Formulas: ``docs/methods/traffic.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

from fabricsim.part import Part, Time

__all__ = ["Arrival", "Bernoulli", "Exponential", "Fixed", "OnOff"]


class Arrival(Part, key="arrival", kind="arrivals"):
    """An arrival process."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Bernoulli(Arrival, name="bernoulli"):
    """Slots of a message's time, each with a message or not; each host with a random phase."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Exponential(Arrival, name="exponential"):
    """A Poisson process: exponentially distributed gaps."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Fixed(Arrival, name="fixed"):
    """Messages at equal intervals, each host with a random phase."""


@dataclass(frozen=True, kw_only=True, repr=False)
class OnOff(Arrival, name="on-off"):
    """Bursts at a higher load, silence between them: a Markov-modulated process of two states.

    Parameters
    ----------
    burst : int or Time, such as 10 or "2 us"
        Mean length of a burst, in messages or as a time such as "2 us" (default: 10 messages).
    peak : float
        Load within a burst, at least the load, at most 1 (default: 1.0).
    """

    burst: int | Time | None = None
    peak: float | None = None
