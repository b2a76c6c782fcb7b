"""Rows of converted files → canonical rows: ids of names, shares of a request, events that nobody wrote down.

It takes all files together: a share needs its request, a counter its last value, a machine's size the largest machine.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import duckdb
import pyarrow.parquet as pq

from borgtrace.engine.embedded import NO_TYPE, columns_sql, files_sql, select_sql
from borgtrace.errors import SourceError, UsageError
from borgtrace.ingest.convert.conversion_terms import (
    MACHINE_NAMES,
    TASK_NAMES,
    Basis,
    Terms,
    id_sql,
)
from borgtrace.ingest.convert.converted_events import (
    collection_events,
    instance_constraints,
    instance_events,
)
from borgtrace.ingest.convert.converted_jobs import show_tasks
from borgtrace.ingest.convert.converted_machines import machine_attributes, machine_events
from borgtrace.ingest.convert.converted_usage import instance_usage
from borgtrace.ingest.convert.scattered_rows import put_together, usual_step
from borgtrace.ingest.files.staged_part import StagedPart
from borgtrace.schema import TABLES, TRACE_TABLES, Dialect
from borgtrace.schema.records import RECORDS
from borgtrace.schema.sql import quoted
from borgtrace.schema.time import WINDOW
from borgtrace.store.coverage import DERIVED_EVENTS

DERIVED_MACHINES = (
    "Machines are derived: those that rows name, each of the capacity that was given."
)
Capacity = tuple[float | None, float | None]
"""Cores and bytes of the largest machine, as far as the user said them."""


def open_rows(
    connection: duckdb.DuckDBPyConnection,
    dialect: Dialect,
    staged: Mapping[str, Sequence[StagedPart]],
    capacity: Capacity = (None, None),
) -> Terms:
    """Show staged rows as views and find out what their numbers mean.

    Parameters
    ----------
    connection
        DuckDB with its limits set.
    dialect
        The format, which has a conversion.
    staged
        Staged parts by kind of row.
    capacity
        What the user said.

    Raises
    ------
    UsageError
        Amounts are in cores or bytes, and nothing says how many the largest machine has.
    SourceError
        Two names have one id.
    """
    assert dialect.conversion
    fills = {
        name: frozenset(column for part in parts for column in pq.read_schema(part.path).names)
        for name, parts in staged.items()
        if parts
    }
    for name in ("usage_rows", "machine_rows"):
        connection.execute(
            f"CREATE OR REPLACE TEMP VIEW {name} AS {_rows(name, staged.get(name, ()))}"
        )
    tasks = _rows("task_rows", staged.get("task_rows", ()))
    show_tasks(connection, tasks, has_jobs="job" in fills.get("task_rows", ()))
    if dialect.conversion.is_scattered:
        put_together(connection)
    _show_ids(connection)
    conversion = dialect.conversion
    if conversion.step is None and "counter_cpu" in fills.get("usage_rows", ()):
        conversion = replace(conversion, step=usual_step(connection))
    zero = _zero(connection) if conversion.clock == "epoch" else 0
    terms = Terms(conversion, Basis(zero=zero), fills)
    return replace(terms, basis=Basis(*_capacity(connection, terms, capacity), zero))


def relations(connection: duckdb.DuckDBPyConnection, terms: Terms) -> dict[str, str]:
    """Return SQL of each canonical table, by name; what a format does not know of is NULL.

    Parameters
    ----------
    connection
        Where `open_rows` showed the staged rows.
    terms
        What it returned.
    """
    made = {"machine_events": machine_events, "machine_attributes": machine_attributes}
    made |= {"collection_events": collection_events, "instance_events": instance_events}
    if terms.has_lives:
        made["instance_constraints"] = instance_constraints
    if terms.has("usage_rows"):
        made["instance_usage"] = instance_usage
    return {
        name: _canonical(connection, name, made[name](terms))
        for name in TRACE_TABLES
        if name in made
    }


def derivations(connection: duckdb.DuckDBPyConnection, terms: Terms) -> tuple[str, ...]:
    """Say in sentences what no file told.

    Parameters
    ----------
    connection
        Where `open_rows` showed the staged rows.
    terms
        What it returned.
    """
    notes = [] if terms.has_lives else [DERIVED_EVENTS]
    if (
        not terms.has("machine_rows")
        and _one(connection, f"SELECT count(machine) FROM ({MACHINE_NAMES})")[0]
    ):
        notes.append(DERIVED_MACHINES)
    return tuple(notes)


def _rows(name: str, parts: Sequence[StagedPart]) -> str:
    none = f"SELECT *, 0 AS source_part, 0::BIGINT AS source_row FROM ({select_sql(RECORDS[name], [])})"
    return " UNION ALL ".join(_part(name, part) for part in parts) or none


def _part(name: str, part: StagedPart) -> str:
    values = columns_sql(RECORDS[name], quoted(pq.read_schema(part.path).names))
    return f"SELECT {values}, {part.part} AS source_part, source_row FROM {files_sql([part.path])}"


def _canonical(connection: duckdb.DuckDBPyConnection, name: str, query: str) -> str:
    described = connection.execute(f"DESCRIBE {query}").fetchall()
    made = quoted(column for column, kind, *_ in described if kind != NO_TYPE)
    values = columns_sql(TABLES[name], {"is_on_dedicated_machine": "false"} | made, is_typed=False)
    return f"SELECT {values} FROM ({query})"


def _one(connection: duckdb.DuckDBPyConnection, query: str) -> tuple[Any, ...]:
    (row,) = connection.execute(query).fetchall()
    return tuple(row)


def _show_ids(connection: duckdb.DuckDBPyConnection) -> None:
    """Give each name its id once, and refuse two names with one id: what they name would be taken for one."""
    for kind, names in (("task", TASK_NAMES), ("machine", MACHINE_NAMES)):
        connection.execute(
            f"CREATE OR REPLACE TEMP TABLE {kind}_ids AS SELECT name, {id_sql('name')} AS id "
            f"FROM (SELECT DISTINCT {kind} AS name FROM ({names})) WHERE name IS NOT NULL"
        )
        clash = connection.execute(
            f"SELECT list(name ORDER BY name) FROM {kind}_ids GROUP BY id HAVING count(*) > 1 LIMIT 1"
        ).fetchall()
        if clash:
            both = " and ".join(clash[0][0])
            raise SourceError(
                f"column {kind}", "two names have one id", got=both, way_out="rename one of them"
            )


def _capacity(connection: duckdb.DuckDBPyConnection, terms: Terms, given: Capacity) -> Capacity:
    amounts = ", ".join(
        "NULL" if name in terms.conversion.shares else f"max({name})" for name in ("cpu", "memory")
    )
    largest = _one(connection, f"SELECT {amounts} FROM machine_rows")
    known = [found or said for found, said in zip(largest, given, strict=True)]
    for name, unit, amount in (("cpu", "cores", known[0]), ("memory", "bytes", known[1])):
        if amount is None and name not in terms.conversion.shares and _is_measured(terms, name):
            option = "--capacity 8cores" if name == "cpu" else "--capacity 8cores,32GiB"
            raise UsageError(
                "--capacity",
                f"{name} is in {unit}, and no table of machines says how much the largest machine has",
                way_out=f"add {option}, with the size of yours",
            )
    return known[0], known[1]


def _is_measured(terms: Terms, name: str) -> bool:
    """Whether a resource comes in cores or bytes, and not as a share of the largest machine."""
    amounts = [f"{kind}_{name}" for kind in ("average", "instant", "counter", "maximum")]
    is_share = terms.conversion.share_of.get(name) in ("largest", "machine")
    asked = terms.has("task_rows", f"{name}_request")
    return asked or (not is_share and any(terms.has("usage_rows", amount) for amount in amounts))


def _zero(connection: duckdb.DuckDBPyConnection) -> int:
    times = ("usage_rows.time", "task_rows.submit", "task_rows.start", "machine_rows.time")
    firsts = ", ".join(
        f"(SELECT min({time}) FROM {rows})" for rows, time in (each.split(".") for each in times)
    )
    first = _one(connection, f"SELECT least({firsts})")[0]
    # A multiple of the grid that windows are aligned to.
    return int(first or 0) // WINDOW * WINDOW
