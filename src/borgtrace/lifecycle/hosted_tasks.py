"""The table of tasks where there was no ingest: an expression over the other tables, for views of hosted ones."""

import ibis

from borgtrace.engine.dtypes import ibis_schema
from borgtrace.lifecycle.order import in_order
from borgtrace.schema import TABLES, TERMINAL_EVENTS, UPDATE_EVENTS, Dialect
from borgtrace.schema.enums import EVENT_TYPE
from borgtrace.schema.tables import LAST_KNOWN_COLUMNS, STATISTICS_COLUMNS
from borgtrace.schema.time import AFTER_TRACE, SECOND

_TASK = ("collection_id", "instance_index")
_COUNTED = (
    "n_windows",
    "n_gaps",
    "n_machines",
    "seconds",
    *(f"n_{name.lower()}" for name in EVENT_TYPE.names),
)


def tasks(
    usage: ibis.Table, events: ibis.Table, collections: ibis.Table, dialect: Dialect
) -> ibis.Table:
    """Return the columns of the table ``tasks``, as ingest makes them; ``first_row`` is NULL, for rows have no place.

    Parameters
    ----------
    usage, events, collections
        instance_usage, instance_events, collection_events.
    dialect
        Says in which order events of equal times happened.
    """
    joined = _of_usage(usage).outer_join(_of_events(events, dialect), list(_TASK))
    keys = {
        name: ibis.coalesce(joined[name], joined[f"{name}_right"])
        for name in (*_TASK, "collection_type")
    }
    rows = joined.mutate(**keys).drop(*(f"{name}_right" for name in keys))
    rows = rows.left_join(_names(collections, dialect), "collection_id")
    rows = rows.mutate(
        first_time=ibis.coalesce(rows.first_time, rows.first_event),
        last_time=ibis.coalesce(rows.last_time, rows.last_event),
        user=ibis.coalesce(rows.user, rows.collection_user),
        first_row=ibis.null("int64"),
        **{name: rows[name].fill_null(0) for name in _COUNTED},
    )
    return rows.select(
        **{name: rows[name].cast(dtype) for name, dtype in ibis_schema(TABLES["tasks"]).items()}
    )


def _of_usage(usage: ibis.Table) -> ibis.Table:
    """Return what the windows of each task tell."""
    before = ibis.window(
        group_by=list(_TASK),
        order_by="start_time",
        preceding=(None, 1),
        following=None,
    )
    # A window that ends after the trace has no known length.
    length = (usage.end_time == AFTER_TRACE).ifelse(0, usage.end_time - usage.start_time)
    rows = usage.mutate(
        length=length,
        is_gap=(usage.start_time > usage.end_time.max().over(before))
        .fill_null(False)
        .cast("int64"),
    )
    statistics: dict[str, ibis.Value] = {}
    for name in STATISTICS_COLUMNS:
        value = rows[name].cast("float64")
        weight = value.notnull().ifelse(rows.length, 0).sum()
        statistics |= {
            f"mean_{name}": value.mean(),
            f"std_{name}": value.std(how="pop"),
            f"max_{name}": value.max(),
            f"weighted_mean_{name}": (value * rows.length).sum() / weight.nullif(0),
        }
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


def _of_events(events: ibis.Table, dialect: Dialect) -> ibis.Table:
    """Return what the events of each task tell."""
    ordered, order = in_order(events, _TASK, dialect)
    rows = ordered.mutate(place=ibis.row_number().over(group_by=list(_TASK), order_by=list(order)))
    is_start = rows.type == "SCHEDULE"
    told = rows.group_by(list(_TASK)).aggregate(
        collection_type=rows.collection_type.max(),
        first_event=rows.time.min(),
        last_event=rows.time.max(),
        user=_last(rows, "user"),
        # Updates change no state, so they cannot hide the end of an instance.
        last_type=rows.type.argmax(rows.place, where=rows.type.notin(UPDATE_EVENTS)),
        **{
            name: ibis.coalesce(_last(rows, name, is_start), _last(rows, name))
            for name in LAST_KNOWN_COLUMNS
        },
        **{f"n_{name.lower()}": (rows.type == name).sum() for name in EVENT_TYPE.names},
    )
    return told.mutate(
        end_type=told.last_type.isin(TERMINAL_EVENTS).ifelse(told.last_type, ibis.null("string"))
    )


def _names(collections: ibis.Table, dialect: Dialect) -> ibis.Table:
    """Return who submitted each collection, and its logical name."""
    ordered, order = in_order(collections, ("collection_id",), dialect)
    rows = ordered.mutate(
        place=ibis.row_number().over(group_by="collection_id", order_by=list(order))
    )
    return rows.group_by("collection_id").aggregate(
        collection_user=_last(rows, "user"),
        collection_logical_name=_last(rows, "collection_logical_name"),
    )


def _last(rows: ibis.Table, name: str, among: ibis.Value | None = None) -> ibis.Value:
    """Value of a column in the last event that has one, of all events or of those that `among` selects."""
    known = rows[name].notnull()
    return rows[name].argmax(rows.place, where=known if among is None else among & known)
