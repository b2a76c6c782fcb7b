"""Charts that a file lists: by question, rows, the channels that all layers share, layers, panels, title and size.

The channels that are `independent` have a scale of their own in each panel.
"""

import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from borgtrace.engine.embedded import ask
from borgtrace.question.charts import channels, marks
from borgtrace.question.charts.data import Rows, thinned
from borgtrace.question.charts.plot import Chart, Plot, beside, resolved, titled

_CHANNELS = {"column": channels.axis} | {
    name: getattr(channels, name)
    for name in (
        "log_axis",
        "count_axis",
        "duration_axis",
        "hour_axis",
        "probability_axis",
        "palette",
        "series",
        "when",
    )
}
_SIZE = ("title", "width", "height")
_OTHERS = (*_SIZE, "rows", "thinned", "layers", "facet", "panels", "independent", "notes")


def listed_chart(path: Path, question: str, module: str) -> Callable[[pa.Table], Chart]:
    """Return the function that draws the answer of a question as a file says.

    Parameters
    ----------
    path
        A TOML file; it is read when a chart is drawn.
    question
        Name of the question.
    module
        Module of the question, which the function is then one of.
    """

    def plot(result: pa.Table) -> Chart:
        said = _read(path)[question]
        if "panels" not in said:
            return _drawn(result, _rows(result, said), said)
        shared = {name: what for name, what in said.items() if name != "title"}
        panels = [(shared | panel, _rows(result, shared | panel)) for panel in said["panels"]]
        drawn = (_drawn(result, rows, panel) for panel, rows in panels if rows)
        return resolved(beside(said.get("title", ""), *drawn), said.get("independent", ()))

    plot.__module__ = module
    return plot


def _rows(result: pa.Table, said: Mapping[str, Any]) -> Rows:
    shown = thinned(result, **said["thinned"]) if "thinned" in said else result
    return ask(shown, said["rows"]) if "rows" in said else shown.to_pylist()


def _drawn(result: pa.Table, rows: Rows, said: Mapping[str, Any]) -> Chart:
    plotted = Plot(
        rows,
        result,
        **_channels({name: what for name, what in said.items() if name not in _OTHERS}),
    )
    for layer in said["layers"]:
        (mark, style), *more = ((name, what) for name, what in layer.items() if name != "rows")
        own = ask(result, layer["rows"]) if "rows" in layer else None
        plotted.add(getattr(marks, mark)(**style), data=own, **_channels(dict(more)))
    if "facet" in said:
        plotted.facet(**said["facet"])
    drawn = plotted.draw(**{name: _known(said[name]) for name in _SIZE if name in said})
    notes = [
        text
        for query in said.get("notes", ())
        for row in ask(result, query)
        for text in row.values()
    ]
    return titled(drawn, said["title"], *notes) if notes else drawn


@cache
def _read(path: Path) -> Mapping[str, Any]:
    return tomllib.loads(path.read_text("utf-8"))


def _channels(said: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _channel(what) for name, what in said.items()}


def _channel(said: Any) -> Any:
    """Make the channel that is named first, of its field and what else is said; a text is the name of a field."""
    if not isinstance(said, dict):
        return said
    (name, field), *more = said.items()
    return _CHANNELS[name](_channel(field), **{option: _known(what) for option, what in more})


def _known(said: Any) -> Any:
    # TOML has no null, by which Vega-Lite leaves out titles and legends, and counts names for the height.
    return None if said is False else said
