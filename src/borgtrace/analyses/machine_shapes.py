"""Which kinds of machines are there?

One row per shape (platform, CPU, memory, GPUs).  Machines change: a machine counts under its first known
capacity, its last known one, and the one it had at the start of the trace.  The table that Reiss et al.
published counts last capacities; only that column reproduces it.

Reference: Reiss et al., SoCC'12, Table 1.
"""

from collections.abc import Callable

import ibis
import pyarrow as pa

from borgtrace.analyses._answers import ALIBABA_2018, MONTH_2011, OPENB
from borgtrace.lifecycle.order import SOURCE_ORDER
from borgtrace.recipe import Claim, Claims, NotApplicable, Recipe, Tables, equals, from_source, near
from borgtrace.recipe.charts import Chart, Plot, axis, point
from borgtrace.schema.time import BEFORE_TRACE

SHAPE = ("platform_id", "cpu_capacity", "memory_capacity", "gpu_capacity")


def compute(tables: Tables) -> ibis.Table:
    """Return the number of machines of each shape: at time 0, by first and by last capacity."""
    events = tables.machine_events
    # 32 ADD events of 2011 have no capacity; those machines get one later.
    known = events.mutate(unknown=events.cpu_capacity.isnull() & events.memory_capacity.isnull())
    order = [known[name] for name in SOURCE_ORDER]
    # Events without a capacity come last in both orders: they are neither the first nor the last known one.
    onwards = ibis.window(group_by="machine_id", order_by=[known.unknown, *order])
    backwards = ibis.window(group_by="machine_id", order_by=[known.unknown, *(ibis.desc(c) for c in order)])
    placed = known.mutate(
        at_start=(known.time == BEFORE_TRACE) & (known.type == "ADD"),
        first=ibis.row_number().over(onwards) == 0,
        last=ibis.row_number().over(backwards) == 0,
    )
    numbers = {f"n_{name}": placed.count(where=placed[name]) for name in ("at_start", "first", "last")}
    shapes = placed.group_by(list(SHAPE)).aggregate(**numbers)
    # A shape that a machine had only in between counts nowhere.
    return shapes.filter((shapes.n_at_start + shapes.n_first + shapes.n_last) > 0)


def plot(result: pa.Table) -> Chart:
    """Draw one circle per shape, its area the number of machines."""
    of = "(of the largest machine)"
    x, y = axis("cpu_capacity", f"CPU {of}"), axis("memory_capacity", f"memory {of}")
    size = axis("n_last", "machines", scale={"range": [20, 1500]})
    plotted = Plot(result, x=x, y=y, size=size, color=axis("platform_id", legend=None))
    return plotted.add(point(opacity=0.7)).draw("Machines by capacity")


_SHAPES = Claims("Reiss et al., SoCC'12, Table 1", scope=MONTH_2011)


@_SHAPES.add("R12-table1", equals("6732/3863/1001/795/126/52/5/5/3/1"))
def _last(result: pa.Table) -> str:
    """the ten machine shapes of the 2011 cell"""
    # Counts alone: the paper prints capacities rounded to two digits.
    return "/".join(str(n) for n in sorted((n for n in result["n_last"].to_pylist() if n), reverse=True))


def _number(column: str) -> Callable[[pa.Table], int]:
    return lambda result: sum(result[column].to_pylist())


def _nodes(result: pa.Table) -> int:
    NotApplicable.unless(0 in result["gpu_capacity"].to_pylist(), "needs openb_node_list_all_node.csv")
    return _number("n_last")(result)


def _gpus(result: pa.Table) -> int:
    return sum(int(row["gpu_capacity"] or 0) * row["n_last"] for row in result.to_pylist())


_ABOUT_4000 = near(4_000, 200)
CLAIMS = (
    *_SHAPES,
    # Published numbers of machines disagree; the real files decide.
    *from_source(
        "ClusterData2011_2.md",
        Claim("G11-machines", "about 12.5 thousand machines", near(12_500, relative=0.01), _number("n_last")),
        Claim("G11-machines-old", "about 11 thousand machines (older page)", near(11_000, 500), _number("n_last")),
        scope=MONTH_2011,
    ),
    *from_source(
        "count over the machine events of 2011",
        Claim("ME-machines", "machines that are ever in the cell", equals(12_583), _number("n_last")),
        Claim("ME-machines-at-start", "machines at the start", equals(12_477), _number("n_at_start")),
        kind="criterion",
        scope=MONTH_2011,
    ),
    *from_source(
        "README of cluster-trace-gpu-v2023; log of the simulator of Weng et al.",
        Claim("OPENB-nodes", "nodes", equals(1_523), _nodes),
        Claim("OPENB-gpus", "GPUs of all nodes", equals(6_212), _gpus),
        scope=OPENB,
    ),
    *from_source(
        "trace_2018.md",
        Claim("ALI18-machines", "about 4,000 machines", _ABOUT_4000, _number("n_last")),
        scope=ALIBABA_2018,
    ),
)

RECIPE = Recipe.declared(compute, plot, CLAIMS, reads=("machine_events",), order=10)
