"""How many things are pending, queued and running, as exact step functions of time."""

import ibis

_STATES = ("pending", "queued", "running")


def occupancy(attempts: ibis.Table) -> ibis.Table:
    """Return the number of things in each state after every instant at which it changes.

    Parameters
    ----------
    attempts
        Attempts of collections or of instances.

    Returns
    -------
    ibis.Table
        ``collection_type``, ``time`` (µs), ``pending`` (submitted and not running), ``queued`` (the part of
        them that is held back between QUEUE and ENABLE), ``running``; the values hold from `time` on.

    Notes
    -----
    What is alive is ``pending + running``, and equals the number of attempts begun minus left: the stock
    identity holds by construction, whatever the history looks like.
    """
    # A lost SUBMIT hides only its own time: what was queued or enabled was waiting.
    waiting_from = ibis.coalesce(attempts.submit_time, attempts.queue_time, attempts.enable_time)
    # Where ENABLE is lost, being scheduled or leaving ends the hold.
    held_until = ibis.coalesce(attempts.enable_time, attempts.schedule_time, attempts.left_time)
    narrow_attempts = attempts.select(
        "queue_time",
        "schedule_time",
        "left_time",
        is_job=attempts.collection_type == "JOB",
        waiting_from=waiting_from,
        held_until=held_until,
    )
    changes = _all_changes(narrow_attempts)
    totals = {}
    for state in _STATES:
        # DuckDB sums to HUGEINT; four bytes are plenty for the changes of one instant, and the running sum reads
        # them all.
        totals[state] = changes[state].sum().cast("int32")
    summed = changes.group_by("is_job", "time").aggregate(**totals)
    so_far = ibis.cumulative_window(group_by="is_job", order_by="time")
    levels = {}
    for state in _STATES:
        levels[state] = summed[state].sum().over(so_far).cast("int64")
    rows = summed.select(
        "time",
        collection_type=summed.is_job.ifelse("JOB", "ALLOC_SET"),
        **levels,
    )
    return rows.select("collection_type", "time", *_STATES)


def _all_changes(attempts: ibis.Table) -> ibis.Table:
    """Return what each attempt adds to the number of things in each state, and when."""
    waits = attempts.waiting_from.notnull()
    runs = attempts.schedule_time.notnull()
    is_queued = attempts.queue_time.notnull()
    return ibis.union(
        _change(attempts.filter(waits), "waiting_from", pending=1),
        # A thing that was never seen waiting is not subtracted from pending, which would stay too low for ever.
        _change(
            attempts.filter(runs & ~waits),
            "schedule_time",
            running=1,
        ),
        _change(
            attempts.filter(runs & waits),
            "schedule_time",
            pending=-1,
            running=1,
        ),
        _change(attempts.filter(runs), "left_time", running=-1),
        _change(
            attempts.filter(waits & ~runs),
            "left_time",
            pending=-1,
        ),
        _change(attempts, "queue_time", queued=1),
        _change(attempts.filter(is_queued), "held_until", queued=-1),
    )


def _change(rows: ibis.Table, time_column: str, **change: int) -> ibis.Table:
    """Return one change of state per row, at the time of a column (NULL: it never happened).

    There are three times as many changes as attempts; narrow rows halve the time.
    """
    time = rows[time_column]
    amounts = {state: ibis.literal(change.get(state, 0), "int8") for state in _STATES}
    return rows.filter(time.notnull()).select("is_job", time=time, **amounts)
