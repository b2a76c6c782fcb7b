"""Copies the charts that ``borgtrace analyze STORE --out DIR`` wrote into the documentation's gallery.

``make measured`` calls it for the cell of the demo and for the real parts.  Coordinates are rounded to a hundredth
of a pixel, which halves the files.

Usage: python scripts/gallery.py DIR docs/assets/charts/NAME [--without TABLE]
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from borgtrace.catalog import questions

_GEOMETRY = re.compile(r'\b(?:d|transform|x|y|x1|x2|y1|y2|width|height)="[^"]*"')
_DIGITS = re.compile(r"(\.\d\d)\d+")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("answers", type=Path)
    parser.add_argument("charts", type=Path)
    parser.add_argument("--without", default="", help="leave out questions that read this table")
    options = parser.parse_args()
    options.charts.mkdir(parents=True, exist_ok=True)
    for old in options.charts.glob("*.svg"):
        old.unlink()
    for name, question in questions().items():
        drawn = options.answers / f"{name}.svg"
        if drawn.exists() and options.without not in question.reads:
            (options.charts / drawn.name).write_text(
                rounded(drawn.read_text(encoding="utf-8")), encoding="utf-8"
            )


def rounded(svg: str) -> str:
    """Round the geometry of a drawing, not its text: an axis may be labelled 0.001."""
    return _GEOMETRY.sub(lambda found: _DIGITS.sub(r"\1", found[0]), svg)


if __name__ == "__main__":
    main()
