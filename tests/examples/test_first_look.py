"""The notebook runs from its first cell to its last, and shows what it promises."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat")
NOTEBOOK = Path(__file__).parents[2] / "examples" / "first_look.ipynb"


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The notebook, executed at toy size in an empty folder."""
    client = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    (parameters,) = (
        cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", ())
    )
    assert parameters.source.startswith("machines, hours, seed = ")
    parameters.source = 'machines, hours, seed = 20, 4, 1\nfolder = "toy"'
    folder = tmp_path_factory.mktemp("notebook")
    client.NotebookClient(
        notebook, timeout=180, resources={"metadata": {"path": str(folder)}}
    ).execute()
    return notebook


def _shown(notebook: Any, source: str) -> dict[str, Any]:
    """What the cell with this source shows, by MIME type."""
    (cell,) = (c for c in notebook.cells if c.cell_type == "code" and c.source.endswith(source))
    (output,) = (o for o in cell.outputs if o.output_type == "execute_result")
    return dict(output.data)


def test_it_is_committed_without_outputs() -> None:
    for cell in nbformat.read(NOTEBOOK, as_version=4).cells:
        assert cell.cell_type == "markdown" or (not cell.outputs and cell.execution_count is None)


def test_nothing_is_complained_of(executed: Any) -> None:
    outputs = [output for cell in executed.cells for output in cell.get("outputs", ())]
    assert not [
        o
        for o in outputs
        if o.output_type == "stream" and o.name == "stderr" and "Warning" in o.text
    ]


def test_store_results_and_frames_are_shown_as_tables(executed: Any) -> None:
    store = _shown(executed, "\nstore")["text/html"]
    assert "instance_usage" in store
    assert "synthetic" in store
    assert "<table" in _shown(executed, "\nowners")["text/html"]
    question = _shown(executed, "\nutilization")["text/html"]
    assert "How much of the cell is used" in question
    assert (
        "none of the claims can be judged" in question
    )  # four hours of a toy are too few for a verdict
    assert "needs instance_usage of" in question
    assert "first-look" not in question


@pytest.mark.parametrize("source", ["chart(life)", "utilization.plot()", "packing.plot()"])
def test_charts_are_drawn(executed: Any, source: str) -> None:
    shown = _shown(executed, source)
    assert any(
        kind.startswith("application/vnd.vegalite") or kind == "text/html" for kind in shown
    ), shown.keys()
