"""The command line: ``python -m fabricsim`` is the same command as ``fabricsim``."""

from __future__ import annotations

import sys

from fabricsim import _core


def main() -> int:
    """Run the command line of the simulation core with this process's arguments.

    Returns
    -------
    int
        Exit status: 0 done, 1 failed, 2 wrong input, 130 interrupted.
    """
    return _core.main(["fabricsim", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
