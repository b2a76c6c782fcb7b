"""Channels: which field a position or a color shows, and on which scale."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

LOOKS = tomllib.loads(Path(__file__).with_name("looks.toml").read_text("utf-8"))
"""Colors and labels, by what has them."""
AUTO = "auto"
"""Title from the declaration of the column."""
TIER_COLOURS: Mapping[str, str] = LOOKS["tiers"]
"""One color per tier in every chart."""
SPARE_COLOURS: Sequence[str] = LOOKS["spare"]
"""Colors of names that a palette does not list."""

# Vega's own ticks of a logarithmic axis are one per tenth of a decade: a gray wall over twelve decades.
_DECADES = [digit * 10.0**power for power in range(-6, 10) for digit in (1, 2, 5)]
_PROBABILITIES = [10.0**power for power in range(-12, 1)]
_DAY = 24
"""Hours."""
Order = Sequence[str] | Literal["data", "-x", "-y", "descending"] | None


@dataclass(frozen=True, slots=True)
class Channel:
    """A field and how it is shown.

    Parameters
    ----------
    field
        Name of the field, or an aggregate of one such as ``"sum(n)"``.
    title
        Title of the axis or legend; None for none.
    type
        ``"Q"`` (number), ``"N"`` (name) or ``"O"`` (ordered value); from the data where empty.
    colours
        Color by name; only names that occur are in the legend.
    options
        What Vega-Lite takes besides: ``scale``, ``axis``, ``legend``, ``sort``, ``stack``, ``bin``.
    is_hours
        Whether the field counts hours of the trace, see :func:`in_days`.
    """

    field: str
    title: str | None = AUTO
    type: str = ""
    colours: Mapping[str, str] | None = None
    options: Mapping[str, Any] | None = None
    is_hours: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    """Several columns drawn as series of one channel: names to labels, and the channel of the values."""

    columns: Mapping[str, str]
    channel: Channel


def axis(
    name: str,
    title: str | None = AUTO,
    *,
    type: str = "",
    order: Order = None,
    scale: Mapping[str, Any] | None = None,
    axis: Mapping[str, Any] | None = None,
    **options: Any,
) -> Channel:
    """Return a channel.

    Parameters
    ----------
    name, title, type
        See :class:`Channel`.
    order
        Order of names: a list, ``"data"`` (as they come), ``"-x"`` (by descending x); alphabetical where None.
    scale, axis, options
        Vega-Lite's, as they are: ``scale={"zero": False}``, ``axis={"format": "%"}``, ``legend=None``.
    """
    if order is not None:
        # Vega-Lite sorts names by the alphabet unless sort is null.
        options["sort"] = None if order == "data" else order
    given = {
        name: dict(value) for name, value in (("scale", scale), ("axis", axis)) if value is not None
    }
    return Channel(name, title, type, options={**options, **given})


def log_axis(
    name: str, title: str | None = AUTO, *, least: float | None = 0.0, **scale: Any
) -> Channel:
    """Return a logarithmic axis with a line at 1, 2 and 5 of each decade from `least` on (None: Vega's own).

    A scale that shows 0 is asked for by ``type="symlog"``.

    Parameters
    ----------
    name, title
        See :class:`Channel`.
    least
        Smallest labeled value, in units of the field; None leaves the ticks to Vega.
    scale
        Vega-Lite's scale, as it is: ``type="symlog"``, ``constant=0.001``.
    """
    ticks = (
        None
        if least is None
        else {"values": [0, *(t for t in _DECADES if t >= least)], "format": ",~r"}
    )
    return axis(name, title, scale={"type": "log", **scale}, axis=ticks)


def count_axis(name: str, title: str | None = AUTO) -> Channel:
    """Return an axis of counts that may be 0, on a logarithmic scale: whole numbers only."""
    return log_axis(name, title, least=1.0, type="symlog")


def duration_axis(name: str, title: str | None = AUTO, **scale: Any) -> Channel:
    """Return a logarithmic axis of seconds that shows 0, labeled in seconds, minutes, hours and days.

    Parameters
    ----------
    name, title
        See :class:`Channel`; the field is in seconds.
    scale
        Vega-Lite's scale, as it is.
    """
    return axis(name, title, scale={"type": "symlog", **scale}, axis=LOOKS["durations"])


def probability_axis(name: str, title: str | None = AUTO) -> Channel:
    """Return a logarithmic axis of small probabilities, with a line per decade."""
    return axis(
        name, title, scale={"type": "log"}, axis={"format": ".0e", "values": _PROBABILITIES}
    )


def hour_axis(name: str = "hour", title: str = "hour of the trace") -> Channel:
    """Return an axis of hours, which :func:`in_days` marks by days where they are many."""
    return replace(axis(name, title, axis={"tickMinStep": 1}), is_hours=True)


def in_days(hours: Channel, last: float) -> Channel:
    """Return an axis of hours with a line after each whole day, which shows the daily rhythm.

    Parameters
    ----------
    hours
        From :func:`hour_axis`.
    last
        Last hour that is drawn; up to three days are left in hours.
    """
    if last <= 3 * _DAY:
        return hours
    labels = {
        "values": list(range(0, int(last) + 1, _DAY)),
        "labelExpr": f"datum.value / {_DAY}",
        "labelOverlap": True,
    }
    return replace(hours, title="day of the trace", options={"axis": labels})


def palette(name: str, colours: Mapping[str, str], title: str | None = AUTO) -> Channel:
    """Return a color channel with a fixed color per name; the legend lists the names that occur.

    Parameters
    ----------
    name, title
        See :class:`Channel`.
    colours
        Color by name; its order is that of the legend.
    """
    return Channel(name, title, "N", colours)


def series(values: str | Channel | None = None, /, **columns: str) -> Series:
    """Draw several columns as series: ``series("tasks per hour", n_new="new", n_again="resubmitted")``.

    `values` is the title of the axis, or its channel (of the field ``value``).

    Parameters
    ----------
    values
        Title of the value axis, or its channel.
    columns
        Names of the columns to the labels of their series.
    """
    return Series(columns, values if isinstance(values, Channel) else Channel("value", values))


def when(test: str, then: Any, otherwise: Any) -> Any:
    """Return `then` where a Vega expression over ``datum`` holds, else `otherwise` (constants).

    Parameters
    ----------
    test
        Vega expression over ``datum``, the row.
    then, otherwise
        Values of the channel: a color, an opacity.
    """
    import altair as alt

    return alt.condition(test, alt.value(then), alt.value(otherwise))
