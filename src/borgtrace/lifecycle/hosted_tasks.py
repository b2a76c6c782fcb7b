"""The table of tasks without an ingest: an expression over the other tables, for views of hosted ones."""

import ibis

from borgtrace.engine.dtypes import ibis_schema
from borgtrace.lifecycle.requests import last_in_force, last_known, with_positions
from borgtrace.schema import TABLES, TERMINAL_EVENTS, UPDATE_EVENTS, Dialect
from borgtrace.schema.enums import EVENT_TYPE
from borgtrace.schema.tables import LAST_KNOWN_COLUMNS, STATISTICS_COLUMNS
from borgtrace.schema.tables.shared_columns import WORKLOAD
from borgtrace.schema.time import AFTER_TRACE, SECOND

_TASK = ("collection_id", "instance_index")
_EVENT_COUNTS = {f"n_{name.lower()}": name for name in EVENT_TYPE.names}
"""Columns that count events, and the type that each counts."""
_ZERO_IF_MISSING = (
    "n_windows",
    "n_gaps",
    "n_machines",
    "seconds",
    *_EVENT_COUNTS,
)


def tasks(
    usage: ibis.Table,
    events: ibis.Table,
    collections: ibis.Table,
    dialect: Dialect,
) -> ibis.Table:
    """Return the columns of the table ``tasks``, as ingest writes them; ``first_row`` is NULL: rows have no positions.

    Parameters
    ----------
    usage, events, collections
        instance_usage, instance_events, collection_events.
    dialect
        Says in which order events of equal times happened.
    """
    joined = _summarize_usage(usage).outer_join(_summarize_events(events, dialect), list(_TASK))
    keys = {}
    for name in (*_TASK, "collection_type"):
        keys[name] = ibis.coalesce(joined[name], joined[f"{name}_right"])
    right_keys = [f"{name}_right" for name in keys]
    rows = joined.mutate(**keys).drop(*right_keys)
    rows = rows.left_join(_summarize_collections(collections, dialect), "collection_id")
    counts = {name: rows[name].fill_null(0) for name in _ZERO_IF_MISSING}
    rows = rows.mutate(
        first_time=ibis.coalesce(rows.first_time, rows.first_event),
        last_time=ibis.coalesce(rows.last_time, rows.last_event),
        user=ibis.coalesce(rows.user, rows.collection_user),
        first_row=ibis.null("int64"),
        **counts,
    )
    schema = ibis_schema(TABLES["tasks"])
    columns = {name: rows[name].cast(dtype) for name, dtype in schema.items()}
    return rows.select(**columns)


def _summarize_usage(usage: ibis.Table) -> ibis.Table:
    """Return what the windows of each task add up to."""
    before = ibis.window(
        group_by=list(_TASK),
        order_by="start_time",
        preceding=(None, 1),
        following=None,
    )
    # A window that ends after the trace has no known length.
    length = (usage.end_time == AFTER_TRACE).ifelse(0, usage.end_time - usage.start_time)
    # A first window has none before it, and NULL is no gap.
    is_gap = (usage.start_time > usage.end_time.max().over(before)).fill_null(False)
    rows = usage.mutate(length=length, is_gap=is_gap.cast("int64"))
    statistics: dict[str, ibis.Value] = {}
    for name in STATISTICS_COLUMNS:
        value = rows[name].cast("float64")
        weight = value.notnull().ifelse(rows.length, 0).sum()
        weighted_sum = (value * rows.length).sum()
        statistics[f"mean_{name}"] = value.mean()
        statistics[f"std_{name}"] = value.std(how="pop")
        statistics[f"max_{name}"] = value.max()
        statistics[f"weighted_mean_{name}"] = weighted_sum / weight.nullif(0)
    return rows.group_by(list(_TASK)).aggregate(
        collection_type=rows.collection_type.max(),
        n_windows=rows.count(),
        n_gaps=rows.is_gap.sum(),
        n_machines=rows.machine_id.nunique(),
        seconds=rows.length.sum() / float(SECOND),
        first_time=rows.start_time.min(),
        last_time=rows.end_time.max(),
        **statistics,
    )


def _summarize_events(events: ibis.Table, dialect: Dialect) -> ibis.Table:
    """Return what the events of each task say of it."""
    rows = with_positions(events, _TASK, dialect)
    last_values = {}
    for name in LAST_KNOWN_COLUMNS:
        last_values[name] = last_in_force(rows, name)
    counts = {}
    for column, event_type in _EVENT_COUNTS.items():
        counts[column] = (rows.type == event_type).sum()
    is_change = rows.type.notin(UPDATE_EVENTS)
    summary = rows.group_by(list(_TASK)).aggregate(
        collection_type=rows.collection_type.max(),
        first_event=rows.time.min(),
        last_event=rows.time.max(),
        user=last_known(rows, "user"),
        # Updates change no state, so they cannot hide the end of an instance.
        last_type=rows.type.argmax(rows.position, where=is_change),
        **last_values,
        **counts,
    )
    last_type = summary.last_type
    has_ended = last_type.isin(TERMINAL_EVENTS)
    return summary.mutate(end_type=has_ended.ifelse(last_type, ibis.null("string")))


def _summarize_collections(collections: ibis.Table, dialect: Dialect) -> ibis.Table:
    """Return who submitted each collection, its logical name, and where it belongs."""
    rows = with_positions(collections, ("collection_id",), dialect)
    places = {column.name: last_known(rows, column.name) for column in WORKLOAD}
    return rows.group_by("collection_id").aggregate(
        collection_user=last_known(rows, "user"),
        collection_logical_name=last_known(rows, "collection_logical_name"),
        **places,
    )
