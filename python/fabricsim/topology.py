"""Topologies: routers, hosts and the cables between them. The `topology` of a :class:`fabricsim.Network`.

A field that is ``None`` takes the simulator's default. ``docs/methods/topologies.md`` describes the numbering
of routers, ports and hosts, and the classes of links.
"""

from fabricsim.kinds import Topology
from fabricsim.registered import classes

_CLASSES = classes(Topology, __name__)
globals().update(_CLASSES)

__all__ = ["Topology", *_CLASSES]
