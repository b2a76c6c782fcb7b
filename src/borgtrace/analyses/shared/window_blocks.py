"""Kernels over the windows of whole collections: block by block here, inside the workers on Spark.

A block holds all windows of a range of collections (on Spark of those whose id has one remainder),
sorted by task and time. A kernel turns a block into integer sums; they are added up, so neither the
number of blocks nor the engine shows in the result.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import reduce
from operator import add
from typing import Any, TypeVar

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from borgtrace.analyses.shared.attempts import TASK, of_jobs
from borgtrace.analyses.shared.joins import lookup
from borgtrace.analyses.shared.windows import UNKNOWN, regular, tier
from borgtrace.kernels.runs import are_sorted, run_starts
from borgtrace.question import Tables
from borgtrace.schema.time import SECOND
from borgtrace.store.traces import find_rows

ROWS_PER_BLOCK = 4_000_000
"""So many that all blocks together take little longer to ask for than one; three are in memory at a time."""
ORDER = (*TASK, "start_time", "source_part", "source_row")
_THREADS = 2
Made = TypeVar("Made")
Kernel = Callable[[pa.Table], NDArray[np.int64]]


def tier_names(tables: Tables) -> tuple[str, ...]:
    """Return the tiers of the trace and, last, the unknown one; a row's tier is a position here."""
    return (*(name for name, _, _ in tables.dialect.tiers), UNKNOWN)


def task_windows(
    tables: Tables, *columns: str, **index: ibis.Value
) -> tuple[ibis.Table, ibis.Table]:
    """Return the usage windows of jobs with some columns of the usage and some of the task.

    Parameters
    ----------
    columns
        Columns of instance_usage.
    index
        Names and expressions over ``tables.tasks``.

    Returns
    -------
    tuple of two tables
        Windows with `ORDER`, ``seconds``, ``slot`` and `columns`; tasks, which may lack those of some windows, with
        `TASK`, ``tier`` (position in :func:`tier_names`) and `index`.
    """
    usage = of_jobs(regular(tables.instance_usage))
    names = tier_names(tables)
    named = tier(tables, tables.tasks.priority)
    code = named.cases(*((name, place) for place, name in enumerate(names)), else_=len(names) - 1)
    tasks = tables.tasks.select(*TASK, tier=code.cast("int64"), **index)
    return usage.select(*ORDER, "seconds", "slot", *columns), tasks


def sum_blocks(
    tables: Tables, usage: ibis.Table, tasks: ibis.Table, kernel: Kernel, stage: str
) -> NDArray[np.int64]:
    """Return the sum of what `kernel` makes of every block of windows, with what is said of their tasks.

    Parameters
    ----------
    usage, tasks
        From :func:`task_windows`.
    kernel
        From a sorted block to an array of integers, of the same shape for every block.  Columns of tasks are NULL where
        no event names the task.
    stage
        Name of the relational stage.
    """
    if tables.engine != "duckdb":
        n_blocks = -(-tables.n_rows("instance_usage") // ROWS_PER_BLOCK)
        return _in_workers(lookup(usage, tasks, TASK), kernel, n_blocks)
    return reduce(add, map_blocks(tables, usage, tasks, kernel, stage))


def map_blocks(
    tables: Tables,
    usage: ibis.Table,
    tasks: ibis.Table | None,
    kernel: Callable[[pa.Table], Made],
    stage: str,
) -> Iterator[Made]:
    """Yield what `kernel` makes of one block after the other, on threads, while the engine reads the next block.

    Parameters
    ----------
    usage, tasks
        From :func:`task_windows`; no tasks where the kernel needs nothing of them.
    kernel
        From a sorted block to anything; it should release the GIL most of the time.
    stage
        Name of the relational stage.
    """
    waiting: list[Future[Made]] = []
    with ThreadPoolExecutor(_THREADS) as pool:
        # Fetched by the caller's thread: a connection answers one query at a time.
        for ids in _ranges(tables):
            block = [tables.fetch(_within(usage, ids), stage)]
            if tasks is not None:
                block.append(tables.fetch(_within(tasks, ids), f"{stage}_tasks"))
            # Not more blocks than threads at a time: each takes memory.
            if len(waiting) == _THREADS:
                yield waiting.pop(0).result()
            waiting.append(pool.submit(lambda rows: kernel(_attached(*rows)), block))
        yield from (each.result() for each in waiting)


def _within(rows: ibis.Table, ids: list[int]) -> ibis.Table:
    return rows.filter(rows.collection_id.between(*ids)) if ids else rows


def _ranges(tables: Tables) -> Iterator[list[int]]:
    """Yield the first and the last collection of one block after the other; nothing where one block holds all.

    Files are sorted by collection, so that each range reads its own part of them; remainders would each read all.
    """
    if tables.n_rows("instance_usage") <= ROWS_PER_BLOCK:
        yield []
        return
    usage = tables.instance_usage
    counts = usage.group_by("collection_id").aggregate(n=usage.count()).order_by("collection_id")
    found = tables.fetch(counts, "collections")
    # A block ends with the collection that fills it, so that no task is cut.
    block = (np.cumsum(integers(found, "n")) - 1) // ROWS_PER_BLOCK
    for ids in np.split(integers(found, "collection_id"), np.flatnonzero(np.diff(block)) + 1):
        yield [int(ids[0]), int(ids[-1])]


def _attached(usage: pa.Table, tasks: pa.Table | None = None) -> pa.Table:
    """Sort windows, and give each what is said of its task.

    Here, because a join of DuckDB does not keep the order of its rows.
    """
    block = in_order(usage.combine_chunks())
    if tasks is None:
        return block
    tasks = tasks.sort_by([(name, "ascending") for name in TASK])
    of_task = [integers(block, name) for name in TASK]
    starts = run_starts(*of_task)
    index, instances = integers(tasks, TASK[0]), integers(tasks, TASK[1]).astype(np.int32)
    places = find_rows(index, instances, np.stack([key[starts[:-1]] for key in of_task], axis=1))
    rows = pa.array(np.repeat(places, np.diff(starts)))
    said = tasks.drop(list(TASK)).take(pc.if_else(pc.less(rows, 0), None, rows))
    for name in said.column_names:
        block = block.append_column(name, said[name])
    return block


def in_order(block: pa.Table) -> pa.Table:
    """Return rows of windows in `ORDER`."""
    # Those of a store are, and an engine that only filters them leaves them so: to look takes a sixth of a sort.
    if are_sorted(*(integers(block, name) for name in ORDER)):
        return block
    return block.sort_by([(name, "ascending") for name in ORDER])


def _in_workers(rows: ibis.Table, kernel: Kernel, n_blocks: int) -> NDArray[np.int64]:
    """Let Spark's workers run the kernel over their blocks, and add up what they send back."""
    from borgtrace.engine.spark import frame, frame_to_arrow

    backend: Any = ibis.get_backend(rows)
    # Not one block for a small store: a group goes to one worker, the others would idle.
    blocks = rows.mutate(block=rows.collection_id % max(n_blocks, 8))

    def work(block: pa.Table) -> pa.Table:
        flat = kernel(in_order(block.combine_chunks())).ravel()
        # Most bins of a block are empty: only the others travel.
        where = np.flatnonzero(flat)
        return pa.table({"position": where.astype(np.int64), "value": flat[where]})

    sent = frame_to_arrow(
        frame(backend, blocks).groupBy("block").applyInArrow(work, "position long, value long")
    )
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


def integers(block: pa.Table, name: str, missing: int = 0) -> NDArray[np.int64]:
    """Return a column as int64.

    Parameters
    ----------
    block
        Rows of windows.
    name
        A column of whole numbers.
    missing
        What stands for NULL.

    Returns
    -------
    ndarray
        int64 of shape (n,).
    """
    found = np.asarray(block[name].fill_null(missing).to_numpy(), dtype=np.int64)
    # Arrow's memory is; so that kernels are compiled once, for both.
    found.flags.writeable = False
    return found


def task_numbers(block: pa.Table) -> NDArray[np.int64]:
    """Number the tasks of a sorted block from 0."""
    lengths = np.diff(
        run_starts(integers(block, "collection_id"), integers(block, "instance_index"))
    )
    return np.repeat(np.arange(len(lengths)), lengths)


def seconds_since_start(block: pa.Table) -> NDArray[np.int64]:
    """Return the start of the windows in whole seconds."""
    return integers(block, "start_time") // SECOND
