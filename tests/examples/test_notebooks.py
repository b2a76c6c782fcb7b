"""Every notebook runs from its first cell to its last, shows what is kept in it, and stands in the documentation."""

from __future__ import annotations

import ast
import base64
import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from borgtrace import synth
from borgtrace.ingest import ingest

pytestmark = pytest.mark.wide

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.ipynb"))
Shown = list[tuple[str, Any]]
"""Sources of cells that end with a value, and the values."""


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cell that all notebooks share, smaller than theirs."""
    folder = tmp_path_factory.mktemp("notebooks")
    synth.generate(folder / "raw", machines=12, hours=8, seed=1)
    ingest([folder / "raw"], folder / "cell")
    return folder / "cell"


def cells(name: str, kind: str) -> list[dict[str, Any]]:
    notebook = json.loads((EXAMPLES / f"{name}.ipynb").read_text("utf-8"))
    return [each for each in notebook["cells"] if each["cell_type"] == kind]


def run(name: str) -> Shown:
    """Run the cells of a notebook here, which needs no second process: what each ends with is shown."""
    names: dict[str, Any] = {}
    shown = []
    for each in cells(name, "code"):
        source = "".join(each["source"])
        body = ast.parse(source).body
        last = body.pop() if isinstance(body[-1], ast.Expr) else None
        exec(compile(ast.Module(body, []), name, "exec"), names)
        if isinstance(last, ast.Expr):
            shown.append((source, eval(compile(ast.Expression(last.value), name, "eval"), names)))
    return shown


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs_and_shows_what_it_keeps(
    name: str, cell: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "learning":
        pytest.importorskip("sklearn")
    pytest.importorskip("pandas")
    (tmp_path / "cell").symlink_to(cell)
    monkeypatch.chdir(tmp_path)
    shown = run(name)
    kept = [each for each in cells(name, "code") if each["outputs"]]
    assert [source for source, _ in shown] == ["".join(each["source"]) for each in kept]
    for (_, value), each in zip(shown, kept, strict=True):
        (output,) = each["outputs"]
        check_output(value, output["data"])


def check_output(value: Any, data: dict[str, Any]) -> None:
    """What is kept of a cell is of the kind that it shows: a picture, a table, or text."""
    if hasattr(value, "save"):
        assert "".join(data["image/svg+xml"]).startswith("<svg")
        assert value.to_dict()["$schema"].startswith("https://vega.github.io/schema/vega-lite")
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        page = value._repr_html_() if hasattr(value, "_repr_html_") else None
    assert (page is not None) == ("text/html" in data)
    kept_page = "".join(data.get("text/html", ""))
    if "data:image/svg+xml;base64," in kept_page:
        picture = kept_page.partition("base64,")[2].partition('"')[0]
        assert base64.b64decode(picture).startswith(b"<svg")
        assert page is not None
        assert "data:image/svg+xml;base64," in page
    assert len(repr(value).splitlines()) <= 40


def test_there_are_five_notebooks() -> None:
    assert NAMES == ["first_look", "learning", "overcommit", "own_cluster", "what_if"]


@pytest.mark.parametrize("name", NAMES)
def test_nothing_of_the_machine_that_ran_it_is_kept(name: str) -> None:
    text = (EXAMPLES / f"{name}.ipynb").read_text("utf-8")
    assert "/tmp" not in text
    assert "<script" not in text
    assert all(each["execution_count"] is None for each in cells(name, "code"))


@pytest.mark.parametrize("name", NAMES)
def test_the_documentation_shows_the_notebook_with_its_pictures(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from generate.notebooks import page

    text = page(name)
    for kind in ("markdown", "code"):
        for each in cells(name, kind):
            assert "".join(each["source"]).strip() in text
    outputs = [each["outputs"][0]["data"] for each in cells(name, "code") if each["outputs"]]
    n_pictures = sum(
        "image/svg+xml" in data or "data:image" in "".join(data.get("text/html", ""))
        for data in outputs
    )
    assert n_pictures
    assert text.count("data:image/svg+xml;base64,") == n_pictures


def test_the_first_look_runs_in_a_kernel(
    cell: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What people run it in shows no warning."""
    nbformat = pytest.importorskip("nbformat")
    client = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    (tmp_path / "cell").symlink_to(cell)
    notebook = nbformat.read(EXAMPLES / "first_look.ipynb", as_version=4)
    resources = {"metadata": {"path": str(tmp_path)}}
    client.NotebookClient(notebook, timeout=180, resources=resources).execute()
    streams = [
        output.text
        for each in notebook.cells
        for output in each.get("outputs", ())
        if output.output_type == "stream" and output.name == "stderr"
    ]
    assert not [text for text in streams if "Warning" in text]
