"""Mappings: the assignment of ranks to the hosts of a job. The `mapping` of a :class:`fabricsim.Job`.

A field that is ``None`` takes the simulator's default. ``docs/methods/jobs.md`` describes each mapping.
"""

from fabricsim.kinds import RankMapping
from fabricsim.registered import classes

_CLASSES = classes(RankMapping, __name__)
globals().update(_CLASSES)

__all__ = ["RankMapping", *_CLASSES]
