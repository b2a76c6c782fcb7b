"""How much more CPU a task needs beside its usual neighbors than beside the fewest it had, by its CPI.

Cycles per instruction (CPI) of a task's windows against the number of tasks on its machine in that slot of 300 s, by a
straight line.  A task counts as slowed where it has an hour of windows with both and the line rises by three standard
errors or more; the others are as they are.  Impossible values (outside 0.1 … 50) are left out.  A line is a correlation
in this trace: load of the hour, of the program itself too, moves both.

Reference: Verma et al., EuroSys'15, §5.2 (CPI rises by .3 % with each further task)
"""

import numpy as np
import pyarrow as pa

from borgtrace.kernels.arrays import Numbers
from borgtrace.question import NotApplicable, Tables
from borgtrace.scheduling.workload import TASK, TaskAttempts, matched
from borgtrace.schema.time import SECOND, WINDOW

SLOT_SECONDS = WINDOW // SECOND
CPI_SCALE = 2**18
"""CPI is added up in whole numbers of these parts: 50,000 squares of the largest fit into 64 bits."""
LEAST_CPI = 0.1
MOST_CPI = 50.0
WINDOWS = 12
"""An hour."""
STANDARD_ERRORS = 3


def slowdown(tables: Tables, tasks: TaskAttempts) -> Numbers:
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
    lines = fetch_lines(tables)
    n, least, load_sum, load_squares, cpi_sum, cpi_squares, products = (
        lines[name].to_numpy() for name in lines.column_names[2:]
    )
    least = least / SLOT_SECONDS
    mean = load_sum / n / SLOT_SECONDS
    spread = load_squares / n / SLOT_SECONDS**2 - mean**2
    cpi = cpi_sum / n / CPI_SCALE
    cpi_spread = cpi_squares / n / CPI_SCALE**2 - cpi**2
    product = products / n / (SLOT_SECONDS * CPI_SCALE)
    is_long = n >= WINDOWS
    NotApplicable.unless(
        is_long.any(), "needs CPI of 12 windows of a task on a machine that is known"
    )
    covariance = product - mean * cpi
    slope = np.divide(
        covariance,
        spread,
        out=np.zeros_like(covariance),
        where=spread > 0,
    )
    # The slope against its standard error, without a division by what may be 0.
    residual = cpi_spread - slope * covariance
    is_steep = slope**2 * spread * (n - 2) >= STANDARD_ERRORS**2 * residual
    more = slope * (mean - least)
    is_slowed = is_long & (slope > 0) & is_steep & (more < cpi)
    share = np.divide(
        more,
        cpi - more,
        out=np.zeros_like(more),
        where=is_slowed,
    )
    line_of_attempt = matched(lines, tasks)
    return np.where(line_of_attempt >= 0, share[line_of_attempt], 0.0)


def fetch_lines(tables: Tables) -> pa.Table:
    """Fetch of each task what a straight line through its windows needs: sums of CPI and of tasks on its machine.

    They are whole numbers, whose sums are the same in whatever order an engine adds them up: tasks of a slot
    in seconds, CPI in 262,144ths.

    Parameters
    ----------
    tables
        Of a store.
    """
    usage = tables.instance_usage.filter(
        lambda row: row.machine_id.notnull() & (row.collection_type == "JOB")
    )
    placed = usage.mutate(
        slot=usage.start_time // WINDOW,
        seconds=(usage.end_time - usage.start_time) // SECOND,
    )
    loads = placed.group_by("machine_id", "slot").aggregate(load=placed.seconds.sum().cast("int64"))
    plausible = placed.filter(placed.cycles_per_instruction.between(LEAST_CPI, MOST_CPI))
    windows = plausible.inner_join(loads, ["machine_id", "slot"])
    scaled = windows.cycles_per_instruction.cast("float64") * CPI_SCALE
    windows = windows.mutate(cpi=(scaled + 0.5).floor().cast("int64"))
    by_task = windows.group_by(*TASK).aggregate(
        n=windows.count(),
        least=windows.load.min(),
        load_sum=windows.load.sum().cast("int64"),
        load_squares=(windows.load * windows.load).sum().cast("int64"),
        cpi_sum=windows.cpi.sum().cast("int64"),
        cpi_squares=(windows.cpi * windows.cpi).sum().cast("int64"),
        products=(windows.load * windows.cpi).sum().cast("int64"),
    )
    return tables.fetch(by_task)
