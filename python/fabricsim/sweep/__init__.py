"""Sweeps: many experiments that differ in some keys, run in parallel and compared.

>>> from fabricsim import sweep
>>> done = sweep.run("examples/sweeps/load.toml")  # doctest: +SKIP
>>> done.summary.to_pandas()  # doctest: +SKIP

``docs/sweeps.md`` tells how to use them, ``docs/formats/sweep.md`` what a sweep file can say. Running needs
the optional dependencies ``fabricsim[sweep]``.
"""

from __future__ import annotations

from fabricsim.sweep.cluster import ClusterSettings
from fabricsim.sweep.conduct import Sweep, run
from fabricsim.sweep.costs import load_costs
from fabricsim.sweep.plan import Plan, load

__all__ = ["ClusterSettings", "Plan", "Sweep", "load", "load_costs", "run"]
