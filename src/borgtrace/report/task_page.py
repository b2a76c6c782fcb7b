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

_ASKED = (
    "collection_type",
    "priority",
    "scheduling_class",
    "cpu_request",
    "memory_request",
    "disk_request",
)
_WHOSE = ("user", "collection_logical_name", "n_windows", "n_machines", "seconds", "end_type")
_USED = ("mean_average_cpu", "std_average_cpu", "max_average_cpu", "mean_average_memory")
_FACTS = (*_ASKED, *_WHOSE, *_USED)
# About a week of windows; the chart shows them all.
SHOWN_WINDOWS = 2000
_SECONDS = "%-d %b %Y %H:%M:%S %Z"


def write(store: Store, collection_id: int, instance_index: int, path: str | Path) -> Path:
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
    drawn = chart(life)
    html = render(
        "task.html.j2",
        title=name,
        trace=trace_name(store.manifest),
        store=store.path.name,
        manifest=store.manifest,
        life=life,
        figure=figure(drawn, f"The life of {name.lower()}.") if drawn is not None else None,
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
    # In the order of the table, whatever that of the list.
    columns = [column for column in TABLES["tasks"].columns if column.name in _FACTS]
    known = [column for column in columns if life.task[column.name] is not None]
    return [(column, cell(life.task[column.name], column)) for column in known]


def span(manifest: Manifest, life: Life) -> str:
    """Say from when to when a task is known.

    Parameters
    ----------
    manifest
        Of the store: the cell's wall clock.
    life
        The task.
    """
    known = times(life)
    first, last = (
        instant(time, manifest, _SECONDS) for time in (min(known, default=0), max(known, default=0))
    )
    return f"from {first} to {last}" if known else "at an unknown time"
