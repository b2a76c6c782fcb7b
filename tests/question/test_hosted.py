"""BigQuery's statements run: on DuckDB, over tables of Google's nested layout, they give the answers of a store."""

from __future__ import annotations

import math
from typing import Any

import ibis
import ibis.expr.operations as ops
import ibis.expr.types as ir
import pyarrow as pa
import pytest
import sqlglot
from sqlglot import exp

from borgtrace.catalog import experiments, questions
from borgtrace.engine.bigquery import HOSTED, bytes_of, compile_sql, parse, view_sql
from borgtrace.engine.dtypes import ibis_schema
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.lifecycle import DERIVED
from borgtrace.lifecycle.hosted import all_views_sql, tasks_sql, what_it_reads
from borgtrace.question import EngineTables, Provenance, Question, Tables
from borgtrace.schema import TABLES, Table
from borgtrace.synth import generate

pytestmark = pytest.mark.wide

RAW = (
    "machine_events",
    "machine_attributes",
    "collection_events",
    "instance_events",
    "instance_usage",
)
# Between them they read every table, count, rank, join, and look at sets of constraints; the large suite takes all.
BRIEF = (
    "machine_attributes",
    "submissions",
    "task_totals",
    "eligible_starts",
    "delay_by_eligibility",
    "reservation",
)
WORKLOAD = [
    pytest.param(question, id=name, marks=[] if name in BRIEF else [pytest.mark.scale])
    for name, question in questions().items()
    if name not in experiments()
]


def run_here(con: Any, sql: str) -> pa.Table:
    """Run a statement of BigQuery on DuckDB: its grammar is checked by parsing it, its text translated."""
    tree = parse(sql)
    for table in tree.find_all(exp.Table):
        # Google's tables lie in a schema of their own, views in the default one.
        is_google = table.db.startswith("clusterdata_2019")
        table.set("catalog", None)
        table.set("db", exp.to_identifier("google") if is_google else None)
    # Offsets of unnested lists start at 0 there and at 1 here.
    offsets = {
        unnest.args["offset"].name
        for unnest in tree.find_all(exp.Unnest)
        if unnest.args.get("offset")
    }
    for column in [
        column
        for column in tree.find_all(exp.Column)
        if not column.table and column.name in offsets
    ]:
        column.replace(exp.paren(column.copy() - 1))
    return con.con.sql(tree.sql(dialect="duckdb")).to_arrow_table()


class Hosted(EngineTables):
    """The tables of a store, but for every statement: it is BigQuery's, over views of Google's tables."""

    def fetch(self, expr: ir.Table, stage: str | None = None) -> pa.Table:
        con = self["tasks"].get_backend()
        rows = run_here(con, compile_sql(expr))
        # The order was left to whoever reads the rows.
        keys = [key.name for key in expr.op().keys] if isinstance(expr.op(), ops.Sort) else []
        rows = rows.cast(expr.schema().to_pyarrow())
        return rows.sort_by([(key, "ascending") for key in keys]) if keys else rows

    def derived(self, name: str) -> ir.Table:
        if name not in self._derived:
            built = DERIVED[name].build(self[DERIVED[name].reads], self.dialect)
            self._derived[name] = held(
                self["tasks"].get_backend(), DERIVED[name].table, compile_sql(built)
            )
        return self._derived[name]


def held(con: Any, table: Table, sql: str) -> ir.Table:
    """Keep the rows of a statement as a table; fractions have 64 bits."""
    types = {
        name: "float64" if dtype.is_floating() else dtype
        for name, dtype in ibis_schema(table).items()
    }
    con.con.register(f"{table.name}_rows", run_here(con, sql).cast(ibis.schema(types).to_pyarrow()))
    con.raw_sql(f"CREATE TABLE {table.name} AS FROM {table.name}_rows")
    return con.table(table.name)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Tables, Tables]:
    """A synthetic cell as a store, and as Google's tables under the views."""
    folder = tmp_path_factory.mktemp("hosted")
    # Without anomalies: rows that ingest rejects are in Google's tables too.
    raw = generate(folder / "raw", "2019", 8, 4.0, 1, file_format="parquet", anomalies=False)
    ingest([raw], folder / "store", IngestOptions(jobs=1))
    con = ibis.duckdb.connect()
    con.raw_sql("CREATE SCHEMA google")
    # Functions of BigQuery alone.
    con.raw_sql("CREATE MACRO ieee_divide(a, b) AS CAST(a AS DOUBLE) / CAST(b AS DOUBLE)")
    for name in RAW:
        files = [str(path) for path in sorted(raw.rglob(f"{name}-*.parquet.gz"))]
        con.raw_sql(f"CREATE TABLE google.{name} AS FROM read_parquet({files})")
    for table in HOSTED.values():
        held(con, table, view_sql(table, "a"))
    held(con, TABLES["tasks"], tasks_sql())
    store = EngineTables.of(folder / "store")
    origin = Provenance(
        generation="2019",
        cell="a",
        is_synthetic=True,
    )
    hosted = Hosted({name: con.table(name) for name in (*HOSTED, "tasks")}, origin)
    # As in a plan: what is printed is SQL alone.
    hosted.has_blocks = False
    return store, hosted


@pytest.mark.parametrize("question", WORKLOAD)
def test_the_statements_of_a_question_give_its_answer(
    question: Question, both: tuple[Tables, Tables]
) -> None:
    one, other = (question.run(tables) for tables in both)
    assert one.not_applicable == other.not_applicable
    assert one.table.num_rows == other.table.num_rows
    for left, right in zip(one.table.to_pylist(), other.table.to_pylist(), strict=True):
        assert alike(left, right), (left, right)


def alike(left: Any, right: Any) -> bool:
    # A store keeps 32 bits of a fraction, BigQuery 64.
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(alike(left[name], right[name]) for name in left)
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-5, abs_tol=1e-7)
    return bool(left == right)


def test_tasks_are_those_of_the_store(both: tuple[Tables, Tables]) -> None:
    store, hosted = (
        tables.fetch(tables.tasks.drop("first_row").order_by("collection_id", "instance_index"))
        for tables in both
    )
    assert hosted.num_rows == store.num_rows > 100
    for left, right in zip(store.to_pylist(), hosted.to_pylist(), strict=True):
        assert alike(left, right), (left, right)


@pytest.mark.parametrize("name", ["delay_by_eligibility", "sampling_period"])
def test_printed_statements_name_views_alone(name: str) -> None:
    for stage in questions()[name].stages("2019").values():
        tree = parse(compile_sql(stage))
        known = {*TABLES, *DERIVED, *(cte.alias for cte in tree.find_all(exp.CTE))}
        assert {table.name for table in tree.find_all(exp.Table)} <= known
        assert not any(select.args.get("order") for select in tree.find_all(exp.Select))


def test_views_come_with_tasks_and_name_their_dataset() -> None:
    statements = sqlglot.parse(all_views_sql("c", "my-project.cell_c"), read="bigquery")
    assert [statement.this.sql("bigquery") for statement in statements] == [
        f"`my-project.cell_c.{name}`" for name in (*HOSTED, "tasks")
    ]
    read = {
        table.sql("bigquery").split(" AS ")[0]
        for table in statements[-1].expression.find_all(exp.Table)
    }
    assert read == {
        f"`my-project`.`cell_c`.`{name}`"
        for name in ("instance_usage", "instance_events", "collection_events")
    }


def test_what_a_statement_reads_is_counted_by_hand() -> None:
    sql = "SELECT `e`.`user`, COUNT(*) AS n FROM `collection_events` AS `e` WHERE `e`.`time` > 5 GROUP BY 1"
    # 8 for the time and 46 for the hash of a user, in 20,807,441 rows.
    assert (
        what_it_reads(sql) == "-- reads collection_events: 54 bytes a row, of cell a about 1.12 GB"
    )
    # Of tasks, which a full join makes: ids, times and what the windows are counted by.
    of_tasks = what_it_reads("SELECT MAX(`n_windows`) AS n FROM `tasks` AS `t`")
    assert [line.split(":")[0] for line in of_tasks.splitlines()[:3]] == [
        f"-- reads {name}" for name in ("instance_usage", "instance_events", "collection_events")
    ]
    # 8 bytes of 1,717,000,000 rows and of 20,807,441; what was made before is not read of Google's tables.
    both = "SELECT MAX(e.time) AS a, MAX(c.time) AS b FROM instance_events AS e CROSS JOIN collection_events AS c"
    assert what_it_reads(both).splitlines() == [
        "-- reads instance_events: 8 bytes a row, of cell a about 13.7 GB",
        "-- reads collection_events: 8 bytes a row, of cell a about 0.166 GB",
        "-- in all, of cell a about 13.9 GB",
    ]
    assert (
        what_it_reads("SELECT MAX(wait) AS a FROM instance_attempts")
        == "-- reads instance_attempts, made before"
    )
    # A percentile list has eleven values; what 2019 does not publish costs nothing; machine ids are read once.
    names = (
        "cpu_usage_distribution",
        "unmapped_page_cache_memory",
        "machine_id",
        "is_on_dedicated_machine",
    )
    assert bytes_of(TABLES["instance_usage"], names) == 96
