# Made from the registry: UPDATE_EXPECTED=1 pytest python/tests/test_parts.py
from dataclasses import dataclass
from typing import Literal

from fabricsim.kinds import Arrival
from fabricsim.part import Time

__all__ = ["Arrival", "Bernoulli", "Exponential", "Fixed", "OnOff"]

@dataclass(frozen=True, kw_only=True, repr=False)
class Bernoulli(Arrival):
    """Slots of a message's time, each with a message or not; each host with a random phase."""

@dataclass(frozen=True, kw_only=True, repr=False)
class Exponential(Arrival):
    """a Poisson process: exponentially distributed gaps."""

@dataclass(frozen=True, kw_only=True, repr=False)
class Fixed(Arrival):
    """Messages at equal intervals.

    Parameters
    ----------
    phase : {"random", "zero"}
        Time of the first message: random within one interval for each host, or the job's start for all
        hosts (default: random).
    """

    phase: Literal["random", "zero"] | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class OnOff(Arrival):
    """Bursts at a higher load, silence between them: a Markov-modulated process of two states.

    Parameters
    ----------
    burst : int or Time, such as "1 us"
        Mean length of a burst, in messages or as a time such as "2 us" (default: 10).
    peak : float
        Load within a burst, at least the load, at most 1 (default: 1.0).
    """

    burst: int | Time | None = ...
    peak: float | None = ...
