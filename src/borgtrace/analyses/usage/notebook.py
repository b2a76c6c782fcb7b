"""What does Google's notebook of 2019 say that the cell uses, and what is left of it once corrected?

*Literal* is the notebook's query of usage by tier and hour of the trace's clock. It takes windows of 300 s or more,
counts each as 300 s, and requires an event of the same task and machine; the tier comes from the highest priority
there, and is production for what is in no lower tier; the sum is divided by the capacity of all machines that ever
were. Each further column adds one correction, one after the other: windows of any length inside the trace, by their
length; tasks without an event on that machine; the tasks' own tiers, with monitoring apart and what runs inside an
alloc set in its own tier; machines only while they are present, and the part of the hour that lies inside the trace.
*Corrected* is the sum of all, as in `utilization`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses.shared.attempts import TASK
from borgtrace.analyses.shared.histograms import period
from borgtrace.analyses.shared.joins import lookup
from borgtrace.analyses.shared.notebook_queries import (
    ON_MACHINE,
    largest_capacities,
    priorities_by_machine,
    sum_usage,
    windows_with_tiers,
    with_notebook_tiers,
)
from borgtrace.analyses.shared.step_functions import capacity_changes, hourly, hours, span
from borgtrace.analyses.shared.windows import (
    BITS,
    HOUR_SECONDS,
    RESOURCES,
    SLOT_SECONDS,
    by_tier,
    outermost,
    regular,
)
from borgtrace.question import (
    Answer,
    Column,
    NotApplicable,
    Question,
    Row,
    Tables,
    charts,
    query_answer,
)
from borgtrace.schema.time import HOUR, TRACE_START

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="tier and hour",
    key=[
        Column("tier", "string", "id", "Tier of the instances."),
        Column(
            "hour", "int64", "h", "Hour of the trace's clock, which starts 600 s before the trace."
        ),
    ],
    columns=[
        Column(
            "cpu_literal",
            "float64",
            "fraction",
            "CPU used as the notebook counts it, share of the capacity of all machines that"
            " ever were.",
            nullable=True,
        ),
        Column(
            "cpu_windows",
            "float64",
            "fraction",
            "What windows of other lengths than 300 s add, each by its length.",
            nullable=True,
        ),
        Column(
            "cpu_unmatched",
            "float64",
            "fraction",
            "What tasks without an event on the machine add.",
            nullable=True,
        ),
        Column(
            "cpu_tiers",
            "float64",
            "fraction",
            "What the tasks' own tiers add; nothing over all tiers together.",
            nullable=True,
        ),
        Column(
            "cpu_capacity",
            "float64",
            "fraction",
            "What dividing by the machines present, and by the time inside the trace, adds.",
            nullable=True,
        ),
        Column(
            "cpu_corrected",
            "float64",
            "fraction",
            "CPU used, share of the capacity present; NULL without a machine.",
            nullable=True,
        ),
        Column(
            "memory_literal",
            "float64",
            "fraction",
            "Memory used as the notebook counts it, share of the capacity of all machines "
            "that ever were.",
            nullable=True,
        ),
        Column(
            "memory_windows",
            "float64",
            "fraction",
            "What windows of other lengths than 300 s add, each by its length.",
            nullable=True,
        ),
        Column(
            "memory_unmatched",
            "float64",
            "fraction",
            "What tasks without an event on the machine add.",
            nullable=True,
        ),
        Column(
            "memory_tiers",
            "float64",
            "fraction",
            "What the tasks' own tiers add; nothing over all tiers together.",
            nullable=True,
        ),
        Column(
            "memory_capacity",
            "float64",
            "fraction",
            "What dividing by the machines present, and by the time inside the trace, adds.",
            nullable=True,
        ),
        Column(
            "memory_corrected",
            "float64",
            "fraction",
            "Memory used, share of the capacity present; NULL without a machine.",
            nullable=True,
        ),
    ],
)


STEP = HOUR // 6
"""The trace starts ten minutes after an hour of its clock: capacities are averaged over steps that fit both."""
TierAndHour = tuple[str, int]
Amounts = dict[TierAndHour, Row]
"""Amounts of CPU and memory by tier and hour."""


class Readings(NamedTuple):
    """The amounts as the notebook counts them, and after each correction but the last."""

    literal: Amounts
    windows: Amounts
    unmatched: Amounts
    tiers: Amounts


def compute(tables: Tables) -> list[Row]:
    """Return what is used by tier and hour, as the notebook counts it and corrected."""
    tables.require_published("alloc sets", column="alloc_collection_id")
    largest = fetch_largest_capacity(tables)
    readings = fetch_readings(tables)
    present = fetch_present_capacity(tables)
    if not all(largest.values()):
        raise NotApplicable("no machine of known capacity")
    rows = []
    for tier_and_hour in sorted(set().union(*readings)):
        tier, hour = tier_and_hour
        row: Row = {"tier": tier, "hour": hour}
        for resource in RESOURCES:
            used = [amounts.get(tier_and_hour, {}).get(resource, 0) for amounts in readings]
            # Windows without a value are not windows that used nothing.
            if None in used:
                row |= dict.fromkeys(columns_of(resource))
                continue
            row |= corrections(resource, used, largest[resource], present[hour][resource])
        rows.append(row)
    if not rows:
        raise NotApplicable("no usage inside the trace")
    return rows


def columns_of(resource: str) -> list[str]:
    """Return the columns of a resource."""
    return [name for name in ANSWER.names if name.startswith(f"{resource}_")]


def corrections(
    resource: str, amounts: list[int], largest_capacity: float, present_capacity: float
) -> Row:
    """Return the columns of a resource: the share of the notebook, what each correction adds, and the result.

    Parameters
    ----------
    resource
        Its name.
    amounts
        One per reading, in the order of `Readings`.
    largest_capacity
        The capacity of all machines that ever were.
    present_capacity
        Capacity × time of the machines present in the hour, s.
    """
    literal, windows, unmatched, tiers = (
        amount / 2.0**BITS / HOUR_SECONDS / largest_capacity for amount in amounts
    )
    corrected = None
    if present_capacity:
        corrected = tiers * largest_capacity * HOUR_SECONDS / present_capacity
    return {
        f"{resource}_literal": literal,
        f"{resource}_windows": windows - literal,
        f"{resource}_unmatched": unmatched - windows,
        f"{resource}_tiers": tiers - unmatched,
        f"{resource}_capacity": None if corrected is None else corrected - tiers,
        f"{resource}_corrected": corrected,
    }


def fetch_largest_capacity(tables: Tables) -> Row:
    """Return the capacity that the notebook divides by."""
    machines = largest_capacities(tables)
    totals = machines.aggregate(cpu=machines.cpu.sum(), memory=machines.memory.sum())
    rows = tables.fetch(totals, "capacity").to_pylist()
    return rows[0] if rows else dict.fromkeys(RESOURCES)


def fetch_readings(tables: Tables) -> Readings:
    """Return the amounts by tier and hour after each correction but the last."""
    literal = windows_with_tiers(tables)
    inside = regular(outermost(tables.instance_usage))
    windows = lookup(inside, priorities_by_machine(tables), ON_MACHINE)
    # Windows that no event matches have the priority of their task, by the same rule.
    windows = lookup(windows, tables.tasks.select(*TASK, own_priority="priority"), TASK)
    is_matched = windows.is_known.fill_null(False)
    priority = is_matched.ifelse(windows.priority, windows.own_priority)
    windows = windows.mutate(priority=priority)
    matched = with_notebook_tiers(tables, windows.filter(windows.is_known))
    everything = with_notebook_tiers(tables, windows)
    signed = by_tier(tables, regular(tables.instance_usage))
    return Readings(
        literal=fetch_amounts(tables, "literal", literal, SLOT_SECONDS),
        windows=fetch_amounts(tables, "windows", matched, matched.seconds),
        unmatched=fetch_amounts(tables, "unmatched", everything, everything.seconds),
        tiers=fetch_amounts(tables, "tiers", signed, signed.seconds * signed.sign),
    )


def fetch_amounts(
    tables: Tables, stage: str, rows: ir.Table, weight: ir.IntegerColumn | int
) -> Amounts:
    """Add up windows by tier and by hour of the trace's clock."""
    rows = rows.mutate(hour=period(rows.start_time, HOUR), weight=weight)
    amounts = tables.fetch(sum_usage(rows, "tier", "hour", weight=rows.weight), stage)
    return {(row["tier"], row["hour"]): row for row in amounts.to_pylist()}


def fetch_present_capacity(tables: Tables) -> defaultdict[int, Counter[str]]:
    """Return capacity × time of the machines present, s, by hour of the trace's clock."""
    spine = hours(span(tables.instance_usage.select(time="end_time")), STEP)
    changes = capacity_changes(tables.machine_events).mutate(cell=ibis.literal("cell"))
    means = tables.fetch(hourly(changes, spine, "cell", RESOURCES, STEP), "present")
    present: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for row in means.to_pylist():
        hour = (TRACE_START + row["hour"] * STEP) // HOUR
        present[hour].update({name: row[name] * row["hour_seconds"] for name in RESOURCES})
    return present


def chart(answer: pa.Table) -> alt.Chart:
    """Draw the CPU of all tiers together over time, in both readings."""
    import altair as alt

    rows = query_answer(
        answer,
        """
        select
            hour,
            sum(cpu_literal) as cpu_literal,
            sum(cpu_corrected) as cpu_corrected
        from answer
        group by hour
        order by hour
        """,
    )
    rows = charts.melted(rows, {"cpu_literal": "notebook", "cpu_corrected": "corrected"})
    rows = charts.in_runs(rows, "value", "series")
    return (
        charts.base(rows, title="What is used, as Google's notebook counts and corrected")
        .mark_line()
        .encode(
            x=alt.X("hour:Q", title="hour of the trace's clock"),
            y=alt.Y("value:Q", title="CPU used, share of the cell"),
            color=alt.Color("series:N", title=None, sort=["notebook", "corrected"]),
            detail="run:N",
            tooltip=charts.tooltips(rows, "hour", "series", "value"),
        )
    )


QUESTION = Question(
    name="notebook",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    reads=["instance_usage", "instance_events", "machine_events", "tasks"],
    reference="clusterdata_analysis_colab.ipynb, google/cluster-data",
)
