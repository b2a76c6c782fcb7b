"""When are tasks submitted again?

New and repeated submissions per hour. A *lump* is a run of consecutive days, each with more than twice
the resubmissions of the median day.

Reference: Zhu et al., Observation 3.
"""

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from borgtrace.analyses._attempts import counted_events
from borgtrace.analyses._histograms import period
from borgtrace.analyses._windows import int_sum
from borgtrace.question import NotApplicable, Recipe, Tables
from borgtrace.schema.time import HOUR, TRACE_START


def compute(tables: Tables) -> ir.Table:
    """Return first submissions and resubmissions per hour."""
    rows = counted_events(tables.instance_attempts)
    rows = rows.filter((rows.submitted == 1) & (rows.time >= TRACE_START))
    per_hour = rows.group_by(hour=period(rows.time, HOUR, TRACE_START))
    return per_hour.aggregate(n_new=int_sum(rows.new), n_again=int_sum(rows.submitted - rows.new))


def lumps(result: pa.Table) -> int:
    """Count the lumps."""
    days = result["hour"].to_numpy() // 24
    # The median of a few days does not tell what a usual day is.
    NotApplicable.unless(max(days, default=0) >= 6, "the trace is shorter than a week")
    # By day: hours are too noisy for twice the median to mean anything.
    per_day = np.bincount(days, weights=result["n_again"].to_numpy())
    median = np.median(per_day)
    NotApplicable.unless(median, "no task is resubmitted on most days")
    # A lump begins on a busy day that follows one that is not.
    busy = np.concatenate([[False], per_day > 2 * median])
    return int((busy[1:] & ~busy[:-1]).sum())


RECIPE = Recipe.declared(compute, (lumps,), reads=("instance_events",), order=23)
