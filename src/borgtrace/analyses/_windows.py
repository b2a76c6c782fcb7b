"""Usage windows as amounts that add up exactly.

An amount is an integer: the value times 2³⁰ (rounded) times whole seconds.  Integers add up to the
same sum in every order, so results do not depend on the engine, the threads or the order of rows;
2⁻³⁰ is a thousandth of the trace's smallest step (2⁻²⁰).  An hour of a full cell (12,000 machines)
is 4.6 · 10¹⁶ and fits; a month does not, so longer sums take fewer bits.
"""

from __future__ import annotations

import ibis
import ibis.expr.types as ir

from borgtrace.analyses._lookup import lookup
from borgtrace.schema import tiers
from borgtrace.schema.time import AFTER_TRACE, HOUR, SECOND, TRACE_START, WINDOW

BITS = 30
"""Binary digits behind the point of an amount."""
SLOT_SECONDS = WINDOW // SECOND
HOUR_SECONDS = HOUR // SECOND
RESOURCES = ("cpu", "memory")
UNKNOWN = "unknown"
"""Tier of an instance whose priority no event tells."""


def tier(priority: ir.IntegerColumn, generation: str) -> ir.StringColumn:
    """Name the tier of a priority column, `UNKNOWN` where it is NULL."""
    cases = [(priority.between(low, high), name) for name, low, high in tiers(generation)]
    return ibis.cases(*cases, else_=UNKNOWN)


def regular(usage: ir.Table) -> ir.Table:
    """Keep windows that lie inside the trace and have a length; add ``seconds``, ``slot``, ``hour``.

    A window belongs to the 300 s slot and the hour it starts in: windows are aligned to that grid
    and at most 300 s long (2011 format document), so none crosses an hour.
    """
    inside = (usage.start_time >= TRACE_START) & (usage.end_time < AFTER_TRACE)
    kept = usage.filter(inside & (usage.end_time >= usage.start_time + SECOND))
    since = kept.start_time - TRACE_START
    return kept.mutate(seconds=(kept.end_time - kept.start_time) // SECOND, slot=since // WINDOW, hour=since // HOUR)


def outermost(rows: ir.Table) -> ir.Table:
    """Leave out what runs inside an alloc set: the alloc instance's own row already holds it."""
    return rows.filter(rows.alloc_collection_id.isnull())


def fixed(value: ir.NumericColumn, bits: int = BITS) -> ir.IntegerColumn:
    """Round a resource to a whole number of 2⁻ᵇⁱᵗˢ."""
    return (value.cast("float64") * float(2**bits) + 0.5).floor().cast("int64")


def amount(value: ir.NumericColumn, seconds: ir.IntegerColumn, bits: int = BITS) -> ir.IntegerColumn:
    """Return value × seconds as an exact integer (see the module's note); NULL stays NULL."""
    return fixed(value, bits) * seconds


def level(total: ir.IntegerColumn, seconds: ir.NumericValue | float, bits: int = BITS) -> ir.FloatingColumn:
    """Turn a sum of amounts back into a mean resource over `seconds`."""
    return total.cast("float64") / float(2**bits) / seconds


def by_tier(rows: ir.Table, tasks: ir.Table, generation: str) -> ir.Table:
    """Credit every usage row to the tier of its task: add ``tier`` and ``sign`` (see :func:`credited`)."""
    key = ["collection_id", "instance_index"]
    index = tasks.select(*key, tier=tier(tasks.priority, generation))
    own = lookup(rows, index, key)
    return credited(own.mutate(tier=own.tier.fill_null(UNKNOWN)), tasks, generation)


def credited(own: ir.Table, tasks: ir.Table, generation: str) -> ir.Table:
    """Add ``sign`` so that signed sums per ``tier`` never count an alloc set twice.

    A task counts for its own tier.  One that runs inside an alloc set is taken off the alloc's tier
    again (a second row with ``sign`` −1), because the alloc instance's own row contains it; what is left
    there is the alloc's remainder.  Hence the tiers add up to the cell.
    """
    once = own.mutate(sign=ibis.literal(1, "int64"))
    if generation == "2011":
        return once
    allocs = tasks.filter(tasks.collection_type == "ALLOC_SET")
    hosts = allocs.group_by(host_id="collection_id").aggregate(priority=allocs.priority.max())
    hosts = hosts.select("host_id", host_tier=tier(hosts.priority, generation))
    inside = own.filter(own.alloc_collection_id.notnull())
    taken = inside.left_join(hosts, inside.alloc_collection_id == hosts.host_id)
    taken = taken.mutate(tier=taken.host_tier.fill_null(UNKNOWN), sign=ibis.literal(-1, "int64"))
    return once.union(taken.select(once.columns))


def task_means(usage: ir.Table, period: str) -> ir.Table:
    """Return what each task of a job used per `period`: the mean over its windows.

    Windows are weighted by their length, and one without a value is left out.

    Parameters
    ----------
    usage
        Windows from :func:`regular`.
    period
        ``"slot"`` or ``"hour"``.

    Returns
    -------
    ir.Table
        ``collection_id``, ``instance_index``, `period`, ``seconds`` measured, ``cpu``, ``memory``.
    """
    jobs = usage.filter(usage.collection_type == "JOB")
    measured = jobs.mutate(
        **{
            f"{name}_{kind}": column
            for name in RESOURCES
            for kind, column in _parts(jobs, jobs[f"average_{name}"]).items()
        }
    )
    sums = measured.group_by(["collection_id", "instance_index", period]).aggregate(
        seconds=measured.seconds.sum().cast("int64"),
        **{
            f"{name}_{kind}": measured[f"{name}_{kind}"].sum().cast("int64")
            for name in RESOURCES
            for kind in ("amount", "weight")
        },
    )
    return sums.select(
        "collection_id",
        "instance_index",
        period,
        "seconds",
        **{name: level(sums[f"{name}_amount"], sums[f"{name}_weight"].nullif(0), _FINE_BITS) for name in RESOURCES},
    )


_FINE_BITS = 36
"""For sums over one task: an hour at 7 machines is 1.7 · 10¹⁵."""


def _parts(rows: ir.Table, value: ir.FloatingColumn) -> dict[str, ir.IntegerColumn]:
    return {
        "amount": amount(value, rows.seconds, _FINE_BITS),
        "weight": value.notnull().ifelse(rows.seconds, ibis.literal(0, "int64")),
    }
