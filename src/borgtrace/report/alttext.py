"""Describe in words what a chart shows."""

from collections.abc import Iterable
from typing import Any

from borgtrace.question.charts import KINDS_OF_CHARTS
from borgtrace.report.views import View, unit_views

MOST_SENTENCES = 4
MOST_NAMES = 8


def describe(spec: dict[str, Any], title: str) -> str:
    """Return a sentence or two: kind of chart, what is on which axis, over which range.

    Examples
    --------
    >>> describe({"mark": "line", "data": {"values": [{"t": 1, "n": 2.5}, {"t": 4, "n": 3}]},
    ...           "encoding": {"x": {"field": "t", "title": "hour"}, "y": {"field": "n"}}}, "How many?")
    'How many? Line chart of n (2.5 to 3) over hour (1 to 4).'
    """
    # Each once: layers of one chart often say the same, as lines and the points on them that answer the pointer do.
    sentences: dict[str, None] = {}
    for view in unit_views(spec):
        sentence = sentence_of_view(view)
        if sentence:
            sentences[sentence] = None
    return " ".join([title, *list(sentences)[:MOST_SENTENCES]])


def sentence_of_view(view: View) -> str:
    """Return what a view shows; nothing where it has no axes."""
    kind = KINDS_OF_CHARTS.get(view.mark)
    x = channel_text(view, "x")
    y = channel_text(view, "y")
    if kind is None or not (x or y):
        return ""
    axes = f"{y} over {x}" if x and y else x or y
    colour = channel_text(view, "color")
    groups = f", by {colour}" if colour else ""
    return f"{kind.capitalize()} of {axes}{groups}."


def channel_text(view: View, channel: str) -> str:
    """Return the title of a channel and the range of its values; nothing where it shows no field."""
    encoding = view.encoding.get(channel)
    if not isinstance(encoding, dict) or not ("field" in encoding or "aggregate" in encoding):
        return ""
    field = str(encoding.get("field", ""))
    aggregate = str(encoding.get("aggregate") or "")
    title = encoding.get("title") or f"{aggregate} {field}".strip()
    # The browser computes aggregates; the range of the rows would not be theirs.
    if aggregate:
        return str(title)
    return f"{title}{extent(row.get(field) for row in view.rows)}"


def extent(values: Iterable[Any]) -> str:
    """Return the range of numbers, or the names where they are few."""
    known = [value for value in values if value is not None]
    numbers = [value for value in known if is_number(value)]
    if numbers:
        return f" ({min(numbers):.4g} to {max(numbers):.4g})"
    names = list(dict.fromkeys(str(value) for value in known))
    return f" ({', '.join(names)})" if 0 < len(names) <= MOST_NAMES else ""


def is_number(value: Any) -> bool:
    """Return whether a value is a number to a reader: True and False are integers to Python alone."""
    return isinstance(value, int | float) and not isinstance(value, bool)
