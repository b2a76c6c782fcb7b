"""Google's hosted v3 tables, seen as canonical tables: views in BigQuery's SQL.

Google publishes 2019 in BigQuery with nested records, enumerations as numbers and constants for
"none" (0 and −1).  The views flatten, name and null exactly as ingest does, so that the compiled
SQL of any relational stage runs there unchanged.  The hosted tables have no files: ``source_part``
and ``source_row`` are 0, and ties between equal times fall to the life-cycle order.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import cast

import ibis
import ibis.expr.operations as ops
from ibis.backends.sql.datatypes import BigQueryType
from sqlglot import exp
from sqlglot.dialects.bigquery import BigQuery
from sqlglot.parsers.bigquery import BigQueryParser

from borgtrace.engine.dtypes import ibis_schema
from borgtrace.errors import UsageError
from borgtrace.schema import TRACE_TABLES, Absent, Column, Table
from borgtrace.schema.data_files import read_rows
from borgtrace.schema.dialects import GOOGLE_2019
from borgtrace.schema.enums import EnumName

PROJECT = "google.com:google-cluster-data"
HOSTED = {name: table for name, table in TRACE_TABLES.items() if not table.is_of_cells}
"""Tables that each cell has a dataset of; power has one of its own."""
_GIVEN = {
    "source_part": "0",
    "source_row": "0",
    "position": "position",
    "is_on_dedicated_machine": f"COALESCE(raw.machine_id = {GOOGLE_2019.dedicated_machine}, FALSE)",
}
"""Columns that ingest derives."""
_BYTES = {"string": 46, "bool": 1}
"""Bytes of a value where they are not 8, as BigQuery counts: a text has 2 more than letters, a hash has 44."""
_LENGTHS = {"raw.cpu_usage_distribution": 11 * 8, "raw.tail_cpu_usage_distribution": 9 * 8}
ROWS_OF_A = {
    row["table"]: int(row["rows"]) for row in read_rows(Path(__file__).with_name("rows_of_a.csv"))
}
"""About how many rows the tables of cell a have, by a public exploration of it; of other cells and tables none says."""


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
            "table", "not a table of the trace", expected=", ".join(HOSTED), got=table.name
        )
    if cell not in GOOGLE_2019.cells:
        raise UsageError(
            "--cell", "unknown cell", expected=", ".join(GOOGLE_2019.cells), got=repr(cell)
        )
    values = ",\n".join(f"  {_value(table, column)} AS {column.name}" for column in table.columns)
    raw = "instance_events" if table.name == "instance_constraints" else table.name
    source = f"FROM `{PROJECT}.clusterdata_2019_{cell}.{raw}` AS raw"
    if raw != table.name:
        # A cross join drops events without constraints, as ingest does.
        source += " CROSS JOIN UNNEST(raw.constraint) AS item WITH OFFSET AS position"
    return f"SELECT\n{values}\n{source}"


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
    views = {name: view_sql(table, cell) for name, table in HOSTED.items()}
    return "\n\n".join(
        f"CREATE OR REPLACE VIEW `{dataset}.{name}` AS\n{sql};" for name, sql in views.items()
    )


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
    written = {table.name: _written_out(table) for table in expr.op().find(ops.InMemoryTable)}
    for select in list(tree.find_all(exp.Select)):
        # With a limit the order says which rows.
        if not select.args.get("limit"):
            select.set("order", None)
    for star in tree.find_all(exp.Star):
        # Ibis drops a set of columns, whose order changes from run to run.
        star.set("except_", sorted(star.args.get("except_") or (), key=str) or None)
    for table in list(tree.find_all(exp.Table)):
        if table.name in written:
            table.replace(
                exp.Subquery(this=written[table.name].copy(), alias=table.args.get("alias"))
            )
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


def _written_out(table: ops.InMemoryTable) -> exp.Expression:
    """Write the rows of a table as queries of one row each, and no rows as one of which none is taken."""
    rows = table.data.to_pyarrow(table.schema).to_pylist()
    none = {
        name: exp.cast(exp.null(), BigQueryType.to_string(dtype))
        for name, dtype in table.schema.items()
    }
    selects = [
        exp.select(
            *(exp.alias_(exp.convert(value), name, quoted=True) for name, value in row.items())
        )
        for row in rows or [none]
    ]
    return exp.union(*selects, distinct=False) if len(rows) > 1 else selects[0].limit(len(rows))


def _value(table: Table, column: Column) -> str:
    """Write how `column` is computed from one raw row."""
    if column.name in _GIVEN:
        return _GIVEN[column.name]
    source = GOOGLE_2019.source(table.name, column.name)
    if isinstance(source, Absent):
        return f"CAST(NULL AS {BigQueryType.to_string(ibis_schema(table)[column.name])})"
    path = _path(source)
    if column.enum:
        return _named(column, path)
    # Not for machine tables: there the machine is the key, and a constant for "none" would leave a row without one.
    if column.name in GOOGLE_2019.none and table.name.startswith(("collection", "instance")):
        return _nulled(path, GOOGLE_2019.none[column.name])
    # A flag that is left out means false, as in protocol buffers.
    if column.type == "bool" and not column.nullable:
        return f"COALESCE({path}, FALSE)"
    return path


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
    raw: dict[str, Column] = {}
    for name in names:
        # Two columns of the view may come from one of Google's, which is read once; some come from none.
        column = table.column("machine_id" if name == "is_on_dedicated_machine" else name)
        source = GOOGLE_2019.source(table.name, column.name)
        if name not in ("source_part", "source_row", "position") and not isinstance(source, Absent):
            raw[_path(source)] = column
    return sum(_LENGTHS.get(path, _BYTES.get(column.type, 8)) for path, column in raw.items())


def _path(source: str) -> str:
    """Turn ``table.record.field`` into the field of a raw row, or of an unnested constraint."""
    _, *fields = source.split(".")
    if fields[0] == "constraint":
        return ".".join(["item", *fields[1:]])
    return ".".join(["raw", *fields])


def _named(column: Column, path: str) -> str:
    """Write a CASE that turns the code of an enumeration into its name."""
    codes = GOOGLE_2019.codes[cast(EnumName, column.enum)]
    cases = " ".join(f"WHEN {code} THEN '{name}'" for code, name in codes.items())
    return f"CASE {path} {cases} END"


def _nulled(path: str, constants: tuple[int, ...]) -> str:
    for constant in constants:
        path = f"NULLIF({path}, {constant})"
    return path
