"""The notebooks of the documentation run, and print what they show."""

import json
from itertools import islice
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


def errors(cells):
    outputs = [output for cell in cells if cell["cell_type"] == "code" for output in cell["outputs"]]
    return [output for output in outputs if output["output_type"] == "error"]


def test_there_are_notebooks_for_three_applications():
    assert [path.stem for path in NOTEBOOKS] == ["churn", "fraud", "marketing"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_has_its_outputs_and_no_errors(path):
    cells = json.loads(path.read_text())["cells"]
    assert all(cell["outputs"] for cell in cells if cell["cell_type"] == "code")
    assert not errors(cells)


@pytest.fixture(scope="module")
def ran():
    """The cells of each notebook, run one notebook after the other in a kernel that forgets each before the next."""
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    books = [nbformat.read(path, as_version=4) for path in NOTEBOOKS]
    forget = nbformat.v4.new_code_cell  # a new one each time: cells have ids
    whole = nbformat.v4.new_notebook(cells=[cell for book in books for cell in (*book.cells, forget("%reset -f"))])
    options = {"timeout": 600, "kernel_name": "python3", "coalesce_streams": True, "allow_errors": True}
    cells = iter(nbclient.NotebookClient(whole, **options).execute()["cells"])
    return {
        path.stem: list(islice(cells, len(book.cells) + 1))[:-1] for path, book in zip(NOTEBOOKS, books, strict=True)
    }


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_it_shows(path, ran):
    assert not errors(ran[path.stem])
    assert printed(ran[path.stem]) == printed(json.loads(path.read_text())["cells"])
