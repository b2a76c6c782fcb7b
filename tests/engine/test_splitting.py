"""Parts of expressions that ranges of collections compute: merged, they are what the whole is."""

from __future__ import annotations

from collections.abc import Callable

import ibis
import ibis.expr.operations as ops
import ibis.expr.types as ir
import pyarrow as pa
import pytest

from borgtrace.engine import connect, put_table, to_arrow
from borgtrace.engine.splitting import Part, merge, parts_of

USAGE = pa.table(
    {
        "collection_id": [1, 1, 1, 2, 2, 3, 4],
        "slot": [0, 1, 1, 0, 2, 1, 0],
        "machine_id": [7, 7, 8, 8, 7, 9, None],
        "cpu": [5, 6, 7, 8, None, 9, 10],
    }
)
TASKS = pa.table({"collection_id": [1, 2, 2, 4], "priority": [0, 9, 2, 4]})
MACHINES = pa.table({"machine_id": [7, 8], "capacity": [1, 2]})
RANGES = ((1, 1), (2, 3), (4, 9))
Expression = Callable[[ir.Table, ir.Table, ir.Table], ir.Table]


def changes(usage: ir.Table) -> ir.Table:
    life = ibis.window(group_by="collection_id", order_by=["slot", "machine_id"])
    return usage.mutate(change=usage.cpu - usage.cpu.lag().over(life))


def with_priority(usage: ir.Table, tasks: ir.Table) -> ir.Table:
    return usage.left_join(tasks, "collection_id")


COMPUTED: dict[str, Expression] = {
    "groups of many collections": lambda usage, tasks, machines: usage.group_by("slot").aggregate(
        n=usage.count(),
        known=usage.cpu.count(),
        total=usage.cpu.sum() + usage.cpu.min(),
        high=usage.cpu.max(where=usage.machine_id == 7),
    ),
    "no groups": lambda usage, tasks, machines: usage.filter(usage.cpu > 100).aggregate(
        n=ibis._.count(), total=ibis._.cpu.sum()
    ),
    "distinct rows": lambda usage, tasks, machines: usage.select("slot").distinct(),
    "groups of a collection": lambda usage, tasks, machines: usage.group_by(
        ["collection_id", "slot"]
    ).aggregate(kinds=usage.machine_id.nunique()),
    "neighbors in a collection": lambda usage, tasks, machines: changes(usage),
    "a join by collection": lambda usage, tasks, machines: (
        with_priority(usage, tasks).group_by("priority").aggregate(n=ibis._.count())
    ),
    "a join by machine": lambda usage, tasks, machines: usage.inner_join(machines, "machine_id"),
    "machines that run something": lambda usage, tasks, machines: machines.inner_join(
        usage, "machine_id"
    ).select("capacity", "slot"),
    "tasks with usage": lambda usage, tasks, machines: tasks.semi_join(usage, "collection_id"),
    "tasks without usage": lambda usage, tasks, machines: usage.anti_join(tasks, "collection_id"),
    "rows of two tables": lambda usage, tasks, machines: (
        usage.select("collection_id")
        .union(tasks.select("collection_id"))
        .group_by("collection_id")
        .aggregate(n=ibis._.count())
    ),
    "machines": lambda usage, tasks, machines: (
        machines.order_by("machine_id").select("capacity").distinct()
    ),
}
"""What tasks compute all of, but for a merge."""
LEFT: dict[str, Expression] = {
    "a sum over what was merged": lambda usage, tasks, machines: (
        usage.group_by("slot").aggregate(n=usage.count()).filter(ibis._.n > 1)
    ),
    "neighbors of many collections": lambda usage, tasks, machines: usage.select(
        "slot", place=ibis.row_number().over(order_by=["slot", "collection_id", "machine_id"])
    ),
    "a mean": lambda usage, tasks, machines: usage.group_by("slot").aggregate(
        mean=usage.cpu.mean()
    ),
    "machines without usage": lambda usage, tasks, machines: machines.left_join(
        usage, "machine_id"
    ).select("capacity", "slot"),
    "usage of other collections": lambda usage, tasks, machines: usage.inner_join(
        tasks, usage.slot == tasks.priority
    ).select("slot", "cpu"),
    "rows of machines among others": lambda usage, tasks, machines: usage.select(
        "machine_id"
    ).union(machines.select("machine_id")),
    "groups by what a left join may lack": lambda usage, tasks, machines: (
        usage.left_join(tasks, "collection_id")
        .group_by("collection_id_right")
        .aggregate(kinds=ibis._.slot.nunique())
    ),
    "the largest": lambda usage, tasks, machines: usage.order_by(
        ["slot", "collection_id", "machine_id"]
    ).limit(2),
    "a subquery": lambda usage, tasks, machines: usage.filter(
        usage.cpu == usage.cpu.max().as_scalar()
    ),
}
"""What the engine computes more of."""


@pytest.fixture(scope="module")
def con() -> ibis.BaseBackend:
    return connect(memory="200MB")


def tables_of(con: ibis.BaseBackend) -> list[ir.Table]:
    rows = {"usage": USAGE, "tasks": TASKS, "machines": MACHINES}
    return [put_table(con, name, table) for name, table in rows.items()]


def rows_in_ranges(con: ibis.BaseBackend, rows: ops.Relation, *, is_whole: bool) -> pa.Table:
    """Compute a part for each range, of which each has its rows of `usage` and `tasks`."""
    found = []
    for first, last in RANGES[:1] if is_whole else RANGES:
        replaced = {}
        for table in rows.find(ops.PhysicalTable):
            of_range = table.to_expr()
            if "collection_id" in table.schema:
                of_range = of_range.filter(of_range.collection_id.between(first, last))
            replaced[table] = of_range.op()
        found.append(to_arrow(rows.replace(replaced).to_expr()))
    return pa.concat_tables(found)


@pytest.mark.parametrize("name", [*COMPUTED, *LEFT])
def test_parts_of_ranges_are_merged_to_the_whole(con: ibis.BaseBackend, name: str) -> None:
    expr = {**COMPUTED, **LEFT}[name](*tables_of(con))
    parts = parts_of(expr, {"usage", "tasks", "machines"})
    assert parts
    replaced = {}
    for number, part in enumerate(parts):
        computed = rows_in_ranges(con, part.rows, is_whole=part.is_whole)
        replaced[part.node] = merge(part, put_table(con, f"part_{number}", computed).op())
    merged = expr.op().replace(replaced).to_expr()
    assert merged.schema() == expr.schema()
    assert sorted(map(repr, to_arrow(merged).to_pylist())) == sorted(
        map(repr, to_arrow(expr).to_pylist())
    )


@pytest.mark.parametrize("name", COMPUTED)
def test_what_concerns_collections_is_left_to_tasks(con: ibis.BaseBackend, name: str) -> None:
    expr = COMPUTED[name](*tables_of(con))
    nodes = [part.node for part in parts_of(expr, {"usage", "tasks", "machines"})]
    # Machines alone are sorted by the engine.
    assert nodes == [expr.op()] or name == "machines"


@pytest.mark.parametrize("name", LEFT)
def test_what_concerns_several_is_left_to_the_engine(con: ibis.BaseBackend, name: str) -> None:
    expr = LEFT[name](*tables_of(con))
    assert expr.op() not in [part.node for part in parts_of(expr, {"usage", "tasks", "machines"})]


@pytest.mark.parametrize("name", [*COMPUTED, *LEFT])
def test_of_few_rows_one_task_computes_all(con: ibis.BaseBackend, name: str) -> None:
    expr = {**COMPUTED, **LEFT}[name](*tables_of(con))
    (part,) = parts_of(expr, {"usage", "tasks", "machines"}, in_one_task=True)
    assert part == Part(expr.op(), expr.op(), is_whole=True)


def test_of_few_rows_what_another_table_has_is_left_to_the_engine(con: ibis.BaseBackend) -> None:
    usage, tasks, machines = tables_of(con)
    largest = usage.order_by("slot").limit(2)
    expr = largest.inner_join(machines, "machine_id").inner_join(tasks, "collection_id")
    parts = parts_of(expr, {"usage", "machines"}, in_one_task=True)
    assert {part.node for part in parts} == {largest.op(), machines.op()}
    assert all(part.is_whole and part.rows == part.node for part in parts)
    chosen = usage.filter(usage.cpu == tasks.priority.max().as_scalar())
    (part,) = parts_of(chosen, {"usage"}, in_one_task=True)
    assert part.node == usage.op()
    # Each time it is another one.
    (part,) = parts_of(usage.filter(ibis.random() > 0.5), {"usage"}, in_one_task=True)
    assert part.node == usage.op()


def test_tables_elsewhere_are_left_to_the_engine(con: ibis.BaseBackend) -> None:
    usage, tasks, _ = tables_of(con)
    joined = usage.inner_join(tasks, "collection_id")
    (part,) = parts_of(joined, {"usage"})
    assert part.rows == usage.op()
    assert not parts_of(tasks, {"usage"})
