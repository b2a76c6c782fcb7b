"""A small grammar of charts: from a result and its declaration to a picture.

A chart is data, channels and marks.  Types, axis titles with units and tooltips come from the data and the
declaration of the result; what a chart says itself are its marks, its scales and its title:

>>> import pyarrow as pa
>>> from borgtrace.schema import Column, Table
>>> declared = Table("t", "hour", ("hour",), (
...     Column("hour", "int64", "h", "Hour of the trace, from 0."), Column("n", "int64", "count", "New jobs.")))
>>> plot = Plot(pa.table({"hour": [0, 1], "n": [3, 4]}), declared, x="hour", y="n").add(line())
>>> plot.draw("Arrivals").to_dict()["encoding"]["x"]["title"]
'hour of the trace (h)'
"""

from borgtrace.question.charts.channels import (
    Channel,
    axis,
    count_axis,
    duration_axis,
    hour_axis,
    log_axis,
    palette,
    probability_axis,
    series,
    when,
)
from borgtrace.question.charts.data import added, melted, thinned
from borgtrace.question.charts.marks import (
    area,
    bar,
    box,
    line,
    point,
    rect,
    rule,
    step,
    text,
    tick,
)
from borgtrace.question.charts.plot import HEIGHT, WIDTH, Chart, Plot, beside, titled

__all__ = ["HEIGHT", "WIDTH", "Channel", "Chart", "Plot"]
__all__ += [
    "added",
    "area",
    "axis",
    "bar",
    "beside",
    "box",
    "count_axis",
    "duration_axis",
    "hour_axis",
    "line",
]
__all__ += [
    "log_axis",
    "melted",
    "palette",
    "point",
    "probability_axis",
    "rect",
    "rule",
    "series",
    "step",
]
__all__ += ["text", "thinned", "tick", "titled", "when"]
