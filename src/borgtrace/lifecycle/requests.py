"""What a task requests at each time: its amounts, flags, priority and class.

Every event repeats these columns, and they are not always the same.  SUBMIT says what was asked for first.  In 2011,
what already ran at time 0 has a SUBMIT and a SCHEDULE there, and 37,566 of the 132,982 SUBMITs are stale: they carry
other requests than the SCHEDULE, and 20,911 another flag that the task needs a machine of its own.  After time 0 no
SCHEDULE differs from its SUBMIT, unless an UPDATE_PENDING came between.

Hence the rule: the values of the SCHEDULE are in force.  Of an attempt that never ran those of its end are, which
follow all updates, else those of its other events.
"""

from collections.abc import Sequence

import ibis
import ibis.expr.types as ir

from borgtrace.lifecycle.order import in_order
from borgtrace.schema import Dialect


def in_force(
    value: ir.Column,
    *,
    is_schedule: ir.BooleanValue,
    is_end: ir.BooleanValue,
) -> ir.Scalar:
    """Return the value that is in force in an attempt, an aggregate over its events.

    An attempt has one SCHEDULE and one end at most; among its other events max() does not depend on the order of rows.

    Parameters
    ----------
    value
        A column that events repeat.
    is_schedule, is_end
        Which events are SCHEDULE, and which end the attempt.
    """
    return ibis.coalesce(
        only(value, is_schedule).max(),
        only(value, is_end).max(),
        value.max(),
    )


def only(value: ir.Column, where: ir.BooleanValue) -> ir.Column:
    """Return a column that is NULL on all other rows, to be aggregated.

    Parameters
    ----------
    value
        A column.
    where
        Rows that keep their values.
    """
    # Not max(where=…): DuckDB copies what passes each filter.
    return where.ifelse(value, ibis.null(value.type()))


def last_in_force(
    rows: ir.Table,
    name: str,
) -> ir.Scalar:
    """Return the value that was in force last, an aggregate over all events of a task or of a collection.

    Parameters
    ----------
    rows
        Events from :func:`with_positions`.
    name
        A column that events repeat.
    """
    of_schedules = last_known(rows, name, rows.type == "SCHEDULE")
    return ibis.coalesce(of_schedules, last_known(rows, name))


def with_positions(
    events: ir.Table,
    key: Sequence[str],
    dialect: Dialect,
) -> ir.Table:
    """Return events with their ``position`` in the life of the thing that they happen to.

    Parameters
    ----------
    events
        ``collection_events`` or ``instance_events``.
    key
        What identifies a thing.
    dialect
        Settles equal times.
    """
    ordered, order = in_order(events, key, dialect)
    position = ibis.row_number().over(group_by=list(key), order_by=list(order))
    return ordered.mutate(position=position)


def last_known(
    rows: ir.Table,
    name: str,
    among: ir.BooleanValue | None = None,
) -> ir.Scalar:
    """Return a column's value in the last event that has one, an aggregate.

    Parameters
    ----------
    rows
        Events from :func:`with_positions`.
    name
        The column.
    among
        The events that are asked; all of them where None.
    """
    is_known = rows[name].notnull()
    if among is not None:
        is_known = among & is_known
    return rows[name].argmax(rows.position, where=is_known)
