"""All machines of a store: the size of each, and how full it was on average."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from borgtrace.explore.explored_store import ExploredStore, LastKnownSize
from borgtrace.explore.order import TableOrder

COLUMNS = (
    "machine_id",
    "platform_id",
    "cpu_capacity",
    "memory_capacity",
    "percent_cpu_used",
    "percent_memory_used",
)
NAME = "name"
UNKNOWN = LastKnownSize(None, None, None)


def machines(explored: ExploredStore, order: TableOrder, start: int, n_rows: int) -> pa.Table:
    """Return machines in an order: by their names, or by ids where they have none, unless another is chosen.

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
    # Ids made from names are in no order that anybody knows.
    identity = NAME if explored.notation.names.are_own else "machine_id"
    column = identity if order.column in ("", "machine_id") else order.column
    direction = "descending" if order.is_descending else "ascending"
    rows = pc.sort_indices(
        table,
        sort_keys=[
            (column, direction, "at_end"),
            (identity, "ascending", "at_end"),
        ],
    )
    return table.take(rows).select(COLUMNS).slice(start, n_rows)


def described_machines(explored: ExploredStore) -> pa.Table:
    """Return a row for each machine, with `COLUMNS` and its `NAME`."""
    pyramid = explored.pyramid
    machine_ids = pyramid.machines.tolist()
    columns = {"machine_id": pa.array(machine_ids, pa.int64())}
    for resource, mean in pyramid.means.items():
        is_known = ~np.isnan(mean)
        percent = np.round(np.where(is_known, mean, 0) * 100, 1)
        columns[f"percent_{resource}_used"] = pa.array(percent, mask=~is_known)
    sizes = [explored.machine_sizes.get(machine, UNKNOWN) for machine in machine_ids]
    for position, column in enumerate(LastKnownSize._fields):
        kind = pa.string() if column == "platform_id" else pa.float64()
        columns[column] = pa.array([size[position] for size in sizes], kind)
    columns[NAME] = pa.array([explored.notation.names.machine(each) for each in machine_ids])
    return pa.table(columns)
