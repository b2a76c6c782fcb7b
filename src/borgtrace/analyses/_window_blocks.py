"""Kernels over the windows of whole collections: block by block here, inside the workers on Spark.

A block holds all windows of a range of collections (on Spark of those whose id has one remainder),
sorted by task and time. A kernel turns a block into integer sums; they are added up, so neither the
number of blocks nor the engine shows in the result.
"""

from collections.abc import Callable, Iterator
from functools import reduce
from operator import add
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from borgtrace.analyses._attempts import TASK, of_jobs
from borgtrace.analyses._joins import lookup
from borgtrace.analyses._windows import UNKNOWN, regular, tier
from borgtrace.kernels.runs import run_starts
from borgtrace.recipe import Tables
from borgtrace.schema.time import SECOND

ROWS_PER_BLOCK = 8_000_000
ORDER = (*TASK, "start_time", "source_part", "source_row")
Kernel = Callable[[pa.Table], NDArray[np.int64]]


def tier_names(tables: Tables) -> tuple[str, ...]:
    """Return the tiers of the trace and, last, the unknown one; a row's tier is a position here."""
    return (*(name for name, _, _ in tables.dialect.tiers), UNKNOWN)


def task_windows(tables: Tables, *columns: str, **index: ibis.Value) -> ibis.Table:
    """Return the usage windows of jobs with some columns of the usage and some of the task.

    Parameters
    ----------
    columns
        Columns of instance_usage.
    index
        Names and expressions over ``tables.tasks``.

    Returns
    -------
    ibis.Table
        `ORDER`, ``seconds``, ``slot``, `columns`, ``tier`` (position in :func:`tier_names`), `index`.
    """
    usage = of_jobs(regular(tables.instance_usage))
    names = tier_names(tables)
    named = tier(tables, tables.tasks.priority)
    code = named.cases(*((name, place) for place, name in enumerate(names)), else_=len(names) - 1)
    tasks = tables.tasks.select(*TASK, tier=code.cast("int64"), **index)
    # A left join: usage of a task that no event names stays, its tier is unknown.
    rows = lookup(usage.select(*ORDER, "seconds", "slot", *columns), tasks, TASK)
    return rows.mutate(tier=rows.tier.fill_null(len(names) - 1))


def sum_blocks(tables: Tables, rows: ibis.Table, kernel: Kernel, stage: str) -> NDArray[np.int64]:
    """Return the sum of what `kernel` makes of every block of `rows`.

    Parameters
    ----------
    rows
        Windows from :func:`task_windows`.
    kernel
        From a sorted block to an array of integers, of the same shape for every block.
    stage
        Name of the relational stage.
    """
    n_rows = tables.n_rows("instance_usage")
    if tables.engine != "duckdb":
        return _in_workers(rows, kernel, max(1, -(-n_rows // ROWS_PER_BLOCK)))
    parts = [rows] if n_rows <= ROWS_PER_BLOCK else _ranges(tables, rows)
    return reduce(add, (kernel(tables.fetch(part.order_by(*ORDER), stage)) for part in parts))


def _ranges(tables: Tables, rows: ibis.Table) -> Iterator[ibis.Table]:
    """Yield the rows of one range of collections after the other: whole ones, so that no task is cut.

    Files are sorted by collection, so that each range reads its own part of them; remainders would each read all.
    """
    usage = tables.instance_usage
    counts = usage.group_by("collection_id").aggregate(n=usage.count()).order_by("collection_id")
    found = tables.fetch(counts, "collections")
    # A block ends with the collection that fills it.
    block = (np.cumsum(integers(found, "n")) - 1) // ROWS_PER_BLOCK
    for ids in np.split(integers(found, "collection_id"), np.flatnonzero(np.diff(block)) + 1):
        yield rows.filter(rows.collection_id.between(int(ids[0]), int(ids[-1])))


def _in_workers(rows: ibis.Table, kernel: Kernel, n_blocks: int) -> NDArray[np.int64]:
    """Let Spark's workers run the kernel over their blocks, and add up what they send back."""
    from borgtrace.engine.spark import frame, frame_to_arrow

    backend: Any = ibis.get_backend(rows)
    # Not one block for a small store: a group goes to one worker, the others would idle.
    blocks = rows.mutate(block=rows.collection_id % max(n_blocks, 8))

    def work(block: pa.Table) -> pa.Table:
        flat = kernel(block.sort_by([(name, "ascending") for name in ORDER])).ravel()
        # Most bins of a block are empty: only the others travel.
        where = np.flatnonzero(flat)
        return pa.table({"position": where.astype(np.int64), "value": flat[where]})

    sent = frame_to_arrow(frame(backend, blocks).groupBy("block").applyInArrow(work, "position long, value long"))
    # The shape of a kernel's answer does not depend on the rows: an empty block tells it.
    shape = kernel(rows.schema().to_pyarrow().empty_table())
    total = np.zeros(shape.size, dtype=np.int64)
    # add.at, not ``+=``: several blocks send the same position.
    np.add.at(total, sent["position"].to_numpy(), sent["value"].to_numpy())
    return total.reshape(shape.shape)


def column(block: pa.Table, name: str) -> NDArray[np.float64]:
    """Return a column as float64, NaN where it is NULL.

    Parameters
    ----------
    block
        Rows of windows.
    name
        A column of numbers.

    Returns
    -------
    ndarray
        float64 of shape (n,).
    """
    return np.asarray(block[name].to_numpy(), dtype=np.float64)


def integers(block: pa.Table, name: str) -> NDArray[np.int64]:
    """Return a column without NULLs as int64.

    Parameters
    ----------
    block
        Rows of windows.
    name
        A column without NULLs.

    Returns
    -------
    ndarray
        int64 of shape (n,).
    """
    return np.asarray(block[name].to_numpy(), dtype=np.int64)


def task_numbers(block: pa.Table) -> NDArray[np.int64]:
    """Number the tasks of a sorted block from 0."""
    lengths = np.diff(run_starts(integers(block, "collection_id"), integers(block, "instance_index")))
    return np.repeat(np.arange(len(lengths)), lengths)


def seconds_since_start(block: pa.Table) -> NDArray[np.int64]:
    """Return the start of the windows in whole seconds."""
    return integers(block, "start_time") // SECOND
