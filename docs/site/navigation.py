"""The pages of the site: navigation.toml, compared with the pages of the repository."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SITE = Path(__file__).parent
ROOT = SITE.parents[1]
# Pages that build.py makes.
REFERENCE = "reference/"


class Navigation:
    """The pages of the site by section, from navigation.toml."""

    def __init__(self, file: Path = SITE / "navigation.toml") -> None:
        read = tomllib.loads(file.read_text())
        self.sections: list[tuple[str, list[str]]] = [
            (section["title"], section["pages"]) for section in read["section"]
        ]
        self.children: dict[str, list[str]] = read["children"]

    def pages(self) -> list[str]:
        """All pages but the front page, in reading order."""

        def walk(pages: list[str]) -> Iterator[str]:
            for page in pages:
                yield page
                yield from walk(self.children.get(page, []))

        return [page for _, pages in self.sections for page in walk(pages)]

    def problems(self) -> list[str]:
        """Pages that are missing here, named twice, or not there."""
        named = self.pages()
        wanted = repository_pages()
        own = [page for page in named if not page.startswith(REFERENCE)]
        return [
            *(f"{page}: not in docs/site/navigation.toml" for page in wanted if page not in named),
            *(f"{page}: in docs/site/navigation.toml, but not there" for page in own if page not in wanted),
            *(f"{page}: twice in docs/site/navigation.toml" for page in set(named) if named.count(page) > 1),
            *(f"{page}: has children, but is in no section" for page in self.children if page not in named),
        ]


def repository_pages() -> list[str]:
    """The Markdown pages and notebooks of the repository that readers see, but for the front page."""
    found = [
        *ROOT.glob("*.md"),
        *(ROOT / "examples").rglob("*.ipynb"),
        *(
            page
            for folder in ("docs", "studies", "examples", "benches")
            for page in (ROOT / folder).rglob("*.md")
        ),
    ]
    return sorted(page.relative_to(ROOT).as_posix() for page in found if page != ROOT / "README.md")


def document(page: str) -> str:
    """The name of a page's copy: a README is the front page of its folder, a notebook becomes Markdown."""
    return re.sub(r"\.ipynb$", ".md", re.sub(r"(^|/)README\.md$", r"\1index.md", page))
