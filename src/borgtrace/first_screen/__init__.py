"""The cell in ten seconds: what a report begins with, each number and each chart from the answer of a question.

The report shows whatever stands in `TILES`, `CHARTS` and `LINES`; this package alone knows from which questions it is.
"""

from borgtrace.first_screen.lines import (
    CONTENTS,
    LINES,
    RESOURCES,
    Amount,
    ScreenLine,
    overcommit,
)
from borgtrace.first_screen.pictures import CHARTS, ScreenChart
from borgtrace.first_screen.tiles import TILES

__all__ = [
    "CHARTS",
    "CONTENTS",
    "LINES",
    "RESOURCES",
    "TILES",
    "Amount",
    "ScreenChart",
    "ScreenLine",
    "overcommit",
]
