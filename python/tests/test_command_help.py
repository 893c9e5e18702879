"""The plain command has the help of the Python package's subcommands, for machines without the package."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from fabricsim.calibrate import command as calibrate
from fabricsim.sweep import command as sweep

FOLDER = Path(__file__).parents[2] / "crates/cli/src/help"


@pytest.mark.parametrize(("name", "parser"), [("sweep", sweep._parser()), ("calibrate", calibrate._parser())])
def test_the_command_has_the_help_of_the_package(name: str, parser: argparse.ArgumentParser) -> None:
    """Compared are words: each version of Python breaks lines in its own way.

    ``COLUMNS=100 python -m fabricsim sweep --help`` writes the text.
    """
    stored = " ".join((FOLDER / f"{name}.txt").read_text().split())
    actions = [action for action in parser._actions if action.help != argparse.SUPPRESS]
    assert len(actions) > 5
    for action in actions:
        for text in [*action.option_strings, (action.help or "") % vars(action)]:
            assert " ".join(text.split()) in stored, text
    options = {word.rstrip("],") for word in stored.split() if word.lstrip("[").startswith("--")}
    known = {option for action in actions for option in action.option_strings}
    assert {option.lstrip("[") for option in options} <= known
