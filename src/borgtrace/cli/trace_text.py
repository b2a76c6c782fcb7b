"""What ``borgtrace trace`` prints: the windows of one task, in cores and GiB by the wall clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from borgtrace.cli.console import print_prose, talk
from borgtrace.cli.grid import TextColumn, print_grid
from borgtrace.cli.machine_text import print_note
from borgtrace.errors import shell_word
from borgtrace.notation import Notation, integer, line_of_name, number
from borgtrace.notation.amounts import resource_of
from borgtrace.notation.clock import SECONDS
from borgtrace.schema import PERCENTILES
from borgtrace.schema.time import AFTER_TRACE, SECOND
from borgtrace.store import Store

TITLES = {
    "average_cpu": "CPU mean",
    "maximum_cpu": "CPU peak",
    "sampled_cpu": "CPU sampled",
    "average_memory": "memory mean",
    "maximum_memory": "memory peak",
    "assigned_memory": "memory assigned",
}
"""What frequent columns are called; others keep their names."""
_AFTER = 2**32 - 1
"""Seconds that stand for "after the trace"."""


def print_windows(
    store: Store,
    collection_id: int,
    instance_index: int,
    columns: Mapping[str, Any],
) -> None:
    """Print which task it is, and a row for each of its windows; no column of which nothing is known.

    Parameters
    ----------
    store
        An open store.
    collection_id, instance_index
        The task.
    columns
        Arrays of its windows by name: ``start_time`` and ``duration`` in s, and others.
    """
    notation = Notation.of(store)
    n_windows = len(columns["start_time"])
    print(task_line(store, notation, collection_id, instance_index, n_windows))
    if not n_windows:
        place = shell_word(store.path)
        task = shell_word(notation.names.task(collection_id, instance_index))
        line = f"borgtrace trace {place} {task} --plot life.html"
        talk.print(f"Its usage was not measured. To see its events: {line}")
        return
    shown = []
    for name, values in columns.items():
        if name == "start_time":
            shown += time_columns(notation, values.tolist())
        elif name == "duration":
            seconds = [number(value) for value in values.tolist()]
            shown.append(TextColumn("seconds", seconds, is_number=True))
        elif not np.isnan(values).all():
            shown.append(amount_column(notation, name, values.tolist()))
    print_grid(shown)
    print_note(notation.amounts)
    print_prose(
        summary_of_windows(notation, notation.names.task(collection_id, instance_index), columns)
    )


def summary_of_windows(notation: Notation, task: str, columns: Mapping[str, Any]) -> str:
    """Say the mean and the highest value of each column of CPU or memory, and over which time.

    Parameters
    ----------
    notation
        Of the store.
    task
        What it is called.
    columns
        As for :func:`print_windows`.
    """
    seconds = np.asarray(columns["duration"], dtype=np.float64)
    parts = []
    for name, values in columns.items():
        resource = "cpu" if name in PERCENTILES else resource_of(name)
        is_known = ~np.isnan(values)
        if resource is None or not seconds[is_known].any():
            continue
        mean = np.average(np.asarray(values, np.float64)[is_known], weights=seconds[is_known])
        highest = notation.amounts.text(float(values[is_known].max()), resource)
        title = TITLES.get(name, name)
        parts.append(f"{title} {notation.amounts.number(mean, resource)}, at most {highest}")
    hours = number(float(seconds.sum()) / 3600)
    return f"{task}, {hours} h measured: {'; '.join(parts)}." if parts else ""


def task_line(
    store: Store,
    notation: Notation,
    collection_id: int,
    instance_index: int,
    n_windows: int,
) -> str:
    """Return the line that says which task it is, whose, and how many windows it has."""
    query = """
        SELECT "user"
        FROM tasks
        WHERE collection_id = $job AND instance_index = $index
    """
    parameters = {"job": collection_id, "index": instance_index}
    (user,) = store.sql(query, parameters).column("user").to_pylist()
    name = notation.names.task_and_ids(collection_id, instance_index)
    of_user = f" of {line_of_name(user)}" if user else ""
    noun = "window" if n_windows == 1 else "windows"
    return f"task {name}{of_user}: {integer(n_windows)} {noun}"


def time_columns(notation: Notation, seconds: Sequence[int]) -> list[TextColumn]:
    """Return when windows start: by the wall clock where it is known, and in hours since the start."""
    times = []
    for second in seconds:
        times.append(AFTER_TRACE if second == _AFTER else second * SECOND)
    walls = [notation.clock.wall(time, SECONDS) for time in times]
    hours = []
    for time in times:
        is_edge = time in (0, AFTER_TRACE)
        hours.append(number(None if is_edge else notation.clock.hours(time)))
    columns = [TextColumn("hour", hours, is_number=True)]
    if notation.clock.start is not None:
        columns.insert(0, TextColumn("from", [str(wall) for wall in walls]))
    return columns


def amount_column(notation: Notation, name: str, values: Sequence[float]) -> TextColumn:
    """Return a column of amounts in cores or GiB, or of other numbers as they are."""
    # Percentiles of a window are of its CPU, unless their name says otherwise.
    resource = "cpu" if name in PERCENTILES else resource_of(name)
    title = TITLES.get(name, name)
    if resource is None:
        return TextColumn(title, [number(value) for value in values], is_number=True)
    cells = [notation.amounts.number(value, resource) for value in values]
    return TextColumn(notation.amounts.column(title, resource), cells, is_number=True)
