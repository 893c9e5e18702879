"""The notebooks for teachers: they run, and their stored outputs are what they print.

After a change of results: UPDATE_EXPECTED=1 pytest python/tests/test_notebooks.py stores the outputs again.
"""

from __future__ import annotations

import base64
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "examples/notebooks").glob("*.ipynb"))
# Bytes of a picture, and of a notebook with all of them.
LARGEST_PICTURE = 100_000
LARGEST_NOTEBOOK = 250_000

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

pytestmark = pytest.mark.skipif(not NOTEBOOKS, reason="the examples are not here")
each = pytest.mark.parametrize("file", [pytest.param(file, id=file.stem) for file in NOTEBOOKS])


def outputs(notebook: Any) -> list[Any]:
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def printed(notebook: Any) -> list[str]:
    """Texts that cells print, and pictures as such: their bytes depend on the version of matplotlib."""
    texts = []
    for output in outputs(notebook):
        if output["output_type"] == "stream":
            texts.append(output["text"])
        elif "image/png" in output["data"]:
            texts.append("(a picture)")
        else:
            texts.append(output["data"]["text/plain"])
    return texts


def executed(file: Path, folder: Path) -> Any:
    """The notebook after its cells have run in a folder; a cell that fails is an error."""
    notebook = nbformat.read(file, as_version=4)
    client = nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(folder)}})
    client.km = client.create_kernel_manager()
    # This interpreter, independent of the machine's kernels.
    client.km.kernel_spec.argv[0] = sys.executable
    client.execute()
    for cell in notebook.cells:
        # When each cell ran differs from run to run.
        cell.metadata.pop("execution", None)
    notebook.metadata["language_info"] = {"name": "python"}
    return notebook


@each
def test_a_notebook_prints_what_is_stored(file: Path, tmp_path: Path) -> None:
    new = executed(file, tmp_path)
    assert not [output for output in outputs(new) if output.get("name") == "stderr"]
    if os.environ.get("UPDATE_EXPECTED"):
        nbformat.write(new, file)
    assert printed(nbformat.read(file, as_version=4)) == printed(new)


@each
def test_a_notebook_is_small_and_shows_a_picture(file: Path) -> None:
    notebook = nbformat.read(file, as_version=4)
    nbformat.validate(notebook)
    assert file.stat().st_size < LARGEST_NOTEBOOK
    pictures = [
        output["data"]["image/png"] for output in outputs(notebook) if "image/png" in output.get("data", {})
    ]
    sizes = [len(base64.b64decode(picture)) for picture in pictures]
    assert sizes and min(sizes) > 4000 and max(sizes) < LARGEST_PICTURE


@each
def test_a_notebook_ends_with_exercises(file: Path) -> None:
    last = nbformat.read(file, as_version=4).cells[-1]
    assert last.cell_type == "markdown"
    _, heading, tasks = last.source.rpartition("## Exercises\n")
    assert heading and len(re.findall(r"^\d+\. ", tasks, re.MULTILINE)) >= 3


@each
def test_links_of_a_notebook_lead_somewhere(file: Path) -> None:
    for cell in nbformat.read(file, as_version=4).cells:
        for target in re.findall(r"\]\(([^)\s]+)\)", cell.source) if cell.cell_type == "markdown" else []:
            assert (file.parent / target.partition("#")[0]).exists(), f"{file.name} links to {target}"
