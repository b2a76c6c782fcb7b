"""How full are the machines?

Per machine and 300 s slot: what its instances used (``average_cpu``, ``average_memory``, windows
weighted by their length; what runs inside an alloc set is already in the alloc's row), divided by
the machine's capacity at the start of the slot. A slot in which a machine is present and nothing
ran counts as 0. The curve is cumulative, in steps of one percent of the machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses.shared.histograms import cumulative_share
from borgtrace.analyses.shared.machine_slots import machine_slots, present_intervals
from borgtrace.analyses.shared.step_functions import span
from borgtrace.analyses.shared.windows import RESOURCES, SLOT_SECONDS, level, outermost, regular
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    NotApplicable,
    Question,
    Tables,
    below,
    charts,
    sql,
)
from borgtrace.question.scopes import LIKE_2019
from borgtrace.schema.bounds import Bounds
from borgtrace.schema.time import TRACE_START, WINDOW

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="resource and percent",
    key=[
        Column("resource", "string", "id", "Resource: cpu or memory."),
        Column(
            "percent",
            "int64",
            "%",
            "Used share of the machine, rounded up; the last row holds all above.",
        ),
    ],
    columns=[
        Column("n_slots", "int64", "count", "Machine-slots with this utilization."),
        Column("share", "float64", "fraction", "Share of machine-slots at most this full."),
    ],
)


def compute(tables: Tables, *, highest: Annotated[int, Bounds(1, 10_000)] = 150) -> pa.Table:
    """Return the distribution of machine utilization, in percent up to `highest`."""
    usage = regular(outermost(tables.instance_usage))
    present = present_intervals(tables.machine_events)
    slots = machine_slots(usage, present)
    # Up to the last window: after it nothing was measured, which is not the same as idle.
    n_present = count_slots(present, span(usage.select(time="end_time")))
    curves = [cumulative_curve(slots, n_present, name, highest) for name in RESOURCES]
    answer = tables.fetch(ibis.union(*curves))
    if not answer.num_rows:
        raise NotApplicable("no usage inside the trace, or no machine of known capacity")
    return answer


def count_slots(present: ir.Table, last: ir.Table) -> ir.Table:
    """Count the slots that start while a machine is present, up to the last window."""
    # Without a last window nothing was measured: least() below would ignore its NULL.
    intervals = present.cross_join(last.filter(last.last.notnull()))
    # What is there before the trace is there from its first slot on.
    start = ibis.greatest(intervals.start, TRACE_START)
    end = ibis.least(intervals.end, intervals.last)
    # A slot counts where it starts, hence rounding up at both ends: intervals that meet share no slot.
    first_slot = (start - TRACE_START + WINDOW - 1) // WINDOW
    end_slot = (end - TRACE_START + WINDOW - 1) // WINDOW
    n_slots = ibis.greatest(end_slot - first_slot, 0)
    return intervals.aggregate(n_present=n_slots.sum().cast("int64"))


def cumulative_curve(slots: ir.Table, n_present: ir.Table, resource: str, highest: int) -> ir.Table:
    """Return how many machine-slots are how full, idle ones included, and their cumulative shares."""
    percent = (share_of_capacity(slots, resource) * 100.0).ceil().cast("int64")
    busy = slots.select(percent=ibis.least(percent, highest + 1))
    counts = busy.group_by("percent").aggregate(n=busy.count())
    totals = n_present.cross_join(counts.aggregate(n_busy=counts.n.sum().cast("int64")))
    # In slots without a row of usage nothing ran: they must count, or the machines look fuller.
    n_idle = ibis.greatest(totals.n_present.fill_null(0) - totals.n_busy.fill_null(0), 0)
    counts = counts.union(totals.select(percent=ibis.literal(0, "int64"), n=n_idle))
    counts = counts.group_by("percent").aggregate(n_slots=counts.n.sum().cast("int64"))
    counts = counts.filter(counts.n_slots > 0)
    return counts.select(
        "percent",
        "n_slots",
        resource=ibis.literal(resource),
        share=cumulative_share(counts, "n_slots", "percent"),
    )


def share_of_capacity(slots: ir.Table, resource: str) -> ir.FloatingColumn:
    """Return what was used in each machine-slot as a share of the machine's capacity."""
    used = level(slots[resource].fill_null(0), SLOT_SECONDS)
    return used / slots[f"{resource}_capacity"].cast("float64")


def shares(tables: Tables) -> ir.Table:
    """Return how full each machine was in each 300 s slot in which something ran on it.

    Columns: ``machine_id``, ``slot`` (from the start of the trace), ``cpu`` and ``memory`` as shares of the machine's
    capacity.
    """
    usage = regular(outermost(tables.instance_usage))
    slots = machine_slots(usage, present_intervals(tables.machine_events))
    return slots.select(
        "machine_id",
        "slot",
        cpu=share_of_capacity(slots, "cpu"),
        memory=share_of_capacity(slots, "memory"),
    )


def measured_slots(tables: Tables) -> int:
    """Count the 300 s slots from the start of the trace to the last in which anything was measured."""
    usage = regular(tables.instance_usage)
    [last] = tables.fetch(usage.aggregate(last=usage.slot.max()))["last"].to_pylist()
    return 0 if last is None else int(last) + 1


def presence(tables: Tables) -> ir.Table:
    """Return when machines of known capacity are present: ``machine_id``, ``start``, ``end`` (µs)."""
    return present_intervals(tables.machine_events).select("machine_id", "start", "end")


def chart(answer: pa.Table) -> alt.Chart:
    """Draw the share of machine-slots that are at most so full, for CPU and memory."""
    import altair as alt

    rows = answer.to_pylist()
    return (
        charts.base(rows, title="Utilization of machines, 300 s at a time")
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("percent:Q", title="used (% of the machine)"),
            y=alt.Y("share:Q", title="share of machine-slots", scale=alt.Scale(domain=[0, 1])),
            color=alt.Color("resource:N", title="resource", legend=charts.legend("resource")),
            tooltip=charts.tooltips(rows),
        )
    )


CLAIMS = [
    # The paper names no number.
    Claim(
        "TIR-machines-cpu-80",
        statement="few machines use more than 80 % of their CPU",
        source="Tirmazi et al., EuroSys'20",
        kind="criterion",
        scope=LIKE_2019,
        measure=sql(
            """
            select sum(if(percent > 80, n_slots, 0)) / nullif(sum(n_slots), 0)
            from answer
            where resource = 'cpu'
            """,
            otherwise="no slot was measured",
        ),
        criterion=below(0.1, published="few (2019, fewer than in 2011)"),
    ),
]

QUESTION = Question(
    name="machine_utilization",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=["instance_usage", "machine_events"],
    reference="Tirmazi et al., EuroSys'20 (machine utilization)",
)
