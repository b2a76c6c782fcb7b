"""How full are the machines?

Per machine and 300 s slot: what its instances used (``average_cpu``, ``average_memory``, windows
weighted by their length; what runs inside an alloc set is already in the alloc's row), divided by
the machine's capacity at the start of the slot. A slot in which a machine is present and nothing
ran counts as 0. One in which no window of the whole cell begins was not measured, and one whose
windows have no value is not known: neither counts. The curve is cumulative, in steps of one percent
of the machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from borgtrace.analyses.shared.histograms import cumulative_share
from borgtrace.analyses.shared.machine_slots import SLOT_SUMS, machine_slots, present_intervals
from borgtrace.analyses.shared.measured import measured_runs
from borgtrace.analyses.shared.windows import RESOURCES, SLOT_SECONDS, level, regular
from borgtrace.kernels.arrays import Flags
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
    present = present_intervals(tables.machine_events)
    slots = machine_slots(tables, present)
    # Only where anything was measured: elsewhere nobody knows, which is not the same as idle.
    n_present = count_slots(present, measured_runs(tables.shared(SLOT_SUMS)))
    curves = [cumulative_curve(slots, n_present, name, highest) for name in RESOURCES]
    answer = tables.fetch(ibis.union(*curves))
    if not answer.num_rows:
        raise NotApplicable("no usage inside the trace, or no machine of known capacity")
    return answer


def count_slots(present: ir.Table, runs: ir.Table) -> ir.Table:
    """Count the slots that start while a machine is present, within runs of measured slots."""
    intervals = present.cross_join(runs)
    # What is there before the trace is there from its first slot on.
    start = ibis.greatest(intervals.start, TRACE_START)
    # A slot counts where it starts, hence rounding up at both ends: intervals that meet share no slot.
    first_slot = (start - TRACE_START + WINDOW - 1) // WINDOW
    end_slot = (intervals.end - TRACE_START + WINDOW - 1) // WINDOW
    first_measured = ibis.greatest(first_slot, intervals.run_first)
    end_measured = ibis.least(end_slot, intervals.run_end)
    n_slots = ibis.greatest(end_measured - first_measured, 0)
    return intervals.aggregate(n_present=n_slots.sum().cast("int64"))


def cumulative_curve(slots: ir.Table, n_present: ir.Table, resource: str, highest: int) -> ir.Table:
    """Return how many machine-slots are how full, idle ones included, and their cumulative shares."""
    percent = (share_of_capacity(slots, resource) * 100.0).ceil().cast("int64")
    capped = (percent > highest).ifelse(highest + 1, percent)
    busy = slots.select(percent=capped)
    counts = busy.group_by("percent").aggregate(n=busy.count())
    totals = n_present.cross_join(counts.aggregate(n_busy=counts.n.sum().cast("int64")))
    # In slots without a row of usage nothing ran: they must count, or the machines look fuller.
    n_idle = ibis.greatest(totals.n_present.fill_null(0) - totals.n_busy.fill_null(0), 0)
    counts = counts.union(totals.select(percent=ibis.literal(0, "int64"), n=n_idle))
    counts = counts.group_by("percent").aggregate(n_slots=counts.n.sum().cast("int64"))
    # A slot whose windows have no value is neither idle nor busy.
    counts = counts.filter((counts.n_slots > 0) & counts.percent.notnull())
    return counts.select(
        "percent",
        "n_slots",
        resource=ibis.literal(resource),
        share=cumulative_share(counts, "n_slots", "percent"),
    )


def share_of_capacity(slots: ir.Table, resource: str) -> ir.FloatingColumn:
    """Return what was used in each machine-slot as a share of the machine's capacity; NULL without a value."""
    used = level(slots[resource], SLOT_SECONDS)
    return used / slots[f"{resource}_capacity"].cast("float64")


def shares(tables: Tables) -> ir.Table:
    """Return how full each machine was in each 300 s slot in which something ran on it.

    Columns: ``machine_id``, ``slot`` (from the start of the trace), ``cpu`` and ``memory`` as shares of the machine's
    capacity.
    """
    present = present_intervals(tables.machine_events, needs_both=False)
    slots = machine_slots(tables, present)
    return slots.select(
        "machine_id",
        "slot",
        cpu=share_of_capacity(slots, "cpu"),
        memory=share_of_capacity(slots, "memory"),
    )


def fetch_measured_slots(tables: Tables) -> Flags:
    """Return whether anything was measured in each 300 s slot, from the start of the trace to the last that was."""
    runs = tables.fetch(measured_runs(regular(tables.instance_usage))).to_pylist()
    is_measured = np.zeros(max((run["run_end"] for run in runs), default=0), bool)
    for run in runs:
        is_measured[run["run_first"] : run["run_end"]] = True
    return is_measured


def presence(tables: Tables) -> ir.Table:
    """Return when machines of a known capacity are present: ``machine_id``, ``start``, ``end`` (µs), and of which.

    ``has_cpu`` and ``has_memory`` say which capacities are known.
    """
    present = present_intervals(tables.machine_events, needs_both=False)
    return present.select(
        "machine_id",
        "start",
        "end",
        has_cpu=present.cpu_capacity.notnull(),
        has_memory=present.memory_capacity.notnull(),
    )


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
    # For the slots in use, and for those that were measured.
    shares=[SLOT_SUMS, SLOT_SUMS],
    reference="Tirmazi et al., EuroSys'20 (machine utilization)",
)
