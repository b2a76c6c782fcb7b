"""How many measurements does a task have?

The trace of a task is all its usage rows, over all its attempts; its length is their number.
Lengths from 1 to 100 are counted one by one, longer ones by powers of two. Tasks without usage have
no trace.

Reference: definition of a trace in the data pipeline the project started from.
"""

from itertools import pairwise

import ibis

from borgtrace.analyses._attempts import of_jobs
from borgtrace.analyses._windows import int_sum
from borgtrace.question import Recipe, Tables

SINGLE = 100


def compute(tables: Tables) -> ibis.Table:
    """Return the distribution of trace lengths."""
    tasks = of_jobs(tables.tasks)
    tasks = tasks.filter(tasks.n_windows > 0)
    length = tasks.n_windows.cast("int64")
    # 101 … 127, 128 … 255, 256 … 511: the first is what is left of its octave above the single lengths.
    bins = [
        (length < above, low, above - 1)
        for low, above in pairwise([SINGLE + 1, *(2**k for k in range(7, 31))])
    ]
    single = (length <= SINGLE, length)
    low = ibis.cases(
        single, *((test, ibis.literal(least, "int64")) for test, least, _ in bins), else_=length
    )
    high = ibis.cases(
        single, *((test, ibis.literal(most, "int64")) for test, _, most in bins), else_=length
    )
    rows = tasks.select("n_windows", length=low, longest=high)
    return rows.group_by(["length", "longest"]).aggregate(
        n_tasks=rows.count(), n_windows=int_sum(rows.n_windows)
    )


RECIPE = Recipe.declared(compute, reads=("tasks", "instance_usage"), order=64)
