"""The cell in numbers: a few amounts a line, each from the answer of a question."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Literal

import pyarrow as pa

from borgtrace.analyses.queue import queue_length
from borgtrace.notation import ResourceAmounts
from borgtrace.question import NotApplicable, Row, query_answer
from borgtrace.schema.time import HOUR, TRACE_START
from borgtrace.store.coverage import DERIVED_EVENTS, coverage
from borgtrace.store.manifest import Manifest

CONTENTS = {
    "instance_usage": "usage",
    "instance_events": "task events",
    "machine_events": "machine events",
}
"""Tables, as people call what is in them."""
RESOURCES = {"cpu": "CPU", "memory": "memory"}
CAPACITY_UNITS = {"cpu": "CPU", "memory": "memory, in largest machines"}
CELL_BY_HOUR = """
    select hour,
        sum(cpu_used) as cpu_used,
        sum(cpu_allocated) as cpu_allocated,
        last(cpu_capacity) as cpu_capacity,
        sum(memory_used) as memory_used,
        sum(memory_allocated) as memory_allocated,
        last(memory_capacity) as memory_capacity
    from answer
    group by hour
    having last(cpu_capacity) > 0 and last(memory_capacity) > 0
    order by hour
"""
"""What all tiers use and are allocated in each hour, and the capacity, which is the cell's and the same in each row."""

Form = Literal["count", "number", "percent", "short percent", "factor", "hour", "text"]
"""How an amount is written: ``hour`` is one of the trace, ``short percent`` for a narrow column."""


@dataclass(frozen=True, slots=True)
class Amount:
    """One value: its id in the page, what a program reads, how it is written, and what it is of.

    ``text`` is what a person reads where that is not the value itself.
    """

    id: str
    exact: float | str
    form: Form
    label: str = ""
    text: str = ""


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
)
class ScreenLine:
    """A line of the first screen: the question, the table that it needs most, and how the answer is read."""

    name: str
    title: str
    question: str
    needs: str
    read: Callable[[pa.Table, Manifest], Iterable[Amount]]


def machines(answer: pa.Table, manifest: Manifest) -> Iterator[Amount]:
    """Read how many machines there are at the end, and of how many shapes."""
    n_machines = sum(answer["n_last"].to_pylist())
    yield Amount("machines", n_machines, "count", f"of {answer.num_rows} shapes")


def capacity(answer: pa.Table, manifest: Manifest) -> Iterator[Amount]:
    """Read the mean capacity over time."""
    amounts = ResourceAmounts.of(manifest)
    for resource, unit in CAPACITY_UNITS.items():
        mean = sum(answer[resource].to_pylist()) / answer.num_rows
        shown_unit = amounts.unit(resource) if amounts.is_known(resource) else unit
        exact = mean * amounts.factor(resource)
        yield Amount(f"capacity-{resource}", exact, "number", shown_unit)


def tasks(answer: pa.Table, manifest: Manifest) -> Iterator[Amount]:
    """Read how many tasks and jobs there are, of all tiers."""
    for row in answer.to_pylist():
        if row["tier"] == "all":
            yield Amount("tasks", row["n_tasks"], "count", "tasks")
            yield Amount("jobs", row["n_jobs"], "count", "jobs")


def used(answer: pa.Table, manifest: Manifest) -> Iterator[Amount]:
    """Read mean and peak of what is used, as shares of the cell's capacity."""
    return levels(answer, manifest, "used", covered_hours(answer, manifest, "instance_usage"))


def requested(answer: pa.Table, manifest: Manifest) -> Iterator[Amount]:
    """Read mean and peak of what is allocated, as shares of the cell's capacity."""
    hours = covered_hours(answer, manifest, "instance_events")
    return levels(answer, manifest, "allocated", hours)


def levels(
    answer: pa.Table,
    manifest: Manifest,
    measure: str,
    cell_hours: list[Row],
) -> Iterator[Amount]:
    """Read mean and peak of what is used or allocated: of the cell, then by tier."""
    cell = {row["hour"]: row for row in cell_hours}
    rows_of_tiers: dict[str, list[Row]] = {}
    for row in answer.to_pylist():
        if row["hour"] in cell:
            rows_of_tiers.setdefault(row["tier"], []).append(row)
    yield from mean_and_peak(cell_hours, cell, measure, "")
    for tier in tiers_from_the_highest(manifest, rows_of_tiers):
        yield from mean_and_peak(rows_of_tiers[tier], cell, measure, f"-{tier}")


def tiers_from_the_highest(manifest: Manifest, tiers: Iterable[str]) -> list[str]:
    """Sort tiers, the highest first; a tier that the format does not name comes last."""
    by_priority = sorted(manifest.dialect.tiers, key=lambda tier: -tier[1])
    named = list(dict.fromkeys(name for name, _, _ in by_priority))
    present = set(tiers)
    return [*(name for name in named if name in present), *sorted(present - set(named))]


def mean_and_peak(
    rows: Iterable[Row],
    cell: Mapping[int, Row],
    measure: str,
    suffix: str,
) -> Iterator[Amount]:
    """Read mean and peak of some rows, one of each hour, as shares of the cell's capacity."""
    rows = list(rows)
    for resource, label in RESOURCES.items():
        # In some hours usage was not measured: they say nothing, rather than that nothing was used.
        known = [row for row in rows if row[f"{resource}_{measure}"] is not None]
        NotApplicable.unless(known, f"no {label} was measured")
        amounts = [row[f"{resource}_{measure}"] for row in known]
        capacities = [cell[row["hour"]][f"{resource}_capacity"] for row in known]
        shares = []
        for amount, capacity_then in zip(amounts, capacities, strict=True):
            shares.append(amount / capacity_then)
        mean = sum(amounts) / sum(capacities)
        peak = max(shares)
        name = f"{resource}-{measure}"
        yield Amount(f"{name}-mean{suffix}", mean, "short percent", label)
        yield Amount(f"{name}-peak{suffix}", peak, "short percent", "peak")


def tiers(answer: pa.Table, manifest: Manifest) -> Iterator[Amount]:
    """Read which share of the requested CPU each tier has, the largest first."""
    hours = {row["hour"] for row in covered_hours(answer, manifest, "instance_events")}
    requests: dict[str, float] = {}
    for row in answer.to_pylist():
        if row["hour"] in hours:
            requests[row["tier"]] = requests.get(row["tier"], 0.0) + row["cpu_allocated"]
    total = sum(requests.values())
    NotApplicable.unless(total, "no task requests CPU")
    # Equal ones by name, so that the page is the same every time.
    for tier, amount in sorted(requests.items(), key=lambda item: (-item[1], item[0])):
        yield Amount(f"tier-{tier}", amount / total, "percent", tier)


def busiest_hour(answer: pa.Table, manifest: Manifest) -> Iterator[Amount]:
    """Read the hour in which the largest share of the CPU is used."""
    hours = covered_hours(answer, manifest, "instance_usage")
    hours = [row for row in hours if row["cpu_used"] is not None]
    NotApplicable.unless(hours, "no usage was measured")
    busiest = max(hours, key=lambda row: row["cpu_used"] / row["cpu_capacity"])
    yield Amount("busiest-hour", busiest["hour"], "hour")


def cell_level(rows: Iterable[Row], resource: str, measure: str) -> float | None:
    """Return the mean share of the capacity over some hours of the cell; None where it was measured in none."""
    known = [row for row in rows if row[f"{resource}_{measure}"] is not None]
    if not known:
        return None
    amount = sum(row[f"{resource}_{measure}"] for row in known)
    return float(amount / sum(row[f"{resource}_capacity"] for row in known))


def queue(answer: pa.Table, manifest: Manifest) -> Iterator[Amount]:
    """Read how many tasks are pending, within the trace."""
    steps = check_queue(answer, manifest)
    middle = median(steps["pending"].to_pylist())
    peak = max(steps["pending_max"].to_pylist())
    yield Amount("pending-median", middle, "number", "pending (median)")
    yield Amount("pending-peak", peak, "count", "at the peak")


def check_queue(answer: pa.Table, manifest: Manifest) -> pa.Table:
    """Return the steps of the queue within the trace.

    Raises
    ------
    NotApplicable
        The store does not know who waits, or no step lies inside the trace.
    """
    check_completeness(manifest, "instance_events")
    NotApplicable.unless(
        DERIVED_EVENTS not in manifest.notes, "events are derived from usage: nobody waits"
    )
    steps = queue_length.inside_trace(answer)
    NotApplicable.unless(steps.num_rows, "no step lies inside the trace")
    return steps


def overcommit(answer: pa.Table, manifest: Manifest) -> Iterator[Amount]:
    """Read the overcommit factor that keeps its target, and the estimator that packs best."""
    rows = answer.to_pylist()
    factors = [row["parameter"] for row in rows if row["is_factor"]]
    for factor in factors:
        yield Amount("overcommit-factor", factor, "factor", "× the capacity may be requested")
    if not factors:
        label = "of the factors is known to keep the target"
        yield Amount("overcommit-factor", "none", "text", label)
    for row in rows:
        if row["is_advised"]:
            text = f"{row['estimator']} {row['parameter']:.3g}"
            yield Amount(
                "packing",
                row["estimator"],
                "text",
                "packs best",
                text,
            )


LINES = (
    ScreenLine(
        name="machines",
        title="Machines",
        question="machine_shapes",
        needs="machine_events",
        read=machines,
    ),
    ScreenLine(
        name="capacity",
        title="Capacity",
        question="machine_availability",
        needs="machine_events",
        read=capacity,
    ),
    ScreenLine(
        name="tasks",
        title="Tasks",
        question="task_totals",
        needs="instance_events",
        read=tasks,
    ),
    ScreenLine(
        name="used",
        title="Used, mean",
        question="utilization",
        needs="instance_usage",
        read=used,
    ),
    ScreenLine(
        name="requested",
        title="Requested, mean",
        question="utilization",
        needs="instance_events",
        read=requested,
    ),
    ScreenLine(
        name="tiers",
        title="Largest CPU requests",
        question="utilization",
        needs="instance_events",
        read=tiers,
    ),
    ScreenLine(
        name="busiest",
        title="Busiest hour",
        question="utilization",
        needs="instance_usage",
        read=busiest_hour,
    ),
    ScreenLine(
        name="queue",
        title="Queue",
        question="queue_length",
        needs="instance_events",
        read=queue,
    ),
    ScreenLine(
        name="advice",
        title="Overcommit",
        question="packing_advice",
        needs="instance_usage",
        read=overcommit,
    ),
)
"""The lines of the first screen in their order."""


def covered_hours(answer: pa.Table, manifest: Manifest, table: str) -> list[Row]:
    """Return the hours of the cell, all tiers together, that a table of the store speaks about as a whole.

    Hours without machines are left out, as in the claims on overcommitment.

    Raises
    ------
    NotApplicable
        Where there is no such hour: a part of the rows would make the cell look emptier than it is.
    """
    hours = query_answer(answer, CELL_BY_HOUR)
    NotApplicable.unless(hours, "no machine has a capacity")
    check_completeness(manifest, table)
    if not coverage(manifest).tables[table].is_whole:
        first, last = manifest.time_range[table]
        # Rounded inward: an hour that is covered in part is not covered.
        begin = -((TRACE_START - first) // HOUR)
        end = (last - TRACE_START) // HOUR
        hours = [row for row in hours if begin <= row["hour"] < end]
    NotApplicable.unless(hours, f"the store has {CONTENTS[table]} of no whole hour")
    return hours


def check_completeness(manifest: Manifest, table: str) -> None:
    """Refuse a table whose rows are a sample of those of its hours.

    Raises
    ------
    NotApplicable
        The rows are a sample.
    """
    store = coverage(manifest)
    table_coverage = store.tables[table]
    NotApplicable.unless(not store.is_subset, "the store is a subset of another")
    if table_coverage.is_whole:
        return
    NotApplicable.unless(
        store.dialect.shards != "hash",
        f"each part is a sample of all {CONTENTS[table]}: all are needed",
    )
    # What runs or waits is known from the first event on; usage is measured in each window anew.
    needs_first_part = table == "instance_events"
    lacks_first_part = table_coverage.parts[:1] != (0,)
    if not table_coverage.is_contiguous or (needs_first_part and lacks_first_part):
        raise NotApplicable(f"parts of the {CONTENTS[table]} are missing before the last one")
