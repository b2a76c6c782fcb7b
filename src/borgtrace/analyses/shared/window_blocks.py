"""Kernels over the windows of whole collections: block by block here, inside the workers on Spark.

A block holds all windows of some tasks (on Spark of the collections whose id has one remainder), sorted by task and
time. A kernel turns a block into integer sums; they are added up, so neither the number of blocks nor the engine shows
in the result. Windows stream from the engine in blocks that are small enough to stay near the processor: whole ranges
of collections in memory took three times as long, most of it to get new memory.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import Any, TypeVar

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from borgtrace.analyses.shared.attempts import TASK, of_jobs
from borgtrace.analyses.shared.windows import UNKNOWN, regular, tier
from borgtrace.kernels.compiled import compiled
from borgtrace.kernels.runs import run_starts
from borgtrace.question import Tables
from borgtrace.schema.time import SECOND
from borgtrace.store.traces import find_rows

ROWS_PER_RANGE = 4_000_000
"""Windows of one query: so many that all queries take little longer than one."""
ROWS_PER_BLOCK = 250_000
"""So many that a block takes much longer than starting a kernel; some blocks are in memory at a time."""
ORDER = (*TASK, "start_time", "source_part", "source_row")
THREADS = 2
MIN_WORKER_BLOCKS = 8
"""A block goes to one worker: with fewer of them, workers would idle on a small store."""
BlockResult = TypeVar("BlockResult")
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
    positions = [(name, position) for position, name in enumerate(names)]
    tier_name = tier(tables, tables.tasks.priority)
    tier_position = tier_name.cases(*positions, else_=len(names) - 1)
    tasks = tables.tasks.select(*TASK, tier=tier_position.cast("int64"), **index)
    return usage.select(*ORDER, "seconds", "slot", *columns), tasks


def map_blocks(
    tables: Tables,
    usage: ibis.Table,
    tasks: ibis.Table | None,
    kernel: Callable[[pa.Table], BlockResult],
    stage: str,
) -> Iterator[BlockResult]:
    """Yield the result of `kernel` for each block; it runs on threads while the engine reads the next block.

    Parameters
    ----------
    usage, tasks
        From :func:`task_windows`; None where the kernel needs no column of tasks.
    kernel
        From a sorted block to anything; it should release the GIL most of the time.
    stage
        Name of the relational stage.
    """
    with ThreadPoolExecutor(THREADS) as pool:
        # Fetched by the caller's thread: a connection answers one query at a time.
        for ids in collection_ranges(tables):
            range_tasks = None
            if tasks is not None:
                range_tasks = in_order_of_tasks(tables.fetch(within(tasks, ids), f"{stage}_tasks"))
            run = partial(run_kernel, kernel, tasks=range_tasks)
            windows = within(usage, ids)
            try:
                # Only the results of a whole range: it may turn out that its rows are in no order.
                yield from list(run_on_threads(pool, run, sorted_blocks(tables, windows, stage)))
            except UnsortedError:
                yield run(in_order(tables.fetch(windows, stage).combine_chunks()))


class UnsortedError(Exception):
    """The engine has changed the order of the store's rows, as joins do."""


def run_on_threads(
    pool: ThreadPoolExecutor,
    run: Callable[[pa.Table], BlockResult],
    table_blocks: Iterable[pa.Table],
) -> Iterator[BlockResult]:
    """Yield the result of each block in turn, while the next ones are read."""
    running: list[Future[BlockResult]] = []
    for block in table_blocks:
        # Not more blocks than threads at a time: each takes memory.
        if len(running) == THREADS:
            yield running.pop(0).result()
        running.append(pool.submit(run, block))
    for future in running:
        yield future.result()


def sorted_blocks(tables: Tables, windows: ibis.Table, stage: str) -> Iterator[pa.Table]:
    """Yield windows as they stream, in blocks that hold whole tasks; at least one block, which may be empty.

    Raises
    ------
    UnsortedError
        They do not come in `ORDER`.
    """
    waiting: list[pa.Table] = []
    last_task: tuple[int, int] | None = None
    with closing(tables.fetch_batches(windows, stage, ROWS_PER_BLOCK)) as batches:
        for batch in batches:
            waiting.append(pa.Table.from_batches([batch]))
            if sum(rows.num_rows for rows in waiting) < ROWS_PER_BLOCK:
                continue
            rows = pa.concat_tables(waiting).combine_chunks()
            start_of_last = int(run_starts(*task_keys(rows))[-2])
            waiting = [rows.slice(start_of_last)]
            # One task may fill more than a block.
            if start_of_last:
                block = rows.slice(0, start_of_last)
                last_task = check_order(block, last_task)
                yield block
    rest = pa.concat_tables(waiting) if waiting else windows.schema().to_pyarrow().empty_table()
    rest = rest.combine_chunks()
    check_order(rest, last_task)
    yield rest


def check_order(block: pa.Table, last_task: tuple[int, int] | None) -> tuple[int, int] | None:
    """Return the last task of a block, or the one before where it has none.

    Raises
    ------
    UnsortedError
        Its rows are not in `ORDER`, or do not follow the task before.
    """
    if not block.num_rows:
        return last_task
    if not are_in_order(block):
        raise UnsortedError
    collections, instances = task_keys(block)
    if last_task is not None and (int(collections[0]), int(instances[0])) <= last_task:
        raise UnsortedError
    return int(collections[-1]), int(instances[-1])


def task_keys(block: pa.Table) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return collection and instance of each row."""
    return integers(block, "collection_id"), integers(block, "instance_index")


def run_kernel(
    kernel: Callable[[pa.Table], BlockResult], windows: pa.Table, tasks: pa.Table | None
) -> BlockResult:
    """Run a kernel on the sorted windows of one block with the columns of their tasks."""
    return kernel(with_task_columns(windows, tasks))


def within(rows: ibis.Table, ids: tuple[int, int] | None) -> ibis.Table:
    """Keep the rows of a range of collections; all rows where it is None."""
    return rows if ids is None else rows.filter(rows.collection_id.between(*ids))


def collection_ranges(tables: Tables) -> Iterator[tuple[int, int] | None]:
    """Yield the first and the last collection of each range; None where one range holds all.

    Files are sorted by collection, so that each range reads its own part of them; remainders would each read all.
    """
    if tables.n_rows("instance_usage") <= ROWS_PER_RANGE:
        yield None
        return
    usage = tables.instance_usage
    counts = usage.group_by("collection_id").aggregate(n=usage.count()).order_by("collection_id")
    collections = tables.fetch(counts, "collections")
    # A range ends with the collection that fills it, so that no task is cut.
    range_numbers = (np.cumsum(integers(collections, "n")) - 1) // ROWS_PER_RANGE
    range_starts = np.flatnonzero(np.diff(range_numbers)) + 1
    for ids in np.split(integers(collections, "collection_id"), range_starts):
        yield int(ids[0]), int(ids[-1])


def with_task_columns(block: pa.Table, tasks: pa.Table | None = None) -> pa.Table:
    """Add the columns of `tasks` to each window, both sorted by task; NULL where its task is missing there.

    In Arrow, because a join of DuckDB does not keep the order of its rows.
    """
    if tasks is None:
        return block
    collections, instances = task_keys(block)
    starts = run_starts(collections, instances)
    first_windows = starts[:-1]
    task_rows = find_rows(
        integers(tasks, "collection_id"),
        integers(tasks, "instance_index").astype(np.int32),
        np.stack([collections[first_windows], instances[first_windows]], axis=1),
    )
    row_of_window = pa.array(np.repeat(task_rows, np.diff(starts)))
    known_row_of_window = pc.if_else(pc.less(row_of_window, 0), None, row_of_window)
    task_columns = tasks.drop(list(TASK)).take(known_row_of_window)
    for name in task_columns.column_names:
        block = block.append_column(name, task_columns[name])
    return block


def in_order_of_tasks(tasks: pa.Table) -> pa.Table:
    """Return rows of tasks in the order of their keys."""
    return tasks.sort_by([(name, "ascending") for name in TASK]).combine_chunks()


def are_in_order(block: pa.Table) -> bool:
    """Return whether rows of windows are in `ORDER`."""
    # Keys as they are stored: to make all of them 64 bits wide takes longer than to compare them.
    return bool(follow_each_other(*(block[name].to_numpy() for name in ORDER)))


@compiled()
def follow_each_other(
    collection: NDArray[np.int64],
    instance: NDArray[np.int32],
    start_time: NDArray[np.int64],
    source_part: NDArray[np.int32],
    source_row: NDArray[np.int64],
) -> bool:
    """Return whether rows are sorted by these five keys, the first of which counts most; shape (n,) each.

    Examples
    --------
    >>> ids, none = np.array([1, 1, 2]), np.zeros(3, np.int32)
    >>> follow_each_other(ids, none, np.array([3, 4, 0]), none, np.zeros(3, np.int64))
    True
    >>> follow_each_other(ids, none, np.array([4, 3, 0]), none, np.zeros(3, np.int64))
    False
    """
    for i in range(1, len(collection)):
        if collection[i] != collection[i - 1]:
            is_later = collection[i] > collection[i - 1]
        elif instance[i] != instance[i - 1]:
            is_later = instance[i] > instance[i - 1]
        elif start_time[i] != start_time[i - 1]:
            is_later = start_time[i] > start_time[i - 1]
        elif source_part[i] != source_part[i - 1]:
            is_later = source_part[i] > source_part[i - 1]
        else:
            is_later = source_row[i] >= source_row[i - 1]
        if not is_later:
            return False
    return True


def in_order(block: pa.Table) -> pa.Table:
    """Return rows of windows in `ORDER`."""
    # Rows of a store are sorted, and an engine that only filters keeps the order: checking takes a sixth of a sort.
    if are_in_order(block):
        return block
    return block.sort_by([(name, "ascending") for name in ORDER])


def sum_in_workers(tables: Tables, rows: ibis.Table, kernel: Kernel) -> NDArray[np.int64]:
    """Let Spark's workers run the kernel over their blocks, and add up the results.

    Parameters
    ----------
    tables
        The store's tables.
    rows
        Windows with the columns of their tasks, which are NULL where no event names the task.
    kernel
        From a sorted block to an array of integers, of the same shape for every block.
    """
    from borgtrace.engine.spark import frame, frame_to_arrow, map_ranges

    backend: Any = ibis.get_backend(rows)

    def nonzero_sums(block: pa.Table) -> pa.Table:
        sums = kernel(in_order(block.combine_chunks())).ravel()
        # Most bins of a block are empty: only the others travel.
        positions = np.flatnonzero(sums)
        return pa.table({"position": positions.astype(np.int64), "value": sums[positions]})

    schema = pa.schema({"position": pa.int64(), "value": pa.int64()})
    sums_of_blocks = map_ranges(backend, rows, nonzero_sums, schema)
    if sums_of_blocks is None:
        n_blocks = -(-tables.n_rows("instance_usage") // ROWS_PER_RANGE)
        blocks = rows.mutate(block=rows.collection_id % max(n_blocks, MIN_WORKER_BLOCKS))
        grouped = frame(backend, blocks).groupBy("block")
        made = grouped.applyInArrow(nonzero_sums, "position long, value long")
        sums_of_blocks = frame_to_arrow(made)
    # The shape of a kernel's result does not depend on the rows: an empty block gives it.
    empty_result = kernel(rows.schema().to_pyarrow().empty_table())
    total = np.zeros(empty_result.size, dtype=np.int64)
    # add.at, not ``+=``: several blocks send the same position.
    np.add.at(
        total,
        sums_of_blocks["position"].to_numpy(),
        sums_of_blocks["value"].to_numpy(),
    )
    return total.reshape(empty_result.shape)


def rows_in_workers(rows: ibis.Table, kernel: Callable[[pa.Table], pa.Table]) -> pa.Table | None:
    """Let Spark's workers make rows of their ranges of collections; return all that they made.

    Parameters
    ----------
    rows
        Windows with the columns of their tasks.
    kernel
        From a sorted block to a few rows, with the same columns for every block.

    Returns
    -------
    pa.Table or None
        None where the rows are in no ranges.
    """
    from borgtrace.engine.spark import map_ranges

    schema = kernel(rows.schema().to_pyarrow().empty_table()).schema

    def summarize(block: pa.Table) -> pa.Table:
        return kernel(in_order(block.combine_chunks()))

    return map_ranges(ibis.get_backend(rows), rows, summarize, schema)


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
        Stands for NULL.

    Returns
    -------
    ndarray
        int64 of shape (n,).
    """
    numbers = block[name]
    # Arrow copies all values to fill none.
    if numbers.null_count:
        numbers = numbers.fill_null(missing)
    values = np.asarray(numbers.to_numpy(), dtype=np.int64)
    # As Arrow's own memory is: otherwise kernels would be compiled for both kinds.
    values.flags.writeable = False
    return values


def task_numbers(block: pa.Table) -> NDArray[np.int64]:
    """Number the tasks of a sorted block from 0."""
    starts = run_starts(*task_keys(block))
    lengths = np.diff(starts)
    return np.repeat(np.arange(len(lengths)), lengths)


def seconds_since_start(block: pa.Table) -> NDArray[np.int64]:
    """Return the start of the windows in whole seconds."""
    return integers(block, "start_time") // SECOND
