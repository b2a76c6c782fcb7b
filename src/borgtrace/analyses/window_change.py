"""How much does usage change from one measurement to the next?

Consecutive means neighbouring 300 s slots. *Cell*: the summed usage of all slots; *machine*: the
same per machine; *task*: each task alone. Within a slot usage is the mean over its windows,
weighted by their length; at cell and machine level what runs inside an alloc set counts once. A
change from zero to something is larger than any percentage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses._change import CURVE_COLUMNS, curves, plot_curves, share_within, slot_pairs, task_pairs
from borgtrace.analyses._windows import regular
from borgtrace.recipe import Claim, Recipe, Tables
from borgtrace.schema import Column, Table

if TYPE_CHECKING:
    import altair as alt

LEVELS = ("cell", "machine", "task")
RESULT = Table(
    "window_change",
    "level, resource and percent",
    ("level", "resource", "percent"),
    (
        Column("level", "string", "id", "Level at which usage is summed: cell, machine or task.", nullable=False),
        *CURVE_COLUMNS,
    ),
)


def compute(tables: Tables) -> ir.Table:
    """Return the distribution of the change between neighbouring slots at three levels."""
    usage = regular(tables.instance_usage)
    levels = {
        "cell": slot_pairs(usage, []),
        "machine": slot_pairs(usage, ["machine_id"]),
        "task": task_pairs(usage, "slot"),
    }
    found = (curves(rows).mutate(level=ibis.literal(name)) for name, rows in levels.items())
    return ibis.union(*(rows.select(*RESULT.names) for rows in found))


def plot(result: pa.Table) -> alt.Chart:
    """Draw the cumulative curves, CPU beside memory."""
    return plot_curves(result, "Change between neighbouring 300 s slots", "level", "resource")


CLAIMS = (
    Claim(
        "S4-fig10-cpu",
        "the cell's CPU usage changes by less than 20 % in over 90 % of the moments",
        "> 0.9",
        lambda r: share_within(r, 20, level="cell", resource="cpu"),
        lambda v: v > 0.9,
        "Zhu et al., Fig. 10",
    ),
    Claim(
        "S4-fig10-memory",
        "the cell's memory usage changes by less than 20 % in over 90 % of the moments",
        "> 0.9",
        lambda r: share_within(r, 20, level="cell", resource="memory"),
        lambda v: v > 0.9,
        "Zhu et al., Fig. 10",
    ),
    Claim(
        "S4-measure1-task",
        "a task's CPU usage, too, changes by less than 20 % in over 90 % of the moments",
        "implied by a margin of 20 % per task",
        lambda r: share_within(r, 20, level="task", resource="cpu"),
        lambda v: v > 0.9,
        "Zhu et al., Measure 1",
    ),
)

RECIPE = Recipe(
    "window_change",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("instance_usage",),
    reference="Zhu et al., Fig. 10",
    order=70,
    topic="How usage changes",
)
