# Made from the registry: UPDATE_EXPECTED=1 pytest python/tests/test_parts.py
from dataclasses import dataclass

from fabricsim.kinds import MessageSize
from fabricsim.part import Path, Size

__all__ = ["Bimodal", "File", "Geometric", "MessageSize", "Uniform"]

@dataclass(frozen=True, kw_only=True, repr=False)
class Bimodal(MessageSize):
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
    large_share: float | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class File(MessageSize):
    """a cumulative distribution from a file: rows of size in bytes and share of messages up to it.

    Parameters
    ----------
    file : Path
        Rows size,share; relative to the current folder.
    """

    file: Path

@dataclass(frozen=True, kw_only=True, repr=False)
class Geometric(MessageSize):
    """The discrete form of the exponential distribution.

    Parameters
    ----------
    mean : Size, such as "4 KiB"
        Mean size, at most 1 GiB.
    """

    mean: Size

@dataclass(frozen=True, kw_only=True, repr=False)
class Uniform(MessageSize):
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
