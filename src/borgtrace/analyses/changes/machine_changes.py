"""Changes of each machine's usage from slot to slot, by compiled code over sorted sums.

`slot_pairs` and `by_resource` of `relative_change` define them in SQL, for engines that are far from the rows.  There
each column of the slot before is a window function of its own, and both resources are made rows of: sorting the sums
once and comparing neighbors here takes half as long.
"""

from collections.abc import Iterator
from contextlib import closing

import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from borgtrace.analyses.changes.relative_change import GROWN, by_resource, slot_pairs
from borgtrace.analyses.changes.task_changes import ChangeSummary
from borgtrace.analyses.shared import window_blocks as blocks
from borgtrace.analyses.shared.machine_slots import slots_of_machines
from borgtrace.analyses.shared.windows import RESOURCES, SLOT_SECONDS
from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.question import Tables

ROWS_PER_BATCH = 250_000
"""Sums that are summarized at a time: few enough to stay near the processor."""
NO_AMOUNT = np.iinfo(np.int64).min
"""Stands for NULL: no window of the slot has a value."""


def over_machines(tables: Tables, summary: ChangeSummary, stage: str) -> ir.Table:
    """Return the rows of a summary of the changes of all machines; of several batches of machines, those of each.

    Parameters
    ----------
    tables
        The store's tables.
    summary
        Of changes.
    stage
        Name of the relational stage.
    """
    if not tables.has_blocks:
        return summary.query(by_resource(slot_pairs(tables).machines))
    sums = slots_of_machines(tables).select("machine_id", "slot", *RESOURCES)
    in_order = sums.order_by("machine_id", "slot")
    parts = []
    with closing(tables.fetch_batches(in_order, stage, ROWS_PER_BATCH)) as batches:
        for batch in with_row_before(batches, sums.schema().to_pyarrow()):
            parts.append(summarize_sums(batch, summary))
    return ibis.memtable(pa.concat_tables(parts))


def with_row_before(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield batches, each after the last row of the one before; at least one, which may be empty."""
    last_row = schema.empty_table()
    yield last_row
    for batch in batches:
        # DuckDB adds up integers in 128 bits.
        sums = pa.Table.from_batches([batch]).cast(schema)
        rows = pa.concat_tables([last_row, sums]).combine_chunks()
        last_row = rows.slice(max(rows.num_rows - 1, 0))
        yield rows


def summarize_sums(sums: pa.Table, summary: ChangeSummary) -> pa.Table:
    """Return the summary of the changes between sums of machines, sorted by machine and slot."""
    machines = blocks.integers(sums, "machine_id")
    slots = blocks.integers(sums, "slot")
    parts = []
    for name in RESOURCES:
        amounts = blocks.integers(sums, name, NO_AMOUNT)
        changes = sum_changes(machines, slots, amounts)
        # A slot of a sum is a whole slot, however little of it each window covers.
        seconds = np.full(len(changes), 2 * SLOT_SECONDS)
        rows = pa.table(dict(summary.of_arrays(name, changes, seconds)))
        parts.append(rows.append_column("resource", pa.repeat(name, rows.num_rows)))
    return pa.concat_tables(parts)


@compiled()
def sum_changes(machine: Index, slot: Index, amount: Index) -> Numbers:
    """Return the changes between neighboring slots of a machine.

    Parameters
    ----------
    machine, slot
        Machine and 300 s slot of each sum, sorted by both; shape (n,).
    amount
        What was used; `NO_AMOUNT` where no window has a value.

    Returns
    -------
    ndarray
        float64 (k,): 0 from zero to zero, `GROWN` from zero to something.

    Examples
    --------
    >>> machine, slot = np.array([1, 1, 1, 2, 2, 2]), np.array([4, 5, 7, 8, 9, 10])
    >>> sum_changes(machine, slot, np.array([4, 5, 9, 0, 3, NO_AMOUNT])).tolist()
    [0.25, 1e+18]
    """
    changes = np.empty(len(machine))
    n_changes = 0
    for i in range(1, len(machine)):
        if machine[i] != machine[i - 1] or slot[i] != slot[i - 1] + 1:
            continue
        later = amount[i]
        earlier = amount[i - 1]
        if later == NO_AMOUNT or earlier == NO_AMOUNT:
            continue
        difference = float(abs(later - earlier))
        if earlier > 0:
            changes[n_changes] = difference / float(earlier)
        else:
            changes[n_changes] = GROWN if difference else 0.0
        n_changes += 1
    return changes[:n_changes]
