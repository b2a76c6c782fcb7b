"""BigQuery statements over the views of Google's tables: the view of tasks, and which views a statement reads."""

from functools import cache

import ibis
from sqlglot import exp

from borgtrace.engine.bigquery import (
    HOSTED,
    ROWS_OF_A,
    bytes_of,
    compile_sql,
    create_view_sql,
    parse,
    views_sql,
)
from borgtrace.engine.columns_read import columns_read
from borgtrace.engine.dtypes import ibis_schema
from borgtrace.lifecycle.derived import DERIVED
from borgtrace.lifecycle.hosted_tasks import tasks
from borgtrace.schema import TABLES
from borgtrace.schema.dialects import GOOGLE_2019

_DERIVED_TABLES = {name: derived.table for name, derived in DERIVED.items()}
_COLUMNS = {name: table.names for name, table in (TABLES | _DERIVED_TABLES).items()}
"""Columns of all tables of a store, and of those that are derived from them."""


def all_views_sql(cell: str, dataset: str) -> str:
    """Return a script that creates the views of one cell, tasks included, in `dataset`.

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
    >>> all_views_sql("a", "my-project.cell_a").count("CREATE OR REPLACE VIEW")
    7
    """
    views = views_sql(cell, dataset)
    tasks_view = create_view_sql(f"{dataset}.tasks", tasks_sql(dataset))
    return f"{views}\n\n{tasks_view}"


@cache
def tasks_sql(dataset: str = "") -> str:
    """Return the query of the table of tasks over the views of `dataset`, of the default one where empty."""
    project, _, name = dataset.rpartition(".")

    def view(table: str) -> ibis.Table:
        # A view has no default dataset: its tables are named in full.
        return ibis.table(
            ibis_schema(TABLES[table]),
            name=table,
            catalog=project or None,
            database=name or None,
        )

    usage = view("instance_usage")
    events = view("instance_events")
    collections = view("collection_events")
    return compile_sql(tasks(usage, events, collections, GOOGLE_2019))


def what_it_reads(sql: str) -> str:
    """Return comments on which views a statement reads, and about how many bytes of Google's tables that is.

    Parameters
    ----------
    sql
        A query from :func:`borgtrace.engine.bigquery.compile_sql`.

    Returns
    -------
    str
        Lines of comment.

    Examples
    --------
    >>> print(what_it_reads("SELECT MAX(`time`) AS t FROM `instance_events` AS e"))
    -- reads instance_events: 8 bytes a row, of cell a about 13.7 GB
    """
    lines = []
    total = 0
    for name, columns in _columns_read(sql).items():
        if name not in HOSTED:
            lines.append(f"-- reads {name}, made before")
            continue
        width = bytes_of(HOSTED[name], columns)
        line = f"-- reads {name}: {width} bytes a row"
        if name in ROWS_OF_A:
            size = width * ROWS_OF_A[name]
            total += size
            line += f", of cell a about {size / 1e9:.3g} GB"
        lines.append(line)
    if len(lines) > 1 and total:
        lines.append(f"-- in all, of cell a about {total / 1e9:.3g} GB")
    return "\n".join(lines)


def _columns_read(sql: str) -> dict[str, set[str]]:
    """Return the columns that a query needs of each table; those of tasks are followed to the views below."""
    tree = parse(sql)
    for table in list(tree.find_all(exp.Table)):
        if table.name == "tasks":
            inner = parse(tasks_sql())
            table.replace(exp.Subquery(this=inner, alias=table.args.get("alias")))
    return columns_read(tree, _COLUMNS, "bigquery")
