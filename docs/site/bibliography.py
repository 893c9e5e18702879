"""The sources that the pages name, once each, with the pages that name them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

NAME = r"[A-ZÀ-ÖØ-Þ][\w'’-]+"
AUTHOR = rf"(?:[A-ZÀ-ÖØ-Þ]\w?\.[- ]?)+ ?(?:(?:de|van|von|der|Di|De) )*{NAME}(?: {NAME})?"
AUTHORS = rf"{AUTHOR}(?:,? and {AUTHOR}|, {AUTHOR})*(?: et al\.)?"
YEAR = r"\b(?:19|20)\d\d\b"
# In a sentence: authors, the title in quotes or italics, where it was published, the year.
IN_PROSE = re.compile(rf"({AUTHORS}),? (?:\"([^\"]+)\"|\*([^*]+)\*),? \(?([^;\"]{{0,120}}?{YEAR})")
# An item of a list below the heading "Sources".
LISTED = re.compile(rf"^- ([^\n]+?): (.+?)[.] (.*?{YEAR})", re.DOTALL)
SECTION = re.compile(r"^## Sources\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


@dataclass
class Source:
    """A publication, and the pages that name it."""

    authors: str
    title: str
    where: str
    pages: list[str] = field(default_factory=list)

    @property
    def order(self) -> tuple[str, str]:
        """The surname of the first author, without initials, then the year."""
        first = re.split(r",| and | et al", self.authors)[0]
        surname = re.sub(r"^(?:[A-ZÀ-ÖØ-Þ]\w?\.[- ]?)+ ?", "", first)
        plain = unicodedata.normalize("NFKD", surname).encode("ascii", "ignore").decode()
        return plain.lower(), self.where[-4:]


def named(text: str) -> Iterator[Source]:
    """The publications that a page names."""
    listed = SECTION.search(text)
    items = re.split(r"\n(?=- )", listed[1].strip()) if listed else []
    for item in items:
        item = " ".join(item.split())
        # Whoever quotes a title in a list is found as in a sentence.
        found = None if '"' in item else LISTED.match(item)
        if found:
            yield Source(found[1], found[2], found[3])
    for found in IN_PROSE.finditer(" ".join(text.split())):
        authors, quoted, slanted, where = found.groups()
        title = (quoted or slanted).rstrip(",")
        # Some name the journal only, in italics.
        if len(title.split()) > 2:
            yield Source(authors, title, where)


def sources(root: Path) -> list[Source]:
    """All publications in the order of their authors; those with the same title are one."""
    by_title: dict[str, Source] = {}
    for page in sorted((root / "docs").rglob("*.md")):
        for source in named(page.read_text()):
            # Some pages leave out the subtitle, or give the authors in short.
            key = re.sub(r"\W", "", source.title.lower().partition(":")[0]) + source.where[-4:]
            kept = by_title.setdefault(key, source)
            kept.authors = max(kept.authors, source.authors, key=len)
            kept.title = max(kept.title, source.title, key=len)
            kept.where = max(kept.where, source.where, key=len)
            name = page.relative_to(root).as_posix()
            if name not in kept.pages:
                kept.pages.append(name)
    return sorted(by_title.values(), key=lambda source: source.order)


def page(root: Path, document: Callable[[str], str]) -> str:
    """The page of the site."""
    text = "# Bibliography\n\nThe publications that these pages name, and where. "
    text += "Each page also names sources of other kinds: programs, standards, data sheets.\n\n"
    for source in sources(root):
        pages = []
        for name in source.pages:
            title = re.search(r"^# (.+)$", (root / name).read_text(), re.MULTILINE)
            pages.append(f"[{title[1] if title else name}](/{document(name)})")
        text += f"- {source.authors}: *{source.title}*. {source.where}. In {', '.join(pages)}\n"
    return text
