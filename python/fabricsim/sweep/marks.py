"""Marks of notes: a letter for each kind, the same in all tables and figures of a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fabricsim.sweep.table import Row, note_kinds

__all__ = ["Marks"]


@dataclass(frozen=True)
class Marks:
    """The marks of a sweep.

    Attributes
    ----------
    letters : mapping of str to str
        The letter of each kind that some points have, and others do not.
    common : tuple of str
        Kinds that all points have. They have no mark, since they distinguish nothing.
    """

    letters: Mapping[str, str]
    common: tuple[str, ...]

    @classmethod
    def of(cls, summaries: Sequence[Mapping[str, Any]]) -> Marks:
        """The marks of these points. Points without a result have no notes."""
        kinds = [note_kinds(row) for row in summaries if row["seeds"]]
        all_kinds = dict.fromkeys(kind for of in kinds for kind in of)
        common = (
            tuple(kind for kind in all_kinds if all(kind in of for of in kinds)) if len(kinds) > 1 else ()
        )
        marked = [kind for kind in all_kinds if kind not in common]
        # There are some twenty kinds of notes.
        return cls({kind: chr(ord("a") + n) for n, kind in enumerate(marked)}, common)

    def of_point(self, row: Mapping[str, Any]) -> str:
        """The mark of a point, such as ``[ac]``; empty without notes."""
        letters = "".join(sorted(self.letters[kind] for kind in note_kinds(row) if kind in self.letters))
        return f"[{letters}]" if letters else ""

    def after(self, text: str, row: Mapping[str, Any]) -> str:
        """A text with the mark of a point behind it."""
        return f"{text} {self.of_point(row)}".rstrip()

    def legend(self, rows: Sequence[Mapping[str, Any]]) -> str:
        """The meaning of the marks of these points: ``[a] saturated, [b] cut-off``; empty without marks."""
        used = {kind for row in rows for kind in note_kinds(row)}
        return ", ".join(f"[{letter}] {kind}" for kind, letter in self.letters.items() if kind in used)

    def lines(self, rows: Sequence[Row]) -> list[tuple[str, str, int, str]]:
        """For each kind its mark, its name, the number of points with it and the message of the first of
        them."""
        found: dict[str, tuple[set[int], str]] = {}
        for row in rows:
            for kind, message in row.notes.items():
                found.setdefault(kind, (set(), f"{row.case.point.label}: {message}"))[0].add(
                    row.case.point.number
                )
        order = [kind for kind in [*self.letters, *self.common] if kind in found]
        return [
            (
                f"[{self.letters[kind]}]" if kind in self.letters else "all",
                kind,
                len(found[kind][0]),
                found[kind][1],
            )
            for kind in order
        ]
