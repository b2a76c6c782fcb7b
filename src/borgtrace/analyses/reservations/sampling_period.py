"""What margin does a sampling period need, and what would finer sampling gain?

A reservation for one period is the mean usage of the period before, plus a margin; the margin for a
violation rate is the smallest one that covers all but that share of the task time. Demand is
measured in two ways: the mean of every 300 s window, and single seconds (2011: the sampled second,
column 20; 2019: the percentiles of the window). Period 0 stands for sampling so fine that the mean
of the running window itself is known: only variation inside five minutes remains. Margins are
upper edges of bins that are 1 percentage point wide up to 128 %, and 1.6 % wide above.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from borgtrace.analyses.reservations.margin_bins import MeasuredWindows, margin_for, needed_margins
from borgtrace.analyses.shared import window_blocks as blocks
from borgtrace.analyses.shared.window_passes import result_of_pass
from borgtrace.analyses.shared.windows import SLOT_SECONDS
from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    Criterion,
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
from borgtrace.question.window_passes import WindowPass

if TYPE_CHECKING:
    import altair as alt

from borgtrace.schema.bounds import Bounds, Items
from borgtrace.schema.time import DAY, WINDOW

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
DISTRIBUTION = "cpu_usage_distribution"
"""Percentiles 0, 10 … 100 of a window."""
TAIL_DISTRIBUTION = "tail_cpu_usage_distribution"
"""Percentiles 91 … 99 of a window."""
PERCENTILE_WEIGHTS = np.array([10] * 9 + [1] * 10)
"""Weights of percentiles 10 … 90, 91 … 99 and 100: each stands for what lies below it."""
SAMPLE_WEIGHTS = np.array([100])
"""Weight of the sampled second, the only one there is."""
NO_MARGIN = "no task was measured in this way, or no finite margin suffices"

Periods = Annotated[tuple[Annotated[int, Bounds(1, 31 * DAY // WINDOW)], ...], Items(1, 100)]
"""Sampling periods, in slots of 300 s."""


def compute(tables: Tables, *, periods: Periods = (1, 2, 3, 6, 12)) -> list[Row]:
    """Return the margin each sampling period (in slots of 300 s) needs."""
    tiers = blocks.tier_names(tables)
    (counting,) = passes(tables, periods=periods)
    counts = result_of_pass(tables, counting)
    n_demands, n_periods, *_ = counts.shape
    counts = counts.reshape(n_demands, n_periods, len(tiers), len(DURATIONS), -1)
    rows = rows_of_counts(counts, tiers, periods)
    if not rows:
        raise NotApplicable("no task was measured in two neighboring periods")
    return rows


def passes(tables: Tables, *, periods: tuple[int, ...]) -> tuple[WindowPass]:
    """Return the pass that counts which margins were needed."""
    has_percentiles = tables.dialect.publishes(DISTRIBUTION)
    fine = (DISTRIBUTION, TAIL_DISTRIBUTION) if has_percentiles else ("sampled_cpu",)
    counting = WindowPass(
        question="sampling_period",
        stage="windows",
        parameters=tuple(periods),
        columns=("average_cpu", *fine),
        of_tasks=durations_of_tasks,
        kernel=lambda tables: partial(
            count_needed_margins,
            n_tiers=len(blocks.tier_names(tables)),
            periods=np.array(periods, dtype=np.int64),
            has_percentiles=has_percentiles,
        ),
    )
    return (counting,)


def durations_of_tasks(tables: Tables) -> dict[str, ir.Value]:
    """Return ``duration``, a position in `DURATIONS`."""
    seconds = tables.tasks.seconds
    return {"duration": sum((seconds >= bound).cast("int64") for _, bound in DURATIONS[:-1])}


def count_needed_margins(
    block: pa.Table, n_tiers: int, periods: Index, has_percentiles: bool
) -> Index:
    """Count how much time of a block would have needed which margin."""
    # Both demands are compared with the mean of the period before.
    if block["average_cpu"].null_count:
        block = block.filter(pc.is_valid(block["average_cpu"])).combine_chunks()
    if has_percentiles:
        fine = percentiles_of_windows(block)
        weights = PERCENTILE_WEIGHTS
    else:
        fine = blocks.column(block, "sampled_cpu")[:, None]
        weights = SAMPLE_WEIGHTS
    tier = blocks.integers(block, "tier", n_tiers - 1)
    duration = blocks.integers(block, "duration")
    windows = MeasuredWindows(
        task=blocks.task_numbers(block),
        slot=blocks.integers(block, "slot"),
        seconds=blocks.integers(block, "seconds"),
        average=blocks.column(block, "average_cpu"),
        fine=fine,
        weights=weights,
        group=tier * len(DURATIONS) + duration,
    )
    return np.asarray(needed_margins(windows, n_tiers * len(DURATIONS), periods))


def percentiles_of_windows(block: pa.Table) -> Numbers:
    """Return percentiles 10 … 90, 91 … 99, 100 of each window, shape (n, 19), NaN where a list is not complete."""
    distribution = lists_of_length(block, DISTRIBUTION, 11)
    tail = lists_of_length(block, TAIL_DISTRIBUTION, 9)
    # Nothing lies below percentile 0, and 100 comes after the tail's 91 … 99.
    values = np.concatenate([distribution[:, 1:10], tail, distribution[:, 10:]], axis=1)
    is_incomplete = np.isnan(values).any(axis=1, keepdims=True)
    # All or none: the weights of half a distribution would not add up to 100.
    return np.where(is_incomplete, np.nan, values)


def lists_of_length(block: pa.Table, name: str, length: int) -> Numbers:
    """Return a column of lists, shape (n, length); NaN for a list of another length."""
    lists = block[name].combine_chunks()
    # Lists may be NULL or empty: ingest counts such rows and stores them.
    is_full = np.asarray(lists.value_lengths().fill_null(0)) == length
    full_lists = lists.filter(pa.array(is_full))
    flat = full_lists.flatten().cast(pa.float64()).to_numpy(zero_copy_only=False)
    values = np.full((block.num_rows, length), np.nan)
    values[is_full] = flat.reshape(-1, length)
    return values


def rows_of_counts(counts: Index, tiers: tuple[str, ...], periods: tuple[int, ...]) -> list[Row]:
    """Turn counts of shape (demands, periods + 1, tiers, durations, bins) into rows."""
    durations = tuple(label for label, _ in DURATIONS)
    # The kernel's last plane is "the running window is known": period 0.
    reported_periods = (*periods, 0)
    rows = []
    for tier, counts_of_tier in slices_and_sum(tiers, counts, axis=2).items():
        slices = slices_and_sum(durations, counts_of_tier, axis=2)
        for duration, counts_of_duration in slices.items():
            for demand, counts_of_demand in zip(DEMANDS, counts_of_duration, strict=True):
                for slots, bins in zip(reported_periods, counts_of_demand, strict=True):
                    for row in margins_of_bins(bins):
                        row |= {
                            "tier": tier,
                            "duration": duration,
                            "demand": demand,
                            "period": slots * SLOT_SECONDS,
                        }
                        rows.append(row)
    return rows


def slices_and_sum(names: tuple[str, ...], counts: Index, axis: int) -> dict[str, Index]:
    """Return the slices along an axis by name, and their sum as ``all``."""
    slices = {name: counts.take(position, axis) for position, name in enumerate(names)}
    return {**slices, "all": counts.sum(axis=axis)}


def margins_of_bins(bins: Index) -> list[Row]:
    """Return the margin that each violation rate needs; no rows where nothing was counted."""
    if not bins.any():
        return []
    # The kernel counts hundredths of a second.
    seconds = float(bins.sum()) / 100.0
    rows = []
    for violation in VIOLATIONS:
        margin = margin_for(bins, violation)
        rows.append(
            {
                "violation": violation,
                "margin": margin if np.isfinite(margin) else None,
                "seconds": seconds,
            }
        )
    return rows


def chart(answer: pa.Table) -> alt.FacetChart:
    """Draw the margin over the sampling period, one line per violation rate, for all tasks of each tier."""
    import altair as alt

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


@dataclass(frozen=True)
class PeriodPairs:
    """Pairs of neighboring sampling periods, by what the finer one needs: a smaller, an equal or a larger margin.

    ``larger`` names those that reverse: periods and violation rate.
    """

    smaller: int
    equal: int
    larger: tuple[str, ...]

    def __str__(self) -> str:
        n = self.smaller + self.equal + len(self.larger)
        text = f"smaller in {self.smaller} of {n} pairs, equal in {self.equal}, larger in {len(self.larger)}"
        return f"{text}: {', '.join(self.larger)}" if self.larger else text


def compare_neighbors(answer: pa.Table) -> PeriodPairs:
    """Compare the margins of neighboring sampling periods, at every violation rate, for all tasks together.

    Parameters
    ----------
    answer
        The answer.

    Raises
    ------
    NotApplicable
        There is no pair.
    """
    pairs = query_answer(
        answer,
        """
        with margins as (
            -- Where it is NULL no finite margin suffices.
            select violation, period, coalesce(margin, 'infinity'::double) as margin
            from answer
            where tier = 'all' and duration = 'all' and demand = 'window' and period > 0
        )
        select
            violation,
            period,
            margin,
            lead(period) over by_period as coarser_period,
            lead(margin) over by_period as coarser_margin
        from margins
        window by_period as (partition by violation order by period)
        qualify coarser_period is not null
        order by violation desc, period
        """,
    )
    NotApplicable.unless(pairs, "needs two sampling periods")
    n_smaller = sum(pair["margin"] < pair["coarser_margin"] for pair in pairs)
    larger = tuple(
        f"{pair['period'] / 60:g} against {pair['coarser_period'] / 60:g} min at {pair['violation']:g}"
        for pair in pairs
        if pair["margin"] > pair["coarser_margin"]
    )
    return PeriodPairs(n_smaller, len(pairs) - n_smaller - len(larger), larger)


CLAIMS = [
    Claim(
        "S4-measure2",
        statement=(
            "sampling more finely needs a smaller margin "
            "(every pair of neighboring periods of 5 to 60 minutes, at every violation rate)"
        ),
        source="Zhu et al., Measure 2",
        scope=LIKE_2011,
        measure=compare_neighbors,
        criterion=Criterion("smaller", "larger in no pair", lambda pairs: not pairs.larger),
    ),
    Claim(
        "S4-measure1-margin",
        statement="at 5 minutes a margin of 20 % above the previous usage covers 90 % of the time",
        source="Zhu et al., Measure 1",
        scope=LIKE_2011,
        measure=sql(
            """
            -- Where it is NULL no finite margin suffices.
            select coalesce(margin, 'infinity'::double)
            from answer
            where tier = 'all'
                and duration = 'all'
                and demand = 'window'
                and period = 300
                and violation = 0.1
            """,
            otherwise="no task was measured in two windows in a row",
        ),
        criterion=at_most(0.2),
    ),
    # The paper did not look inside a window.
    Claim(
        "S4-measure2-below",
        statement=(
            "single seconds need a margin even over the mean of their own five minutes "
            "(10 % may exceed it)"
        ),
        source="threshold of ours, beside Zhu et al., Measure 2",
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
            otherwise=NO_MARGIN,
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
    passes=passes,
    reference="Zhu et al., Measure 2",
)
