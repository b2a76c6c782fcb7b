"""``borgtrace trace --plot``: one task's life on one self-contained page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from borgtrace.notation import Notation
from borgtrace.report.charts import figure
from borgtrace.report.holdings import trace_name
from borgtrace.report.own_units import OwnUnits
from borgtrace.report.page import render
from borgtrace.report.task_life import Life, chart, in_own_units, read_life, times
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
    notation = Notation.of(store)
    own_units = OwnUnits(notation)
    name = f"Task {notation.names.task_and_ids(collection_id, instance_index)}"
    life_chart = chart(in_own_units(life, notation), notation.amounts)
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
        facts=facts(life, own_units),
        tables=tables(life, own_units),
        note=notation.amounts.note,
        span=span(store.manifest, life),
    )
    path = as_local_path(path)
    write_file(path, html)
    return path


def tables(
    life: Life,
    own_units: OwnUnits,
    limit: int = SHOWN_WINDOWS,
) -> tuple[tuple[str, ShownTable, str], ...]:
    """Return the events and the windows of a task as tables: heading, rows, anchor.

    Parameters
    ----------
    life
        The task, as the store has it.
    own_units
        Of the store.
    limit
        Rows of each.
    """
    shown = []
    for name, rows, declared in (
        ("Events", life.events, TABLES["instance_events"]),
        ("Usage", life.usage, TABLES["instance_usage"]),
    ):
        first_rows, columns = own_units.rows(rows.slice(0, limit), declared)
        first = shown_table(first_rows, columns, limit)
        shown.append((name, replace(first, n_rows=rows.num_rows), name.lower()))
    return tuple(shown)


def facts(life: Life, own_units: OwnUnits) -> list[tuple[Column, str]]:
    """Return what the index says of the task, known values only.

    Parameters
    ----------
    life
        The task, as the store has it.
    own_units
        Of the store.
    """
    known = []
    for column in TABLES["tasks"].columns:
        value = life.task.get(column.name)
        if column.name in SHOWN_COLUMNS and value is not None:
            shown = own_units.column(column)
            known.append((shown, cell(own_units.writer(column)(value), shown)))
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
