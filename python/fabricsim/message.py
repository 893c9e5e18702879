"""Distributions of message sizes of synthetic traffic. The `message` of a pattern of traffic.

A field that is ``None`` is left to the simulator's default. Formulas: ``docs/methods/traffic.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

from fabricsim.part import Part, Path, Size

__all__ = ["Bimodal", "File", "Geometric", "MessageSize", "Uniform"]


class MessageSize(Part, key="distribution", kind="message-sizes"):
    """A distribution of message sizes."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Bimodal(MessageSize, name="bimodal"):
    """Two sizes, such as requests and data.

    Parameters
    ----------
    small : Size, such as "4 KiB"
        The one size.
    large : Size, such as "4 KiB"
        The other size.
    large_share : float
        Share of the messages that have it, 0 to 1 (default: 0.5).
    """

    small: Size
    large: Size
    large_share: float | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class File(MessageSize, name="file"):
    """A cumulative distribution from a file: rows of size in bytes and share of messages up to it.

    Parameters
    ----------
    file : Path
        Rows size,share; relative to the current folder.
    """

    file: Path


@dataclass(frozen=True, kw_only=True, repr=False)
class Geometric(MessageSize, name="geometric"):
    """The discrete form of the exponential distribution.

    Parameters
    ----------
    mean : Size, such as "4 KiB"
        Mean size, at most 1 GiB.
    """

    mean: Size


@dataclass(frozen=True, kw_only=True, repr=False)
class Uniform(MessageSize, name="uniform"):
    """All sizes from one to another with the same probability.

    Parameters
    ----------
    min : Size, such as "4 KiB"
        Smallest size.
    max : Size, such as "4 KiB"
        Largest size.
    """

    min: Size
    max: Size
