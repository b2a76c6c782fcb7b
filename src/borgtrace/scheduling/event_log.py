"""A simulated schedule as a store of its own: what every question asks of a trace can be asked of it."""

from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from borgtrace._version import __version__
from borgtrace.engine.embedded import select_sql
from borgtrace.ingest.build.clustering import cluster
from borgtrace.ingest.build.completion import index_and_digest, new_store
from borgtrace.ingest.progress import Progress
from borgtrace.kernels.arrays import Index
from borgtrace.scheduling.machines import UNIT
from borgtrace.scheduling.replay import Trace
from borgtrace.scheduling.state import DONE, ENDED, KIND, STARTED, SUBMITTED, WHERE
from borgtrace.schema import TABLES, TERMINAL_EVENTS, TRACE_TABLES
from borgtrace.schema.arrow import arrow_schema
from borgtrace.store import Store
from borgtrace.store.layout import Layout

_LEFT_OUT = ("instance_usage",)
"""Usage was measured beside other neighbors, on other machines, at other times."""
_SQL = (Path(__file__).parent / "event_log_sql").glob("*.sql")
_MADE = {path.stem: path.read_text("utf-8").format(ends=TERMINAL_EVENTS) for path in _SQL}
"""Tables that a schedule changes."""


def write_event_log(
    store: Store,
    trace: Trace,
    found: Index,
    policy: str,
    seed: int,
    out: str,
) -> None:
    """Write a store of what a policy made of a trace, marked as simulated.

    Parameters
    ----------
    store, trace
        What was replayed.
    found
        What :func:`borgtrace.scheduling.events.run` returned.
    policy, seed
        What is said of it in the manifest.
    out
        The folder of the new store.

    Raises
    ------
    UsageError
        Where it holds something.
    """
    held = store.manifest
    source = Layout(store.path)
    with new_store(out, store.memory, None) as (connection, work):
        connection.register("simulated", events_of(trace, found))
        files = {name: _written(connection, source, work, name) for name in TRACE_TABLES}
        done = finish(
            connection,
            files,
            held.dialect,
            work,
            Progress(),
        )
        made = {
            "simulated": policy,
            "seed": seed,
            "version": __version__,
            "of": held.digest,
            "was": held.synthetic,
        }
        words = f"simulated with {policy}, seed {seed}, from {held.digest}; tasks of alloc sets and usage are left out"
        manifest = replace(
            held,
            sources=(),
            notes=(*held.notes, words),
            **done,
            synthetic=made,
        )
        manifest.write(Layout(work).manifest)


def _written(
    connection: duckdb.DuckDBPyConnection,
    source: Layout,
    work: Path,
    name: str,
) -> list[Path]:
    """Write a table: made of the schedule, copied, or left out."""
    for view in {name, "tasks"} if name in _MADE else {name}:
        connection.execute(
            f"CREATE OR REPLACE VIEW {view} AS {select_sql(TABLES[view], source.local_parts(view))}"
        )
    if name in _LEFT_OUT or not (source.parts(name) or name == "instance_events"):
        return []
    return cluster(connection, TABLES[name], _MADE.get(name, f"SELECT * FROM {name}"), work / name)


def events_of(trace: Trace, found: Index) -> pa.Table:
    """Return the events of tasks, in the order in which they happen, as rows of ``instance_events``.

    Parameters
    ----------
    trace, found
        As for :func:`write_event_log`.
    """
    tasks = trace.tasks
    table = TABLES["instance_events"]
    ends = np.where(found[:, KIND] == DONE, tasks.ends[found[:, 0]], "EVICT")
    steps = [
        (SUBMITTED, np.full(len(found), "SUBMIT")),
        (STARTED, np.full(len(found), "SCHEDULE")),
        (ENDED, ends),
    ]
    time = np.concatenate([found[:, column] for column, _ in steps])
    row = np.tile(np.arange(len(found)), len(steps))
    # Of one microsecond: first what was submitted first, and of that its steps.
    order = np.lexsort((np.arange(len(time)) // max(len(found), 1), row, time))
    order = order[time[order] >= 0]
    place = found[row[order], 0]
    rows = len(order)
    where = found[row[order], WHERE]
    is_there = (order >= len(found)) & (where >= 0)
    sizes = np.where(tasks.sizes[place] > 0, tasks.sizes[place] / UNIT, np.nan)
    given = {
        **{
            "collection_id": tasks.collection[place],
            "instance_index": tasks.instance[place],
            "time": time[order],
        },
        **{
            "type": np.concatenate([kinds for _, kinds in steps])[order],
            "collection_type": np.full(rows, "JOB"),
        },
        "priority": pa.array(tasks.priority[place], mask=tasks.priority[place] < 0),
        "machine_id": pa.array(trace.machines.ids[where], mask=~is_there),
        **{
            "is_on_dedicated_machine": np.zeros(rows, np.bool_),
            "needs_different_machine": tasks.is_apart[place],
        },
        "cpu_request": pa.array(sizes[:, 0], from_pandas=True),
        "memory_request": pa.array(sizes[:, 1], from_pandas=True),
        **{"source_part": np.zeros(rows, np.int64), "source_row": np.arange(rows)},
    }
    columns = [
        pa.array(given[name]).cast(kind) if name in given else pa.nulls(rows, kind)
        for name, kind in ((field.name, field.type) for field in arrow_schema(table))
    ]
    return pa.Table.from_arrays(columns, schema=arrow_schema(table))
