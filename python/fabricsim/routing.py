"""Routing algorithms: the next link of a packet. The `routing` of a :class:`fabricsim.Network`.

A field that is ``None`` takes the simulator's default. ``docs/methods/routing.md`` describes the decisions,
and why no deadlock is possible. Each class names the topologies that it works on; others are an error.
"""

from fabricsim.kinds import Routing
from fabricsim.registered import classes

_CLASSES = classes(Routing, __name__)
globals().update(_CLASSES)

__all__ = ["Routing", *_CLASSES]
