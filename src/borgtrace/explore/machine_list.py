"""All machines of a store: what each is, and how full it was on the mean."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from borgtrace.explore.explored_store import ExploredStore
from borgtrace.explore.order import TableOrder

COLUMNS = (
    "machine_id",
    "platform_id",
    "cpu_capacity",
    "memory_capacity",
    "percent_cpu_used",
    "percent_memory_used",
)
# What a machine was when it last was there.
CAPACITIES = """
    SELECT machine_id,
        arg_max(platform_id, (time, source_part, source_row)) AS platform_id,
        arg_max(cpu_capacity, (time, source_part, source_row)) AS cpu_capacity,
        arg_max(memory_capacity, (time, source_part, source_row)) AS memory_capacity
    FROM machine_events
    WHERE type <> 'REMOVE'
    GROUP BY machine_id
"""


def machines(explored: ExploredStore, order: TableOrder, start: int, n_rows: int) -> pa.Table:
    """Return machines in an order: by their ids where none is chosen.

    Parameters
    ----------
    explored
        What is explored.
    order
        Of the rows; by `COLUMNS`.
    start
        Number of the first row.
    n_rows
        How many at most.
    """
    table = described_machines(explored)
    if order.column:
        direction = "descending" if order.is_descending else "ascending"
        rows = pc.sort_indices(
            table,
            sort_keys=[
                (order.column, direction, "at_end"),
                ("machine_id", "ascending", "at_end"),
            ],
        )
        table = table.take(rows)
    return table.slice(start, n_rows)


def described_machines(explored: ExploredStore) -> pa.Table:
    """Return a row for each machine, with `COLUMNS`."""
    pyramid = explored.pyramid
    used = {"machine_id": pyramid.machines}
    for resource, mean in pyramid.means.items():
        is_known = ~np.isnan(mean)
        percent = np.round(np.where(is_known, mean, 0) * 100, 1)
        used[f"percent_{resource}_used"] = pa.array(percent, mask=~is_known)
    capacities = explored.store.sql(CAPACITIES)
    joined = pa.table(used).join(capacities, "machine_id", join_type="left outer")
    return joined.select(COLUMNS).sort_by("machine_id")
