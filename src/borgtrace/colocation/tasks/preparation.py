"""Select the tasks that can be modeled, and repair or drop their windows.

Janus & Rzadca (SoCC'17, §3.1) drop tasks with a failing event (EVICT, FAIL, KILL or LOST: their usage says more about
the failure than about the task) and tasks that never used CPU.  A window whose average is above the whole machine takes
its instantaneous value.  What remains must be 2 hours long: 24 windows in 2011, and 7,200 s of windows in 2019, whose
windows may be short.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from borgtrace.colocation.tasks.pool import (
    REQUESTS,
    Instantaneous,
    PreparationStep,
    TaskPool,
    with_plausible_averages,
)
from borgtrace.colocation.tasks.pool_windows import KEY, PoolWindows, numbered, read_windows
from borgtrace.errors import UsageError
from borgtrace.kernels.arrays import Index, Values
from borgtrace.question import EngineTables, NotApplicable, PlannedTables, Tables
from borgtrace.schema.dialects import dialect
from borgtrace.schema.time import AFTER_TRACE, SECOND
from borgtrace.store import Store

LONG_WINDOWS = 24
LONG_SECONDS = 7_200
FAILING = {"n_evict": "EVICT", "n_fail": "FAIL", "n_kill": "KILL", "n_lost": "LOST"}
"""Failing events by the column of ``tasks`` that counts them."""
INCLUDED = ("short", "failing")
"""Tasks that the paper drops and that may stay."""
FACTS_OF_TASKS = (*REQUESTS, "priority", "collection_logical_name", "user")
_WAY_OUT = "colocation needs a longer trace with usage"
_WITHOUT_SAMPLES = "without any sampled CPU"
_WAY_OUT_OF_MEANS = (
    "colocation draws CPU that was sampled at instants; "
    "borgtrace advise and borgtrace overcommit take means"
)


class Requirement(NamedTuple):
    """What a task must fulfil to be modeled.

    `waiver` names the group of :data:`INCLUDED` that is exempt from it, and `failure` says in words what a task lacks.
    """

    waiver: str
    failure: str
    is_met: ir.BooleanValue


def eligible(
    tables: Tables, include: Collection[str] = ()
) -> tuple[pa.Table, tuple[PreparationStep, ...]]:
    """Find the tasks that meet every requirement, sorted by their key, and how many were dropped at each step.

    One aggregate and one selection over ``tasks``.

    Parameters
    ----------
    tables
        The store's tables.
    include
        Of :data:`INCLUDED`, the requirements that are waived.

    Raises
    ------
    NotApplicable
        The tables are those of a plan.
    """
    tasks = tables.tasks.filter(tables.tasks.collection_type == "JOB", tables.tasks.n_windows > 0)
    requirements = [
        requirement
        for requirement in _requirements(tasks, tables.generation, seconds_of(tables))
        if requirement.waiver not in include
    ]
    # A step counts only what the steps before it left: the paper prints shares of the remaining tasks.
    remains: ir.BooleanValue = ibis.literal(True)
    counts: dict[str, ir.IntegerScalar] = {"total": tasks.count()}
    for number, requirement in enumerate(requirements):
        is_dropped = remains & ~requirement.is_met
        # The sum over no rows is NULL.
        counts[f"dropped_{number}"] = is_dropped.ifelse(1, 0).sum().fill_null(0)
        remains = remains & requirement.is_met
    counted = tables.fetch(tasks.aggregate(**counts), "steps")
    columns = ["collection_id", "instance_index", *FACTS_OF_TASKS]
    remaining_tasks = tables.fetch(tasks.filter(remains).select(*columns), "eligible")
    NotApplicable.unless(counted.num_rows, "a plan has no rows")

    steps = []
    n_left = int(counted["total"][0].as_py())
    for number, requirement in enumerate(requirements):
        n_dropped = int(counted[f"dropped_{number}"][0].as_py())
        steps.append(PreparationStep(requirement.failure, n_dropped, n_left))
        n_left -= n_dropped
    # Engines return rows in any order; the sample below must not depend on it.
    order = [(name, "ascending") for name in KEY]
    return remaining_tasks.sort_by(order), tuple(steps)


def _requirements(tasks: ir.Table, generation: str, column: str) -> list[Requirement]:
    """Return what tasks must fulfil, in the order of the steps; `column` has one second of each window."""
    seconds = tasks[f"max_{column}"]
    n_failures = tasks.n_evict + tasks.n_fail + tasks.n_kill + tasks.n_lost
    if dialect(generation).has_equal_windows:
        is_long = tasks.n_windows >= LONG_WINDOWS
        too_short = f"with fewer than {LONG_WINDOWS} windows"
    else:
        is_long = tasks.seconds >= LONG_SECONDS
        too_short = f"with windows of less than {LONG_SECONDS:,} s together"
    return [
        Requirement("failing", "with a failing event (EVICT, FAIL, KILL, LOST)", n_failures == 0),
        Requirement("", _WITHOUT_SAMPLES, seconds.notnull()),
        # NULL is neither above 0 nor not.  The step before dropped those tasks, and 0 keeps this a yes or no.
        Requirement("", "that never used CPU in any sample", seconds.fill_null(0.0) > 0),
        Requirement("short", too_short, is_long),
    ]


def seconds_of(tables: Tables) -> str:
    """Return the usage column that stands for one random second of each window.

    Google's traces sample one. Where a format does not, or may but this store has no sample (counters of Prometheus
    give means), the mean over the window stands in, and hides its peaks.

    Parameters
    ----------
    tables
        Tables of the store.
    """
    if not tables.dialect.publishes("sampled_cpu"):
        return "average_cpu"
    if tables.dialect.conversion is None:
        return "sampled_cpu"
    samples = tables.tasks.aggregate(n=tables.tasks.max_sampled_cpu.count())
    # A plan has no rows: there the format decides.
    n_sampled = tables.fetch(samples, "samples")["n"].to_pylist()
    return "average_cpu" if n_sampled == [0] else "sampled_cpu"


def stages(generation: str) -> dict[str, ir.Table]:
    """Return the relational stages of the preparation over unbound tables, computing nothing.

    Parameters
    ----------
    generation
        Name of the trace format.
    """
    tables = PlannedTables(generation)
    # A plan has no rows.
    with suppress(NotApplicable):
        eligible(tables)
    return tables.stages


def prepare_pool(
    store: Store | Tables | str | Path,
    tasks: int = 100_000,
    seed: int = 0,
    instantaneous: Instantaneous = "sampled",
) -> TaskPool:
    """Prepare the pool of a store.

    Parameters
    ----------
    store
        An open store, its path, or its tables.
    tasks, seed, instantaneous
        As for :func:`prepare`.

    Raises
    ------
    UsageError
        No task of the store can be modeled; the message counts why.
    """
    tables = store if isinstance(store, Tables) else EngineTables.of(store)
    try:
        return prepare(tables, tasks, seed, instantaneous)
    except NotApplicable as reason:
        raise UsageError(tables.origin.store or "store", str(reason)) from reason


def prepare(
    tables: Tables,
    tasks: int = 100_000,
    seed: int = 0,
    instantaneous: Instantaneous = "sampled",
    include: Collection[str] = (),
) -> TaskPool:
    """Prepare the pool of a store: at most `tasks` long tasks, drawn without replacement.

    Parameters
    ----------
    tables
        The store's tables on an engine.
    tasks
        Size of the sample; all tasks where fewer pass.
    seed
        Seed of the sample.
    instantaneous
        Where draws of the instantaneous usage come from: one sampled second per window, or (2019) the
        window's percentiles, which know more of it.
    include
        Of :data:`INCLUDED`, the tasks that stay: the short ones; the failing ones, of which each attempt is a task.

    Raises
    ------
    NotApplicable
        No task passes, or the percentiles are asked for and there are none.
    """
    publishes_percentiles = dialect(tables.generation).publishes("cpu_usage_distribution")
    if instantaneous == "histogram" and not publishes_percentiles:
        raise NotApplicable(
            f"{tables.generation} publishes no percentiles of CPU usage; take the sampled second"
        )
    eligible_tasks, steps = eligible(tables, include)
    available = eligible_tasks.num_rows
    NotApplicable.unless(available, nothing_left(steps))

    size = min(tasks, available)
    rng = np.random.default_rng(seed)
    # Sorted, so that the pool is in the order of the tasks' keys and arrays are read forwards.
    rows = np.sort(rng.choice(available, size, replace=False))
    chosen = eligible_tasks.take(pa.array(rows))
    windows = read_windows(
        tables,
        chosen,
        with_percentiles=instantaneous == "histogram",
        seconds=seconds_of(tables),
    )
    kind = "tasks" if include else "long tasks"
    if "failing" in include:
        chosen, windows = split_attempts(tables, chosen, windows)
        kind = "attempts"
        available = len(chosen)
    fewer = "" if size == tasks else " (all there are)"
    wording = PoolWording(kind, fewer)
    return _assemble(tables, chosen, windows, steps, available, wording)


class PoolWording(NamedTuple):
    """What messages call the tasks of a pool, and that there are fewer than asked for (or nothing)."""

    kind: str
    fewer: str


def split_attempts(
    tables: Tables,
    chosen: pa.Table,
    windows: PoolWindows,
) -> tuple[pa.Table, PoolWindows]:
    """Make each attempt a task: it ends with a failing event, and later windows belong to the next attempt.

    Parameters
    ----------
    tables
        The store's tables.
    chosen, windows
        Tasks, and their windows.
    """
    events = tables.instance_events
    is_failure = events.type.isin(list(FAILING.values()))
    failures = events.filter(is_failure, events.time < AFTER_TRACE)
    failures_of_chosen = failures.inner_join(ibis.memtable(numbered(chosen)), KEY)
    rows = tables.fetch(failures_of_chosen.select("task", "time"), "failures")

    # Task and second in one number: all windows find their attempts in one search.
    ends = np.sort(_task_and_second(rows["task"].to_numpy(), rows["time"].to_numpy() // SECOND))
    starts = _task_and_second(windows.task, windows.start)
    n_ended = np.searchsorted(ends, starts, "right")
    is_new_task = np.diff(windows.task, prepend=-1) != 0
    is_first = is_new_task | (np.diff(n_ended, prepend=-1) != 0)
    attempt_of_window = (np.cumsum(is_first) - 1).astype(np.int32)

    task = windows.task[is_first].astype(np.int64)
    number = np.arange(len(task)) - np.searchsorted(task, task)
    # Each attempt has its own index, because draws depend on the identity of a task.
    index = chosen["instance_index"].to_numpy().astype(np.int64)[task] + (number << 32)
    is_retried = np.append(task[1:] == task[:-1], False).astype(np.int64)
    attempts = chosen.take(pa.array(task)).drop(["instance_index"])
    attempts = attempts.append_column("instance_index", pa.array(index))
    attempts = attempts.append_column("retried", pa.array(is_retried))
    return attempts, replace(windows, task=attempt_of_window)


def _task_and_second(task: NDArray[Any], second: NDArray[Any]) -> Index:
    return (task.astype(np.int64) << 32) + second


def nothing_left(steps: tuple[PreparationStep, ...]) -> str:
    """Say at which steps all tasks were dropped.

    Parameters
    ----------
    steps
        Of the preparation.
    """
    total = steps[0].of
    if not total:
        return "no task has usage; colocation needs a trace with usage"
    dropped = ", ".join(f"{step.count:,} {step.name}" for step in steps if step.count)
    # No longer trace helps where nothing was sampled.
    most = max(steps, key=lambda step: step.count)
    way_out = _WAY_OUT_OF_MEANS if most.name == _WITHOUT_SAMPLES else _WAY_OUT
    return f"no long task is left of {total:,}: {dropped}; {way_out}"


def _assemble(
    tables: Tables,
    chosen: pa.Table,
    windows: PoolWindows,
    steps: tuple[PreparationStep, ...],
    available: int,
    wording: PoolWording,
) -> TaskPool:
    """Leave out windows without a value, repair averages above 1, and lay everything out by task."""
    n_read = len(windows.task)
    windows = windows.take(np.isfinite(windows.inst) & np.isfinite(windows.avg))
    n_windows = len(windows.task)
    avg, replaced = with_plausible_averages(windows.inst, windows.avg)
    # A task may have lost all its windows just now; it is then left out, as tasks of a pool are never empty.
    firsts = np.flatnonzero(np.diff(windows.task, prepend=np.int32(-1)))
    facts = chosen.take(pa.array(windows.task[firsts]))
    n_tasks = len(firsts)
    request = facts["memory_request"].to_numpy().astype(np.float32)
    memory, memory_steps = without_memory_gaps(windows, firsts, request)

    kind, fewer = wording
    store_name = Path(tables.origin.store).name or "a store"
    left_text = f"{kind.removeprefix('long ')} left in the pool{fewer}"
    left = PreparationStep(left_text, n_tasks, available)
    incomplete_text = "windows without sampled or average CPU, left out"
    incomplete = PreparationStep(incomplete_text, n_read - n_windows, n_read, "windows")
    stand_in = stand_in_steps(seconds_of(tables), n_windows)
    return TaskPool(
        offsets=np.append(firsts, n_windows),
        inst=windows.inst,
        avg=avg,
        memory=memory,
        start=windows.start.astype(np.int64),
        seconds=windows.seconds.astype(np.int64),
        quantiles=without_quantile_gaps(windows),
        is_weighted=not dialect(tables.generation).has_equal_windows,
        **_facts_as_arrays(facts),
        generation=tables.generation,
        source=f"{n_tasks:,} {kind} of {store_name}{fewer}",
        is_synthetic=tables.synthetic,
        steps=(*steps, left, incomplete, *stand_in, replaced, *memory_steps),
        part=tables.coverage,
    )


def stand_in_steps(column: str, windows: int) -> tuple[PreparationStep, ...]:
    """Say that means stand for seconds, where they do.

    Parameters
    ----------
    column
        The usage column that stands for seconds.
    windows
        Number of windows.
    """
    if column == "sampled_cpu":
        return ()
    text = "windows whose mean stands for a sampled second, which hides peaks"
    return (PreparationStep(text, windows, windows, "windows"),)


def without_memory_gaps(
    windows: PoolWindows,
    firsts: Index,
    request: Values,
) -> tuple[Values | None, tuple[PreparationStep, ...]]:
    """Fill the gaps in memory usage, as 0 would be a task that needs none; None where no window has any.

    Memory changes slowly, so a gap takes the value of the window before.  Before the first known window it takes what
    the task asks for, else the mean of all windows.

    Parameters
    ----------
    windows
        Windows of all tasks.
    firsts
        int64 (n,): first window of each task.
    request
        float32 (n,): memory that each asks for, NaN where unknown.
    """
    is_missing = np.isnan(windows.memory)
    if not is_missing.any():
        return windows.memory, ()
    if is_missing.all():
        return None, ()
    n_windows = len(is_missing)
    first_of_task = np.repeat(firsts, np.diff(np.append(firsts, n_windows)))
    last_known = np.maximum.accumulate(np.where(is_missing, -1, np.arange(n_windows)))
    has_earlier = last_known >= first_of_task
    earlier = windows.memory[np.maximum(last_known, 0)]

    expected = np.where(np.isnan(request), np.nanmean(windows.memory), request)
    task_of_window = np.searchsorted(firsts, first_of_task)
    filled = np.where(has_earlier, earlier, expected[task_of_window]).astype(np.float32)
    text = "windows without memory, which take that of the window before, else the request"
    return filled, (PreparationStep(text, int(is_missing.sum()), n_windows, "windows"),)


def without_quantile_gaps(windows: PoolWindows) -> Values | None:
    """Return the percentiles; a window without any counts as constant at its sampled second.

    Parameters
    ----------
    windows
        Their percentiles are changed in place: the array was made for this pool.
    """
    if windows.quantiles is None:
        return None
    is_missing = ~np.isfinite(windows.quantiles).all(axis=1)
    windows.quantiles[is_missing] = windows.inst[is_missing, None]
    return windows.quantiles


def _facts_as_arrays(tasks: pa.Table) -> dict[str, Any]:
    """Return what the index says of the tasks, as arrays without NULLs."""
    retried = tasks["retried"].to_numpy() if "retried" in tasks.column_names else None
    arrays = {
        "collection_id": tasks["collection_id"].to_numpy().astype(np.int64),
        "instance_index": tasks["instance_index"].to_numpy().astype(np.int64),
        "priority": tasks["priority"].fill_null(-1).to_numpy().astype(np.int64),
        "logical_name": codes_of(tasks["collection_logical_name"]),
        "user": codes_of(tasks["user"]),
        "retried": retried,
    }
    for name in REQUESTS:
        arrays[name] = tasks[name].to_numpy().astype(np.float32)
    return arrays


def codes_of(texts: pa.ChunkedArray) -> Index:
    """Return a code for each text, in the order of the texts; −1 for NULL.

    By first appearance, codes would depend on the sample.

    Parameters
    ----------
    texts
        A column of text.
    """
    encoded = texts.combine_chunks().dictionary_encode()
    names = encoded.dictionary.to_numpy(zero_copy_only=False).astype(str)
    rank_of_name = np.argsort(np.argsort(names, kind="stable"))
    # The code of NULL is the last entry: index −1 finds it.
    codes = np.append(rank_of_name, -1).astype(np.int64)
    return codes[encoded.indices.fill_null(-1).to_numpy()]
