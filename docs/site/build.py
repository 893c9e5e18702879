"""Builds the documentation site: the pages of the repository, and reference pages made from its sources.

    python docs/site/build.py [--out FOLDER]

The pages stay as they are on the code host. They are copied into a folder of their own, where Sphinx reads
them, with the links to files that are no pages changed. The build ends with an error for a broken link or
anchor, a page that navigation.toml does not name, an undocumented public name of the Python package, and
anything that a page would load from another site. It needs the optional dependencies `docs`, the built Python
package (for the help of the commands), and no network. With DOCS_RUST=1 it has the output of `cargo doc`.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import api
import bibliography
from navigation import REFERENCE, ROOT, SITE, Navigation, document

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# A page of GitHub shows no more than this for a link, so links have no spaces.
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\]|!\[[^\]]*\]\([^)]*\))*)\]\(([^)\s]+)\)")
FENCED = re.compile(r"^(```|~~~).*?^\1\s*?$", re.MULTILINE | re.DOTALL)


class SiteError(Exception):
    """Something that a reader of the site would miss."""


def repository_address() -> str:
    """The address of the public repository, or nothing as long as there is none."""
    address: str = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["repository"]
    return address.rstrip("/")


class Stage:
    """The folder that Sphinx reads."""

    def __init__(self, folder: Path, navigation: Navigation) -> None:
        self.folder = folder
        self.navigation = navigation
        self.copied = {"README.md", *(page for page in navigation.pages() if not page.startswith(REFERENCE))}
        self.problems: list[str] = []
        self.address = repository_address()
        shutil.rmtree(folder, ignore_errors=True)

    def write(self, name: str, text: str) -> None:
        """Write a page with the list of its children, which the sidebar shows."""
        children = self.navigation.children.get(name, [])
        if children:
            text += self.contents("", name, children)
        file = self.folder / document(name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def contents(self, title: str, page: str, pages: list[str]) -> str:
        """A hidden table of contents."""
        caption = f":caption: {title}\n" if title else ""
        lines = "".join(f"/{document(child).rsplit('.', 1)[0]}\n" for child in pages)
        return f"\n```{{toctree}}\n:hidden:\n{caption}\n{lines}```\n"

    def copy_pages(self) -> None:
        """Copy the pages of the repository, the front page with the sections."""
        for page in sorted(self.copied):
            text = (ROOT / page).read_text()
            text = self.links(page, self.notebook(page, text) if page.endswith(".ipynb") else text)
            if page == "README.md":
                for title, pages in self.navigation.sections:
                    text += self.contents(title, page, pages)
            self.write(page, text)

    def notebook(self, page: str, text: str) -> str:
        """A notebook as Markdown: its cells with their stored outputs."""
        cells = json.loads(text)["cells"]
        shown = []
        for number, cell in enumerate(cells):
            source = "".join(cell["source"])
            shown.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
            for output in cell.get("outputs", []):
                data = output.get("data", {"text/plain": output.get("text", "")})
                if "image/png" in data:
                    picture = f"{Path(page).stem}-{number}.png"
                    file = self.folder / Path(page).parent / picture
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_bytes(base64.b64decode(data["image/png"]))
                    shown.append(f"```{{image}} {picture}\n:alt: Picture that the code above draws\n```")
                else:
                    shown.append(f"```text\n{''.join(data['text/plain']).rstrip()}\n```")
        copy = self.folder / page
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / page, copy)
        # After the heading; this link is to the file itself and not to its page.
        shown.insert(1, f"{{download}}`{Path(page).name} <{Path(page).name}>` is the notebook, to run it.")
        return "\n\n".join(shown) + "\n"

    def links(self, page: str, text: str) -> str:
        """Lead links to where the site has their targets. Code stays as it is."""
        changed, end = "", 0
        for block in FENCED.finditer(text):
            changed += self.links_of_prose(page, text[end : block.start()]) + block[0]
            end = block.end()
        return changed + self.links_of_prose(page, text[end:])

    def links_of_prose(self, page: str, text: str) -> str:
        return LINK.sub(lambda link: self.link(page, link), text)

    def link(self, page: str, link: re.Match[str]) -> str:
        picture, label, target = link.groups()
        # A picture may be the label of a link.
        label = LINK.sub(lambda inner: self.link(page, inner), label)
        path, hash_sign, anchor = target.partition("#")
        if "://" in target or target.startswith("mailto:") or not path:
            return f"{picture}[{label}]({target})"
        file = (ROOT / page).parent.joinpath(path).resolve()
        if not file.is_relative_to(ROOT) or not file.exists():
            self.problems.append(f"{page}: the link to {target} leads nowhere")
            return label
        if file.is_dir() and (file / "README.md").is_file():
            file = file / "README.md"
        name = file.relative_to(ROOT).as_posix()
        if name in self.copied:
            return f"{picture}[{label}](/{document(name)}{hash_sign}{anchor})"
        if self.address and not picture:
            return f"[{label}]({self.address}/blob/main/{name})"
        if file.is_dir():
            # Without an address of the repository there is no page that shows a folder.
            return label
        copy = self.folder / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
        return f"{picture}[{label}](/{name})"


def title_of(text: str) -> str:
    """The first heading of a page."""
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    assert found, "every page begins with a heading"
    return found[1]


def gallery(navigation: Navigation) -> str:
    """The studies, one picture of each."""
    text = (
        "# Gallery\n\nOne picture of each [study](/studies/index.md). A study has the script that makes it.\n"
    )
    text += "\n:::::{container} gallery\n"
    for page in navigation.children["studies/README.md"]:
        study = (ROOT / page).read_text()
        picture = re.search(r"!\[([^\]]*)\]\(([^)\s]+)\)", study)
        if not picture:
            continue
        folder = page.rpartition("/")[0]
        image = f"/{folder}/{picture[2]}"
        text += (
            f"\n::::{{container}}\n```{{image}} {image}\n:alt: {picture[1]}\n:loading: lazy\n```\n\n"
            f"[{title_of(study)}](/{folder}/index.md)\n::::\n"
        )
    return text + ":::::\n"


def commands() -> str:
    """The help of the command and of all its subcommands, as they print it."""
    text = (
        "# Commands\n\nWhat `fabricsim --help` and the help of each command print. The package of Python has "
        "all commands, the program `fabricsim` all but those that say so.\n"
    )

    def add(words: list[str]) -> None:
        nonlocal text
        ended = subprocess.run(
            [sys.executable, "-m", "fabricsim", *words, "--help"],
            capture_output=True,
            text=True,
            env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1"},
        )
        if ended.returncode:
            raise SiteError(
                f"`python -m fabricsim {' '.join(words)} --help` fails (make python):\n{ended.stderr}"
            )
        text += f"\n{'#' * (1 + min(1 + len(words), 2))} {' '.join(['fabricsim', *words])}\n\n"
        text += f"```text\n{ended.stdout.rstrip()}\n```\n"
        listed = re.search(r"^Commands:\n(.*?)(?:^\S|\Z)", ended.stdout, re.MULTILINE | re.DOTALL)
        for name in re.findall(r"^  ([a-z][a-z-]*)  ", listed[1], re.MULTILINE) if listed else []:
            if name != "help":
                add([*words, name])

    add([])
    return text


def crates() -> list[tuple[str, str, str]]:
    """Name and description of each crate, and the folder of its reference, if it has one."""
    found = []
    for file in sorted(ROOT.glob("crates/*/Cargo.toml")):
        read = tomllib.loads(file.read_text())
        package, library = read["package"], read.get("lib", {})
        folder = library.get("name", package["name"]).replace("-", "_") if library.get("doc", True) else ""
        found.append((package["name"], package["description"].removeprefix("FabricSim: "), folder))
    return found


def rust(included: bool) -> str:
    """How the interface of the crates is made, and the crates."""
    text = (
        "# Rust reference\n\n`cargo doc --workspace --no-deps --open` makes the reference of all crates from "
        "their comments. `DOCS_RUST=1 make docs` makes it part of this site. "
        "[Architecture](/ARCHITECTURE.md) has the dependencies of the crates, and "
        "[where to add a part](/ARCHITECTURE.md#where-to-add).\n\n"
        "| crate | content |\n| --- | --- |\n"
    )
    for name, description, folder in crates():
        # No page that Sphinx knows, so that it must not look at this link; the whole site is checked later.
        linked = included and folder
        shown = f'<a href="../rust/{folder}/index.html">{name}</a>' if linked else f"`{name}`"
        text += f"| {shown} | {description} |\n"
    return text


class Addresses(HTMLParser):
    """What a page loads by itself, where its links lead, and where links can lead to in it."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.anchors = {"", "top"}
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect the addresses of an element."""
        values = {name: value or "" for name, value in attrs}
        self.anchors.update(values[name] for name in ("id", "name") if name in values)
        if tag == "a":
            self.links.append(values.get("href", ""))
        elif tag == "link":
            # Styles and icons are loaded; relations such as `next` are links.
            loaded = values.get("rel") in ("stylesheet", "icon", "preload", "preconnect")
            (self.loads if loaded else self.links).append(values.get("href", ""))
        elif "src" in values:
            self.loads.append(values["src"])


def problems_of_site(out: Path) -> list[str]:
    """Links that lead nowhere, and what pages and styles load from other sites."""
    pages = {page: Addresses(page) for page in out.rglob("*.html") if not page.is_relative_to(out / "rust")}
    found = []
    for page, addresses in pages.items():
        name = page.relative_to(out)
        found += [f"{name}: loads {each}" for each in addresses.loads if re.match(r"(\w+:)?//", each)]
        for link in {*addresses.links, *addresses.loads}:
            path, _, anchor = link.partition("#")
            if re.match(r"\w+:|//", link):
                continue
            target = (page.parent / unquote(path.partition("?")[0])).resolve() if path else page
            if target.is_dir():
                target /= "index.html"
            known = pages[target].anchors if target in pages else {anchor}
            if not target.is_file() or unquote(anchor) not in known:
                found.append(f"{name}: the link to {link} leads nowhere")
    for style in out.rglob("*.css"):
        addresses_of_style = re.findall(
            r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\"')]+)", style.read_text()
        )
        found += [f"{style.name}: loads {address}" for address in addresses_of_style]
    return sorted(found)


def sphinx(source: Path, out: Path) -> None:
    """Make HTML; a warning is an error."""
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-c", str(SITE), "-j", "auto", "-q"]
    command += [
        "-W",
        "--keep-going",
        "-d",
        str(source.with_name(source.name + ".doctrees")),
        str(source),
        str(out),
    ]
    if subprocess.run(command).returncode:
        raise SiteError("Sphinx has warned; the pages named above are copies of those of the repository")


def build(out: Path) -> None:
    """Build the whole site."""
    navigation = Navigation()
    with_rust = os.environ.get("DOCS_RUST") == "1"
    stage = Stage(out.with_name(out.name + "-source"), navigation)
    stage.problems += navigation.problems()
    stage.copy_pages()
    pages: dict[str, Any] = {
        "gallery.md": gallery(navigation),
        "commands.md": commands(),
        "rust.md": rust(with_rust),
        "bibliography.md": bibliography.page(ROOT, document),
    }
    for name, text in pages.items():
        stage.write(REFERENCE + name, text)
    reference, undocumented = api.pages(ROOT / "python")
    for name, text in reference.items():
        stage.write(f"{REFERENCE}python/{name}.rst", text)
    stage.problems += undocumented
    if stage.problems:
        raise SiteError("\n".join(stage.problems))
    sphinx(stage.folder, out)
    if with_rust:
        subprocess.run(["cargo", "doc", "--workspace", "--no-deps", "--locked"], cwd=ROOT, check=True)
        target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
        shutil.copytree(target / "doc", out / "rust")
    if problems := problems_of_site(out):
        raise SiteError("\n".join(problems))


def main() -> int:
    """Build the site that the arguments ask for."""
    parser = argparse.ArgumentParser(description="Builds the documentation site.")
    parser.add_argument("--out", type=Path, default=ROOT / "target/docs-site", help="folder of the site")
    out: Path = parser.parse_args().out
    try:
        build(out.resolve())
    except SiteError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"The site is {out}/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
