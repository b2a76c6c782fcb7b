"""What margin does a sampling period need, and what would finer sampling gain?

A reservation for one period is the mean usage of the period before, plus a margin; the margin for a
violation rate is the smallest that all but that share of the task time stays within. Demand is
taken twice: the mean of every 300 s window, and single seconds (2011: the sampled second, column
20; 2019: the percentiles of the window). Period 0 stands for sampling so fine that the mean of the
running window itself is known: what is left is variation inside five minutes. Margins are upper
edges of bins that are 1 percentage point wide up to 128 %, and 1.6 % wide above.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from borgtrace.analyses._blocks import ORDER, column, integers, sum_blocks, task_numbers, task_windows, tier_names
from borgtrace.analyses._margins import margin_for, needed_margins
from borgtrace.analyses._windows import SLOT_SECONDS
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table

if TYPE_CHECKING:
    import altair as alt

DURATIONS = (("under 30 min", 1800.0), ("30 min to 2 h", 7200.0), ("over 2 h", float("inf")))
"""Classes of tasks by the summed length of their windows, with their upper bound in s."""
VIOLATIONS = (0.1, 0.05, 0.01, 0.001)
DEMANDS = ("window", "second")
_PERCENTILES = np.array([10] * 9 + [1] * 10)
"""Weight of percentiles 10 … 90, 91 … 99 and 100: each stands for what lies below it."""

RESULT = Table(
    "sampling_period",
    "tier, duration, demand, period and violation rate",
    ("tier", "duration", "demand", "period", "violation"),
    (
        Column("tier", "string", "id", "Tier of the tasks, or all.", nullable=False),
        Column("duration", "string", "id", "Class of durations, or all.", nullable=False),
        Column("demand", "string", "id", "What must fit: the mean of a window, or a single second.", nullable=False),
        Column("period", "int64", "s", "Sampling period; 0: the running window's mean is known.", nullable=False),
        Column("violation", "float64", "fraction", "Share of time that may exceed the reservation.", nullable=False),
        Column("margin", "float64", "fraction", "Margin needed; NULL where none suffices."),
        Column("seconds", "float64", "s", "Task time this rests on.", nullable=False),
    ),
)


def compute(tables: Tables, *, periods: tuple[int, ...] = (1, 2, 3, 6, 12)) -> pa.Table:
    """Return the margin each sampling period (in slots of 300 s) needs."""
    names = tier_names(tables.generation)
    lengths = np.array(periods, dtype=np.int64)
    has_percentiles = tables.generation == "2019"

    def count(block: pa.Table) -> NDArray[np.int64]:
        fine = _percentiles(block) if has_percentiles else column(block, "sampled_cpu")[:, None]
        weights = _PERCENTILES if has_percentiles else np.array([100])
        group = integers(block, "tier") * len(DURATIONS) + integers(block, "duration")
        return needed_margins(
            task_numbers(block),
            integers(block, "slot"),
            integers(block, "seconds"),
            column(block, "average_cpu"),
            fine,
            weights,
            group,
            len(names) * len(DURATIONS),
            lengths,
        )

    counts = sum_blocks(tables, _windows(tables, has_percentiles), count, "windows")
    rows = _rows(counts.reshape(*counts.shape[:2], len(names), len(DURATIONS), -1), names, periods)
    if not rows and not tables.is_plan:
        raise NotApplicable("no task was measured in two neighbouring periods")
    return pa.Table.from_pylist(rows, schema=_schema())


def _schema() -> pa.Schema:
    from borgtrace.schema.arrow import arrow_schema

    return arrow_schema(RESULT)


def _windows(tables: Tables, has_percentiles: bool) -> ir.Table:
    seconds = tables.tasks.seconds
    duration = (seconds >= DURATIONS[0][1]).cast("int64") + (seconds >= DURATIONS[1][1]).cast("int64")
    lists = ("cpu_usage_distribution", "tail_cpu_usage_distribution")
    fine = lists if has_percentiles else ("sampled_cpu",)
    rows = task_windows(tables, "average_cpu", *fine, duration=duration)
    rows = rows.filter(rows.average_cpu.notnull())
    return rows.select(*ORDER, "seconds", "slot", "tier", "average_cpu", *fine, duration=rows.duration.fill_null(0))


def _percentiles(block: pa.Table) -> NDArray[np.float64]:
    """Return percentiles 10 … 90, 91 … 99, 100 of each window, NaN where a list is not complete."""
    values = np.full((block.num_rows, _PERCENTILES.size), np.nan)
    for name, length, kept, places in (
        ("cpu_usage_distribution", 11, slice(1, 10), slice(0, 9)),
        ("tail_cpu_usage_distribution", 9, slice(0, 9), slice(9, 18)),
        ("cpu_usage_distribution", 11, slice(10, 11), slice(18, 19)),
    ):
        lists = block[name].combine_chunks()
        full = np.asarray(lists.value_lengths().fill_null(0)) == length
        flat = lists.filter(pa.array(full)).flatten().cast(pa.float64()).to_numpy(zero_copy_only=False)
        values[full, places] = flat.reshape(-1, length)[:, kept]
    return np.where(np.isnan(values).any(axis=1, keepdims=True), np.nan, values)


def _rows(counts: NDArray[np.int64], names: tuple[str, ...], periods: tuple[int, ...]) -> list[dict[str, Any]]:
    """Turn counts of shape (demands, periods + 1, tiers, durations, bins) into rows."""
    per_tier = {name: counts[:, :, place] for place, name in enumerate(names)} | {"all": counts.sum(axis=2)}
    rows = []
    for tier, of_tier in per_tier.items():
        labels = [label for label, _ in DURATIONS]
        per_class = {label: of_tier[:, :, k] for k, label in enumerate(labels)} | {"all": of_tier.sum(axis=2)}
        for duration, of_class in per_class.items():
            for d, demand in enumerate(DEMANDS):
                for p, slots in enumerate((*periods, 0)):
                    rows += _margins(of_class[d, p], tier, duration, demand, slots * SLOT_SECONDS)
    return rows


def _margins(counts: NDArray[np.int64], tier: str, duration: str, demand: str, period: int) -> list[dict[str, Any]]:
    if not counts.any():
        return []
    key = {"tier": tier, "duration": duration, "demand": demand, "period": period}
    seconds = float(counts.sum()) / 100.0
    margins = [(violation, margin_for(counts, violation)) for violation in VIOLATIONS]
    return [
        {**key, "violation": rate, "margin": margin if np.isfinite(margin) else None, "seconds": seconds}
        for rate, margin in margins
    ]


def plot(result: pa.Table) -> alt.Chart:
    """Draw the margin against the period, one line per violation rate, for all tasks of a tier."""
    import altair as alt

    from borgtrace.analyses._charts import WIDTH, rows, spoken_header

    return (
        alt.Chart(
            rows(result), title="Margin over the previous sample that a violation rate needs (0 min: window known)"
        )
        .transform_filter("datum.duration == 'all' && isValid(datum.margin)")
        .transform_calculate(minutes="datum.period / 60", percent="datum.margin * 100")
        .mark_line(point=True)
        .encode(
            x=alt.X("minutes:Q", title="period (minutes)"),
            y=alt.Y(
                "percent:Q",
                title="margin (percent)",
                scale=alt.Scale(type="symlog"),
                axis=alt.Axis(values=[0, 1, 10, 100, 1000, 10_000, 100_000]),
            ),
            color=alt.Color("violation:N", title="violation rate"),
            row=alt.Row("demand:N", title=None, header=spoken_header()),
            column=alt.Column("tier:N", title=None),
            tooltip=["tier:N", "demand:N", "minutes:Q", "violation:N", "percent:Q", "seconds:Q"],
        )
        .properties(width=WIDTH // 2, height=160)
    )


def _margin(result: pa.Table, demand: str, period: int, violation: float) -> float:
    for row in result.to_pylist():
        found = (row["tier"], row["duration"], row["demand"], row["period"], row["violation"])
        if found == ("all", "all", demand, period, violation):
            if row["margin"] is None:
                raise NotApplicable("no finite margin suffices")
            return float(row["margin"])
    raise NotApplicable("no task was measured in this way")


def _growth(result: pa.Table) -> float:
    """Return the margin at 30 minutes minus that at 5, both at 10 % violations."""
    return _margin(result, "window", 1800, 0.1) - _margin(result, "window", 300, 0.1)


CLAIMS = (
    Claim(
        "S4-measure2",
        "sampling more finely needs a smaller margin (30 minutes against 5)",
        "> 0",
        _growth,
        lambda v: v > 0.0,
        "Zhu et al., Measure 2",
    ),
    Claim(
        "S4-measure1-margin",
        "at 5 minutes a margin of 20 % covers 90 % of the time",
        "≤ 0.2",
        lambda r: _margin(r, "window", 300, 0.1),
        lambda v: v <= 0.2,
        "Zhu et al., Measure 1",
    ),
    Claim(
        "S4-measure2-below",
        "variation inside five minutes needs a margin too, which finer sampling could follow",
        "> 0",
        lambda r: _margin(r, "second", 0, 0.1),
        lambda v: v > 0.0,
        "Zhu et al., Measure 2",
    ),
)

RECIPE = Recipe(
    "sampling_period",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("instance_usage", "tasks"),
    reference="Zhu et al., Measure 2",
    order=81,
    topic="Reservations and sampling",
)
