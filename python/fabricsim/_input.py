"""Input files: regular files of bounded size. A named pipe blocks its reader, and a device such as
``/dev/zero`` never ends. The simulation core has the same rule in ``crates/config/src/input.rs``.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

__all__ = ["MOST_BYTES", "MOST_BYTES_OF_RESULTS", "check", "read_bytes", "read_text"]

# Most bytes of a file that is read as a whole: the core's limit for experiment files.
MOST_BYTES = 64 << 20
# The same of a summary: the core's limit for other texts.
MOST_BYTES_OF_RESULTS = 8 << 30
_BLOCK = 1 << 20
_KINDS = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISDIR, "a folder"),
)


def check(path: Path, most: int | None = None) -> None:
    """Refuses what is no regular file of at most `most` bytes, without opening it.

    Raises
    ------
    OSError
        `strerror` says what the path is, what was expected and what to do.
    """
    state = os.stat(path)
    if not stat.S_ISREG(state.st_mode):
        kind = next((name for is_kind, name in _KINDS if is_kind(state.st_mode)), "a special file")
        message = f"it is {kind}; expected a regular file: give a file, or copy the content into one"
        raise OSError(errno.EINVAL, message, str(path))
    if most is not None and state.st_size > most:
        raise _too_long(path, f"{state.st_size:,} bytes", most)


def read_bytes(path: Path, most: int = MOST_BYTES) -> bytes:
    """The content of a regular file.

    Raises
    ------
    OSError
        As `check`, or it cannot be read.
    """
    check(path, most)
    content = bytearray()
    with path.open("rb") as opened:
        while block := opened.read(_BLOCK):
            content += block
            # Files of /proc have no size, and others may grow meanwhile.
            if len(content) > most:
                raise _too_long(path, f"more than {most:,} bytes", most)
    return bytes(content)


def read_text(path: Path, most: int = MOST_BYTES, errors: str = "strict") -> str:
    """The content of a regular file in UTF-8, with ``\\n`` at the ends of lines.

    Raises
    ------
    OSError
        As `read_bytes`.
    UnicodeDecodeError
        It is not UTF-8, and `errors` is ``"strict"``.
    """
    return read_bytes(path, most).decode("utf-8", errors).replace("\r\n", "\n").replace("\r", "\n")


def _too_long(path: Path, found: str, most: int) -> OSError:
    return OSError(errno.EFBIG, f"it has {found}; expected at most {most:,}: give another file", str(path))
