"""The command line: ``python -m fabricsim`` is the same command as ``fabricsim``.

This package defines the subcommands that need Python's ecosystem; the simulation core defines the others.
"""

from __future__ import annotations

import sys

from fabricsim import _core


def main() -> int:
    """Run the command line with this process's arguments.

    Returns
    -------
    int
        Exit status: 0 done, 1 failed, 2 wrong input, 130 interrupted.
    """
    arguments = sys.argv[1:]
    if arguments[:1] == ["sweep"]:
        from fabricsim.sweep import command

        return command.main(arguments[1:])
    if arguments[:1] == ["calibrate"]:
        from fabricsim.calibrate.command import main as calibrate

        return calibrate(arguments[1:])
    if arguments[:1] == ["compare"] and any(text.split("=")[0] == "--html" for text in arguments):
        from fabricsim.sweep import compare_command

        return compare_command.main(arguments[1:])
    return _core.main(["fabricsim", *arguments])


if __name__ == "__main__":
    sys.exit(main())
