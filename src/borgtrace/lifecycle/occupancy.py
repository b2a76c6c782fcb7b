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
    # A lost SUBMIT hides nothing but its own time: what was queued or enabled was waiting.
    waiting_from = ibis.coalesce(attempts.submit_time, attempts.queue_time, attempts.enable_time)
    # Where ENABLE is lost, being scheduled or leaving ends the hold.
    held_until = ibis.coalesce(attempts.enable_time, attempts.schedule_time, attempts.left_time)
    is_job = attempts.collection_type == "JOB"
    placed = attempts.select(
        "queue_time",
        "schedule_time",
        "left_time",
        is_job=is_job,
        waiting_from=waiting_from,
        held_until=held_until,
    )
    waits = placed.waiting_from.notnull()
    runs = placed.schedule_time.notnull()
    changes = ibis.union(
        _change(placed.filter(waits), "waiting_from", pending=1),
        # What was never seen waiting is not taken off the pending, which else would fall below the truth for ever.
        _change(placed.filter(runs & ~waits), "schedule_time", running=1),
        _change(placed.filter(runs & waits), "schedule_time", pending=-1, running=1),
        _change(placed.filter(runs), "left_time", running=-1),
        _change(placed.filter(waits & ~runs), "left_time", pending=-1),
        _change(placed, "queue_time", queued=1),
        _change(placed.filter(placed.queue_time.notnull()), "held_until", queued=-1),
    )
    summed = changes.group_by("is_job", "time").aggregate(
        # DuckDB sums to HUGEINT; four bytes are plenty for the changes of one instant, and the running sum reads them
        # all.
        **{state: changes[state].sum().cast("int32") for state in _STATES}
    )
    so_far = ibis.cumulative_window(group_by="is_job", order_by="time")
    return summed.select(
        "time",
        collection_type=summed.is_job.ifelse("JOB", "ALLOC_SET"),
        **{state: summed[state].sum().over(so_far).cast("int64") for state in _STATES},
    ).select("collection_type", "time", *_STATES)


def _change(rows: ibis.Table, at: str, **change: int) -> ibis.Table:
    """Write one change of state per row, at its time `at` (NULL: it never happened).

    There are three times as many changes as attempts, so they are kept narrow: half the time.
    """
    amounts = {state: ibis.literal(change.get(state, 0), "int8") for state in _STATES}
    return rows.filter(rows[at].notnull()).select("is_job", time=rows[at], **amounts)
