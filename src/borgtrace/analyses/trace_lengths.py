"""How many measurements does a task have?

The trace of a task is all its usage rows, over all its attempts; its length is their number.
Lengths from 1 to 100 are counted one by one, longer ones by powers of two. Tasks without usage have
no trace.

Reference: definition of a trace in the data pipeline the project started from.
"""

from itertools import pairwise

import ibis
import pyarrow as pa

from borgtrace.analyses._attempts import of_jobs
from borgtrace.analyses._windows import int_sum
from borgtrace.recipe import Recipe, Tables
from borgtrace.recipe.charts import Chart, Plot, added, log_axis, point

SINGLE = 100


def compute(tables: Tables) -> ibis.Table:
    """Return the distribution of trace lengths."""
    tasks = of_jobs(tables.tasks)
    tasks = tasks.filter(tasks.n_windows > 0)
    length = tasks.n_windows.cast("int64")
    # 101 … 127, 128 … 255, 256 … 511: the first is what is left of its octave above the single lengths.
    bins = [(length < above, low, above - 1) for low, above in pairwise([SINGLE + 1, *(2**k for k in range(7, 31))])]
    single = (length <= SINGLE, length)
    low = ibis.cases(single, *((test, ibis.literal(least, "int64")) for test, least, _ in bins), else_=length)
    high = ibis.cases(single, *((test, ibis.literal(most, "int64")) for test, _, most in bins), else_=length)
    rows = tasks.select("n_windows", length=low, longest=high)
    return rows.group_by(["length", "longest"]).aggregate(n_tasks=rows.count(), n_windows=int_sum(rows.n_windows))


def plot(result: pa.Table) -> Chart:
    """Draw the number of tasks per length on logarithmic axes."""
    rows = added(result, per_length=lambda row: row["n_tasks"] / (row["longest"] - row["length"] + 1))
    x, y = log_axis("length", "usage rows of a task"), log_axis("per_length", "tasks per length")
    return Plot(rows, result, x=x, y=y).add(point(25)).draw("Length of task traces")


def readings(result: pa.Table) -> float:
    """Count the measurements of all tasks; of so many, a few digits are printed."""
    return float(sum(result["n_windows"].to_pylist()))


RECIPE = Recipe.declared(compute, (readings,), plot=plot, reads=("tasks", "instance_usage"), order=64)
