"""A plot: data, shared channels, layers of marks, facets; drawn by Altair at the end."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import pyarrow as pa

from borgtrace.question.charts.channels import (
    AUTO,
    LOOKS,
    SPARE_COLOURS,
    TIER_COLOURS,
    Channel,
    Series,
    in_days,
)
from borgtrace.question.charts.data import Rows, melted
from borgtrace.question.charts.marks import Mark
from borgtrace.schema.types import Column, Table

if TYPE_CHECKING:
    import altair as alt

Chart: TypeAlias = "alt.TopLevelMixin"
"""What a recipe's ``plot`` returns."""
WIDTH, HEIGHT = 420, 240
LABELS: Mapping[str, Mapping[str, str]] = LOOKS["labels"]
"""What codes of a result are called in legends and above facets, by field."""
_UNITS = {"s": "s", "h": "h", "d": "days", "%": "%", "1/h": "1/h"}
"""Units that an axis names; counts, ids and fractions speak for themselves."""
_Given = Any
"""Name of a field, Channel, Series, number, or condition."""
_Tips = Sequence[str] | None
"""Fields of a tooltip beside those of the channels; None for all."""


class Plot:
    """A chart to be drawn.

    Parameters
    ----------
    data
        A result, or rows made from one.
    declared
        Whose columns title the axes and fill the tooltips: a declaration, or an answer; `data` where None.
    channels
        Channels of all layers: the name of a field, a :class:`Channel`, a number (a constant place),
        :func:`~borgtrace.question.charts.when`, or for y :func:`~borgtrace.question.charts.series`.
    """

    def __init__(
        self, data: pa.Table | Rows, declared: Table | pa.Table | None = None, /, **channels: _Given
    ) -> None:
        self.rows: Rows = data.to_pylist() if isinstance(data, pa.Table) else list(data)
        named = data if declared is None else declared
        self._columns = (
            {one.name: one for one in named.columns} if isinstance(named, Table) else _said(named)
        )
        self._layers: list[tuple[Mark, Rows | None, dict[str, _Given], _Tips]] = []
        self._facets: dict[str, Any] = {}
        self._independent: Iterable[str] = ()
        for name, given in channels.items():
            # One channel at most is a series: melting twice would multiply the rows. The loop ends here also because
            # it adds a channel to the mapping it walks over.
            if isinstance(given, Series):
                self.rows = melted(self.rows, given.columns)
                channels[name] = given.channel
                labels = Channel(
                    "series", None, "N", options={"sort": list(given.columns.values())}
                )
                channels.setdefault("color", labels)
                break
        self._channels = channels

    def add(
        self, mark: Mark, *, data: Rows | None = None, tips: _Tips = None, **channels: _Given
    ) -> Self:
        """Add a layer.

        Parameters
        ----------
        mark
            What is drawn.
        data
            Rows of this layer alone.
        tips
            Fields of the tooltip beside those of the channels; all declared columns where None.
        channels
            As for the plot; they replace those of the plot.
        """
        self._layers.append((mark, data, channels, tips))
        return self

    def facet(
        self,
        *,
        row: str = "",
        column: str = "",
        wrap: str = "",
        independent: Iterable[str] = (),
        **header: Any,
    ) -> Self:
        """Repeat the plot for each value of a field: in rows, in columns, or wrapped after four.

        `independent` names the channels whose scale is the panel's own; `header` is Vega-Lite's.

        Parameters
        ----------
        row, column, wrap
            Field whose values make the rows, the columns, or panels in reading order; `wrap` excludes the others.
        independent
            Channels whose scale is each panel's own; else all panels share it.
        header
            Vega-Lite's header, as it is.
        """
        import altair as alt

        given = {"row": (alt.Row, row), "column": (alt.Column, column), "facet": (alt.Facet, wrap)}
        for name, (channel, field) in given.items():
            if field:
                label = alt.Header(**_labels(field), **header)
                options = {"sort": None} if name == "facet" else {}
                self._facets[name] = channel(f"{field}:N", title=None, header=label, **options)
        if wrap:
            self._facets["columns"] = 4
        self._independent = independent
        return self

    def draw(self, title: str = "", *, width: int = WIDTH, height: int | None = HEIGHT) -> Chart:
        """Return the Altair chart; `height` None leaves it to the number of names on the y axis.

        Parameters
        ----------
        title
            Heading of the chart; none where empty.
        width, height
            Size of a panel in pixels.
        """
        import altair as alt

        # Without a height Vega-Lite gives every name its own step.
        size = {"width": width} if height is None else {"width": width, "height": height}
        heading = {"title": title} if title else {}
        layers = [self._layer(number > 0, *layer) for number, layer in enumerate(self._layers)]
        drawn = layers[0] if len(layers) == 1 else alt.layer(*layers)
        # Data at the top: Altair refuses to facet layers whose data stand at each layer.
        drawn = drawn.properties(**size, data=alt.Data(values=self.rows))
        if self._facets:
            drawn = drawn.facet(**self._facets)
        return resolved(drawn, self._independent).properties(**heading)

    def _layer(
        self, later: bool, mark: Mark, data: Rows | None, channels: dict[str, _Given], tips: _Tips
    ) -> alt.Chart:
        import altair as alt

        rows = self.rows if data is None else data
        # Only numbers: a reference rule, which shares no channel with the rest and is drawn once, not once a row.
        is_reference = bool(channels) and all(
            isinstance(item, int | float) for item in channels.values()
        )
        given = channels if is_reference else {**self._channels, **channels}
        fields = [item.field if isinstance(item, Channel) else item for item in given.values()]
        shown = [field for field in fields if isinstance(field, str)]
        more = (
            [name for name in self._columns if rows and name in rows[0]] if tips is None else tips
        )
        own = [{}] if is_reference else data
        chart = alt.Chart() if own is None else alt.Chart(alt.Data(values=own))
        encoding = {name: self._encoded(name, item, rows, later) for name, item in given.items()}
        tooltip = (
            []
            if is_reference
            else [self._tip(field, rows) for field in dict.fromkeys([*shown, *more])]
        )
        marked: alt.Chart = getattr(chart, f"mark_{mark.kind}")(**mark.style)
        # A box stands for many rows and has no tooltip of one.
        return marked.encode(
            **encoding, **({"tooltip": tooltip} if tooltip and mark.kind != "boxplot" else {})
        )

    def _encoded(self, name: str, given: _Given, rows: Rows, is_later: bool) -> Any:
        import altair as alt

        if isinstance(given, int | float):
            return alt.datum(given)
        if not isinstance(given, str | Channel):
            return given  # a condition
        channel = given if isinstance(given, Channel) else Channel(given)
        if channel.is_hours:
            # Of the whole plot: its layers share the axis.
            channel = in_days(
                channel, max((row.get(channel.field) or 0 for row in self.rows), default=0)
            )
        type_ = channel.type or _type(channel.field, rows)
        shorthand = f"{channel.field}:{type_}"
        if name in ("x2", "y2"):
            # The far end of a span has the scale and the title of x or y.
            return getattr(alt, name.upper())(shorthand)
        options = dict(channel.options or {})
        if name in ("xOffset", "yOffset"):
            # Offsets have neither axis nor legend, and take no title.
            return getattr(alt, name[0].upper() + name[1:])(shorthand, **options)
        colours = channel.colours or (
            TIER_COLOURS if channel.field == "tier" and name == "color" else {}
        )
        if colours:
            shades = _shades(colours, {row.get(channel.field) for row in rows} - {None})
            options["scale"] = alt.Scale(domain=list(shades), range=list(shades.values()))
        if type_ == "N" and name not in ("x", "y", "text", "order", "detail"):
            options.setdefault("legend", alt.Legend(**_labels(channel.field)))
        titles = {
            "title": self._title(name, channel, type_) if channel.title == AUTO else channel.title
        }
        # Vega-Lite joins the titles of all layers: the first one names the axis.
        if name in ("text", "order", "detail") or (
            is_later and name in ("x", "y") and channel.title == AUTO
        ):
            titles = {}
        return getattr(alt, name[0].upper() + name[1:])(shorthand, **options, **titles)

    def _title(self, name: str, channel: Channel, type_: str) -> str | None:
        """An axis of numbers says what the column is and its unit; names on an axis speak for themselves."""
        if name not in ("x", "y"):
            return channel.field.replace("_", " ")
        if type_ == "N":
            return None
        column = self._columns.get(channel.field)
        labelled = "labelExpr" in (channel.options or {}).get("axis", {})
        return (
            channel.field.replace("_", " ")
            if column is None
            else axis_title(column, with_unit=not labelled)
        )

    def _tip(self, field: str, rows: Rows) -> Any:
        import altair as alt

        type_ = _type(field, rows)
        is_float = type_ == "Q" and any(isinstance(row.get(field), float) for row in rows[:100])
        return alt.Tooltip(f"{field}:{type_}", **({"format": ".6~g"} if is_float else {}))


def _said(data: pa.Table | Rows) -> dict[str, Column]:
    """Return what the columns of an answer say of themselves."""
    fields = (
        [field for field in data.schema if field.metadata] if isinstance(data, pa.Table) else []
    )
    said = {
        field.name: [field.metadata[key].decode() for key in (b"unit", b"doc")] for field in fields
    }
    return {name: Column(name, "string", unit, doc) for name, (unit, doc) in said.items()}


def beside(title: str, *panels: Chart) -> Chart:
    """Put drawn charts side by side under one title.

    Parameters
    ----------
    title
        Heading over all; none where empty.
    panels
        Charts as :meth:`Plot.draw` returns them.
    """
    import altair as alt

    return alt.hconcat(*panels).properties(**({"title": title} if title else {}))


def resolved(chart: Any, independent: Iterable[str]) -> Any:
    """Give each panel of a chart a scale of its own for some channels.

    Parameters
    ----------
    chart
        A drawn chart.
    independent
        The channels; all panels share the scales of the others.
    """
    scales = dict.fromkeys(independent, "independent")
    return chart.resolve_scale(**scales) if scales else chart


def titled(chart: Chart, title: str, *notes: str) -> Chart:
    """Give a chart a heading, with what has to be known to read it in smaller lines below.

    Parameters
    ----------
    chart
        A drawn chart.
    title, notes
        The heading, and the lines.
    """
    import altair as alt

    return chart.properties(title=alt.Title(title, subtitle=list(notes), anchor="start"))


def axis_title(column: Column, *, with_unit: bool = True) -> str:
    """Return the first clause of a column's doc with its unit.

    Parameters
    ----------
    column
        A declared column; its doc begins with what the axis is called.
    with_unit
        Whether to name the unit, where it is one that a reader needs.

    Examples
    --------
    >>> axis_title(Column("wait", "float64", "s", "Mean wait of the group; NULL without one."))
    'mean wait of the group (s)'
    >>> axis_title(Column("cpu", "float64", "fraction", "CPU used."))
    'CPU used'
    """
    text = re.split(r"[;:,(]|\.(?:\s|$)", column.doc)[0].strip()
    # An abbreviation ("CPU used") keeps its capitals.
    text = text[0].lower() + text[1:] if text[1:2].islower() or text[1:2] == " " else text
    unit = _UNITS.get(column.unit) if with_unit else None
    return f"{text} ({unit})" if unit else text


def _shades(colours: Mapping[str, str], present: set[Any]) -> dict[str, str]:
    """Return the colors of the names that occur: else the legend would list the tiers of the other trace too."""
    # A name without a color would be drawn without one, and left out of the legend.
    spare = zip(sorted(present - set(colours)), cycle(SPARE_COLOURS), strict=False)
    return {**{name: colour for name, colour in colours.items() if name in present}, **dict(spare)}


def _labels(field: str) -> dict[str, str]:
    """Let a legend or a header say what the codes of a field are called."""
    return (
        {"labelExpr": f"{json.dumps(LABELS[field])}[(datum.label)] || (datum.label)"}
        if field in LABELS
        else {}
    )


def _type(field: str, rows: Rows) -> str:
    """Names are text and flags; everything else, aggregates too, is a number."""
    values = (row.get(field) for row in rows)
    # An aggregate such as "sum(n)" is no field of a row: it finds nothing and is a number.
    first = next((value for value in values if value is not None), 0)
    return "N" if isinstance(first, str | bool) else "Q"
