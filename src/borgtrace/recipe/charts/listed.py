"""Charts that a file lists: by question, the channels that all layers share, the layers, panels, title and size.

A chart needs a function of its own only where it draws something else than columns of the answer.
"""

import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from borgtrace.recipe.charts import channels, marks
from borgtrace.recipe.charts.plot import Chart, Plot

_CHANNELS = {"column": channels.axis} | {
    name: getattr(channels, name)
    for name in ("log_axis", "count_axis", "duration_axis", "hour_axis", "palette", "series", "when")
}
_SIZE = ("title", "width", "height")
_OTHERS = (*_SIZE, "layers", "facet")


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
        plotted = Plot(result, **_channels({name: what for name, what in said.items() if name not in _OTHERS}))
        for layer in said["layers"]:
            (mark, style), *more = layer.items()
            plotted.add(getattr(marks, mark)(**style), **_channels(dict(more)))
        if "facet" in said:
            plotted.facet(**said["facet"])
        return plotted.draw(**{name: _known(said[name]) for name in _SIZE if name in said})

    plot.__module__ = module
    return plot


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
