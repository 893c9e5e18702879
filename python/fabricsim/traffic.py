"""Synthetic traffic: sources, destinations and load. The `traffic` of a :class:`fabricsim.Job`.

A field that is ``None`` takes the simulator's default. ``docs/methods/traffic.md`` has the formulas. Patterns
that refer to routers, groups or coordinates need all hosts of the network.
"""

from fabricsim.kinds import ArrivalName, Pattern
from fabricsim.registered import classes

_CLASSES = classes(Pattern, __name__)
globals().update(_CLASSES)

__all__ = ["ArrivalName", "Pattern", *_CLASSES]
