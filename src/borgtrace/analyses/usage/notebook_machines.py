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
    usage = long_windows(tables)
    used = sum_usage(
        usage.mutate(slot=period(usage.start_time, WINDOW)), "machine_id", "slot", weight=1
    )
    machines = largest_capacities(tables)
    held = used.inner_join(
        machines.rename("{name}_capacity").rename(machine_id="machine_id_capacity"), "machine_id"
    )
    literal = _counts(
        tables.fetch(ibis.union(*(_by_percent(held, name) for name in RESOURCES)), "literal")
    )
    corrected = _counts(
        machine_utilization.compute(tables).select(["resource", "percent", "n_slots"])
    )
    if not literal:
        raise NotApplicable("no window of 300 s on a machine of known capacity")
    rows = []
    for name in RESOURCES:
        curves = [_shares(found.get(name, {})) for found in (literal, corrected)]
        for percent, (there, here) in enumerate(zip(*curves, strict=True)):
            difference = None if there is None or here is None else here - there
            rows.append(
                {
                    "resource": name,
                    "percent": percent,
                    "literal": there,
                    "corrected": here,
                    "difference": difference,
                }
            )
    return rows


def _by_percent(held: ibis.Table, name: str) -> ibis.Table:
    held = held.filter(held[f"{name}_capacity"] > 0)
    share = held[name].cast("float64") / 2.0**BITS / held[f"{name}_capacity"].cast("float64")
    rows = held.select(
        resource=ibis.literal(name), percent=ibis.least((share * 100.0).ceil().cast("int64"), 100)
    )
    return rows.group_by(["resource", "percent"]).aggregate(n_slots=lambda table: table.count())


def _counts(found: pa.Table) -> dict[str, dict[int, int]]:
    """Return the number of machine-slots by resource and percent."""
    counts: dict[str, dict[int, int]] = {}
    for row in found.to_pylist():
        counts.setdefault(row["resource"], {})[row["percent"]] = row["n_slots"]
    return counts


def _shares(counts: dict[int, int]) -> list[float | None]:
    """Return the share of machine-slots that are at most 0, 1 … 100 percent full."""
    every = sum(counts.values())
    upto = accumulate(counts.get(percent, 0) for percent in range(101))
    return [n / every if every else None for n in upto]


_READS = ("instance_usage", "machine_events")


def chart(answer: pa.Table) -> alt.FacetChart:
    """Draw: machines at most so full, as Google's notebook counts and corrected."""
    import altair as alt

    rows = answer.to_pylist()
    rows = charts.melted(rows, {"literal": "notebook", "corrected": "corrected"})
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
    reads=_READS,
    reference="clusterdata_analysis_colab.ipynb, google/cluster-data",
)
