"""Arrival processes: the times between messages of synthetic traffic. The `arrival` of a traffic pattern.

A field that is ``None`` takes the simulator's default. ``docs/methods/traffic.md`` has the formulas.
"""

from fabricsim.kinds import Arrival
from fabricsim.registered import classes

_CLASSES = classes(Arrival, __name__)
globals().update(_CLASSES)

__all__ = ["Arrival", *_CLASSES]
