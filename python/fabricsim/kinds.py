"""Kinds of parts: the base class of each, with what all parts of the kind have in common.

The classes of the parts are in :mod:`fabricsim.topology`, :mod:`fabricsim.routing`, :mod:`fabricsim.traffic`,
:mod:`fabricsim.arrival`, :mod:`fabricsim.message`, :mod:`fabricsim.motif`, :mod:`fabricsim.placement` and
:mod:`fabricsim.mapping`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from fabricsim.part import Part, Size, Table

__all__ = [
    "Arrival",
    "ArrivalName",
    "MessageSize",
    "Motif",
    "Pattern",
    "Placement",
    "RankMapping",
    "Routing",
    "Topology",
]

ArrivalName: TypeAlias = Literal["bernoulli", "exponential", "fixed", "on-off"]


class Topology(Part, key="kind", kind="topologies"):
    """The routers, hosts and cables of a network."""


class Routing(Part, key="algorithm", kind="routings"):
    """A routing algorithm: it chooses the next link of each packet."""


class Arrival(Part, key="arrival", kind="arrivals"):
    """An arrival process: the times between messages."""


class MessageSize(Part, key="distribution", kind="message-sizes"):
    """A distribution of message sizes."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Pattern(Part, key="pattern", kind="patterns"):
    """A traffic pattern, with the parameters that all patterns have.

    Parameters
    ----------
    load : float
        Bytes that each host sends, as a fraction of the bandwidth of its injection links, all rails together:
        above 0, at most 1.
    arrival : Arrival or name
        Times between messages: a class of :mod:`fabricsim.arrival` (default: exponential).
    message : Size, such as "4 KiB", or MessageSize
        Size of each message, or the distribution that sizes are drawn from: a class of
        :mod:`fabricsim.message`; `load` counts the mean (default: one packet).
    """

    load: float
    arrival: Arrival | ArrivalName | None = None
    message: Size | MessageSize | None = None

    def table(self) -> dict[str, Any]:
        # The file has the parameters of an arrival process beside those of the pattern.
        table = super().table()
        arrival = table.pop("arrival", None)
        if isinstance(arrival, Arrival):
            return {**table, **arrival.table()}
        return table if arrival is None else {**table, "arrival": arrival}

    @classmethod
    def of_table(cls, table: Table) -> tuple[type[Part], dict[str, Any]] | None:
        found = super().of_table(table)
        arrival = Arrival.of_table(table)
        if found is None or arrival is None:
            return found
        part, values = found
        known = {"arrival", *arrival[0].parameters()}
        # An arrival process without parameters stays a name.
        if known & set(values) != {"arrival"}:
            values["arrival"] = {key: value for key, value in values.items() if key in known}
            values = {key: value for key, value in values.items() if key not in known or key == "arrival"}
        return part, values


class Motif(Part, key="motif", kind="motifs"):
    """The communication pattern of an application, for any number of ranks."""


class Placement(Part, key="kind", kind="placements", implied=True):
    """The choice of hosts for a job."""


class RankMapping(Part, key="kind", kind="mappings", implied=True):
    """The assignment of ranks to the hosts of a job."""
