"""Placements: the order in which a job takes hosts. The `placement` of a :class:`fabricsim.Job`.

A field that is ``None`` takes the simulator's default. ``docs/methods/jobs.md`` describes each placement.
"""

from fabricsim.kinds import Placement
from fabricsim.registered import classes

_CLASSES = classes(Placement, __name__)
globals().update(_CLASSES)

__all__ = ["Placement", *_CLASSES]
