"""What does Google's notebook of 2019 say that the cell uses, and what is left of it once corrected?

*Literal* is its query of usage by tier and hour of the trace's clock: windows of 300 s or more, each counted as 300 s,
that name a task and machine of which there is an event; the tier by the highest priority there, production for whatever
is in no tier below; divided by the capacity of all machines that ever were. The corrections, one after the other, of
which each column says what it adds: windows of any length inside the trace, by their length; tasks without an event on
that machine; the tasks' own tiers, monitoring apart and what runs inside an alloc set in its own; machines while they
are present, and the part of the hour that lies inside the trace. *Corrected* is the sum of all, as in `utilization`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

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
            (
                "CPU used as the notebook counts it, share of the capacity of all machines that"
                " ever were."
            ),
        ),
        Column(
            "cpu_windows",
            "float64",
            "fraction",
            "What windows of other lengths than 300 s add, each by its length.",
        ),
        Column(
            "cpu_unmatched",
            "float64",
            "fraction",
            "What tasks without an event on the machine add.",
        ),
        Column(
            "cpu_tiers",
            "float64",
            "fraction",
            "What the tasks' own tiers add; nothing over all tiers together.",
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
            (
                "Memory used as the notebook counts it, share of the capacity of all machines "
                "that ever were."
            ),
        ),
        Column(
            "memory_windows",
            "float64",
            "fraction",
            "What windows of other lengths than 300 s add, each by its length.",
        ),
        Column(
            "memory_unmatched",
            "float64",
            "fraction",
            "What tasks without an event on the machine add.",
        ),
        Column(
            "memory_tiers",
            "float64",
            "fraction",
            "What the tasks' own tiers add; nothing over all tiers together.",
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


_STEP = HOUR // 6
"""The trace starts ten minutes after an hour of its clock: capacities are averaged over pieces that make both."""
Found = dict[tuple[str, int], Row]
"""Amounts by tier and hour."""


def compute(tables: Tables) -> list[Row]:
    """Return what is used by tier and hour, as the notebook counts it and corrected."""
    tables.require_published("alloc sets", column="alloc_collection_id")
    capacity, readings, present = _largest(tables), _readings(tables), _present(tables)
    # Not before: a plan has no rows, and its stages come first.
    if not all(capacity.values()):
        raise NotApplicable("no machine of known capacity")
    rows = []
    for key in sorted(set().union(*readings.values())):
        row: Row = {"tier": key[0], "hour": key[1]}
        for name in RESOURCES:
            literal, windows, unmatched, own = (
                found.get(key, {}).get(name, 0) / 2.0**BITS / HOUR_SECONDS / capacity[name]
                for found in readings.values()
            )
            there = present[key[1]][name]
            corrected = own * capacity[name] * HOUR_SECONDS / there if there else None
            row |= {
                f"{name}_literal": literal,
                f"{name}_windows": windows - literal,
                f"{name}_unmatched": unmatched - windows,
                f"{name}_tiers": own - unmatched,
                f"{name}_capacity": None if corrected is None else corrected - own,
                f"{name}_corrected": corrected,
            }
        rows.append(row)
    if not rows:
        raise NotApplicable("no usage inside the trace")
    return rows


def _largest(tables: Tables) -> Row:
    """Return the capacity that the notebook divides by."""
    machines = largest_capacities(tables)
    found = tables.fetch(
        machines.aggregate(**{name: machines[name].sum() for name in RESOURCES}), "capacity"
    )
    return next(iter(found.to_pylist()), dict.fromkeys(RESOURCES))


def _readings(tables: Tables) -> dict[str, Found]:
    """Return the amounts by tier and hour after each correction but the last."""
    # A priority of its own for what no event matches, by the same rule.
    own = tables.tasks.select(*TASK, own="priority")
    inside = regular(outermost(tables.instance_usage))
    every = lookup(lookup(inside, priorities_by_machine(tables), ON_MACHINE), own, TASK)
    every = every.mutate(priority=every.is_known.fill_null(False).ifelse(every.priority, every.own))
    signed = by_tier(tables, regular(tables.instance_usage))
    asked = {
        "literal": (windows_with_tiers(tables), SLOT_SECONDS),
        "windows": (with_notebook_tiers(tables, every.filter(every.is_known)), every.seconds),
        "unmatched": (with_notebook_tiers(tables, every), every.seconds),
        "tiers": (signed, signed.seconds * signed.sign),
    }
    return {name: _by_hour(tables, name, rows, weight) for name, (rows, weight) in asked.items()}


def _by_hour(tables: Tables, name: str, rows: ir.Table, weight: ir.IntegerColumn | int) -> Found:
    rows = rows.mutate(hour=period(rows.start_time, HOUR), weight=weight)
    found = tables.fetch(sum_usage(rows, "tier", "hour", weight=rows.weight), name)
    return {(row["tier"], row["hour"]): row for row in found.to_pylist()}


def _present(tables: Tables) -> defaultdict[int, Counter[str]]:
    """Return capacity × time of the machines present, s, by hour of the trace's clock."""
    spine = hours(span(tables.instance_usage.select(time="end_time")), _STEP)
    changes = capacity_changes(tables.machine_events).mutate(cell=ibis.literal("cell"))
    found: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for row in tables.fetch(
        hourly(changes, spine, "cell", RESOURCES, _STEP), "present"
    ).to_pylist():
        hour = (TRACE_START + row["hour"] * _STEP) // HOUR
        found[hour].update({name: row[name] * row["hour_seconds"] for name in RESOURCES})
    return found


_READS = ("instance_usage", "instance_events", "machine_events", "tasks")


def chart(answer: pa.Table) -> alt.Chart:
    """Draw: what is used, as Google's notebook counts and corrected."""
    import altair as alt

    # The CPU of all tiers in both readings.
    rows = query_answer(
        answer,
        """
        select
            hour,
            sum(coalesce(cpu_literal, 0)) as cpu_literal,
            sum(coalesce(cpu_corrected, 0)) as cpu_corrected
        from answer
        group by hour
        order by hour
        """,
    )
    rows = charts.melted(rows, {"cpu_literal": "notebook", "cpu_corrected": "corrected"})
    return (
        charts.base(rows, title="What is used, as Google's notebook counts and corrected")
        .mark_line()
        .encode(
            x=alt.X("hour:Q", title="hour of the trace's clock"),
            y=alt.Y("value:Q", title="CPU used, share of the cell"),
            color=alt.Color("series:N", title=None, sort=["notebook", "corrected"]),
            tooltip=charts.tooltips(rows),
        )
    )


QUESTION = Question(
    name="notebook",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    reads=_READS,
    reference="clusterdata_analysis_colab.ipynb, google/cluster-data",
)
