"""Which kinds of machines are there?

One row per shape (platform, CPU, memory).  Machines change: a machine counts under its first known
capacity, its last known one, and the one it had at the start of the trace.  The table that Reiss et al.
published counts last capacities; only that column reproduces it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.recipe import Claim, Recipe, Tables
from borgtrace.schema import Column, Table
from borgtrace.schema.time import BEFORE_TRACE

if TYPE_CHECKING:
    import altair as alt

RESULT = Table(
    "machine_shapes",
    "shape of a machine",
    ("platform_id", "cpu_capacity", "memory_capacity"),
    (
        Column("platform_id", "string", "id", "Microarchitecture and chipset (hash)."),
        Column("cpu_capacity", "float32", "fraction", "CPU, as a fraction of the largest machine."),
        Column("memory_capacity", "float32", "fraction", "Memory, as a fraction of the largest machine."),
        Column("n_at_start", "int64", "count", "Machines of this shape at time 0.", nullable=False),
        Column("n_first", "int64", "count", "Machines whose first known capacity it is.", nullable=False),
        Column("n_last", "int64", "count", "Machines whose last known capacity it is.", nullable=False),
    ),
)


def compute(tables: Tables) -> ir.Table:
    """Return the number of machines of each shape: at time 0, by first and by last capacity."""
    events = tables.machine_events
    known = events.mutate(unknown=events.cpu_capacity.isnull() & events.memory_capacity.isnull())
    order = [known.time, known.source_part, known.source_row]
    onwards = ibis.window(group_by="machine_id", order_by=[known.unknown, *order])
    backwards = ibis.window(group_by="machine_id", order_by=[known.unknown, *(ibis.desc(c) for c in order)])
    placed = known.mutate(
        is_first=(ibis.row_number().over(onwards) == 0).cast("int64"),
        is_last=(ibis.row_number().over(backwards) == 0).cast("int64"),
        is_at_start=((known.time == BEFORE_TRACE) & (known.type == "ADD")).cast("int64"),
    )
    shapes = placed.group_by(["platform_id", "cpu_capacity", "memory_capacity"]).aggregate(
        n_at_start=placed.is_at_start.sum(), n_first=placed.is_first.sum(), n_last=placed.is_last.sum()
    )
    return shapes.filter((shapes.n_at_start + shapes.n_first + shapes.n_last) > 0)


def plot(result: pa.Table) -> alt.Chart:
    """Draw one circle per shape, its area the number of machines."""
    import altair as alt

    from borgtrace.analyses._charts import HEIGHT, WIDTH, rows

    chart: alt.Chart = (
        alt.Chart(rows(result), title="Machines by capacity", width=WIDTH, height=HEIGHT)
        .mark_circle(opacity=0.7)
        .encode(
            x=alt.X("cpu_capacity:Q", title="CPU (fraction of the largest)"),
            y=alt.Y("memory_capacity:Q", title="memory (fraction of the largest)"),
            size=alt.Size("n_last:Q", title="machines", scale=alt.Scale(range=[20, 1500])),
            color=alt.Color("platform_id:N", title="platform", legend=None),
            tooltip=["platform_id:N", "cpu_capacity:Q", "memory_capacity:Q", "n_at_start:Q", "n_first:Q", "n_last:Q"],
        )
    )
    return chart


def _last(result: pa.Table) -> str:
    return "/".join(str(n) for n in sorted((n for n in result["n_last"].to_pylist() if n), reverse=True))


REISS_TABLE_1 = "6732/3863/1001/795/126/52/5/5/3/1"

CLAIMS = (
    Claim(
        "R12-table1",
        "the ten machine shapes of the 2011 cell",
        REISS_TABLE_1,
        _last,
        lambda text: text == REISS_TABLE_1,
        "Reiss et al., SoCC'12, Table 1",
    ),
)

RECIPE = Recipe(
    "machine_shapes",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("machine_events",),
    reference="Reiss et al., SoCC'12, Table 1",
    order=10,
    topic="Machines",
)
