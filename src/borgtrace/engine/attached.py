"""The statements that show the tables of a store in anybody's DuckDB, without borgtrace."""

from collections.abc import Mapping, Sequence

from borgtrace.engine.embedded import select_sql
from borgtrace.engine.identifiers import quoted
from borgtrace.errors import UsageError
from borgtrace.schema import Table
from borgtrace.storage import RemotePath, as_path


def attach_sql(tables: Mapping[Table, Sequence[str]]) -> str:
    """Return a script that makes a view of each table over its files.

    Columns that files of an earlier version lack are NULL, and renamed ones have their present names, as for
    ``borgtrace sql``.  The views read the files that the store has now.

    Parameters
    ----------
    tables
        Parquet files of each table, by whole paths.

    Raises
    ------
    UsageError
        The store is in a bucket, which DuckDB reads by an extension and credentials of its own.
    """
    statements = []
    for table, paths in tables.items():
        for path in paths:
            if isinstance(as_path(path), RemotePath):
                raise UsageError(
                    "--attach",
                    "the store is in a bucket",
                    expected="a store on this machine",
                    got=path,
                    way_out="copy it here, or ask it with borgtrace sql",
                )
        query_sql = select_sql(table, paths)
        statements.append(f"CREATE OR REPLACE VIEW {quoted(table.name)} AS {query_sql};\n")
    return "\n".join(statements)
