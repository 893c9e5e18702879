"""Motifs: communication patterns of applications. The `workload` of a :class:`fabricsim.Job`.

A field that is ``None`` takes the simulator's default. ``docs/methods/motifs.md`` has formulas and sources.
"""

from fabricsim.kinds import Motif
from fabricsim.registered import classes

_CLASSES = classes(Motif, __name__)
globals().update(_CLASSES)

__all__ = ["Motif", *_CLASSES]
