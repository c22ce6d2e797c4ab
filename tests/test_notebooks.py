"""The notebooks of the documentation run, and print what they show."""

import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "docs" / "notebooks").glob("*.ipynb"))


def printed(cells):
    """What the code cells print, as text."""
    return [
        "".join(output.get("text", ""))
        for cell in cells
        if cell["cell_type"] == "code"
        for output in cell["outputs"]
        if output["output_type"] == "stream"
    ]


def test_there_are_notebooks_for_three_applications():
    assert [path.stem for path in NOTEBOOKS] == ["churn", "fraud", "marketing"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_has_its_outputs_and_no_errors(path):
    cells = json.loads(path.read_text())["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(cell["outputs"] for cell in code)
    assert not [output for cell in code for output in cell["outputs"] if output["output_type"] == "error"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_it_shows(path):
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    shown = json.loads(path.read_text())["cells"]
    book = nbformat.read(path, as_version=4)
    ran = nbclient.NotebookClient(book, timeout=600, kernel_name="python3", coalesce_streams=True).execute()
    assert printed(ran["cells"]) == printed(shown)
