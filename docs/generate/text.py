"""Docstrings and tables as Markdown."""

from __future__ import annotations

import inspect
import re

SECTIONS = (
    "Parameters",
    "Attributes",
    "Returns",
    "Yields",
    "Raises",
    "Where it is wrong",
    "See Also",
    "Notes",
    "References",
    "Examples",
    "Example",
    "Warns",
    "Other Parameters",
)
_HEADING = re.compile(rf"^({'|'.join(SECTIONS)})\n-{{3,}}$", re.MULTILINE)
_ITEM = re.compile(r"^(?=\S)", re.MULTILINE)


def plain(text: str) -> str:
    """Return docstring markup as Markdown: roles and double backticks become code.

    >>> plain("see :func:`~borgtrace.open` and ``x``")
    'see `open` and `x`'
    """
    text = re.sub(r":[a-z]+:`~[\w.]*?(\w+)`", r"`\1`", text)
    text = re.sub(r":[a-z]+:`([^`]+)`", r"`\1`", text)
    return re.sub(r"``(.+?)``", r"`\1`", text)


def table(headings: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = ["| " + " | ".join(headings) + " |", "|" + " --- |" * len(headings)]
    lines += [
        "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |"
        for row in rows
    ]
    return "\n".join(lines) + "\n"


def docstring(thing: object) -> str:
    """Return the docstring of anything as Markdown, sections in bold and examples as code."""
    text = inspect.getdoc(thing) or ""
    parts = _HEADING.split(text)
    blocks = [_body(parts[0])]
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        blocks.append(f"**{name}**")
        blocks.append(_items(body) if name in SECTIONS[:5] else _body(body))
    return "\n\n".join(block for block in blocks if block)


def _body(text: str) -> str:
    """Doctests become Python code; what is indented behind ``::`` becomes text."""
    blocks, pending = [], []
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
        if paragraph.lstrip().startswith(">>>"):
            blocks.append("```pycon\n" + inspect.cleandoc(paragraph) + "\n```")
        elif pending and paragraph.startswith("    "):
            blocks.append("```text\n" + inspect.cleandoc("\n" + paragraph) + "\n```")
            continue
        else:
            blocks.append(plain(re.sub(r"::$", ":", paragraph)))
        pending = [paragraph] if paragraph.endswith("::") else []
    return "\n\n".join(block for block in blocks if block.strip())


def _items(text: str) -> str:
    items = [item for item in _ITEM.split(inspect.cleandoc(text)) if item.strip()]
    lines = []
    for item in items:
        head, _, body = item.partition("\n")
        body = " ".join(plain(inspect.cleandoc(body)).split())
        lines.append(f"- `{head.strip()}`" + (f" – {body}" if body else ""))
    return "\n".join(lines)


def first_sentence(thing: object) -> str:
    """Return the first paragraph of a docstring, on one line."""
    text = inspect.getdoc(thing) or ""
    return plain(" ".join(text.partition("\n\n")[0].split()))
