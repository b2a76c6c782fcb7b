"""The notebooks of ``examples`` as pages: their words, their code, and what they show."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"
NAMES = ("first_look", "own_cluster", "learning", "overcommit", "what_if")
"""In the order of the table of contents."""
SOURCE = "https://github.com/borgtrace/borgtrace/blob/main/examples"


def page(name: str) -> str:
    """Return the page of a notebook.

    Parameters
    ----------
    name
        Of its file, without the ending.
    """
    notebook = json.loads((EXAMPLES / f"{name}.ipynb").read_text("utf-8"))
    blocks = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"]).strip()
        if cell["cell_type"] == "markdown":
            blocks.append(source)
            continue
        blocks.append(f"```python\n{source}\n```")
        blocks += [shown(output["data"]) for output in cell["outputs"]]
    title, *rest = blocks
    note = f"*The notebook itself: [examples/{name}.ipynb]({SOURCE}/{name}.ipynb).*"
    return "\n\n".join([title, *rest, note]) + "\n"


def shown(data: dict[str, Any]) -> str:
    """Return what a cell shows as Markdown: a picture, a table, or text."""
    texts = {kind: "".join(text) for kind, text in data.items()}
    if "image/svg+xml" in texts:
        picture = b64encode(texts["image/svg+xml"].encode()).decode()
        return (
            f'<div class="output"><img alt="Chart" src="data:image/svg+xml;base64,{picture}"></div>'
        )
    if "text/html" in texts:
        # A blank line would end the block of HTML.
        html = re.sub(r"\n\s*\n", "\n", texts["text/html"].strip())
        return f'<div class="output">\n{html}\n</div>'
    return f"```text\n{texts['text/plain'].strip()}\n```"
