"""How full does Google's notebook of 2019 find the machines, and how full are they?

*Literal* is its query: windows of 300 s or more that start in a slot of 300 s are added up by machine and divided by
the largest capacity that the machine ever had, at most 1; slots in which nothing was measured are not there.
*Corrected* is `machine_utilization`: windows by their length, the capacity at the time, idle slots of machines that are
present.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses.shared.histograms import period
from borgtrace.analyses.shared.notebook_queries import (
    largest_capacities,
    long_windows,
    sum_usage,
)
from borgtrace.analyses.shared.windows import BITS, RESOURCES
from borgtrace.analyses.usage import machine_utilization
from borgtrace.question import Answer, Column, NotApplicable, Question, Row, Tables, charts
from borgtrace.schema.time import WINDOW

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="resource and percent",
    key=[
        Column("resource", "string", "id", "Resource: cpu or memory."),
        Column("percent", "int64", "%", "Used share of the machine, rounded up."),
    ],
    columns=[
        Column(
            "literal",
            "float64",
            "fraction",
            (
                "Share of machine-slots at most this full, as the notebook counts; NULL where "
                "it finds none."
            ),
            nullable=True,
        ),
        Column(
            "corrected",
            "float64",
            "fraction",
            "The same as `machine_utilization` counts.",
            nullable=True,
        ),
        Column("difference", "float64", "fraction", "Corrected minus literal.", nullable=True),
    ],
)


def compute(tables: Tables) -> list[Row]:
    """Return the share of machine-slots up to each percent in both readings."""
    tables.require_published("alloc sets", column="alloc_collection_id")
    literal_counts = tables.fetch(count_slots_as_notebook(tables), "literal")
    corrected_counts = machine_utilization.compute(tables)
    literal = slots_by_percent(literal_counts)
    corrected = slots_by_percent(corrected_counts)
    if not literal:
        raise NotApplicable("no window of 300 s on a machine of known capacity")
    rows = []
    for resource in RESOURCES:
        literal_shares = shares_up_to(literal.get(resource, {}))
        corrected_shares = shares_up_to(corrected.get(resource, {}))
        pairs = zip(literal_shares, corrected_shares, strict=True)
        for percent, (literal_share, corrected_share) in enumerate(pairs):
            difference = None
            if literal_share is not None and corrected_share is not None:
                difference = corrected_share - literal_share
            rows.append(
                {
                    "resource": resource,
                    "percent": percent,
                    "literal": literal_share,
                    "corrected": corrected_share,
                    "difference": difference,
                }
            )
    return rows


def count_slots_as_notebook(tables: Tables) -> ir.Table:
    """Count machine-slots by percent as the notebook does: each window counts as its whole slot."""
    usage = long_windows(tables)
    usage = usage.mutate(slot=period(usage.start_time, WINDOW))
    used = sum_usage(usage, "machine_id", "slot", weight=1)
    capacities = largest_capacities(tables)
    capacities = capacities.select("machine_id", cpu_capacity="cpu", memory_capacity="memory")
    slots = used.inner_join(capacities, "machine_id")
    return ibis.union(*(count_by_percent(slots, resource) for resource in RESOURCES))


def count_by_percent(slots: ir.Table, resource: str) -> ir.Table:
    """Count the machine-slots of one resource by percent, rounded up, at most 100."""
    # A slot whose windows have no value is not known to be idle.
    is_known = slots[resource].notnull()
    slots = slots.filter((slots[f"{resource}_capacity"] > 0) & is_known)
    capacity = slots[f"{resource}_capacity"].cast("float64")
    share = slots[resource].cast("float64") / 2.0**BITS / capacity
    rows = slots.select(
        resource=ibis.literal(resource),
        percent=ibis.least((share * 100.0).ceil().cast("int64"), 100),
    )
    return rows.group_by(["resource", "percent"]).aggregate(n_slots=rows.count())


def slots_by_percent(counts: pa.Table) -> dict[str, dict[int, int]]:
    """Return the number of machine-slots by resource and percent."""
    n_slots: dict[str, dict[int, int]] = {}
    for row in counts.to_pylist():
        n_slots.setdefault(row["resource"], {})[row["percent"]] = row["n_slots"]
    return n_slots


def shares_up_to(n_slots: dict[int, int]) -> list[float | None]:
    """Return the share of machine-slots that are at most 0, 1 … 100 percent full."""
    total = sum(n_slots.values())
    n_so_far = accumulate(n_slots.get(percent, 0) for percent in range(101))
    return [n / total if total else None for n in n_so_far]


def chart(answer: pa.Table) -> alt.FacetChart:
    """Draw the share of machine-slots that are at most so full in both readings, for CPU and memory."""
    import altair as alt

    rows = charts.melted(answer.to_pylist(), {"literal": "notebook", "corrected": "corrected"})
    return (
        charts.base(rows)
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("percent:Q", title="used (% of the machine)"),
            y=alt.Y("value:Q", title="share of machine-slots"),
            color=alt.Color("series:N", title=None, sort=["notebook", "corrected"]),
            tooltip=charts.tooltips(rows, "percent", "value", "series"),
        )
        .facet(column=charts.columns_of_panels("resource"))
        .properties(title="Machines at most so full, as Google's notebook counts and corrected")
    )


QUESTION = Question(
    name="notebook_machines",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    reads=["instance_usage", "machine_events"],
    reference="clusterdata_analysis_colab.ipynb, google/cluster-data",
)
