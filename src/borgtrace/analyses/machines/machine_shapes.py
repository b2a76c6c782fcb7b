"""Which kinds of machines are there?

One row per shape (platform, CPU, memory, GPUs).  Machines change: a machine counts under its first known
capacity, its last known one, and the one it had at the start of the trace.  The table that Reiss et al.
published counts last capacities; only that column reproduces it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.lifecycle.order import SOURCE_ORDER
from borgtrace.question import Answer, Claim, Column, Question, Tables, charts, equals, near, sql
from borgtrace.question.answer_sizes import amounts_of, in_own_units
from borgtrace.question.scopes import ALIBABA_2018, CELL_2011, OPENB
from borgtrace.schema.time import BEFORE_TRACE

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="shape of a machine",
    key=[
        Column(
            "platform_id", "string", "id", "Microarchitecture and chipset (hash).", nullable=True
        ),
        Column(
            "cpu_capacity",
            "float32",
            "fraction",
            "CPU, as a fraction of the largest machine.",
            nullable=True,
        ),
        Column(
            "memory_capacity",
            "float32",
            "fraction",
            "Memory, as a fraction of the largest machine.",
            nullable=True,
        ),
        Column(
            "gpu_capacity", "float32", "count", "GPUs, where the trace has them.", nullable=True
        ),
    ],
    columns=[
        Column("n_at_start", "int64", "count", "Machines of this shape at time 0."),
        Column("n_first", "int64", "count", "Machines whose first known capacity this is."),
        Column("n_last", "int64", "count", "Machines whose last known capacity this is."),
    ],
)


SHAPE = ("platform_id", "cpu_capacity", "memory_capacity", "gpu_capacity")


def compute(tables: Tables) -> ir.Table:
    """Return the number of machines of each shape: at time 0, by first and by last capacity."""
    events = tables.machine_events
    # 32 ADD events of 2011 have no capacity; those machines get one later.
    is_unknown = events.cpu_capacity.isnull() & events.memory_capacity.isnull()
    events = events.mutate(is_unknown=is_unknown)
    earliest_first = [events[name] for name in SOURCE_ORDER]
    latest_first = [ibis.desc(events[name]) for name in SOURCE_ORDER]
    # Events without a capacity come last in both orders: they are neither the first nor the last known one.
    forwards = ibis.window(group_by="machine_id", order_by=[events.is_unknown, *earliest_first])
    backwards = ibis.window(group_by="machine_id", order_by=[events.is_unknown, *latest_first])
    events = events.mutate(
        is_at_start=(events.time == BEFORE_TRACE) & (events.type == "ADD"),
        is_first=ibis.row_number().over(forwards) == 0,
        is_last=ibis.row_number().over(backwards) == 0,
    )
    shapes = events.group_by(list(SHAPE)).aggregate(
        n_at_start=events.count(where=events.is_at_start),
        n_first=events.count(where=events.is_first),
        n_last=events.count(where=events.is_last),
    )
    # A shape that a machine had only in between counts nowhere.
    return shapes.filter((shapes.n_at_start + shapes.n_first + shapes.n_last) > 0)


def chart(answer: pa.Table) -> alt.Chart:
    """Draw a circle for each shape, its area the number of machines."""
    import altair as alt

    amounts = amounts_of(answer)
    rows = in_own_units(answer).to_pylist()
    return (
        charts.base(rows, title="Machines by capacity")
        .mark_point(filled=True, opacity=0.7)
        .encode(
            x=alt.X("cpu_capacity:Q", title=amounts.heading("CPU", "cpu")),
            y=alt.Y("memory_capacity:Q", title=amounts.heading("memory", "memory")),
            size=alt.Size("n_last:Q", title="machines", scale=alt.Scale(range=[20, 1500])),
            color=alt.Color("platform_id:N", title="platform id", legend=None),
            tooltip=charts.tooltips(rows),
        )
    )


NUMBER_OF_MACHINES = sql("select coalesce(sum(n_last), 0) from answer")

# Published numbers of machines disagree; the real files decide.
CLAIMS = [
    # Only counts: the paper prints capacities rounded to two digits.
    Claim(
        "R12-table1",
        statement="the ten machine shapes of the 2011 cell",
        source="Reiss et al., SoCC'12, Table 1",
        scope=CELL_2011,
        measure=sql(
            """
            select coalesce(string_agg(n_last::varchar, '/' order by n_last desc), '')
            from answer
            where n_last > 0
            """
        ),
        criterion=equals("6732/3863/1001/795/126/52/5/5/3/1"),
    ),
    Claim(
        "G11-machines",
        statement="about 12.5 thousand machines",
        source="ClusterData2011_2.md",
        scope=CELL_2011,
        with_more_data="rises",
        measure=NUMBER_OF_MACHINES,
        criterion=near(12_500, relative=0.01),
    ),
    Claim(
        "G11-machines-old",
        statement="about 11 thousand machines (older page)",
        source="ClusterData2011_2.md",
        scope=CELL_2011,
        with_more_data="rises",
        measure=NUMBER_OF_MACHINES,
        criterion=near(11_000, within=500),
    ),
    Claim(
        "ME-machines",
        statement="machines that are ever in the cell",
        source="count over the machine events of 2011",
        kind="criterion",
        scope=CELL_2011,
        with_more_data="rises",
        measure=NUMBER_OF_MACHINES,
        criterion=equals(12_583),
    ),
    Claim(
        "ME-machines-at-start",
        statement="machines at the start",
        source="count over the machine events of 2011",
        kind="criterion",
        scope=CELL_2011,
        measure=sql("select coalesce(sum(n_at_start), 0) from answer"),
        criterion=equals(12_477),
    ),
    # The list of all nodes includes those without GPUs.
    Claim(
        "OPENB-nodes",
        statement="nodes",
        source="README of cluster-trace-gpu-v2023; log of the simulator of Weng et al.",
        scope=OPENB,
        measure=sql(
            """
            select sum(n_last)
            from answer
            having bool_or(gpu_capacity = 0)
            """,
            otherwise="needs openb_node_list_all_node.csv",
        ),
        criterion=equals(1523),
    ),
    Claim(
        "OPENB-gpus",
        statement="GPUs of all nodes",
        source="README of cluster-trace-gpu-v2023; log of the simulator of Weng et al.",
        scope=OPENB,
        measure=sql("""
            select coalesce(sum(gpu_capacity::int * n_last), 0)
            from answer
            """),
        criterion=equals(6212),
    ),
    Claim(
        "ALI18-machines",
        statement="about 4,000 machines",
        source="trace_2018.md",
        scope=ALIBABA_2018,
        measure=NUMBER_OF_MACHINES,
        criterion=near(4000, within=200),
    ),
]

QUESTION = Question(
    name="machine_shapes",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    has_amounts=True,
    claims=CLAIMS,
    reads=["machine_events"],
    reference="Reiss et al., SoCC'12, Table 1",
)
