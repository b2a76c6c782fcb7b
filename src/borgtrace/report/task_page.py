"""``borgtrace trace --plot``: one task's life on one self-contained page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from borgtrace.report.charts import figure
from borgtrace.report.holdings import trace_name
from borgtrace.report.page import render
from borgtrace.report.task_life import Life, chart, read_life, times
from borgtrace.report.values import ShownTable, cell, instant, shown_table
from borgtrace.schema import TABLES, Column
from borgtrace.storage import as_local_path, write_file
from borgtrace.store.manifest import Manifest

if TYPE_CHECKING:
    from borgtrace.store import Store

SHOWN_COLUMNS = frozenset(
    {
        # What it asked for.
        "collection_type",
        "priority",
        "scheduling_class",
        "cpu_request",
        "memory_request",
        "disk_request",
        # Whose it is, and how long it lived.
        "user",
        "collection_logical_name",
        "n_windows",
        "n_machines",
        "seconds",
        "end_type",
        # What it used.
        "mean_average_cpu",
        "std_average_cpu",
        "max_average_cpu",
        "mean_average_memory",
    }
)
"""Columns of the index of tasks that a page shows."""
SHOWN_WINDOWS = 2000
"""About a week of windows; the chart shows them all."""
SECONDS = "%-d %b %Y %H:%M:%S %Z"
"""An instant as the user's clock shows it, to the second."""


def write(
    store: Store,
    collection_id: int,
    instance_index: int,
    path: str | Path,
) -> Path:
    """Draw the life of one task: events as marks, usage as lines, both as tables.

    Parameters
    ----------
    store
        An open store.
    collection_id, instance_index
        The task.
    path
        The HTML file; replaced at the end.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    UsageError
        Where the store has no such task.
    """
    life = read_life(store, collection_id, instance_index)
    name = f"Task {collection_id}:{instance_index}"
    life_chart = chart(life)
    title = f"The life of {name.lower()}."
    drawing = None if life_chart is None else figure(life_chart, title)
    html = render(
        "task.html.j2",
        title=name,
        trace=trace_name(store.manifest),
        store=store.path.name,
        manifest=store.manifest,
        life=life,
        figure=drawing,
        facts=facts(life),
        tables=tables(life),
        span=span(store.manifest, life),
    )
    path = as_local_path(path)
    write_file(path, html)
    return path


def tables(life: Life, limit: int = SHOWN_WINDOWS) -> tuple[tuple[str, ShownTable, str], ...]:
    """Return the events and the windows of a task as tables: heading, rows, anchor.

    Parameters
    ----------
    life
        The task.
    limit
        Rows of each.
    """
    return (
        ("Events", shown_table(life.events, TABLES["instance_events"], limit), "events"),
        ("Usage", shown_table(life.usage, TABLES["instance_usage"], limit), "usage"),
    )


def facts(life: Life) -> list[tuple[Column, str]]:
    """Return what the index says of the task, known values only."""
    known = []
    for column in TABLES["tasks"].columns:
        value = life.task.get(column.name)
        if column.name in SHOWN_COLUMNS and value is not None:
            known.append((column, cell(value, column)))
    return known


def span(manifest: Manifest, life: Life) -> str:
    """Say from when to when a task is known.

    Parameters
    ----------
    manifest
        Of the store: the cell's wall clock.
    life
        The task.
    """
    known_times = times(life)
    if not known_times:
        return "at an unknown time"
    first = instant(min(known_times), manifest, SECONDS)
    last = instant(max(known_times), manifest, SECONDS)
    return f"from {first} to {last}"
