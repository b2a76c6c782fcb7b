"""Do tasks run slower when more tasks share their machine?

Cycles (CPI) and memory accesses (MAI) per instruction of every window, against two things: how many tasks the
machine held in that 300 s slot (summed window time ÷ 300 s, rounded), and how much of its CPU was used. Means
are weighted by the length of the windows; impossible values (CPI outside 0.1 … 50, MAI outside 0 … 1) are left
out. A slot without measured CPU, or on a machine whose capacity is not published, is left out of the means by
percent of CPU, but counts by its number of tasks. Slots that use more than 150 % of the machine's CPU share one
bin, and so do those with `most_tasks` or more. A slope shows correlation in this trace, not causation: large
machines hold more tasks and run other programs.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, NamedTuple

import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from borgtrace.analyses.interference.condition_grid import (
    ABOVE_ALL_BINS,
    CONDITIONS,
    NO_MACHINE,
    PERCENT_PER_BIN,
    SECONDS,
    SQUARES,
    TOTAL,
    ConditionGrid,
    conditions_of_codes,
    grid_of_conditions,
)
from borgtrace.analyses.shared import window_blocks as blocks
from borgtrace.analyses.shared.attempts import of_jobs
from borgtrace.analyses.shared.machine_slots import (
    SLOT_SUMS,
    present_intervals,
    slots_of_machines,
    with_capacity,
)
from borgtrace.analyses.shared.window_passes import result_of_pass
from borgtrace.analyses.shared.windows import (
    POSSIBLE,
    SLOT_SECONDS,
    amount,
    int_sum,
    level,
    regular,
)
from borgtrace.kernels.arrays import Index
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    Measure,
    NotApplicable,
    Question,
    Tables,
    below,
    between,
    charts,
    query_answer,
)
from borgtrace.question.scopes import LIKE_2014
from borgtrace.question.window_passes import WindowPass

if TYPE_CHECKING:
    import altair as alt

from borgtrace.schema.bounds import Bounds

ANSWER = Answer(
    grain="metric, condition and bin",
    key=[
        Column("metric", "string", "id", "Hardware counter: cpi or mai."),
        Column(
            "condition",
            "string",
            "id",
            "What the bins count: tasks on the machine, or percent of its CPU in use.",
        ),
        Column(
            "bin",
            "int64",
            "1",
            "Number of tasks, the last bin all from it on; or upper end of 5 percentage points, 155 all above 150.",
        ),
    ],
    columns=[
        Column("seconds", "int64", "s", "Task time measured under this condition."),
        Column("mean", "float64", "1", "Mean of the metric, weighted by time."),
        Column("deviation", "float64", "1", "Standard deviation of the metric."),
    ],
)


class HardwareCounter(NamedTuple):
    """A hardware counter."""

    column: str
    bits: int
    """Binary digits of its sums."""


METRICS = {
    "cpi": HardwareCounter("cycles_per_instruction", 14),
    "mai": HardwareCounter("memory_accesses_per_instruction", 24),
}


def compute(tables: Tables, *, most_tasks: Annotated[int, Bounds(1, 10_000)] = 60) -> ir.Table:
    """Return mean and deviation of CPI and MAI per number of tasks and per CPU use of the machine."""
    sums = sums_over_windows(tables, most_tasks) if tables.has_blocks else None
    if sums is None:
        sums = condition_sums(tables, most_tasks)
    curves = [curve(sums, metric, condition) for metric in METRICS for condition in CONDITIONS]
    return ibis.union(*curves)


def passes(tables: Tables, *, most_tasks: int) -> tuple[WindowPass]:
    """Return the pass over the windows of tasks."""
    return (
        WindowPass(
            question="interference",
            stage="windows",
            parameters=(most_tasks,),
            columns=["machine_id", *(counter.column for counter in METRICS.values())],
            of_tasks=None,
            kernel=lambda tables: partial(sum_block, grid=grid_of_machines(tables, most_tasks)),
        ),
    )


def grid_of_machines(tables: Tables, most_tasks: int) -> ConditionGrid | None:
    """Return the grid of :func:`machine_conditions`."""
    conditions = machine_conditions(tables, most_tasks)
    return grid_of_conditions(tables, slots_of_machines(tables), conditions, most_tasks)


def sums_over_windows(tables: Tables, most_tasks: int) -> ir.Table | None:
    """Return the rows of :func:`condition_sums` by compiled code; None where slots and machines are too many.

    In SQL the slot of each window is looked for among millions, at random in memory.  In the order of tasks a machine
    and its slots follow each other: that takes a fifth.
    """
    (summing,) = passes(tables, most_tasks=most_tasks)
    sums = result_of_pass(tables, summing)
    return None if sums is None else ibis.memtable(rows_of_sums(sums))


def sum_block(block: pa.Table, grid: ConditionGrid | None) -> Index | None:
    """Return the sums of a block of windows by code of the condition; None without a grid."""
    if grid is None:
        return None
    counters = METRICS.values()
    return grid.sum_windows(
        machine=blocks.integers(block, "machine_id", NO_MACHINE),
        slot=blocks.integers(block, "slot"),
        seconds=blocks.integers(block, "seconds"),
        values=np.stack([blocks.column(block, counter.column) for counter in counters]),
        possible=np.array([POSSIBLE[counter.column] for counter in counters]),
        one=np.array([2.0**counter.bits for counter in counters]),
    )


def rows_of_sums(sums: Index) -> pa.Table:
    """Return sums of shape (codes, metrics, 3) as rows of :func:`condition_sums`, without those of nothing."""
    codes = np.flatnonzero(sums[:, :, SECONDS].any(axis=1))
    tasks, percent = conditions_of_codes(codes)
    columns = {"tasks": pa.array(tasks), "cpu percent": percent}
    for position, metric in enumerate(METRICS):
        of_metric = sums[codes, position]
        # As a sum of no rows is none in SQL.
        is_missing = of_metric[:, SECONDS] == 0
        columns[f"{metric}_seconds"] = pa.array(of_metric[:, SECONDS], mask=is_missing)
        columns[f"{metric}_total"] = pa.array(of_metric[:, TOTAL], mask=is_missing)
        columns[f"{metric}_squares"] = pa.array(of_metric[:, SQUARES], mask=is_missing)
    return pa.table(columns)


def condition_sums(tables: Tables, most_tasks: int) -> ir.Table:
    """Return sums of both metrics over the windows of tasks, by the conditions on their machine in their slot."""
    windows = of_jobs(regular(tables.instance_usage)).inner_join(
        machine_conditions(tables, most_tasks), ["machine_id", "slot"]
    )
    sums = {}
    for metric, counter in METRICS.items():
        is_possible = windows[counter.column].between(*POSSIBLE[counter.column])
        # NULL, not filtered out: squares of impossible values need not fit into an integer.
        value = is_possible.ifelse(windows[counter.column].cast("float64"), ibis.null("float64"))
        sums[f"{metric}_seconds"] = int_sum(windows.seconds, is_possible)
        sums[f"{metric}_total"] = int_sum(amount(value, windows.seconds, counter.bits))
        # Sums of squares give the deviation in one pass; CPI² reaches 2,500, hence the few binary digits.
        square = amount(value * value, windows.seconds, counter.bits)
        sums[f"{metric}_squares"] = int_sum(square)
    # Both conditions at once: there are few pairs of them, and finding the slot of a window takes longest.
    return windows.group_by(list(CONDITIONS)).aggregate(**sums)


def machine_conditions(tables: Tables, most_tasks: int) -> ir.Table:
    """Return the conditions on each machine in each slot: number of tasks, and percent of its CPU in use."""
    # Tasks are counted on every machine; only their share of its CPU needs a capacity.
    slots = with_capacity(
        slots_of_machines(tables),
        present_intervals(tables.machine_events),
        drops_unknown=False,
    )
    share_used = level(slots.cpu, SLOT_SECONDS) / slots.cpu_capacity.cast("float64")
    percent_used = (share_used * (100.0 / PERCENT_PER_BIN)).ceil().cast("int64") * PERCENT_PER_BIN
    conditions = {
        "tasks": number_of_tasks(slots.task_seconds, most_tasks),
        # Not least(): on DuckDB and Spark it turns a slot of unknown use (NULL) into one of the last bin.
        "cpu percent": percent_used.clip(upper=ABOVE_ALL_BINS),
    }
    return slots.select("machine_id", "slot", **conditions)


def number_of_tasks(seconds: ir.IntegerColumn, most: int) -> ir.IntegerColumn:
    """Turn window time in a slot into a number of tasks: rounded, at least 1, at most `most`."""
    number = (seconds + SLOT_SECONDS // 2) // SLOT_SECONDS
    return ibis.greatest(ibis.least(number, most), 1)


def curve(condition_sums: ir.Table, metric: str, condition: str) -> ir.Table:
    """Return mean and deviation of a metric for each bin of a condition."""
    bits = METRICS[metric].bits
    # Without a possible value there is no sum.
    known = condition_sums.filter(
        condition_sums[f"{metric}_seconds"].notnull() & condition_sums[condition].notnull()
    )
    sums = known.group_by(bin=known[condition].cast("int64")).aggregate(
        seconds=int_sum(known[f"{metric}_seconds"]),
        total=int_sum(known[f"{metric}_total"]),
        total_of_squares=int_sum(known[f"{metric}_squares"]),
    )
    mean = level(sums.total, sums.seconds, bits)
    mean_square = level(sums.total_of_squares, sums.seconds, bits)
    # The difference may fall below 0 by rounding.
    variance = ibis.greatest(mean_square - mean * mean, 0.0)
    return sums.select(
        metric=ibis.literal(metric),
        condition=ibis.literal(condition),
        bin="bin",
        seconds="seconds",
        mean=mean,
        deviation=variance.sqrt(),
    )


def chart(answer: pa.Table) -> alt.FacetChart:
    """Draw the mean of each metric under each condition, within a band of one standard deviation."""
    import altair as alt

    rows = query_answer(
        answer,
        """
        select *, greatest(mean - deviation, 0) as low, mean + deviation as high
        from answer
        """,
    )
    base = charts.base(rows, width=315, height=200).encode(x=alt.X("bin:Q", title=None))
    bands = base.mark_area(opacity=0.2).encode(
        y=alt.Y("low:Q", title=None),
        y2=alt.Y2("high:Q"),
        tooltip=charts.tooltips(rows),
    )
    means = base.mark_line(point=True).encode(
        y="mean:Q",
        tooltip=charts.tooltips(rows, "bin", "mean", "metric", "condition", "seconds", "deviation"),
    )
    return (
        alt.layer(bands, means)
        .facet(
            row=charts.rows_of_panels("metric"),
            column=charts.columns_of_panels("condition"),
        )
        .resolve_scale(x="independent", y="independent")
        .properties(title="Instructions on crowded machines (band: one standard deviation)")
    )


def relative_slope(metric: str, condition: str, *, per: float = 1.0) -> Measure:
    """Measure the weighted least-squares slope of a curve, relative to the mean.

    Parameters
    ----------
    metric, condition
        The curve.
    per
        Units of the condition that the slope is per.
    """

    def measure(answer: pa.Table) -> float:
        rows = [
            row
            for row in answer.to_pylist()
            if row["metric"] == metric and row["condition"] == condition
        ]
        if not any(row["seconds"] for row in rows):
            raise NotApplicable(f"no window has a {metric}")
        # Weighted by time: a bin of a few minutes must not steer the line.
        weight = np.array([row["seconds"] for row in rows], float)
        x = np.array([row["bin"] for row in rows], float)
        y = np.array([row["mean"] for row in rows], float)
        x_centered = x - np.average(x, weights=weight)
        y_mean = np.average(y, weights=weight)
        spread = float(weight @ x_centered**2)
        if not (spread and y_mean):
            raise NotApplicable("every window was measured under the same condition")
        slope = float(weight @ (x_centered * (y - y_mean)) / spread / y_mean)
        return per * slope

    return measure


CLAIMS = [
    Claim(
        "VERMA-cpi-task",
        statement="CPI grows by about 0.3 % with every task on the machine",
        source="Verma et al., EuroSys'15, §5.2",
        scope=LIKE_2014.needing(days=28),
        measure=relative_slope("cpi", "tasks"),
        criterion=between(0.0015, 0.006, published=0.003),
    ),
    Claim(
        "VERMA-cpi-cpu",
        statement="CPI grows by less than 2 % with every 10 % of the machine's CPU",
        source="Verma et al., EuroSys'15, §5.2",
        scope=LIKE_2014,
        measure=relative_slope("cpi", "cpu percent", per=10.0),
        criterion=below(0.02),
    ),
]

QUESTION = Question(
    name="interference",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=["instance_usage", "machine_events"],
    # For the size of the grid of conditions, and again for what is in it.
    shares=[SLOT_SUMS, SLOT_SUMS],
    passes=passes,
    reference="Verma et al., EuroSys'15, §5.2; the caveat of Zhu et al., Measure 1",
)
