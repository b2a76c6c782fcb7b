"""What margin does a sampling period need, and what would finer sampling gain?

A reservation for one period is the mean usage of the period before, plus a margin; the margin for a
violation rate is the smallest one that covers all but that share of the task time. Demand is
measured in two ways: the mean of every 300 s window, and single seconds (2011: the sampled second,
column 20; 2019: the percentiles of the window). Period 0 stands for sampling so fine that the mean
of the running window itself is known: what is left is variation inside five minutes. Margins are
upper edges of bins that are 1 percentage point wide up to 128 %, and 1.6 % wide above.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from borgtrace.analyses.reservations.margin_bins import margin_for, needed_margins
from borgtrace.analyses.shared import window_blocks as blocks
from borgtrace.analyses.shared.windows import SLOT_SECONDS
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    NotApplicable,
    Question,
    Row,
    Tables,
    above,
    at_most,
    charts,
    query_answer,
    sql,
)
from borgtrace.question.scopes import LIKE_2011

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="tier, duration, demand, period and violation rate",
    key=[
        Column("tier", "string", "id", "Tier of the tasks, or all."),
        Column("duration", "string", "id", "Class of durations, or all."),
        Column(
            "demand", "string", "id", "What must fit: the mean of a window, or a single second."
        ),
        Column("period", "int64", "s", "Sampling period; 0: the running window's mean is known."),
        Column(
            "violation", "float64", "fraction", "Share of time that may exceed the reservation."
        ),
    ],
    columns=[
        Column(
            "margin",
            "float64",
            "fraction",
            "Margin needed; NULL where none suffices.",
            nullable=True,
        ),
        Column("seconds", "float64", "s", "Task time this rests on."),
    ],
)


DURATIONS = (("under 30 min", 1800.0), ("30 min to 2 h", 7200.0), ("over 2 h", float("inf")))
"""Classes of tasks by the summed length of their windows, with their upper bound in s."""
VIOLATIONS = (0.1, 0.05, 0.01, 0.001)
DEMANDS = ("window", "second")
_LISTS = ("cpu_usage_distribution", "tail_cpu_usage_distribution")
_PERCENTILES = np.array([10] * 9 + [1] * 10)
"""Weight of percentiles 10 … 90, 91 … 99 and 100: each stands for what lies below it."""
_SAMPLE = np.array([100])
"""Weight of the sampled second, the only one there is."""


def compute(tables: Tables, *, periods: tuple[int, ...] = (1, 2, 3, 6, 12)) -> list[Row]:
    """Return the margin each sampling period (in slots of 300 s) needs."""
    names = blocks.tier_names(tables)
    has_percentiles = tables.dialect.publishes(_LISTS[0])
    slots = np.array(periods, dtype=np.int64)
    count = partial(_count, n_tiers=len(names), periods=slots, has_percentiles=has_percentiles)
    counts = blocks.sum_blocks(tables, *_windows(tables, has_percentiles), count, "windows")
    rows = _rows(counts.reshape(*counts.shape[:2], len(names), len(DURATIONS), -1), names, periods)
    if not rows:
        raise NotApplicable("no task was measured in two neighboring periods")
    return rows


def _count(
    block: pa.Table, n_tiers: int, periods: NDArray[np.int64], has_percentiles: bool
) -> NDArray[np.int64]:
    return needed_margins(
        blocks.task_numbers(block),
        blocks.integers(block, "slot"),
        blocks.integers(block, "seconds"),
        blocks.column(block, "average_cpu"),
        _percentiles(block) if has_percentiles else blocks.column(block, "sampled_cpu")[:, None],
        _PERCENTILES if has_percentiles else _SAMPLE,
        blocks.integers(block, "tier", n_tiers - 1) * len(DURATIONS)
        + blocks.integers(block, "duration"),
        n_tiers * len(DURATIONS),
        periods,
    )


def _windows(tables: Tables, has_percentiles: bool) -> tuple[ir.Table, ir.Table]:
    seconds = tables.tasks.seconds
    duration = (seconds >= DURATIONS[0][1]).cast("int64") + (seconds >= DURATIONS[1][1]).cast(
        "int64"
    )
    fine = _LISTS if has_percentiles else ("sampled_cpu",)
    usage, tasks = blocks.task_windows(tables, "average_cpu", *fine, duration=duration)
    # Both demands are compared with the mean of the period before.
    return usage.filter(usage.average_cpu.notnull()), tasks


def _percentiles(block: pa.Table) -> NDArray[np.float64]:
    """Return percentiles 10 … 90, 91 … 99, 100 of each window, NaN where a list is not complete."""
    values = np.full((block.num_rows, _PERCENTILES.size), np.nan)
    for name, length, kept, places in (
        # The list has 0, 10, … 100 %: nothing lies below percentile 0, and 100 comes after the tail's 91 … 99.
        (_LISTS[0], 11, slice(1, 10), slice(0, 9)),
        (_LISTS[1], 9, slice(0, 9), slice(9, 18)),
        (_LISTS[0], 11, slice(10, 11), slice(18, 19)),
    ):
        lists = block[name].combine_chunks()
        # Lists may be NULL or empty: ingest counts such rows and stores them.
        full = np.asarray(lists.value_lengths().fill_null(0)) == length
        flat = (
            lists.filter(pa.array(full)).flatten().cast(pa.float64()).to_numpy(zero_copy_only=False)
        )
        values[full, places] = flat.reshape(-1, length)[:, kept]
    # All or none: the weights of half a distribution would not add up to 100.
    return np.where(np.isnan(values).any(axis=1, keepdims=True), np.nan, values)


def _rows(counts: NDArray[np.int64], names: tuple[str, ...], periods: tuple[int, ...]) -> list[Row]:
    """Turn counts of shape (demands, periods + 1, tiers, durations, bins) into rows."""
    labels = tuple(label for label, _ in DURATIONS)
    return [
        {
            "tier": tier,
            "duration": duration,
            "demand": demand,
            "period": slots * SLOT_SECONDS,
            **row,
        }
        for tier, of_tier in _with_all(names, counts, 2).items()
        for duration, of_class in _with_all(labels, of_tier, 2).items()
        for d, demand in enumerate(DEMANDS)
        # The kernel's last plane is "the running window is known": period 0.
        for p, slots in enumerate((*periods, 0))
        for row in _margins(of_class[d, p])
    ]


def _with_all(
    names: tuple[str, ...], counts: NDArray[np.int64], axis: int
) -> dict[str, NDArray[np.int64]]:
    """Name the slices along an axis, and add their sum as ``all``."""
    return {name: counts.take(place, axis) for place, name in enumerate(names)} | {
        "all": counts.sum(axis=axis)
    }


def _margins(counts: NDArray[np.int64]) -> list[Row]:
    if not counts.any():
        return []
    seconds = float(counts.sum()) / 100.0  # the kernel counts hundredths of a second
    margins = {violation: margin_for(counts, violation) for violation in VIOLATIONS}
    finite = {
        violation: margin if np.isfinite(margin) else None for violation, margin in margins.items()
    }
    return [
        {"violation": rate, "margin": margin, "seconds": seconds} for rate, margin in finite.items()
    ]


def chart(answer: pa.Table) -> alt.FacetChart:
    """Draw: margin over the previous sample that a violation rate needs (0 min: window known)."""
    import altair as alt

    # One line per violation rate, for all tasks of a tier.
    rows = query_answer(
        answer,
        """
        select *, period / 60 as minutes, 100 * margin as percent
        from answer
        where duration = 'all' and margin is not null
        """,
    )
    return (
        charts.base(rows, width=210, height=160)
        .mark_line(point=True)
        .encode(
            x=alt.X("minutes:Q", title="period (minutes)"),
            y=alt.Y(
                "percent:Q",
                title="margin (%)",
                scale=alt.Scale(type="symlog"),
                axis=alt.Axis(values=[0, 1, 10, 100, 1000, 10000, 100000]),
            ),
            color=alt.Color("violation:N", title="violation rate"),
            tooltip=charts.tooltips(
                rows, "minutes", "percent", "violation", "tier", "demand", "seconds"
            ),
        )
        .facet(
            row=charts.rows_of_panels("demand"),
            column=charts.columns_of_panels("tier"),
        )
        .properties(
            title="Margin over the previous sample that a violation rate needs (0 min: window known)"
        )
    )


CLAIMS = [
    Claim(
        "S4-measure2",
        statement="sampling more finely needs a smaller margin (30 minutes against 5)",
        source="Zhu et al., Measure 2",
        scope=LIKE_2011,
        measure=sql(
            """
            select max(margin) filter (period = 1800) - max(margin) filter (period = 300)
            from answer
            where tier = 'all' and duration = 'all' and demand = 'window' and violation = 0.1
            """,
            otherwise="no task was measured in this way, or no finite margin suffices",
        ),
        criterion=above(0),
    ),
    Claim(
        "S4-measure1-margin",
        statement="at 5 minutes a margin of 20 % covers 90 % of the time",
        source="Zhu et al., Measure 1",
        scope=LIKE_2011,
        measure=sql(
            """
            select margin
            from answer
            where tier = 'all'
                and duration = 'all'
                and demand = 'window'
                and period = 300
                and violation = 0.1
            """,
            otherwise="no task was measured in this way, or no finite margin suffices",
        ),
        criterion=at_most(0.2),
    ),
    # The paper did not look inside a window.
    Claim(
        "S4-measure2-below",
        statement=(
            "variation inside five minutes needs a margin too, which finer sampling could follow"
        ),
        source="Zhu et al., Measure 2",
        kind="criterion",
        scope=LIKE_2011,
        measure=sql(
            """
            select margin
            from answer
            where tier = 'all'
                and duration = 'all'
                and demand = 'second'
                and period = 0
                and violation = 0.1
            """,
            otherwise="no task was measured in this way, or no finite margin suffices",
        ),
        criterion=above(0),
    ),
]

QUESTION = Question(
    name="sampling_period",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=["instance_usage", "tasks"],
    reference="Zhu et al., Measure 2",
)
