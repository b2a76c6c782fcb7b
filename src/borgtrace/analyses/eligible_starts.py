"""Do tasks run on machines that meet their constraints?

Every start (SCHEDULE) of an attempt with constraints on a known machine, by tier: it breaks them where
the machine does not meet all of them at that instant, or is not there. In force are the constraints that
the last event of the attempt with any demanded, up to the start.

Reference: 2011 format document, task constraints; 2019 proto.
"""

import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from borgtrace.analyses._attempts import TASK, is_known, of_jobs
from borgtrace.analyses._claims import IN_BOTH, ratio
from borgtrace.analyses._results import RESULTS
from borgtrace.analyses._windows import tier
from borgtrace.recipe import Claims, NotApplicable, Recipe, Row, Tables, equals
from borgtrace.recipe.charts import Chart, Plot, axis, bar
from borgtrace.recipe.constraints import fingerprints
from borgtrace.recipe.eligibility import READS, Eligibility

RESULT = RESULTS["eligible_starts"]


def compute(tables: Tables) -> list[Row]:
    """Return starts under constraints, and those that broke them."""
    events, sets = fingerprints(tables)
    found = tables.fetch(_starts(tables, events), "starts")
    NotApplicable.unless(found.num_rows, "no task with constraints starts on a known machine")
    cell = Eligibility(tables)
    # A machine that the cell does not know breaks nothing: what it is, is not known.
    found = found.filter(cell.knows(found["machine_id"].to_numpy()))
    is_broken = np.zeros(found.num_rows, bool)
    codes, machines, times = (found[name].to_numpy() for name in ("fingerprint", "machine_id", "schedule_time"))
    for code in np.unique(codes):
        places = np.flatnonzero(codes == code)
        is_broken[places] = ~cell.allows(sets[int(code)], machines[places], times[places])
    tiers = np.array(found["tier"].to_pylist(), dtype=object)
    starts = {name: is_broken[tiers == name] for name in sorted(set(tiers))}
    return [{"tier": name, "n_starts": len(of), "n_broken": int(of.sum())} for name, of in starts.items()]


def _starts(tables: Tables, events: ir.Table) -> ir.Table:
    """Return starts with what they demand: ``tier``, ``machine_id``, ``schedule_time``, ``fingerprint``."""
    a = of_jobs(tables.instance_attempts)
    # Before the trace a start has no instant at which its machine could be looked at.
    placed = a.filter(is_known(a.schedule_time) & a.machine_id.notnull())
    times = ("begin_time", "schedule_time")
    placed = placed.select(*TASK, "attempt", "machine_id", *times, tier=tier(tables, placed.priority))
    joined = placed.inner_join(events.rename(demanded="time"), list(TASK))
    joined = joined.filter(joined.demanded.between(joined.begin_time, joined.schedule_time))
    latest = ibis.row_number().over(group_by=[*TASK, "attempt"], order_by=ibis.desc("demanded"))
    last = joined.mutate(place=latest).filter(lambda starts: starts.place == 0)
    return last.select("tier", "machine_id", "schedule_time", "fingerprint")


def plot(result: pa.Table) -> Chart:
    """Draw the starts by tier."""
    plotted = Plot(result, x=axis("n_starts", "starts under constraints"), y="tier")
    return plotted.add(bar(), tips=("n_broken",)).draw("Starts under placement constraints", height=130)


CLAIMS = Claims("format documents: a constraint rules where a task may be placed", kind="criterion", scope=IN_BOTH)


@CLAIMS.add("DOC-eligible-starts", equals(0.0, "always"))
def _eligible_starts(result: pa.Table) -> float:
    """tasks start on machines that meet their constraints"""
    return ratio("n_broken", "n_starts", "no task starts under constraints")(result)


RECIPE = Recipe(RESULT, compute, plot, tuple(CLAIMS), reads=READS, order=92)
