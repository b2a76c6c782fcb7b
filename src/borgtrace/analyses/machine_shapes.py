"""Which kinds of machines are there?

One row per shape (platform, CPU, memory, GPUs).  Machines change: a machine counts under its first known
capacity, its last known one, and the one it had at the start of the trace.  The table that Reiss et al.
published counts last capacities; only that column reproduces it.

Reference: Reiss et al., SoCC'12, Table 1.
"""

import ibis

from borgtrace.lifecycle.order import SOURCE_ORDER
from borgtrace.question import Recipe, Tables
from borgtrace.schema.time import BEFORE_TRACE

SHAPE = ("platform_id", "cpu_capacity", "memory_capacity", "gpu_capacity")


def compute(tables: Tables) -> ibis.Table:
    """Return the number of machines of each shape: at time 0, by first and by last capacity."""
    events = tables.machine_events
    # 32 ADD events of 2011 have no capacity; those machines get one later.
    known = events.mutate(unknown=events.cpu_capacity.isnull() & events.memory_capacity.isnull())
    order = [known[name] for name in SOURCE_ORDER]
    # Events without a capacity come last in both orders: they are neither the first nor the last known one.
    onwards = ibis.window(group_by="machine_id", order_by=[known.unknown, *order])
    backwards = ibis.window(
        group_by="machine_id", order_by=[known.unknown, *(ibis.desc(c) for c in order)]
    )
    placed = known.mutate(
        at_start=(known.time == BEFORE_TRACE) & (known.type == "ADD"),
        first=ibis.row_number().over(onwards) == 0,
        last=ibis.row_number().over(backwards) == 0,
    )
    numbers = {
        f"n_{name}": placed.count(where=placed[name]) for name in ("at_start", "first", "last")
    }
    shapes = placed.group_by(list(SHAPE)).aggregate(**numbers)
    # A shape that a machine had only in between counts nowhere.
    return shapes.filter((shapes.n_at_start + shapes.n_first + shapes.n_last) > 0)


RECIPE = Recipe.declared(compute, reads=("machine_events",), order=10)
