"""The inventory of a network from the table ``links`` of a result: cables, routers with their ports, NICs.

A cable is two links, one for each direction. Cables between hosts and routers are of class ``host``, as in
``network.links.host`` of an experiment.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pyarrow

from fabricsim import _core
from fabricsim.sweep.quantity import Quantity

__all__ = ["inventory"]


def inventory(links: pyarrow.Table, summary: Mapping[str, Any]) -> dict[str, Any]:
    """Counts, as plain data.

    Returns
    -------
    dict
        ``hosts``; ``nics`` (ports of hosts); ``cables``: ``class``, ``bandwidth_bits_per_s``,
        ``latency_ps``, ``count`` (a half, where a link has no way back); ``routers``: ``kind``, ``ports``
        (used), ``bandwidth_bits_per_s`` (of the fastest port), ``count``.
    """
    network = summary["experiment"]["network"]
    cables: Counter[tuple[str, int]] = Counter()
    ports: Counter[str] = Counter()
    fastest: dict[str, int] = {}
    nics = 0
    columns = [links.column(name).to_pylist() for name in ("class", "bandwidth_bits_per_s", "from")]
    for kind, bandwidth, begin in zip(*columns, strict=True):
        cables["host" if kind in ("injection", "ejection") else kind, bandwidth] += 1
        nics += kind == "injection"
        if not begin.startswith("host "):
            router = begin.rpartition(" port ")[0]
            ports[router] += 1
            fastest[router] = max(bandwidth, fastest.get(router, 0))
    routers: Counter[tuple[str, int, int]] = Counter()
    for router, used in ports.items():
        routers[_kind(router), used, fastest[router]] += 1
    return {
        "hosts": summary["network"]["hosts"],
        "nics": nics,
        "cables": [
            {
                "class": name,
                "bandwidth_bits_per_s": bandwidth,
                "latency_ps": _latency_ps(network, name),
                "count": float(Fraction(count, 2)),
            }
            for (name, bandwidth), count in sorted(cables.items())
        ],
        "routers": [
            {"kind": kind, "ports": used, "bandwidth_bits_per_s": bandwidth, "count": count}
            for (kind, used, bandwidth), count in sorted(routers.items())
        ],
    }


def _kind(router: str) -> str:
    named = re.fullmatch(r"router \d+ \((.*)\)", router)
    return _core.router_kind(named.group(1)) if named else "router"


def _latency_ps(network: Mapping[str, Any], name: str) -> int:
    quantity = Quantity.parse(network["links"].get(name, network["link"])["latency"])
    amount = None if quantity is None else quantity.of("ps")
    return int(amount or 0)
