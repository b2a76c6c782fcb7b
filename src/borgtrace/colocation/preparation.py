"""Which tasks may be modeled at all, and what is dropped or mended on the way?

Janus & Rzadca (SoCC'17, §3.1): tasks with a failing event go (EVICT, FAIL, KILL or LOST: their usage says
more about the failure than about the task), so do tasks that never used CPU; a window whose average is above
the whole machine takes its instantaneous value; what remains must be long, 2 hours: 24 windows in 2011, and
7,200 s of windows in 2019, whose windows may be short.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from borgtrace.colocation.pool import REQUESTS, Instantaneous, Pool, Step, mended
from borgtrace.colocation.windows import KEY, Windows, numbered, read_windows
from borgtrace.errors import UsageError
from borgtrace.kernels.arrays import Index, Values
from borgtrace.question import EngineTables, NotApplicable, PlannedTables, Tables
from borgtrace.schema.dialects import dialect
from borgtrace.schema.time import AFTER_TRACE, SECOND
from borgtrace.store import Store

LONG_WINDOWS = 24
LONG_SECONDS = 7_200
_WAY_OUT = "colocation needs a longer trace with usage"
FAILING = ("n_evict", "n_fail", "n_kill", "n_lost")
INCLUDED = ("short", "failing")
"""Tasks that the paper drops and that may stay."""
_ABOUT = (*REQUESTS, "priority", "collection_logical_name", "user")


def eligible(tables: Tables, include: Collection[str] = ()) -> tuple[pa.Table, tuple[Step, ...]]:
    """Find the tasks that pass every step, sorted by their key, and how many went at each step.

    One aggregate and one selection over ``tasks``.

    Parameters
    ----------
    tables
        The store's tables.
    include
        Of :data:`INCLUDED`, the steps that are left out.

    Raises
    ------
    NotApplicable
        The tables are those of a plan.
    """
    tasks = tables.tasks.filter(tables.tasks.collection_type == "JOB", tables.tasks.n_windows > 0)
    passes = {
        name: passed
        for step, name, passed in _passes(tasks, tables.generation)
        if step not in include
    }
    # A step counts only what the steps before it left: what the paper prints are shares of the remaining tasks.
    alive: ir.BooleanValue = ibis.literal(True)
    counts: dict[str, ir.IntegerScalar] = {"total": tasks.count()}
    for name, passed in passes.items():
        # The sum over no rows is NULL.
        counts[name] = (alive & ~passed).ifelse(1, 0).sum().fill_null(0)
        alive = alive & passed
    measured = tables.fetch(
        tasks.aggregate(**{f"c{k}": c for k, c in enumerate(counts.values())}), "steps"
    )
    kept = tables.fetch(
        tasks.filter(alive).select("collection_id", "instance_index", *_ABOUT), "eligible"
    )
    NotApplicable.unless(measured.num_rows, "a plan has no rows")
    steps = []
    left = int(measured["c0"][0].as_py())
    for k, name in enumerate(passes, 1):
        dropped = int(measured[f"c{k}"][0].as_py())
        steps.append(Step(name, dropped, left))
        left -= dropped
    # Engines return rows in any order; the sample below must not depend on it.
    order = [("collection_id", "ascending"), ("instance_index", "ascending")]
    return kept.sort_by(order), tuple(steps)


def _passes(tasks: ir.Table, generation: str) -> list[tuple[str, str, ir.BooleanValue]]:
    seconds = f"max_{seconds_of(generation)}"
    failing = sum((tasks[name] for name in FAILING[1:]), tasks[FAILING[0]])
    if dialect(generation).has_equal_windows:
        is_long = tasks.n_windows >= LONG_WINDOWS
        text = f"fewer than {LONG_WINDOWS} windows"
    else:
        is_long = tasks.seconds >= LONG_SECONDS
        text = f"windows of less than {LONG_SECONDS:,} s together"
    return [
        ("failing", "with a failing event (EVICT, FAIL, KILL, LOST)", failing == 0),
        ("", "without any sampled CPU", tasks[seconds].notnull()),
        # NULL is neither above 0 nor not; the step before took those tasks, and 0 keeps this a yes or no.
        ("", "that never used CPU in any sample", tasks[seconds].fill_null(0.0) > 0),
        ("short", text, is_long),
    ]


def seconds_of(generation: str) -> str:
    """Return the usage column that stands for one random second of each window.

    Only Google's traces sample one; where a format does not, the mean over the window stands in, and hides its peaks.
    """
    return "sampled_cpu" if dialect(generation).publishes("sampled_cpu") else "average_cpu"


def stages(generation: str) -> dict[str, ir.Table]:
    """Return the relational stages of the preparation over unbound tables, computing nothing."""
    tables = PlannedTables(generation)
    with suppress(NotApplicable):  # a plan has no rows
        eligible(tables)
    return tables.stages


def prepare_pool(
    store: Store | Tables | str | Path,
    tasks: int = 100_000,
    seed: int = 0,
    instantaneous: Instantaneous = "sampled",
) -> Pool:
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
) -> Pool:
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
    if instantaneous == "histogram" and not dialect(tables.generation).publishes(
        "cpu_usage_distribution"
    ):
        raise NotApplicable(
            f"{tables.generation} publishes no percentiles of CPU usage; take the sampled second"
        )
    tasks_left, steps = eligible(tables, include)
    NotApplicable.unless(tasks_left.num_rows, _nothing_left(steps))
    available = tasks_left.num_rows
    size = min(tasks, available)
    # Sorted, so that the pool is in the order of the tasks' keys and arrays are read forwards.
    rows = np.sort(np.random.default_rng(seed).choice(available, size, replace=False))
    chosen = tasks_left.take(pa.array(rows))
    windows = read_windows(
        tables, chosen, instantaneous == "histogram", seconds_of(tables.generation)
    )
    what = "tasks" if include else "long tasks"
    if "failing" in include:
        chosen, windows = _attempts(tables, chosen, windows)
        what = "attempts"
        available = len(chosen)
    fewer = "" if size == tasks else f" (all there are; {tasks:,} were asked for)"
    return _assemble(chosen, windows, steps, (what, fewer), available, tables)


def _attempts(tables: Tables, chosen: pa.Table, windows: Windows) -> tuple[pa.Table, Windows]:
    """Make each attempt a task: it ends with a failing event, and the windows from then on are of the next one."""
    events = tables.instance_events
    failures = events.filter(
        events.type.isin([name[2:].upper() for name in FAILING]), events.time < AFTER_TRACE
    )
    found = failures.inner_join(ibis.memtable(numbered(chosen)), KEY).select("task", "time")
    rows = tables.fetch(found, "failures")
    # Task and second in one number: all windows find their attempts in one search.
    ends = np.sort((rows["task"].to_numpy() << 32) + rows["time"].to_numpy() // SECOND)
    before = np.searchsorted(ends, (windows.task.astype(np.int64) << 32) + windows.start, "right")
    is_first = (np.diff(windows.task, prepend=-1) != 0) | (np.diff(before, prepend=-1) != 0)
    task = windows.task[is_first].astype(np.int64)
    number = np.arange(len(task)) - np.searchsorted(task, task)
    # An index of its own, as draws go by the identity of a task.
    index = chosen["instance_index"].to_numpy().astype(np.int64)[task] + (number << 32)
    made = (
        chosen.take(pa.array(task))
        .drop(["instance_index"])
        .append_column("instance_index", pa.array(index))
    )
    again = np.append(task[1:] == task[:-1], False).astype(np.int64)
    attempt = (np.cumsum(is_first) - 1).astype(np.int32)
    return made.append_column("retried", pa.array(again)), replace(windows, task=attempt)


def _nothing_left(steps: tuple[Step, ...]) -> str:
    total = steps[0].of
    if not total:
        return f"no task has usage; {_WAY_OUT}"
    gone = ", ".join(f"{step.count:,} {step.name}" for step in steps if step.count)
    return f"no long task is left of {total:,}: {gone}; {_WAY_OUT}"


def _assemble(
    chosen: pa.Table,
    windows: Windows,
    steps: tuple[Step, ...],
    words: tuple[str, str],
    available: int,
    tables: Tables,
) -> Pool:
    """Leave out windows without a value, mend averages above 1, and lay everything out by task."""
    total = len(windows.task)
    (what, fewer) = words
    whole = np.isfinite(windows.inst) & np.isfinite(windows.avg)
    windows = windows.take(whole)
    avg, replaced = mended(windows.inst, windows.avg)
    # A task may have lost all its windows just now; it then has no place in the pool, whose tasks are never empty.
    firsts = np.flatnonzero(np.diff(windows.task, prepend=np.int32(-1)))
    present = windows.task[firsts]
    about = chosen.take(pa.array(present))
    memory, guessed = _memory(
        windows, firsts, about["memory_request"].to_numpy().astype(np.float32)
    )
    laid_out = (
        Step(f"{what.removeprefix('long ')} left in the pool{fewer}", len(present), available),
        Step(
            "windows without sampled or average CPU, left out",
            total - len(windows.task),
            total,
            "windows",
        ),
        *_stand_in(tables.generation, len(windows.task)),
        replaced,
        *guessed,
    )
    return Pool(
        offsets=np.append(firsts, len(windows.task)),
        inst=windows.inst,
        avg=avg,
        memory=memory,
        start=windows.start.astype(np.int64),
        seconds=windows.seconds.astype(np.int64),
        quantiles=_without_gaps(windows),
        is_weighted=not dialect(tables.generation).has_equal_windows,
        **_about(about),
        generation=tables.generation,
        source=f"{len(present):,} {what} of {Path(tables.origin.store).name or 'a store'}{fewer}",
        is_synthetic=tables.synthetic,
        steps=(*steps, *laid_out),
        part=tables.coverage,
    )


def _stand_in(generation: str, windows: int) -> tuple[Step, ...]:
    """Say that means stand for seconds, where they do."""
    if seconds_of(generation) == "sampled_cpu":
        return ()
    return (
        Step(
            "windows whose mean stands for a sampled second, which hides peaks",
            windows,
            windows,
            "windows",
        ),
    )


def _memory(
    windows: Windows, firsts: Index, request: Values
) -> tuple[Values | None, tuple[Step, ...]]:
    """Memory without gaps: 0 would be a task that needs none.  None where no window has any.

    Parameters
    ----------
    windows
        Windows of all tasks.
    firsts
        int64 (n,): first window of each task.
    request
        float32 (n,): memory that each asks for, NaN where unknown.
    """
    missing = np.isnan(windows.memory)
    if not missing.any():
        return windows.memory, ()
    if missing.all():
        return None, ()
    # The window before, as memory moves slowly; before the first known one, what the task asks for, else the mean.
    start = np.repeat(firsts, np.diff(np.append(firsts, len(missing))))
    last = np.maximum.accumulate(np.where(missing, -1, np.arange(len(missing))))
    asked = np.where(np.isnan(request), np.nanmean(windows.memory), request)[
        np.searchsorted(firsts, start)
    ]
    filled = np.where(last >= start, windows.memory[np.maximum(last, 0)], asked).astype(np.float32)
    words = "windows without memory, which take that of the window before, else the request"
    return filled, (Step(words, int(missing.sum()), len(missing), "windows"),)


def _without_gaps(windows: Windows) -> Values | None:
    """A window without percentiles counts as constant at its sampled second."""
    if windows.quantiles is None:
        return None
    missing = ~np.isfinite(windows.quantiles).all(axis=1)
    # In place: the array was made for this pool.
    windows.quantiles[missing] = windows.inst[missing, None]
    return windows.quantiles


def _about(tasks: pa.Table) -> dict[str, Any]:
    """What the index says of the tasks, as arrays without NULLs."""
    return {
        "collection_id": tasks["collection_id"].to_numpy().astype(np.int64),
        "instance_index": tasks["instance_index"].to_numpy().astype(np.int64),
        **{name: tasks[name].to_numpy().astype(np.float32) for name in REQUESTS},
        "priority": tasks["priority"].fill_null(-1).to_numpy().astype(np.int64),
        "logical_name": _codes(tasks["collection_logical_name"]),
        "user": _codes(tasks["user"]),
        "retried": tasks["retried"].to_numpy() if "retried" in tasks.column_names else None,
    }


def _codes(texts: pa.ChunkedArray) -> Index:
    names = texts.combine_chunks().dictionary_encode()
    # Codes by the order of the names, not of their first appearance, which depends on the sample.
    ranks = np.argsort(
        np.argsort(names.dictionary.to_numpy(zero_copy_only=False).astype(str), kind="stable")
    )
    known = np.append(ranks, -1).astype(np.int64)
    return known[names.indices.fill_null(-1).to_numpy()]
