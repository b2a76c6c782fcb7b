"""Which columns a statement reads."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlglot import exp
from sqlglot.optimizer.pushdown_projections import pushdown_projections
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import traverse_scope


def columns_read(
    tree: exp.Expression,
    tables: Mapping[str, Collection[str]],
    dialect: str,
) -> dict[str, set[str]]:
    """Return the columns that a statement needs of each table that it names.

    Parameters
    ----------
    tree
        The statement; it is changed.
    tables
        Columns of all tables.
    dialect
        Whose SQL it is.

    Examples
    --------
    >>> import sqlglot
    >>> columns_read(sqlglot.parse_one("SELECT x + 1 FROM (SELECT a AS x, b FROM t)"), {"t": ["a", "b"]}, "duckdb")
    {'t': {'a'}}
    """
    # Any type does: only names count here.
    schema = {name: dict.fromkeys(columns, "INT64") for name, columns in tables.items()}
    qualified = qualify(
        tree,
        schema=schema,
        dialect=dialect,
        validate_qualify_columns=False,
    )
    pruned = pushdown_projections(qualified)
    needed: dict[str, set[str]] = {}
    for scope in traverse_scope(pruned):
        for alias, source in scope.sources.items():
            if not isinstance(source, exp.Table):
                continue
            columns = {column.name for column in scope.columns if column.table == alias}
            declared = set(tables[source.name])
            needed.setdefault(source.name, set()).update(columns & declared)
    return needed
