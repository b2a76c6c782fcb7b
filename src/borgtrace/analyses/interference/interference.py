"""Do tasks run slower when more tasks share their machine?

Cycles (CPI) and memory accesses (MAI) per instruction of every window, against two things: how many tasks the
machine held in that 300 s slot (summed window time ÷ 300 s, rounded), and how much of its CPU was used. Means
are weighted by the length of the windows; impossible values (CPI outside 0.1 … 50, MAI outside 0 … 1) are left
out. A slot without measured CPU is left out of the means by percent of CPU, but counts by its number of tasks.
A slope shows correlation in this trace, not causation: large machines hold more tasks and run other programs.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from borgtrace.analyses.shared.attempts import of_jobs
from borgtrace.analyses.shared.machine_slots import present_intervals, with_capacity
from borgtrace.analyses.shared.windows import (
    POSSIBLE,
    SLOT_SECONDS,
    amount,
    int_sum,
    level,
    regular,
)
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    NotApplicable,
    Question,
    Tables,
    between,
    charts,
    query_answer,
)
from borgtrace.question.scopes import LIKE_2014

if TYPE_CHECKING:
    import altair as alt

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
        Column("bin", "int64", "1", "Number of tasks; or upper end of five percentage points."),
    ],
    columns=[
        Column("seconds", "int64", "s", "Task time measured under this condition."),
        Column("mean", "float64", "1", "Mean of the metric, weighted by time."),
        Column("deviation", "float64", "1", "Standard deviation of the metric."),
    ],
)


METRICS = {"cpi": ("cycles_per_instruction", 14), "mai": ("memory_accesses_per_instruction", 24)}
"""Name: column, binary digits of its sums."""


def compute(tables: Tables, *, most_tasks: int = 60) -> ir.Table:
    """Return mean and deviation of CPI and MAI per number of tasks and per CPU use of the machine."""
    usage = regular(tables.instance_usage)
    usage = usage.filter(usage.machine_id.notnull())
    # The machine's CPU counts an alloc set as a whole; the tasks on it are counted one by one, in alloc sets or not.
    whole, is_task = usage.alloc_collection_id.isnull(), usage.collection_type == "JOB"
    # Both in one pass: finding the slot of a machine among millions is what takes longest.
    sums = usage.group_by(["machine_id", "slot"]).aggregate(
        n=usage.count(where=whole),
        cpu=int_sum(amount(usage.average_cpu, usage.seconds), where=whole),
        # Time, not rows: two attempts of 100 s in a slot are not two neighbors.
        seconds=int_sum(usage.seconds, where=is_task),
    )
    slots = with_capacity(sums.filter(sums.n > 0), present_intervals(tables.machine_events))
    used = level(slots.cpu, SLOT_SECONDS) / slots.cpu_capacity.cast("float64")
    slots = slots.select(
        "machine_id",
        "slot",
        held=_n_tasks(slots.seconds, most_tasks),
        # Not least(): on DuckDB and Spark it turns a slot of unknown use (NULL) into one of 150 %.
        used=((used * 20.0).ceil().cast("int64") * 5).clip(upper=150),
    )
    rows = of_jobs(usage).inner_join(slots, ["machine_id", "slot"])
    return ibis.union(
        *(_curve(rows, metric, condition) for metric in METRICS for condition in ("held", "used"))
    )


def _n_tasks(seconds: ir.IntegerColumn, most: int) -> ir.IntegerColumn:
    """Turn window time in a slot into a number of tasks: rounded, at least 1, at most `most`."""
    number = (seconds + SLOT_SECONDS // 2) // SLOT_SECONDS
    return ibis.greatest(ibis.least(number, most), 1)


def _curve(rows: ir.Table, metric: str, condition: str) -> ir.Table:
    name, bits = METRICS[metric]
    possible = rows.filter(rows[name].between(*POSSIBLE[name]) & rows[condition].notnull())
    value = possible[name].cast("float64")
    sums = possible.group_by(bin=possible[condition].cast("int64")).aggregate(
        seconds=int_sum(possible.seconds),
        first=int_sum(amount(value, possible.seconds, bits)),
        # Sums of squares give the deviation in one pass; CPI² reaches 2,500, hence the few binary digits.
        second=int_sum(amount(value * value, possible.seconds, bits)),
    )
    mean, square = level(sums["first"], sums.seconds, bits), level(sums.second, sums.seconds, bits)
    return sums.select(
        metric=ibis.literal(metric),
        condition=ibis.literal("tasks" if condition == "held" else "cpu percent"),
        bin="bin",
        seconds="seconds",
        mean=mean,
        # The difference may fall below 0 by rounding.
        deviation=ibis.greatest(square - mean * mean, 0.0).sqrt(),
    )


def slope(result: pa.Table, metric: str, condition: str) -> float:
    """Return the weighted least-squares slope, relative to the mean, per unit of the condition.

    Parameters
    ----------
    result
        A result of this question.
    metric, condition
        Which of its curves.
    """
    rows = [
        row
        for row in result.to_pylist()
        if (row["metric"], row["condition"]) == (metric, condition)
    ]
    if not any(row["seconds"] for row in rows):
        raise NotApplicable(f"no window has a {metric}")
    # Weighted by time: a bin of a few minutes must not steer the line.
    weight, x, y = (
        np.array([row[name] for row in rows], float) for name in ("seconds", "bin", "mean")
    )
    x, y_mean = x - np.average(x, weights=weight), np.average(y, weights=weight)
    spread = float(weight @ x**2)
    if not (spread and y_mean):
        raise NotApplicable("every window was measured under the same condition")
    return float(weight @ (x * (y - y_mean)) / spread / y_mean)


def slope_per_tenth(result: pa.Table) -> float:
    """Return by how much CPI grows with every 10 % of the machine's CPU, relative to its mean."""
    return 10.0 * slope(result, "cpi", "cpu percent")


def chart(answer: pa.Table) -> alt.FacetChart:
    """Draw: instructions on crowded machines (band: one standard deviation)."""
    import altair as alt

    rows = query_answer(
        answer,
        """
        select *, greatest(mean - deviation, 0) as low, mean + deviation as high
        from answer
        """,
    )
    base = charts.base(rows, width=315, height=170).encode(x=alt.X("bin:Q", title=None))
    areas = base.mark_area(opacity=0.2).encode(
        y=alt.Y("low:Q", title=None),
        y2=alt.Y2("high:Q"),
        tooltip=charts.tooltips(rows),
    )
    lines = base.mark_line(point=True).encode(
        y="mean:Q",
        tooltip=charts.tooltips(rows, "bin", "mean", "metric", "condition", "seconds", "deviation"),
    )
    return (
        alt.layer(areas, lines)
        .facet(
            row=charts.rows_of_panels("metric"),
            column=charts.columns_of_panels("condition"),
        )
        .resolve_scale(x="independent", y="independent")
        .properties(title="Instructions on crowded machines (band: one standard deviation)")
    )


CLAIMS = [
    Claim(
        "VERMA-cpi-task",
        statement="CPI grows by about 0.3 % with every task on the machine",
        source="Verma et al., EuroSys'15, §5.2",
        scope=LIKE_2014,
        measure=partial(slope, metric="cpi", condition="tasks"),
        criterion=between(0.0015, 0.006, published=0.003),
    ),
    Claim(
        "VERMA-cpi-cpu",
        statement="CPI grows by less than 2 % with every 10 % of the machine's CPU",
        source="Verma et al., EuroSys'15, §5.2",
        scope=LIKE_2014,
        measure=slope_per_tenth,
        criterion=between(0.0, 0.02, published="< 0.02"),
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
    reference="Verma et al., EuroSys'15, §5.2; the caveat of Zhu et al., Measure 1",
)
