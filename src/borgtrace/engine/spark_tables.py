"""Tables that tasks of Spark read with DuckDB: what the driver knows of them; a process has one session."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import ibis
import ibis.expr.operations as ops
import pyarrow as pa

from borgtrace.engine.bucket_ranges import RowGroup, row_groups
from borgtrace.engine.compressed import arrow_bytes
from borgtrace.engine.dtypes import ibis_schema
from borgtrace.engine.embedded import columns_sql
from borgtrace.engine.identifiers import quoted
from borgtrace.engine.stored import stored_names
from borgtrace.engine.task_tables import KEY, HeldTable, RemoteTable
from borgtrace.engine.typed_sql import duckdb_sql
from borgtrace.schema import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NEVER_BROADCAST = (
    "spark.sql.autoBroadcastJoinThreshold",
    "spark.sql.adaptive.autoBroadcastJoinThreshold",
)
"""By what was planned, and by what was found."""
_MOST_BYTES_SENT = 1 << 20
"""Of a table in memory that is sent with each query; Spark sends larger ones in parts."""
_REMOTE: dict[str, RemoteTable] = {}
"""Views that stand for tables in a bucket."""
_HELD: dict[str, dict[str, HeldTable]] = {}
"""Views that stand for tables that processes compute: what is computed of what, until the table itself."""
_ROW_GROUPS: dict[str, list[RowGroup]] = {}
"""Those of tables that were read already."""


@dataclass(frozen=True)
class TaskTables:
    """Tables that tasks read.

    Attributes
    ----------
    remote
        Those in a bucket, by name.
    sent
        Those in the memory of the driver, by name: small ones.
    held
        Those that processes compute, each with what it is computed of before it.
    """

    remote: Mapping[str, RemoteTable]
    sent: Mapping[str, pa.Table]
    held: Mapping[str, HeldTable]

    @property
    def names(self) -> set[str]:
        """Names of all of them."""
        return {*self.remote, *self.sent, *self.held}

    @property
    def sources(self) -> dict[str, RemoteTable]:
        """All that is read in the bucket, also for those that processes compute."""
        sources = dict(self.remote)
        for table in self.held.values():
            sources |= table.tables
        return sources


def register_remote(
    session: SparkSession,
    table: Table,
    files: Sequence[str],
    name: str,
) -> None:
    """Register files of a bucket as the view `name`, by which Ibis knows its columns; tasks read the files instead.

    Parameters
    ----------
    session
        The session.
    table
        What the files hold.
    files
        URLs of Parquet files, at least one.
    name
        Name in SQL.
    """
    forget_table(name)
    # What is broadcast comes to the driver, which sends it to all executors: a third of the store in all questions.
    # Spark takes what tasks compute for small, as it knows only how many they are.
    for property_name in _NEVER_BROADCAST:
        session.conf.set(property_name, "-1")
    names = stored_names(table, files)
    column_sql = {column: quoted(stored) for column, stored in names.items() if stored}
    _REMOTE[name] = RemoteTable(tuple(files), columns_sql(table, column_sql), names.get(KEY))
    _stand_for(session, name, ibis_schema(table))


def register_held(session: SparkSession, rows: ibis.Table, name: str) -> None:
    """Register the view `name` for what each process computes itself, once it is asked for.

    Parameters
    ----------
    session
        The session.
    rows
        What is computed: an expression over tables that tasks read.
    name
        Name in SQL.
    """
    forget_table(name)
    tables = tables_of_tasks(rows)
    query_sql = duckdb_sql(rows)
    # Two tables of one name may follow each other, and the first be in a process still.
    identity = [query_sql, *(repr(table) for table in tables.remote.values())]
    identity += [table.stored_name for table in tables.held.values()]
    digest = hashlib.sha256("\n".join(identity).encode())
    for sent in tables.sent.values():
        digest.update(arrow_bytes(sent))
    schema = rows.schema()
    stored_name = f"held_{digest.hexdigest()[:32]}"
    table = HeldTable(query_sql, tables.remote, tables.sent, KEY in schema, stored_name)
    _HELD[name] = {**tables.held, name: table}
    _stand_for(session, name, schema)


def _stand_for(session: SparkSession, name: str, schema: ibis.Schema) -> None:
    """Make a view by which Ibis knows the columns of a table that Spark itself cannot read."""
    from ibis.backends.pyspark.datatypes import PySparkSchema
    from pyspark.sql import functions

    absent = functions.raise_error(functions.lit(f"{name} is read by tasks alone"))
    fields = PySparkSchema.from_ibis(schema)
    values = [functions.lit(None).cast(field.dataType).alias(field.name) for field in fields]
    session.range(1).where(absent.isNotNull()).select(*values).createOrReplaceTempView(name)


def forget_table(name: str) -> bool:
    """Take note that a view stands for no table that tasks read; return whether processes have computed it."""
    _REMOTE.pop(name, None)
    _ROW_GROUPS.pop(name, None)
    return _HELD.pop(name, None) is not None


def tables_of_tasks(expr: ibis.Table) -> TaskTables:
    """Return the tables that an expression reads and tasks can read."""
    remote: dict[str, RemoteTable] = {}
    sent: dict[str, pa.Table] = {}
    held: dict[str, HeldTable] = {}
    for table in expr.op().find(ops.PhysicalTable):
        if isinstance(table, ops.InMemoryTable):
            rows = table.data.to_pyarrow(table.schema)
            if rows.nbytes <= _MOST_BYTES_SENT:
                sent[table.name] = rows
        elif table.name in _REMOTE:
            remote[table.name] = _REMOTE[table.name]
        else:
            held |= _HELD.get(table.name, {})
    return TaskTables(remote, sent, held)


def kept_tables() -> list[str]:
    """Return the stored names of all tables that processes compute and may be asked for again."""
    return sorted({table.stored_name for tables in _HELD.values() for table in tables.values()})


def row_groups_of(tables: Mapping[str, RemoteTable]) -> dict[str, list[RowGroup]]:
    """Return the row groups of those tables that have collections; their footers are read once."""
    groups = {}
    for name, table in tables.items():
        if table.key is None:
            continue
        if name not in _ROW_GROUPS:
            _ROW_GROUPS[name] = row_groups(table.files, table.key)
        groups[name] = _ROW_GROUPS[name]
    return groups
