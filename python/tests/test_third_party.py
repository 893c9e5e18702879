"""scripts/third-party.py: licence expressions, what it refuses, and the notices that it writes."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "third-party.py"

pytestmark = pytest.mark.skipif(not SCRIPT.is_file(), reason="the sources are not here")


@pytest.fixture(scope="module")
def script() -> Any:
    spec = importlib.util.spec_from_file_location("third_party", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Its dataclasses look up their module while it is executed.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def crate(script: Any, folder: Path = Path("folder"), **changes: Any) -> Any:
    """A crate without faults, except for the changes."""
    facts: dict[str, Any] = {
        "name": "example",
        "version": "1.2.3",
        "licence": "MIT OR Apache-2.0",
        "licence_file": None,
        "source": "registry+https://github.com/rust-lang/crates.io-index",
        "repository": "https://example.org/example",
        "authors": (),
        "folder": folder,
    }
    return script.Crate(**(facts | changes))


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("", "the end where a licence was expected"),
        ("MIT OR", "the end where a licence was expected"),
        ("OR MIT", "'OR' where a licence was expected"),
        ("MIT Apache-2.0", "'Apache-2.0' where AND, OR or the end was expected"),
        ("MIT or Apache-2.0", "'or' where AND, OR or the end was expected"),
        ("(MIT OR Apache-2.0", "the end where ')' was expected"),
        ("MIT)", "')' where AND, OR or the end was expected"),
        ("()", "')' where a licence was expected"),
        ("Apache-2.0 WITH", "the end where an exception was expected"),
        ("(MIT) WITH LLVM-exception", "'WITH' where AND, OR or the end was expected"),
        ("MIT, Apache-2.0", "'MIT,' where a licence was expected"),
    ],
)
def test_what_is_no_expression_is_refused(script: Any, expression: str, found: str) -> None:
    with pytest.raises(script.ThirdPartyError) as error:
        script.alternatives(expression)
    assert str(error.value) == f"'{expression}' is no licence expression: {found}"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("MIT", [{"MIT"}]),
        ("MIT OR Apache-2.0", [{"MIT"}, {"Apache-2.0"}]),
        ("MIT/Apache-2.0", [{"MIT"}, {"Apache-2.0"}]),
        ("Apache-2.0 / MIT", [{"Apache-2.0"}, {"MIT"}]),
        ("MIT AND Zlib", [{"MIT", "Zlib"}]),
        # AND binds tighter than OR.
        ("MIT OR Zlib AND ISC", [{"MIT"}, {"Zlib", "ISC"}]),
        ("MIT AND Zlib OR ISC", [{"MIT", "Zlib"}, {"ISC"}]),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", [{"MIT", "Unicode-3.0"}, {"Apache-2.0", "Unicode-3.0"}]),
        ("(A OR B) AND (C OR D)", [{"A", "C"}, {"B", "C"}, {"A", "D"}, {"B", "D"}]),
        ("((MIT))", [{"MIT"}]),
        # WITH binds tightest.
        (
            "Apache-2.0 WITH LLVM-exception OR GPL-2.0+",
            [{"Apache-2.0 WITH LLVM-exception"}, {"GPL-2.0+"}],
        ),
    ],
)
def test_expressions(script: Any, expression: str, expected: list[set[str]]) -> None:
    assert script.alternatives(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("MIT OR Apache-2.0", ["Apache-2.0"]),
        ("MIT OR Apache-2.0 OR LGPL-2.1-or-later", ["Apache-2.0"]),
        ("Unlicense OR MIT", ["MIT"]),
        ("Apache-2.0 AND MIT", ["Apache-2.0", "MIT"]),
        ("BSD-3-Clause OR Apache-2.0 AND MIT", ["Apache-2.0", "MIT"]),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", ["Apache-2.0", "Unicode-3.0"]),
        ("GPL-3.0-only", None),
        ("MIT AND GPL-3.0-only", None),
        # An exception is allowed by name only.
        ("MIT WITH Other-exception", None),
    ],
)
def test_the_first_licence_of_the_list_is_taken(
    script: Any, expression: str, expected: list[str] | None
) -> None:
    assert script.chosen(expression) == expected


def test_allowed_crates_give_no_error(script: Any) -> None:
    sparse = "sparse+https://index.crates.io/"
    assert list(script.problems([crate(script), crate(script, source=sparse)])) == []


@pytest.mark.parametrize(
    "source", ["git+https://example.org/example#1234", "registry+https://example.org/i", None]
)
def test_sources_other_than_crates_io_are_refused(script: Any, source: str | None) -> None:
    (error,) = script.problems([crate(script, source=source)])
    assert error.startswith("example 1.2.3: its source is " + (source or "the folder folder"))
    assert "must be crates.io" in error and "--invert example@1.2.3'" in error


@pytest.mark.parametrize("licence", ["GPL-3.0-only", "MIT AND AGPL-3.0-only"])
def test_licences_that_are_not_listed_are_refused(script: Any, licence: str) -> None:
    (error,) = script.problems([crate(script, licence=licence)])
    assert error.startswith(f"example 1.2.3: its licence '{licence}' is not satisfied")
    assert "Apache-2.0, MIT" in error and "ALLOWED in scripts/third-party.py" in error


def test_an_unreadable_licence_is_refused(script: Any) -> None:
    (error,) = script.problems([crate(script, licence="MIT OR")])
    assert error.startswith("example 1.2.3: 'MIT OR' is no licence expression")


@pytest.mark.parametrize(
    ("file", "what"), [(None, "has none"), ("LICENSE.md", "has only the file LICENSE.md")]
)
def test_crates_without_an_expression_are_refused(script: Any, file: str | None, what: str) -> None:
    (error,) = script.problems([crate(script, licence=None, licence_file=file)])
    assert error.startswith("example 1.2.3: its manifest must have a licence expression") and what in error
    assert "UNDECLARED in scripts/third-party.py" in error


def test_crates_without_an_expression_can_be_listed(script: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script, "UNDECLARED", {"example 1.2.3": ("MIT", "its file LICENSE is that of MIT")})
    unnamed = crate(script, licence=None, licence_file="LICENSE")
    assert list(script.problems([unnamed])) == []
    for others in ([], [crate(script)]):
        (error,) = script.problems(others)
        assert error.startswith("example 1.2.3: UNDECLARED") and "Remove the entry" in error
    (error,) = script.problems([unnamed, crate(script, version="1.2.4", licence=None)])
    assert error.startswith("example 1.2.4: its manifest")


def test_outdated_notices_are_refused(script: Any) -> None:
    assert list(script.outdated("notices", "notices")) == []
    (error,) = script.outdated("old", "notices")
    assert error.startswith("THIRD-PARTY.md is not what") and "'scripts/third-party.py'" in error
    (error,) = script.outdated(None, "notices")
    assert error.startswith("THIRD-PARTY.md is missing") and "'scripts/third-party.py'" in error


def test_notices_keep_copyright_lines_and_one_text_of_each_licence(script: Any, tmp_path: Path) -> None:
    mit = "MIT License\n\nCopyright (c) 2020 {}\n\nPermission is granted,\nwith this notice.\n"
    for name in ["first", "second", "third", "free", "other"]:
        (tmp_path / name).mkdir()
    (tmp_path / "first" / "LICENSE").write_text(mit.format("Somebody <somebody@example.org>"))
    (tmp_path / "second" / "LICENSE-APACHE").write_text("not this one")
    (tmp_path / "second" / "LICENSE-MIT").write_text(mit.format("Others").replace("granted,\n", "granted, "))
    (tmp_path / "other" / "COPYING").write_text("Copyright 2021 A company\nMay be used.")
    (tmp_path / "free" / "NOTICE.txt").write_text("This product has parts.\n")
    licences = {"first": "MIT", "second": "MIT", "third": "MIT", "other": "Zlib", "free": "MIT OR Apache-2.0"}
    crates = [
        crate(script, tmp_path / name, name=name, licence=licence, authors=("Third <third@example.org>",))
        for name, licence in licences.items()
    ]
    written = script.document(crates, [script.Embedded("lib.js", "4", "MIT", "", "page", ("Copyright Lib",))])
    below, above = written.partition("## Crates used under Apache-2.0")[::2]
    assert "| free | 1.2.3 | MIT OR Apache-2.0 |" in above and "| first | 1.2.3 | MIT |" in below
    assert "| lib.js | 4 | MIT |  | page |" in below
    notices = above.partition("## Notices\n\n")[2]
    assert notices == (
        "### MIT\n\n"
        "- first 1.2.3: Copyright (c) 2020 Somebody\n"
        "- lib.js 4: Copyright Lib\n"
        "- second 1.2.3: Copyright (c) 2020 Others\n"
        "- third 1.2.3: no copyright line in its package; authors: Third\n\n"
        "```text\nPermission is granted,\nwith this notice.\n```\n\n"
        "### Zlib: other 1.2.3\n\n"
        "```text\nCopyright 2021 A company\nMay be used.\n```\n\n"
        "### Files named NOTICE\n\n"
        "Of free 1.2.3:\n\n"
        "```text\nThis product has parts.\n```\n"
    )


def test_a_licence_without_any_text_is_refused(script: Any, tmp_path: Path) -> None:
    with pytest.raises(script.ThirdPartyError, match="example 1.2.3: neither its package nor another one"):
        script.document([crate(script, tmp_path, licence="ISC")], [])
