"""Write a simulated schedule as a store of its own, so that every question can be asked of it."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from borgtrace.engine.embedded import select_sql
from borgtrace.engine.identifiers import quoted
from borgtrace.ingest.build.clustering import cluster
from borgtrace.ingest.build.completion import index_and_digest, new_store
from borgtrace.ingest.build.file_ranges import sorted_files
from borgtrace.ingest.build.sorted_relation import UnsortedRows
from borgtrace.ingest.progress import Progress
from borgtrace.kernels.arrays import Index
from borgtrace.scheduling.machines import CPU, MEMORY, UNIT
from borgtrace.scheduling.replay import ScheduleInput
from borgtrace.scheduling.state import ATTEMPT, DONE, ENDED, OUTCOME, RAN_ON, STARTED, SUBMITTED
from borgtrace.schema import TABLES, TRACE_TABLES
from borgtrace.schema.arrow import arrow_schema
from borgtrace.store import Store
from borgtrace.store.layout import Layout
from borgtrace.version import __version__

LEFT_OUT = ("instance_usage",)
"""Usage was measured beside other neighbors, on other machines, at other times."""

QUERIES = Path(__file__).parent / "event_log_sql"
CHANGED_TABLES = ("collection_events", "instance_events")
"""Tables that a schedule changes: each has a query of its name."""


def write_event_log(
    store: Store,
    trace: ScheduleInput,
    submissions: Index,
    *,
    policy: str,
    seed: int,
    out: str,
) -> None:
    """Write a store of what a policy made of a trace, marked as simulated.

    Parameters
    ----------
    store, trace
        What was replayed.
    submissions
        What :func:`borgtrace.scheduling.events.run` returned.
    policy, seed
        Recorded in the manifest.
    out
        The folder of the new store.

    Raises
    ------
    UsageError
        Where it holds something.
    """
    original = store.manifest
    source = Layout(store.path)
    with (
        new_store(out, store.memory, None, [source.root]) as (connection, work),
        store.expect_current(),
    ):
        connection.register("simulated", events_of(trace, submissions))
        files = {name: write_table(connection, source, work, name) for name in TRACE_TABLES}
        tables = sorted_files(files)
        done = index_and_digest(connection, tables, original.dialect, work, Progress())
        note = (
            f"simulated with {policy}, seed {seed}, from {original.digest}; "
            "tasks of alloc sets and usage are left out"
        )
        manifest = replace(
            original,
            sources=(),
            notes=(*original.notes, note),
            **done,
            synthetic={
                "simulated": policy,
                "seed": seed,
                "version": __version__,
                "of": original.digest,
                "was": original.synthetic,
            },
        )
        manifest.write(Layout(work).manifest)


def write_table(
    connection: duckdb.DuckDBPyConnection,
    source: Layout,
    work: Path,
    name: str,
) -> list[Path]:
    """Write a table: made of the schedule, copied, or left out."""
    is_changed = name in CHANGED_TABLES
    for view in {name, "tasks"} if is_changed else {name}:
        rows = select_sql(TABLES[view], source.local_parts(view))
        connection.execute(f"CREATE OR REPLACE VIEW {quoted(view)} AS {rows}")
    if name in LEFT_OUT or not (source.parts(name) or name == "instance_events"):
        return []
    query = f"SELECT * FROM {quoted(name)}"
    if is_changed:
        query = (QUERIES / f"{name}.sql").read_text("utf-8")
    return cluster(connection, TABLES[name], UnsortedRows(query), work / name)


def events_of(trace: ScheduleInput, submissions: Index) -> pa.Table:
    """Return the events of tasks, in the order in which they happen, as rows of ``instance_events``.

    Parameters
    ----------
    trace, submissions
        As for :func:`write_event_log`.
    """
    tasks = trace.tasks
    n = len(submissions)
    # First what is submitted, then what is scheduled, then what ends; −1 where that never happens.
    time = np.concatenate([submissions[:, column] for column in (SUBMITTED, STARTED, ENDED)])
    ends = np.where(submissions[:, OUTCOME] == DONE, tasks.ends[submissions[:, ATTEMPT]], "EVICT")
    types = np.concatenate([np.full(n, "SUBMIT"), np.full(n, "SCHEDULE"), ends])
    step = np.repeat(np.arange(3), n)
    row = np.tile(np.arange(n), 3)
    # Of one microsecond: first what was submitted first, and of that its steps.
    order = np.lexsort((step, row, time))
    order = order[time[order] >= 0]
    attempt = submissions[row[order], ATTEMPT]
    machine = submissions[row[order], RAN_ON]
    is_placed = (step[order] > 0) & (machine >= 0)
    priority = tasks.priority[attempt]
    sizes = tasks.sizes[attempt]
    requests = np.where(sizes > 0, sizes / UNIT, np.nan)
    n_events = len(order)
    columns = {
        "collection_id": tasks.collection[attempt],
        "instance_index": tasks.instance[attempt],
        "time": time[order],
        "type": types[order],
        "collection_type": np.full(n_events, "JOB"),
        "priority": pa.array(priority, mask=priority < 0),
        "machine_id": pa.array(trace.machines.ids[machine], mask=~is_placed),
        "is_on_dedicated_machine": np.zeros(n_events, np.bool_),
        "needs_different_machine": tasks.is_apart[attempt],
        "cpu_request": pa.array(requests[:, CPU], from_pandas=True),
        "memory_request": pa.array(requests[:, MEMORY], from_pandas=True),
        "source_part": np.zeros(n_events, np.int64),
        "source_row": np.arange(n_events),
    }
    return event_table(columns, n_events)


def event_table(columns: Mapping[str, Any], n_events: int) -> pa.Table:
    """Return ``instance_events`` of some columns, without values in all others."""
    schema = arrow_schema(TABLES["instance_events"])
    arrays = []
    for field in schema:
        if field.name in columns:
            arrays.append(pa.array(columns[field.name]).cast(field.type))
        else:
            arrays.append(pa.nulls(n_events, field.type))
    return pa.Table.from_arrays(arrays, schema=schema)
