"""Distributions of message sizes of synthetic traffic. The `message` of a traffic pattern.

A field that is ``None`` takes the simulator's default. ``docs/methods/traffic.md`` has the formulas.
"""

from fabricsim.kinds import MessageSize
from fabricsim.registered import classes

_CLASSES = classes(MessageSize, __name__)
globals().update(_CLASSES)

__all__ = ["MessageSize", *_CLASSES]
