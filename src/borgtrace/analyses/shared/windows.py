"""Usage windows as amounts that add up exactly.

An amount is an integer: the value times 2³⁰ (rounded) times whole seconds.  Integers add up to the
same sum in every order, so results do not depend on the engine, the threads or the order of rows;
2⁻³⁰ is a thousandth of the trace's smallest step (2⁻²⁰).  An hour of a full cell (12,000 machines)
is 4.6 · 10¹⁶ and fits; a month does not, so longer sums take fewer bits.
"""

import ibis
import ibis.expr.types as ir

from borgtrace.analyses.shared.attempts import TASK, of_jobs
from borgtrace.analyses.shared.joins import lookup
from borgtrace.question import Tables
from borgtrace.schema.time import AFTER_TRACE, HOUR, SECOND, TRACE_START, WINDOW

BITS = 30
"""Binary digits behind the point of an amount."""
FINE_BITS = 36
"""The same for sums over one task: an hour at 7 machines is 1.7 · 10¹⁵."""
SLOT_SECONDS = WINDOW // SECOND
HOUR_SECONDS = HOUR // SECOND
RESOURCES = ("cpu", "memory")
POSSIBLE = {"cycles_per_instruction": (0.1, 50.0), "memory_accesses_per_instruction": (0.0, 1.0)}
"""What the hardware counters can be; the traces hold some values outside (Google's notes on 2011)."""
UNKNOWN = "unknown"
"""Tier of an instance whose priority is in no event."""


def tier(tables: Tables, priority: ir.IntegerColumn) -> ir.StringColumn:
    """Name the tier of a priority column, `UNKNOWN` where it is NULL."""
    # The bounds are the dialect's: 2011 publishes ranks 0 … 11, 2019 raw priorities.
    cases = [(priority.between(low, high), name) for name, low, high in tables.dialect.tiers]
    return ibis.cases(*cases, else_=UNKNOWN)


def task_tiers(tables: Tables, *columns: str) -> ir.Table:
    """Return `TASK`, ``tier`` and some columns of the tasks."""
    return tables.tasks.select(*TASK, *columns, tier=tier(tables, tables.tasks.priority))


def regular(usage: ir.Table) -> ir.Table:
    """Keep windows that lie inside the trace and last a second or more; add ``seconds``, ``slot``, ``hour``.

    A window belongs to the 300 s slot and the hour it starts in: windows are aligned to that grid
    and at most 300 s long (2011 format document), so none crosses an hour.
    """
    is_inside = (usage.start_time >= TRACE_START) & (usage.end_time < AFTER_TRACE)
    # Amounts are multiplied by whole seconds: a shorter window would weigh nothing.
    lasts_a_second = usage.end_time >= usage.start_time + SECOND
    windows = usage.filter(is_inside & lasts_a_second)
    since_start = windows.start_time - TRACE_START
    return windows.mutate(
        seconds=(windows.end_time - windows.start_time) // SECOND,
        slot=since_start // WINDOW,
        hour=since_start // HOUR,
    )


def outermost(rows: ir.Table) -> ir.Table:
    """Leave out what runs inside an alloc set: the alloc instance's own row already holds it."""
    return rows.filter(rows.alloc_collection_id.isnull())


def fixed(value: ir.NumericColumn, bits: int = BITS) -> ir.IntegerColumn:
    """Round a resource to a whole number of 2⁻ᵇⁱᵗˢ.

    Parameters
    ----------
    value
        A resource, as a fraction of the largest machine.
    bits
        Binary digits behind the point.

    Notes
    -----
    Fill NULLs in what this returns, never in a float32 `value`: ibis takes the filled column for float64 and leaves
    the cast out, and DuckDB then rounds as float32 where Spark does not.
    """
    # Not round(): engines differ in which way they round halves.
    return (value.cast("float64") * float(2**bits) + 0.5).floor().cast("int64")


def amount(
    value: ir.NumericColumn, seconds: ir.IntegerColumn, bits: int = BITS
) -> ir.IntegerColumn:
    """Return value × seconds as an exact integer (see the module's note); NULL stays NULL.

    Parameters
    ----------
    value
        A resource, as a fraction of the largest machine.
    seconds
        Whole seconds that it was used.
    bits
        Binary digits behind the point.
    """
    return fixed(value, bits) * seconds


def int_sum(value: ir.NumericColumn, where: ir.BooleanColumn | None = None) -> ir.IntegerColumn:
    """Add up whole numbers, or truth values, in 64 bits: engines differ in how wide their sums are.

    Parameters
    ----------
    value
        Whole numbers; true counts as 1.
    where
        Rows that are added up; all of them where None.
    """
    # Cast first: BigQuery adds up no truth values.
    number = value.cast("int64") if isinstance(value, ir.BooleanValue) else value
    if where is not None:
        # Not sum(where=…): DuckDB copies what passes each filter.
        number = where.ifelse(number, ibis.null("int64"))
    return number.sum().cast("int64")


def level(
    total: ir.IntegerColumn, seconds: ir.NumericValue | float, bits: int = BITS
) -> ir.FloatingColumn:
    """Turn a sum of amounts back into a mean resource over `seconds`.

    Parameters
    ----------
    total
        Sum of amounts with `bits` digits.
    seconds
        The time to average over: the length of an hour or slot, or the time measured.
    bits
        Binary digits behind the point.
    """
    return total.cast("float64") / float(2**bits) / seconds


def by_tier(tables: Tables, rows: ir.Table) -> ir.Table:
    """Credit every usage row to the tier of its task: add ``tier`` and ``sign`` (see :func:`credited`)."""
    with_tiers = lookup(rows, task_tiers(tables), TASK)
    return credited(tables, with_tiers.mutate(tier=with_tiers.tier.fill_null(UNKNOWN)))


def credited(tables: Tables, own: ir.Table) -> ir.Table:
    """Add ``sign`` so that signed sums per ``tier`` never count an alloc set twice.

    A task counts for its own tier.  One that runs inside an alloc set is subtracted from the alloc's tier
    (a second row with ``sign`` −1), because the alloc instance's own row contains it; what is left
    there is the alloc's remainder.  Hence the tiers add up to the cell.

    Parameters
    ----------
    tables
        The store's tables.
    own
        Rows with ``alloc_collection_id`` and the ``tier`` of their own task.

    Returns
    -------
    ir.Table
        `own` with ``sign`` 1, and the rows inside alloc sets again, with the tier of the alloc set and ``sign`` −1.
    """
    counted = own.mutate(sign=ibis.literal(1, "int64"))
    # 2011 has no alloc sets: the join would be of nothing with nothing.
    if not tables.dialect.publishes("alloc_collection_id"):
        return counted
    allocs = tables.tasks.filter(tables.tasks.collection_type == "ALLOC_SET")
    # The tier of an alloc set is that of its instances, of which max() picks one whatever the order of rows.
    hosts = allocs.group_by(host_id="collection_id").aggregate(priority=allocs.priority.max())
    hosts = hosts.select("host_id", host_tier=tier(tables, hosts.priority))
    inside = own.filter(own.alloc_collection_id.notnull())
    subtracted = inside.left_join(hosts, inside.alloc_collection_id == hosts.host_id)
    subtracted = subtracted.mutate(
        tier=subtracted.host_tier.fill_null(UNKNOWN),
        sign=ibis.literal(-1, "int64"),
    )
    return counted.union(subtracted.select(counted.columns))


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
    jobs = of_jobs(usage)
    sums = {"seconds": int_sum(jobs.seconds)}
    for name in RESOURCES:
        average = jobs[f"average_{name}"]
        # A window without a value must not count as one of 0: it has no weight.
        weight = average.notnull().ifelse(jobs.seconds, ibis.literal(0, "int64"))
        sums[f"{name}_amount"] = int_sum(amount(average, jobs.seconds, FINE_BITS))
        sums[f"{name}_weight"] = int_sum(weight)
    # Per task, so that a task with two windows in a slot (two attempts) is one point of its series.
    tasks = jobs.group_by([*TASK, period]).aggregate(**sums)
    means = {}
    for name in RESOURCES:
        seconds_with_value = tasks[f"{name}_weight"].nullif(0)
        means[name] = level(tasks[f"{name}_amount"], seconds_with_value, FINE_BITS)
    return tasks.select(*TASK, period, "seconds", **means)


def share_of_request(rows: ir.Table, used: ir.NumericColumn, resource: str) -> ir.FloatingColumn:
    """Return what was used as a share of the request; NULL without a request, or where it is 0.

    Parameters
    ----------
    rows
        Rows with ``cpu_request`` and ``memory_request``.
    used
        The amount used, an expression over `rows`.
    resource
        ``"cpu"`` or ``"memory"``.
    """
    return used.cast("float64") / rows[f"{resource}_request"].cast("float64").nullif(0.0)


def peaks_of_request(tables: Tables) -> ir.Table:
    """Return per task of a job the largest maximum of its windows ÷ its request: `TASK`, ``cpu``, ``memory``."""
    # Not only regular windows: a peak needs no length.
    usage = of_jobs(tables.instance_usage)
    peaks = usage.group_by(list(TASK)).aggregate(
        cpu=usage.maximum_cpu.max(), memory=usage.maximum_memory.max()
    )
    requests = tables.tasks.select(*TASK, "cpu_request", "memory_request")
    rows = peaks.inner_join(requests, list(TASK))
    shares = {name: share_of_request(rows, rows[name], name) for name in RESOURCES}
    return rows.select(*TASK, **shares)
