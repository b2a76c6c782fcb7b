"""A chart as a picture of a page without scripts: one for wide windows and one for phones, light and dark."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from contextlib import suppress
from html import escape
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from borgtrace.question.colours import picture_style
from borgtrace.report.alttext import describe
from borgtrace.report.charts import (
    UndrawableError,
    drop_unused_fields,
    label_whole_numbers,
    reduce_datasets,
)
from borgtrace.report.drawable import specification
from borgtrace.report.paper.layout import PictureLook, as_title, picture_of_width
from borgtrace.report.theme import CONFIG, merged, themed
from borgtrace.report.views import unit_views

if TYPE_CHECKING:
    import altair as alt

NARROW_WINDOW = "(max-width: 48rem)"
"""In which windows a chart is drawn for a phone."""
PHONE = 340
"""Width of a chart on a phone, in pixels."""
WIDE = 720
"""Width of a chart elsewhere."""
LETTERS = 12
FONTS = "Liberation Sans, Arial, Helvetica, sans-serif"
"""The renderer measures texts in the first, and the others have letters of the same width."""
LAYOUT: Mapping[str, Any] = {
    "font": FONTS,
    "padding": 4,
    "legend": {"symbolSize": 60, "rowPadding": 2, "titleLimit": 300},
    "title": {"fontSize": 13, "subtitleFontSize": LETTERS},
    "concat": {"spacing": 16},
    "facet": {"spacing": 16},
}
PAGE_LOOK = PictureLook(
    letters=LETTERS,
    least_panel=300,
    axis_room=64,
    names=130,
    config=merged(CONFIG, dict(LAYOUT)),
)
"""A picture of a page; a unit is a pixel."""


def page_picture(
    chart: alt.TopLevelMixin, title: str, *, width: int = WIDE, note: str = ""
) -> Markup:
    """Return a chart as HTML.

    Parameters
    ----------
    chart
        What a question's ``plot`` returned.
    title
        The question it answers, for the text in its place.
    width
        In pixels, where the window is wide.
    note
        What has to be said in the picture itself, in place of its heading; nothing where empty.
    """
    spec = specification(chart)
    views = list(unit_views(spec))
    if not any(view.rows for view in views):
        return Markup("")
    # A picture may have more points than a browser can move.
    with suppress(UndrawableError):
        reduce_datasets(views)
    drop_unused_fields(spec, views)
    label_whole_numbers(views)
    text = escape(describe(spec, title), quote=True)
    narrow = address(picture(spec, PHONE, note))
    if width <= PHONE:
        return Markup(f'<img alt="{text}" src="{narrow}">')
    wide = address(picture(spec, width, note))
    return Markup(
        f'<picture><source media="{NARROW_WINDOW}" srcset="{narrow}">'
        f'<img alt="{text}" src="{wide}"></picture>'
    )


def picture(spec: dict[str, Any], width: int, note: str = "") -> str:
    """Return an SVG whose colours follow the reader's screen.

    Parameters
    ----------
    spec
        Of a chart.
    width
        In pixels.
    note
        As for :func:`page_picture`.
    """
    page = themed(spec)
    heading = note or (as_title(page["title"]) if "title" in page else "")
    drawing = picture_of_width(page, width, heading, PAGE_LOOK)
    head, end, rest = drawing.partition(">")
    return f"{head}{end}<style>{picture_style(drawing)}</style>{rest}"


def address(drawing: str) -> str:
    """Return an SVG as the address of a picture: scripts inside an SVG of an image never run."""
    return f"data:image/svg+xml;base64,{base64.b64encode(drawing.encode()).decode()}"
