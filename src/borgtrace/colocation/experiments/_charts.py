"""The charts of the packing experiments: machines against overflow, and their spread over instances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from borgtrace.colocation.experiments._outcomes import Summary, summaries

if TYPE_CHECKING:
    import altair as alt

WIDTH, HEIGHT = 460, 320
HUES = {
    "average": "#4c78a8",
    "percentile": "#72b7b2",
    "cantelli": "#b279a2",
    "gpa": "#e45756",
    "gpa-calibrated": "#ff9da6",
    "convolution": "#54a24b",
    "saddlepoint": "#eeca3b",
    "chernoff": "#9d755d",
    "bernstein": "#bab0ac",
    "hoeffding": "#888888",
    "cornish-fisher": "#f58518",
    "request": "#222222",
}
"""One colour per estimator in every chart."""
OVERFLOW = "overflow probability (q)"


def overflow_axis(channel: Any, field: str, title: str = OVERFLOW) -> Any:
    """A logarithmic axis of probabilities, with a line per decade: one per tenth would be a grey wall."""
    import altair as alt

    decades = [10.0**power for power in range(-12, 1)]
    axis = alt.Axis(format=".0e", values=decades)
    return channel(f"{field}:Q", title=title, scale=alt.Scale(type="log"), axis=axis)


def with_floor(rows: Sequence[Summary]) -> list[Summary]:
    """Rows that a logarithmic axis can show: q of 0 becomes half an overflow, marked as ``none seen``."""
    shown = []
    for row in rows:
        least = 0.5 / max(row["trials"], 1)
        shown.append(row | {"shown_q": max(row["q"], least), "seen": "none seen" if row["q"] == 0 else "overflow seen"})
    return shown


def m_q_chart(
    rows: Sequence[Summary], *, title: str = "", target: float | None = None, **channels: Any
) -> alt.LayerChart:
    """Mean machines against mean overflow, one point per cell; `channels` add encodings."""
    import altair as alt

    data = alt.Data(values=with_floor(rows))
    present = [name for name in HUES if any(row["estimator"] == name for row in rows)]
    colour = alt.Color("estimator:N", scale=alt.Scale(domain=present, range=[HUES[n] for n in present]))
    base = alt.Chart(data).encode(
        x=alt.X("m:Q", title="machines ÷ lower bound (m)", scale=alt.Scale(zero=False)),
        y=overflow_axis(alt.Y, "shown_q"),
    )
    tooltip = [
        "label:N",
        "packer:N",
        "data:N",
        "capacity:Q",
        "clairvoyance:Q",
        "m_abs:Q",
        "m:Q",
        alt.Tooltip("q:Q", format=".2e"),
        "n_unplaceable:Q",
    ]
    seen = alt.Scale(domain=["overflow seen", "none seen"], range=[1, 0.35])
    points = base.mark_point(size=70, filled=True).encode(
        color=colour, opacity=alt.Opacity("seen:N", scale=seen), tooltip=tooltip, **channels
    )
    names = base.mark_text(align="left", dx=7, fontSize=9).encode(text="label:N", color=colour)
    layers = [points, names]
    if target is not None:
        promise = alt.Chart(alt.Data(values=[{"q": target}])).mark_rule(strokeDash=[4, 4]).encode(y="q:Q")
        layers.append(promise)
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=title)


def spread_chart(result: pa.Table, column: str, title: str) -> alt.LayerChart:
    """Mean and extremes over the instances of ``m`` or ``q``, one line per cell."""
    import altair as alt

    rows = with_floor(summaries(result))
    for row in rows:
        least = 0.5 / max(row["trials"], 1)
        row["low"] = max(row[f"{column}_low"], least) if column == "q" else row["m_low"]
        row["high"] = max(row[f"{column}_high"], least) if column == "q" else row["m_high"]
        row["middle"] = row["shown_q"] if column == "q" else row["m"]
    if column == "q":
        x = overflow_axis(alt.X, "low", title)
    else:
        x = alt.X("low:Q", scale=alt.Scale(zero=False), title=title)
    base = alt.Chart(alt.Data(values=rows)).encode(y=alt.Y("label:N", title=None, sort=None))
    bars = base.mark_rule().encode(x=x, x2="high:Q", color="packer:N", yOffset="packer:N")
    means = base.mark_point(filled=True).encode(x="middle:Q", color="packer:N", yOffset="packer:N")
    return alt.layer(bars, means).properties(width=300, height=HEIGHT)


def lines(
    rows: Sequence[Summary], x: str, title: str, *, log_x: bool = True, dash: str = "estimator"
) -> alt.LayerChart:
    """Q against one axis of the experiment, one line per estimator and parameter."""
    import altair as alt

    base = alt.Chart(alt.Data(values=with_floor(rows))).encode(
        x=alt.X(f"{x}:Q", title=title, scale=alt.Scale(type="log" if log_x else "linear")),
        y=overflow_axis(alt.Y, "shown_q"),
        color=alt.Color("label:N", title="estimator"),
        tooltip=["label:N", f"{x}:Q", "m:Q", alt.Tooltip("q:Q", format=".2e")],
    )
    return alt.layer(base.mark_line().encode(strokeDash=f"{dash}:N"), base.mark_point(filled=True)).properties(
        width=WIDTH, height=HEIGHT
    )
