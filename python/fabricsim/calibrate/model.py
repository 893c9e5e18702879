"""The model of a message between two idle hosts, as docs/methods/mpi.md and docs/methods/packet.md give it.

Half of the round trip of a blocking ping-pong with payload *b* is, with *w(n)* the bytes on the wire of *n*
bytes,

- short (*b* <= *V*): ``o + L + G w(b + h)``
- eager with copies (*V* < *b* <= *S*): ``o + L + G w(b + h) + K b``
- rendezvous (*b* > *S*): ``o + 3 L + G (2 w(c) + w(b + h))``

*o* is the overhead of sender and receiver together, *L* all latencies between the NICs together, *G* the
time of a byte on the slowest link, *K* the time of both copies per byte. Everything is linear in these four.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

__all__ = ["COPY", "GAP", "LATENCY", "NAMES", "OVERHEAD", "Framing", "Protocol", "Thresholds", "coefficients"]

# Places of the parameters in a row: microseconds, microseconds, and twice nanoseconds per byte.
OVERHEAD, LATENCY, GAP, COPY = range(4)
NAMES = ("overhead", "network latency", "time per byte", "copy time per byte")
_US_PER_NS = 1e-3


@dataclass(frozen=True)
class Framing:
    """Bytes on the wire besides payloads. The fit takes them as given; defaults are those of the
    simulator.
    """

    header: int = 32
    """``mpi.header_size``."""
    control: int = 64
    """``mpi.control_size``."""
    packet: int = 256
    """``network.packet``."""
    packet_header: int = 0
    """``network.packet_header``."""

    def wire(self, size: int) -> int:
        """Bytes on the wire of a message with this many bytes, MPI's header included in them."""
        size = max(1, size)
        return size + -(-size // self.packet) * self.packet_header

    def message(self, payload: int) -> int:
        """Bytes on the wire of a message with this payload."""
        return self.wire(payload + self.header)


class Protocol(Enum):
    """How a payload travels."""

    SHORT = "short"
    EAGER = "eager"
    RENDEZVOUS = "rendezvous"


@dataclass(frozen=True)
class Thresholds:
    """Where protocols change, in bytes of payload."""

    short: int | None
    """Largest payload that no side copies; -1: all payloads are copied; None: nothing is ever copied."""
    eager: int | None
    """Largest eager payload; None: all are eager."""

    def protocol(self, payload: int) -> Protocol:
        """The protocol of a payload."""
        if self.eager is not None and payload > self.eager:
            return Protocol.RENDEZVOUS
        return Protocol.SHORT if self.short is None or payload <= self.short else Protocol.EAGER

    @property
    def segments(self) -> int:
        """Number of ranges of sizes."""
        return 1 + (self.short is not None and self.short >= 0) + (self.eager is not None)


def coefficients(payload: int, thresholds: Thresholds, framing: Framing) -> tuple[float, float, float, float]:
    """What each parameter adds to the half round-trip time, in microseconds per unit of the parameter."""
    protocol = thresholds.protocol(payload)
    if protocol is Protocol.RENDEZVOUS:
        wire = framing.message(payload) + 2 * framing.wire(framing.control)
        return 1.0, 3.0, wire * _US_PER_NS, 0.0
    copied = payload * _US_PER_NS if protocol is Protocol.EAGER else 0.0
    return 1.0, 1.0, framing.message(payload) * _US_PER_NS, copied
