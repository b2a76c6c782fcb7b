"""Runs the notebooks of ``examples`` and writes their outputs into them, pictures among them.

``python docs/notebooks.py --write [NAME…]`` runs them one after another in one fresh folder: they share the cell
that the first of them makes.  What differs from run to run is masked; charts become SVG, which needs no script.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from blocks import masked
from generate.notebooks import EXAMPLES, NAMES
from nbclient import NotebookClient

_DRAW = """import altair
from borgtrace.report.drawable import svg

altair.renderers.register("drawn", lambda spec, **_: {"image/svg+xml": svg(spec), "text/plain": "a chart"})
altair.renderers.enable("drawn")
"""
"""Lets charts be pictures, not scripts that load others from the network."""
_PICTURE = re.compile(r"(data:image/svg\+xml;base64,[A-Za-z0-9+/=]+|<svg.*</svg>)", re.DOTALL)
_STYLE = re.compile(r"<style scoped>.*?</style>\n?", re.DOTALL)
_SECONDS = 600


def executed(name: str, folder: Path) -> Any:
    """Return a notebook with the outputs of a run in a folder."""
    notebook = nbformat.read(EXAMPLES / f"{name}.ipynb", as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(_DRAW))
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=_SECONDS, resources=resources).execute()
    del notebook.cells[0]
    for cell in notebook.cells:
        # Times of the run are nobody's business.
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            results = [output for output in cell.outputs if output.output_type == "execute_result"]
            cell.outputs = [stored_output(output) for output in results]
            cell.execution_count = None
    return notebook


def stored_output(output: Any) -> Any:
    """Return the output of a cell as it is kept: one picture, or one table, or text."""
    kept = {}
    for kind in ("image/svg+xml", "text/html", "text/plain"):
        if kind in output.data:
            kept[kind] = without_run(output.data[kind])
    return nbformat.v4.new_output("display_data", data=kept)


def without_run(text: str) -> str:
    """Return the text of an output without what only one run has: times, and styles that pandas repeats."""
    parts = _PICTURE.split(_STYLE.sub("", text))
    # Letters of a picture are no time.
    return "".join(part if _PICTURE.fullmatch(part) else masked(part) for part in parts)


def main() -> None:
    """Write outputs into notebooks."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", choices=[*NAMES, []])
    parser.add_argument("--write", action="store_true", required=True)
    names = parser.parse_args().names or NAMES
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            notebook = executed(name, Path(folder))
            text = nbformat.writes(notebook)
            (EXAMPLES / f"{name}.ipynb").write_text(text.rstrip("\n") + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
