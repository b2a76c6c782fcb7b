"""Views over Google's hosted v3 tables: they parse as BigQuery, and they mean what ingest means."""

from __future__ import annotations

from typing import Any

import duckdb
import ibis
import pytest
import sqlglot
from sqlglot import exp

from borgtrace import engine
from borgtrace.engine import bigquery
from borgtrace.engine.dtypes import ibis_schema
from borgtrace.errors import UsageError
from borgtrace.schema import TABLES

RAW = {
    "machine_events": """
        SELECT 0 AS time, 7 AS machine_id, 1 AS type, 'sw' AS switch_id,
               {'cpus': 0.5, 'memory': 0.25} AS capacity, 'pl' AS platform_id, 0 AS missing_data_reason
        UNION ALL SELECT 5, 7, 2, NULL, NULL, NULL, 1""",
    "machine_attributes": """
        SELECT 1 AS time, 7 AS machine_id, 'kernel' AS name, '3' AS value, NULL::BOOLEAN AS deleted
        UNION ALL SELECT 2, 7, 'kernel', NULL, true""",
    "collection_events": """
        SELECT 9 AS time, 3 AS type, 100 AS collection_id, 2 AS scheduling_class, 0 AS missing_type,
               1 AS collection_type, 360 AS priority, 0 AS alloc_collection_id, 'u' AS "user",
               'n' AS collection_name, 'l' AS collection_logical_name, 55 AS parent_collection_id,
               [1, 2] AS start_after_collection_ids, 4 AS max_per_machine, NULL AS max_per_switch,
               3 AS vertical_scaling, 1 AS scheduler""",
    "instance_events": """
        SELECT 9 AS time, 4 AS type, 100 AS collection_id, 1 AS scheduling_class, 5 AS missing_type,
               0 AS collection_type, 103 AS priority, 200 AS alloc_collection_id, 3 AS instance_index,
               -1 AS machine_id, -1 AS alloc_instance_index,
               {'cpus': 0.5, 'memory': 0.25} AS resource_request,
               [{'name': 'a', 'value': '', 'relation': 1}, {'name': 'b', 'value': '4', 'relation': 5}]
                   AS "constraint"
        UNION ALL SELECT 10, 0, 100, 1, NULL, 0, 103, NULL, 3, 0, 8, NULL, []""",
    "instance_usage": """
        SELECT 300 AS start_time, 600 AS end_time, 100 AS collection_id, 3 AS instance_index,
               12 AS machine_id, 0 AS alloc_collection_id, -1 AS alloc_instance_index, 0 AS collection_type,
               {'cpus': 0.5, 'memory': 0.25} AS average_usage, {'cpus': 0.75, 'memory': 0.5} AS maximum_usage,
               {'cpus': 0.625, 'memory': NULL::DOUBLE} AS random_sample_usage, 0.125 AS assigned_memory,
               0.0 AS page_cache_memory, 1.5 AS cycles_per_instruction,
               0.5 AS memory_accesses_per_instruction, 1.0 AS sample_rate,
               [0.5] AS cpu_usage_distribution, [0.75] AS tail_cpu_usage_distribution""",
}
"""A few raw rows as BigQuery holds them, written by hand."""

NOTHING = {"source_part": 0, "source_row": 0}
EXPECTED: dict[str, list[dict[str, Any]]] = {
    "machine_events": [
        {
            "time": 0,
            "machine_id": 7,
            "type": "ADD",
            "switch_id": "sw",
            "platform_id": "pl",
            "cpu_capacity": 0.5,
            "memory_capacity": 0.25,
            "gpu_capacity": None,
            "missing_data_reason": None,
        },
        {
            "time": 5,
            "machine_id": 7,
            "type": "REMOVE",
            "switch_id": None,
            "platform_id": None,
            "cpu_capacity": None,
            "memory_capacity": None,
            "gpu_capacity": None,
            "missing_data_reason": "SNAPSHOT_BUT_NO_TRANSITION",
        },
    ],
    "machine_attributes": [
        {
            "time": 1,
            "machine_id": 7,
            "name": "kernel",
            "value": "3",
            "is_deleted": False,
        },
        {
            "time": 2,
            "machine_id": 7,
            "name": "kernel",
            "value": None,
            "is_deleted": True,
        },
    ],
    "collection_events": [
        {
            "time": 9,
            "type": "SCHEDULE",
            "collection_id": 100,
            "scheduling_class": 2,
            "missing_type": None,
            "collection_type": "ALLOC_SET",
            "priority": 360,
            "alloc_collection_id": None,
            "user": "u",
            "collection_name": "n",
            "collection_logical_name": "l",
            "cluster": None,
            "namespace": None,
            "pod": None,
            "container": None,
            "owner_kind": None,
            "parent_collection_id": 55,
            "start_after_collection_ids": [1, 2],
            "max_per_machine": 4,
            "max_per_switch": None,
            "vertical_scaling": "FULLY_AUTOMATED",
            "scheduler": "BATCH",
        }
    ],
    "instance_events": [
        {
            "time": 9,
            "type": "EVICT",
            "collection_id": 100,
            "instance_index": 3,
            "scheduling_class": 1,
            "missing_type": "TOO_MANY_EVENTS",
            "collection_type": "JOB",
            "priority": 103,
            "user": None,
            "machine_id": None,
            "is_on_dedicated_machine": True,
            "alloc_collection_id": 200,
            "alloc_instance_index": None,
            "cpu_request": 0.5,
            "memory_request": 0.25,
            "disk_request": None,
            "gpu_request": None,
            "cpu_limit": None,
            "memory_limit": None,
            "end_reason": None,
            "needs_different_machine": None,
        },
        {
            "time": 10,
            "type": "SUBMIT",
            "collection_id": 100,
            "instance_index": 3,
            "scheduling_class": 1,
            "missing_type": None,
            "collection_type": "JOB",
            "priority": 103,
            "user": None,
            "machine_id": None,
            "is_on_dedicated_machine": False,
            "alloc_collection_id": None,
            "alloc_instance_index": 8,
            "cpu_request": None,
            "memory_request": None,
            "disk_request": None,
            "gpu_request": None,
            "cpu_limit": None,
            "memory_limit": None,
            "end_reason": None,
            "needs_different_machine": None,
        },
    ],
    "instance_constraints": [
        {
            "collection_id": 100,
            "instance_index": 3,
            "time": 9,
            "name": "a",
            "relation": "NOT_EQUAL",
            "value": "",
            "position": 0,
        },
        {
            "collection_id": 100,
            "instance_index": 3,
            "time": 9,
            "name": "b",
            "relation": "GREATER_THAN_EQUAL",
            "value": "4",
            "position": 1,
        },
    ],
    "instance_usage": [
        {
            "start_time": 300,
            "end_time": 600,
            "collection_id": 100,
            "instance_index": 3,
            "machine_id": 12,
            "is_on_dedicated_machine": False,
            "alloc_collection_id": None,
            "alloc_instance_index": None,
            "collection_type": "JOB",
            "average_cpu": 0.5,
            "maximum_cpu": 0.75,
            "sampled_cpu": 0.625,
            "average_memory": 0.25,
            "maximum_memory": 0.5,
            "assigned_memory": 0.125,
            "page_cache_memory": 0.0,
            "unmapped_page_cache_memory": None,
            "mean_disk_io_time": None,
            "maximum_disk_io_time": None,
            "mean_disk_space": None,
            "cycles_per_instruction": 1.5,
            "memory_accesses_per_instruction": 0.5,
            "sample_portion": None,
            "sample_rate": 1.0,
            "aggregation_type": None,
            "cpu_usage_distribution": [0.5],
            "tail_cpu_usage_distribution": [0.75],
        }
    ],
}


def _on_duckdb(sql: str) -> str:
    """Rewrite a BigQuery view for DuckDB: its raw tables by bare name, its offsets counted from 0."""
    tree = sqlglot.parse_one(sql, read="bigquery")
    for table in tree.find_all(exp.Table):
        if table.db:
            table.set("db", None)
            table.set("catalog", None)
    text = tree.sql(dialect="duckdb")
    return text.replace(
        "position AS position",
        "position - 1 AS position",
    )  # ordinality starts at 1


@pytest.mark.parametrize("name", list(bigquery.HOSTED))
def test_view_means_what_ingest_means(name: str) -> None:
    con = duckdb.connect()
    for raw, rows in RAW.items():
        con.execute(f"CREATE VIEW {raw} AS {rows}")
    result = con.sql(_on_duckdb(bigquery.view_sql(TABLES[name], "a"))).to_arrow_table()
    assert result.column_names == list(TABLES[name].names)
    order = ("time" if "time" in TABLES[name].names else "start_time", "name")
    rows = sorted(result.to_pylist(), key=lambda row: [str(row.get(key)) for key in order])
    expected = sorted(EXPECTED[name], key=lambda row: [str(row.get(key)) for key in order])
    assert rows == [row | NOTHING for row in expected]


@pytest.mark.parametrize("cell", "abcdefgh")
def test_script_parses_as_bigquery(cell: str) -> None:
    script = bigquery.views_sql(cell, "my-project.borg")
    statements = sqlglot.parse(script, read="bigquery")
    assert [type(statement) for statement in statements] == [exp.Create] * 6
    assert script.count(f"google.com:google-cluster-data.clusterdata_2019_{cell}.") == 6


def test_expressions_compile_to_sql_that_parses_over_the_views() -> None:
    events = ibis.table(ibis_schema(TABLES["instance_events"]), name="instance_events")
    expr = (
        events.group_by("type").agg(n=events.count(), cpu=events.cpu_request.sum()).order_by("type")
    )
    tree = sqlglot.parse_one(bigquery.compile_sql(expr), read="bigquery")
    assert [table.name for table in tree.find_all(exp.Table)] == ["instance_events"]


def test_expressions_bound_to_duckdb_compile_too() -> None:
    con = engine.connect(memory="100MB")
    events = engine.read_table(con, TABLES["machine_events"], [])
    tree = sqlglot.parse_one(
        bigquery.compile_sql(events.filter(events.type == "ADD")),
        read="bigquery",
    )
    assert [table.sql(dialect="bigquery") for table in tree.find_all(exp.Table)] == [
        "`machine_events` AS `t0`"
    ]


def test_derived_table_has_no_view() -> None:
    with pytest.raises(UsageError) as caught:
        bigquery.view_sql(TABLES["tasks"], "a")
    assert str(caught.value) == (
        "table: not a table of the trace: expected machine_events, machine_attributes, collection_events, "
        "instance_events, instance_constraints, instance_usage, got tasks"
    )


@pytest.mark.parametrize("cell", ["", "i", "ab", "A"])
def test_unknown_cell(cell: str) -> None:
    with pytest.raises(UsageError) as caught:
        bigquery.view_sql(TABLES["machine_events"], cell)
    assert (
        str(caught.value) == f"--cell: unknown cell: expected a, b, c, d, e, f, g, h, got {cell!r}"
    )


def test_statements_are_parsed_as_the_library_does() -> None:
    for table in bigquery.HOSTED.values():
        sql = bigquery.view_sql(table, "a")
        assert bigquery.parse(sql) == sqlglot.parse_one(sql, read="bigquery")
    with pytest.raises(sqlglot.ParseError):
        bigquery.parse("SELECT a FROM (")


def test_columns_that_are_left_out_come_in_the_order_of_their_names() -> None:
    """Ibis drops a set, whose order is another in each process: the statement would be."""
    names = [f"c{number:02}" for number in range(30)]
    sql = bigquery.compile_sql(ibis.table(dict.fromkeys(names, "int64"), name="t").drop(*names[:9]))
    (star,) = sqlglot.parse_one(sql, dialect="bigquery").find_all(exp.Star)
    assert [column.name for column in star.args["except_"]] == names[:9]
