"""How much more CPU a task needs beside its usual neighbors than beside the fewest it had, by its CPI.

Cycles per instruction (CPI) of a task's windows against the number of tasks on its machine in that slot of 300 s, by a
straight line.  A task counts as slowed where it has an hour of windows with both and the line rises by three standard
errors or more; the others are as they are.  Impossible values (outside 0.1 … 50) are left out.  A line is a correlation
in this trace: load of the hour, of the program itself too, moves both.

Reference: Verma et al., EuroSys'15, §5.2 (CPI rises by .3 % with each further task)
"""

import numpy as np

from borgtrace.kernels.arrays import Numbers
from borgtrace.question import NotApplicable, Tables
from borgtrace.scheduling.workload import TASK, Tasks, matched

_SLOT = 300_000_000
_LEAST = 0.1
_MOST = 50.0
_WINDOWS = 12
_ERRORS = 3


def slowdown(tables: Tables, tasks: Tasks) -> Numbers:
    """Return by what share of its CPU the neighbors of each attempt slow it down: float64 (n,), 0 where none do.

    Parameters
    ----------
    tables, tasks
        Of one store.

    Raises
    ------
    NotApplicable
        Where no task has an hour of windows with CPI.
    """
    usage = tables.instance_usage.filter(
        lambda row: row.machine_id.notnull() & (row.collection_type == "JOB")
    )
    placed = usage.mutate(
        slot=usage.start_time // _SLOT,
        share=(usage.end_time - usage.start_time).cast("float64") / _SLOT,
        cpi=usage.cycles_per_instruction.cast("float64"),
    )
    held = placed.group_by("machine_id", "slot").aggregate(held=placed.share.sum())
    both = placed.filter(placed.cpi.between(_LEAST, _MOST)).inner_join(held, ["machine_id", "slot"])
    found = tables.fetch(
        both.group_by(*TASK).aggregate(
            n=both.count(),
            mean=both.held.mean(),
            least=both.held.min(),
            spread=both.held.var(how="pop"),
            cpi=both.cpi.mean(),
            cpi_spread=both.cpi.var(how="pop"),
            product=(both.held * both.cpi).mean(),
        )
    )
    n, mean, least, spread, cpi, cpi_spread, product = (
        found[name].to_numpy() for name in found.column_names[2:]
    )
    NotApplicable.unless(
        (n >= _WINDOWS).any(), "needs CPI of 12 windows of a task on a machine that is known"
    )
    common = product - mean * cpi
    slope = np.divide(common, spread, out=np.zeros_like(common), where=spread > 0)
    # The slope against its standard error, without a division by what may be 0.
    is_steep = slope**2 * spread * (n - 2) >= _ERRORS**2 * (cpi_spread - slope * common)
    more = slope * (mean - least)
    is_slowed = (n >= _WINDOWS) & (slope > 0) & is_steep & (more < cpi)
    share = np.divide(more, cpi - more, out=np.zeros_like(more), where=is_slowed)
    lines = matched(found, tasks)
    return np.where(lines >= 0, share[lines], 0.0)
