"""Google's hosted v3 tables, seen as canonical tables: views in BigQuery's SQL.

Google publishes 2019 in BigQuery with nested records, enumerations as numbers and constants for
"none" (0 and −1).  The views flatten, name and null exactly as ingest does, so that the compiled
SQL of any relational stage runs there unchanged.  The hosted tables have no files: ``source_part``
and ``source_row`` are 0, and ties between equal times are decided by the life-cycle order.

Every name written here is declared in this package: cells, tables and columns of Google's.
"""

from collections.abc import Iterable, Mapping
from typing import Any, cast

import ibis
import ibis.expr.operations as ops
from ibis.backends.sql.datatypes import BigQueryType
from sqlglot import exp
from sqlglot.dialects.bigquery import BigQuery
from sqlglot.parsers.bigquery import BigQueryParser

from borgtrace.engine.dtypes import ibis_schema
from borgtrace.engine.identifiers import literal, quoted
from borgtrace.errors import UsageError
from borgtrace.schema import TRACE_TABLES, Absent, Column, Table
from borgtrace.schema.dialects import GOOGLE_2019
from borgtrace.schema.enums import EnumName

PROJECT = "google.com:google-cluster-data"
HOSTED = {name: table for name, table in TRACE_TABLES.items() if not table.is_of_cells}
"""Tables that each cell has a dataset of; power has one of its own."""
_DERIVED_SQL = {
    "source_part": "0",
    "source_row": "0",
    "position": "position",
    "is_on_dedicated_machine": f"COALESCE(raw.machine_id = {GOOGLE_2019.dedicated_machine}, FALSE)",
}
"""Columns that ingest derives."""
_BYTES_OF_TYPE = {"string": 46, "bool": 1}
"""Bytes of a value where they are not 8, as BigQuery counts: a text has 2 more than letters, a hash has 44."""
_BYTES_OF_LIST = {
    "raw.cpu_usage_distribution": 11 * 8,
    "raw.tail_cpu_usage_distribution": 9 * 8,
}
ROWS_OF_A = {
    "instance_usage": 7_575_500_668,
    "instance_constraints": 3_532_005_634,
    "instance_events": 1_717_000_000,
    "collection_events": 20_807_441,
}
"""Approximate rows of the tables of cell a, by a public exploration of it; nothing is published of others."""


def view_sql(table: Table, cell: str) -> str:
    """Return the query that yields a canonical table from Google's hosted table of `cell`.

    Parameters
    ----------
    table
        One of :data:`HOSTED`.
    cell
        ``"a"`` … ``"h"``.

    Raises
    ------
    UsageError
        For a table that is derived at ingest, or an unknown cell.

    Examples
    --------
    >>> from borgtrace.schema import TABLES
    >>> print(view_sql(TABLES["machine_attributes"], "a"))
    SELECT
      raw.time AS time,
      raw.machine_id AS machine_id,
      raw.name AS name,
      raw.value AS value,
      COALESCE(raw.deleted, FALSE) AS is_deleted,
      0 AS source_part,
      0 AS source_row
    FROM `google.com:google-cluster-data.clusterdata_2019_a.machine_attributes` AS raw
    """
    if table.name not in HOSTED:
        raise UsageError(
            "table",
            "not a table of the trace",
            expected=", ".join(HOSTED),
            got=table.name,
        )
    if cell not in GOOGLE_2019.cells:
        raise UsageError(
            "--cell",
            "unknown cell",
            expected=", ".join(GOOGLE_2019.cells),
            got=repr(cell),
        )
    values_sql = ",\n".join(
        f"  {_value_sql(table, column)} AS {column.name}" for column in table.columns
    )
    raw_table = "instance_events" if table.name == "instance_constraints" else table.name
    hosted = f"{PROJECT}.clusterdata_2019_{cell}.{raw_table}"
    source_sql = f"FROM {quoted(hosted, dialect='bigquery')} AS raw"
    if raw_table != table.name:
        # A cross join drops events without constraints, as ingest does.
        source_sql += " CROSS JOIN UNNEST(raw.constraint) AS item WITH OFFSET AS position"
    return f"SELECT\n{values_sql}\n{source_sql}"


def views_sql(cell: str, dataset: str) -> str:
    """Return a script that creates all views of one cell in `dataset` (``project.dataset``).

    Parameters
    ----------
    cell
        ``"a"`` … ``"h"``.
    dataset
        Where the views are made, ``project.dataset``.

    Raises
    ------
    UsageError
        For an unknown cell.

    Examples
    --------
    >>> views_sql("a", "my-project.cell_a").count("CREATE OR REPLACE VIEW")
    6
    """
    statements = []
    for name, table in HOSTED.items():
        statements.append(create_view_sql(f"{dataset}.{name}", view_sql(table, cell)))
    return "\n\n".join(statements)


def create_view_sql(name: str, query_sql: str) -> str:
    """Return the statement that creates a view.

    Parameters
    ----------
    name
        Of the view, ``project.dataset.view``.
    query_sql
        What it shows.
    """
    view_sql = quoted(name, dialect="bigquery")
    return f"CREATE OR REPLACE VIEW {view_sql} AS\n{query_sql};"


def compile_sql(expr: ibis.Expr) -> str:
    r"""Return the BigQuery SQL of an expression over canonical tables, bound or not.

    The tables of the views keep their names; run it with the dataset of :func:`views_sql` as the default dataset.
    Rows in memory are written out, for BigQuery has no such table.  Rows come in any order: sorting all of them would
    be one worker's, and fail.

    Examples
    --------
    >>> few = ibis.memtable({"a": [1, 2]})
    >>> compile_sql(few.order_by("a")).replace("\n", " ")
    'SELECT   * FROM (   SELECT     1 AS `a`   UNION ALL   SELECT     2 AS `a` ) AS `t0`'
    """
    tree = parse(str(ibis.to_sql(expr, dialect="bigquery")))
    rows_of_table = {
        table.name: _rows_as_query(table) for table in expr.op().find(ops.InMemoryTable)
    }
    for select in list(tree.find_all(exp.Select)):
        # With a limit the order decides which rows.
        if not select.args.get("limit"):
            select.set("order", None)
    for star in tree.find_all(exp.Star):
        # Ibis drops a set of columns, whose order changes from run to run.
        star.set("except_", sorted(star.args.get("except_") or (), key=str) or None)
    for table in list(tree.find_all(exp.Table)):
        if table.name in rows_of_table:
            rows = rows_of_table[table.name].copy()
            table.replace(exp.Subquery(this=rows, alias=table.args.get("alias")))
    return tree.sql(dialect="bigquery", pretty=True)


class _Parser(BigQueryParser):
    # What is written `FROM t, t.list` there is an UNNEST in ours.  Looking for it copies each query once for every
    # query around it: three quarters of the time.
    SUPPORTS_IMPLICIT_UNNEST = False


def parse(sql: str) -> exp.Expression:
    """Return the syntax tree of a statement in BigQuery's SQL that unnests lists by UNNEST alone.

    Examples
    --------
    >>> parse("SELECT a FROM t").find(exp.Table).name
    't'
    """
    dialect = BigQuery()
    (tree,) = _Parser(dialect=dialect).parse(dialect.tokenize(sql), sql)
    return cast(exp.Expression, tree)


def _rows_as_query(table: ops.InMemoryTable) -> exp.Expression:
    """Write the rows of a table as queries of one row each, and no rows as one of which none is taken."""
    rows = table.data.to_pyarrow(table.schema).to_pylist()
    if not rows:
        nulls = {}
        for name, dtype in table.schema.items():
            nulls[name] = exp.cast(exp.null(), BigQueryType.to_string(dtype))
        return _row_as_query(nulls).limit(0)
    selects = [_row_as_query(row) for row in rows]
    if len(selects) == 1:
        return selects[0].limit(1)
    return exp.union(*selects, distinct=False)


def _row_as_query(row: Mapping[str, Any]) -> exp.Select:
    values = []
    for name, value in row.items():
        values.append(exp.alias_(exp.convert(value), name, quoted=True))
    return exp.select(*values)


def _value_sql(table: Table, column: Column) -> str:
    """Write how `column` is computed from one raw row."""
    if column.name in _DERIVED_SQL:
        return _DERIVED_SQL[column.name]
    source = GOOGLE_2019.source(table.name, column.name)
    if isinstance(source, Absent):
        type_sql = BigQueryType.to_string(ibis_schema(table)[column.name])
        return f"CAST(NULL AS {type_sql})"
    path_sql = _path_sql(source)
    if column.enum:
        return _code_name_sql(column, path_sql)
    # Not for machine tables: there the machine is the key, and a constant for "none" would leave a row without one.
    if column.name in GOOGLE_2019.none and table.name.startswith(("collection", "instance")):
        return _null_if_sql(path_sql, GOOGLE_2019.none[column.name])
    # A flag that is left out means false, as in protocol buffers.
    if column.type == "bool" and not column.nullable:
        return f"COALESCE({path_sql}, FALSE)"
    return path_sql


def bytes_of(table: Table, names: Iterable[str]) -> int:
    """Return about how many bytes of a raw row BigQuery reads, and bills, for some columns of a view.

    Parameters
    ----------
    table
        One of :data:`HOSTED`.
    names
        Columns of it.

    Examples
    --------
    >>> from borgtrace.schema import TABLES
    >>> bytes_of(TABLES["instance_usage"], ["start_time", "source_row", "average_cpu", "sample_portion"])
    16
    """
    # Two columns of the view may come from one of Google's, which is read once; some come from none.
    type_of_path: dict[str, str] = {}
    for name in names:
        if name in ("source_part", "source_row", "position"):
            continue
        column = table.column("machine_id" if name == "is_on_dedicated_machine" else name)
        source = GOOGLE_2019.source(table.name, column.name)
        if not isinstance(source, Absent):
            type_of_path[_path_sql(source)] = column.type
    total = 0
    for path, column_type in type_of_path.items():
        total += _BYTES_OF_LIST.get(path, _BYTES_OF_TYPE.get(column_type, 8))
    return total


def _path_sql(source: str) -> str:
    """Turn ``table.record.field`` into the field of a raw row, or of an unnested constraint."""
    _, *fields = source.split(".")
    if fields[0] == "constraint":
        return ".".join(["item", *fields[1:]])
    return ".".join(["raw", *fields])


def _code_name_sql(column: Column, path_sql: str) -> str:
    """Write a CASE that turns the code of an enumeration into its name."""
    codes = GOOGLE_2019.codes[cast(EnumName, column.enum)]
    cases_sql = " ".join(f"WHEN {int(code)} THEN {literal(name)}" for code, name in codes.items())
    return f"CASE {path_sql} {cases_sql} END"


def _null_if_sql(value_sql: str, constants: tuple[int, ...]) -> str:
    for constant in constants:
        value_sql = f"NULLIF({value_sql}, {int(constant)})"
    return value_sql
