"""Says in words what a chart shows."""

from collections.abc import Iterable
from typing import Any

from borgtrace.question.charts import KINDS_OF_CHARTS
from borgtrace.report.views import View, unit_views


def describe(spec: dict[str, Any], title: str) -> str:
    """Return a sentence or two: kind of chart, what is on which axis, over which range.

    Examples
    --------
    >>> describe({"mark": "line", "data": {"values": [{"t": 1, "n": 2.5}, {"t": 4, "n": 3}]},
    ...           "encoding": {"x": {"field": "t", "title": "hour"}, "y": {"field": "n"}}}, "How many?")
    'How many? Line chart of n (2.5 to 3) over hour (1 to 4).'
    """
    # Each once: layers of one chart often say the same, as lines and the points on them that answer the pointer do.
    sentences = dict.fromkeys(filter(None, map(_sentence, unit_views(spec))))
    return " ".join([title, *list(sentences)[:4]])


def _sentence(view: View) -> str:
    kind = KINDS_OF_CHARTS.get(view.mark)
    x, y, colour = (_axis(view, channel) for channel in ("x", "y", "color"))
    if kind is None or not (x or y):
        return ""
    axes = f"{y} over {x}" if x and y else x or y
    return f"{kind.capitalize()} of {axes}{f', by {colour}' if colour else ''}."


def _axis(view: View, channel: str) -> str:
    encoding = view.encoding.get(channel)
    if not isinstance(encoding, dict) or not ("field" in encoding or "aggregate" in encoding):
        return ""
    name = str(encoding.get("field", ""))
    title = encoding.get("title") or " ".join(
        filter(None, (str(encoding.get("aggregate") or ""), name))
    )
    # The browser computes aggregates; the range of the rows would not be theirs.
    extent = "" if encoding.get("aggregate") else _extent(row.get(name) for row in view.rows)
    return f"{title}{extent}"


def _extent(values: Iterable[Any]) -> str:
    known = [value for value in values if value is not None]
    # True and False are integers to Python, and names to a reader.
    numbers = [
        value for value in known if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    if numbers:
        return f" ({min(numbers):.4g} to {max(numbers):.4g})"
    names = list(dict.fromkeys(str(value) for value in known))
    return f" ({', '.join(names)})" if 0 < len(names) <= 8 else ""
