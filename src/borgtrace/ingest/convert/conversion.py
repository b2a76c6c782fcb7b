"""Rows of converted files → canonical rows: ids of names, shares of a request, events that nobody wrote down.

It takes all files together: a share needs its request, a counter its last value, a machine's size the largest machine.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq

from borgtrace.engine.embedded import NO_TYPE, columns_sql, files_sql, select_sql
from borgtrace.engine.identifiers import quoted
from borgtrace.errors import SchemaError, SourceError, UsageError
from borgtrace.ingest.convert.capacity import Capacity
from borgtrace.ingest.convert.conversion_terms import (
    HAS_EARLY_END_SQL,
    HAS_NO_TIME_SQL,
    MACHINE_NAMES_SQL,
    TASK_NAMES_SQL,
    Basis,
    Terms,
    id_sql,
)
from borgtrace.ingest.convert.converted_events import (
    EVENTS,
    collection_events_sql,
    instance_constraints_sql,
)
from borgtrace.ingest.convert.converted_jobs import show_rows
from borgtrace.ingest.convert.converted_machines import machine_attributes_sql, machine_events_sql
from borgtrace.ingest.convert.converted_usage import (
    instance_usage_sql,
    may_be_long,
    n_long_windows_sql,
    usual_step,
)
from borgtrace.ingest.convert.job_rows import (
    count_orphan_steps,
    show_job_rows,
    use_columns,
    use_of_lives_sql,
)
from borgtrace.ingest.convert.parted_usage import join_parted_usage
from borgtrace.ingest.convert.series_rows import SeriesRows, show_series
from borgtrace.ingest.convert.task_facts import add_facts, notes_on_facts
from borgtrace.ingest.convert.workloads import show_workloads
from borgtrace.ingest.files.staged_part import StagedPart
from borgtrace.schema import TABLES, TRACE_TABLES, Dialect
from borgtrace.schema.dialects import Conversion
from borgtrace.schema.records import RECORDS
from borgtrace.schema.time import WINDOW
from borgtrace.storage import plain_path
from borgtrace.store.coverage import DERIVED_EVENTS

DERIVED_MACHINES = (
    "Machines are derived: those that rows name, each of the capacity that was given."
)
_NAMED_MACHINES = "Machines are derived: those that rows name, of sizes that nobody says."
_EVEN_USE = "Use is known of whole jobs: it is stored as even over their run, and peaks within it are not known."
_UNKNOWN = Capacity()


def open_rows(
    connection: duckdb.DuckDBPyConnection,
    dialect: Dialect,
    staged: Mapping[str, Sequence[StagedPart]],
    capacity: Capacity = _UNKNOWN,
    work: Path | None = None,
) -> Terms:
    """Show staged rows as views and determine the units of their numbers.

    Parameters
    ----------
    connection
        DuckDB with its limits set.
    dialect
        The format, which has a conversion.
    staged
        Staged parts by kind of row.
    capacity
        Size of the largest machine, as far as the user gave it.
    work
        Folder for what is too large for memory, where rows are series.

    Raises
    ------
    UsageError
        Amounts are in cores or bytes, and nothing says how many the largest machine has.
    SourceError
        Two names have one id.
    """
    conversion = dialect.conversion
    assert conversion
    if conversion.is_scattered:
        assert work
        series = show_series(connection, dialect, staged, work)
    else:
        series = SeriesRows(_show_staged(connection, dialect, staged, capacity))
    fills = series.fills
    task_columns = fills.get("task_rows", frozenset())
    rows_sql = "SELECT * FROM staged_task_rows"
    tasks_sql = show_job_rows(connection, rows_sql, conversion, task_columns)
    show_rows(connection, tasks_sql, fills)
    fills |= _show_use_of_lives(connection, fills)
    notes = series.notes
    if conversion.is_mixed:
        notes = (*notes, *join_parted_usage(connection, fills.get("usage_rows", frozenset())))
        fills |= add_facts(connection, conversion, fills)
    show_workloads(connection, fills)
    _make_ids(connection, "task", TASK_NAMES_SQL)
    _make_ids(connection, "machine", MACHINE_NAMES_SQL)
    conversion = _with_step(connection, conversion, fills.get("usage_rows", frozenset()))
    zero = _zero(connection) if conversion.clock == "epoch" else conversion.zero
    if conversion.is_mixed and conversion.clock == "epoch":
        conversion, zero = _from_first_usage(connection, conversion, zero)
    terms = Terms(conversion, Basis(zero=zero), fills, counters=dict(series.counters), notes=notes)
    return _with_cuts(connection, _with_units(connection, terms, capacity))


def _with_cuts(connection: duckdb.DuckDBPyConnection, terms: Terms) -> Terms:
    """Return the terms with whether windows are cut, and a note that says so."""
    if not may_be_long(terms):
        return terms
    ((n_long,),) = connection.execute(n_long_windows_sql(terms)).fetchall()
    if not n_long:
        return terms
    note = (
        f"{n_long:,} windows are longer than 5 minutes: each is cut at every 5 minutes of the clock, and each part has "
        "the mean of the whole."
    )
    return replace(terms, has_long_windows=True, notes=(*terms.notes, note))


def _with_units(
    connection: duckdb.DuckDBPyConnection,
    terms: Terms,
    capacity: Capacity,
) -> Terms:
    """Return the terms with the sizes of the largest machine, by which amounts are divided."""
    known = _largest_machine(connection, terms, capacity)
    has_sizes = terms.conversion.has_sizes
    basis = known if has_sizes else _largest_rows(connection, known)
    unknown_sizes = frozenset(
        resource
        for resource, size in (("cpu", known.cores), ("memory", known.bytes))
        if size is None and not has_sizes
    )
    units = Basis(basis.cores, basis.bytes, terms.basis.zero, known.megahertz)
    return replace(terms, basis=units, unknown_sizes=unknown_sizes)


def _with_step(
    connection: duckdb.DuckDBPyConnection,
    conversion: Conversion,
    columns: frozenset[str],
) -> Conversion:
    """Return a conversion with the step of its measurements, where they have times alone and it says none."""
    if conversion.step is not None or "time" not in columns or {"end", "length"} & columns:
        return conversion
    if "counter_cpu" in columns:
        return replace(conversion, step=usual_step(connection, "counter_cpu"))
    step = usual_step(connection)
    if not step:
        raise SchemaError(
            "usage",
            "one measurement of each task has no window",
            expected="two of any task, or the length of a step",
            way_out="query a longer time, or say the step: --dialect FILE.toml",
        )
    return replace(conversion, step=step)


def _lists_machines(dialect: Dialect) -> bool:
    """Whether files of a format list machines, rather than count them in a header."""
    return any(raw.table == "machine_rows" for raw in dialect.tables.values())


def _show_use_of_lives(
    connection: duckdb.DuckDBPyConnection,
    fills: Mapping[str, frozenset[str]],
) -> dict[str, frozenset[str]]:
    """Show what was measured, and use over whole lives, as rows of usage; return what these fill."""
    columns = use_columns(fills.get("task_rows", frozenset()))
    usage_sql = "SELECT * FROM measured_rows"
    if columns:
        usage_sql = f"{usage_sql} UNION ALL BY NAME {use_of_lives_sql()}"
    connection.execute(f"CREATE OR REPLACE TEMP VIEW usage_rows AS {usage_sql}")
    if not columns:
        return {}
    return {"usage_rows": fills.get("usage_rows", frozenset()) | columns}


def _largest_rows(connection: duckdb.DuckDBPyConnection, known: Capacity) -> Capacity:
    """Return the known sizes, and the largest amounts of a row where nobody says how large machines are."""
    cores, n_bytes = _only_row(
        connection,
        """
        SELECT
            greatest(
                (SELECT max(cpu_request) FROM task_rows),
                (SELECT max(average_cpu) FROM usage_rows)
            ),
            greatest(
                (SELECT max(memory_request) FROM task_rows),
                (SELECT max(greatest(average_memory, maximum_memory)) FROM usage_rows)
            )
        """,
    )
    return Capacity(known.cores or cores or None, known.bytes or n_bytes or None)


def relations(connection: duckdb.DuckDBPyConnection, terms: Terms) -> dict[str, str]:
    """Return the query of each canonical table, by name; what a format does not have is NULL.

    Parameters
    ----------
    connection
        Where `open_rows` showed the staged rows, and `EVENTS` is shown.
    terms
        What it returned.
    """
    writers: dict[str, Callable[[Terms], str]] = {
        "machine_events": machine_events_sql,
        "machine_attributes": machine_attributes_sql,
        "collection_events": collection_events_sql,
        "instance_events": lambda _: f"SELECT * FROM {EVENTS}",
    }
    if terms.has_lives:
        writers["instance_constraints"] = instance_constraints_sql
    if terms.has("usage_rows"):
        writers["instance_usage"] = instance_usage_sql
    queries = {}
    for name in TRACE_TABLES:
        if name in writers:
            query_sql = writers[name](terms)
            queries[name] = _canonical_sql(connection, name, query_sql)
    return queries


def derivations(connection: duckdb.DuckDBPyConnection, terms: Terms) -> tuple[str, ...]:
    """Return sentences about what is derived, as no file said it.

    Parameters
    ----------
    connection
        Where `open_rows` showed the staged rows.
    terms
        What it returned.
    """
    notes = list(terms.notes)
    if not terms.has_lives:
        notes.append(DERIVED_EVENTS)
    if terms.conversion.is_mixed:
        notes += notes_on_facts(connection)
    if not terms.has("machine_rows"):
        (n_named,) = _only_row(connection, f"SELECT count(machine) FROM ({MACHINE_NAMES_SQL})")
        if n_named:
            is_size_known = "cpu" not in terms.unknown_sizes
            notes.append(DERIVED_MACHINES if is_size_known else _NAMED_MACHINES)
    if use_columns(terms.fills.get("task_rows", frozenset())):
        (n_windows,) = _only_row(connection, "SELECT count(*) FROM usage_rows")
        if n_windows:
            notes.append(_EVEN_USE)
    notes += [_size_note(terms, resource) for resource in sorted(terms.unknown_sizes)]
    notes += _notes_on_left_out(connection, terms)
    if terms.has("task_rows", "step"):
        n_orphans = count_orphan_steps(connection)
        if n_orphans:
            notes.append(f"Steps without a row of their job, left out: {n_orphans:,}.")
    return tuple(note for note in notes if note)


def _notes_on_left_out(connection: duckdb.DuckDBPyConnection, terms: Terms) -> list[str]:
    """Return sentences about rows of tasks of which something cannot be stored."""
    if not terms.has_lives:
        return []
    n_without_times, n_early_ends = _only_row(
        connection,
        f"""
        SELECT count(*) FILTER ({HAS_NO_TIME_SQL}), count(*) FILTER ({HAS_EARLY_END_SQL})
        FROM task_rows
        """,
    )
    notes = []
    # Elsewhere rows without times add to what others say of a task.
    if n_without_times and not terms.conversion.has_sizes:
        notes.append(f"Jobs of which no time is known, left out: {n_without_times:,}.")
    if n_early_ends:
        notes.append(f"Ends before their start, left out: {n_early_ends:,}.")
    return notes


def _size_note(terms: Terms, resource: str) -> str:
    """Return the sentence about a size of machines that nobody says; empty where no amount needs it."""
    amount = terms.basis.cores if resource == "cpu" else terms.basis.bytes
    if not amount:
        return ""
    resource_name = "CPU" if resource == "cpu" else resource
    unit = "core" if amount == 1 else "cores"
    shown = f"{amount:,.6g} {unit}" if resource == "cpu" else f"{amount / 2**30:,.6g} GiB"
    return (
        f"No file says how much {resource_name} machines have: amounts are fractions of the largest that a row has, "
        f"{shown}; --capacity says it."
    )


def _show_staged(
    connection: duckdb.DuckDBPyConnection,
    dialect: Dialect,
    staged: Mapping[str, Sequence[StagedPart]],
    capacity: Capacity,
) -> dict[str, frozenset[str]]:
    """Show staged rows as views by kind; return the columns that are filled."""
    if capacity.cores and not _lists_machines(dialect):
        # The user says how large a machine is: those that a log counts are other ones.
        staged = {name: parts for name, parts in staged.items() if name != "machine_rows"}
    for name in RECORDS:
        rows_sql = _rows_sql(connection, name, staged.get(name, ()))
        connection.execute(f"CREATE OR REPLACE TEMP VIEW {quoted(f'staged_{name}')} AS {rows_sql}")
    connection.execute("""
        CREATE OR REPLACE TEMP VIEW ended_rows AS
        SELECT '' AS task, 0::BIGINT AS time, '' AS status, '' AS end_reason WHERE false
    """)
    return _filled_columns(staged)


def _filled_columns(staged: Mapping[str, Sequence[StagedPart]]) -> dict[str, frozenset[str]]:
    """Return the columns that any staged part of a kind of rows has."""
    fills = {}
    for name, parts in staged.items():
        columns: set[str] = set()
        for part in parts:
            columns.update(pq.read_schema(part.path).names)
        if parts:
            fills[name] = frozenset(columns)
    return fills


def _rows_sql(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    parts: Sequence[StagedPart],
) -> str:
    """Write all staged rows of a kind; none where there are no parts."""
    if not parts:
        no_rows_sql = select_sql(RECORDS[name], [])
        return f"SELECT *, 0 AS source_part, 0::BIGINT AS source_row FROM ({no_rows_sql})"
    parts_of_columns: dict[tuple[str, ...], list[StagedPart]] = {}
    for part in parts:
        columns = tuple(pq.read_schema(part.path).names)
        parts_of_columns.setdefault(columns, []).append(part)
    # One query for all files with equal columns: there may be ten thousand of them.
    numbers_sql = quoted(f"parts_of_{name}")
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE {numbers_sql} AS SELECT unnest($1) AS file, unnest($2) AS part",
        [[str(plain_path(part.path)) for part in parts], [part.part for part in parts]],
    )
    return " UNION ALL ".join(
        _parts_sql(name, alike, columns, numbers_sql) for columns, alike in parts_of_columns.items()
    )


def _parts_sql(
    name: str,
    parts: Sequence[StagedPart],
    columns: Sequence[str],
    numbers_sql: str,
) -> str:
    """Write the rows of staged files with the same columns, each with the number of its file."""
    values_sql = columns_sql(RECORDS[name], {column: quoted(column) for column in columns})
    if len(parts) == 1:
        (part,) = parts
        part_sql = files_sql([part.path])
        return f"SELECT {values_sql}, {int(part.part)} AS source_part, source_row FROM {part_sql}"
    parts_sql = files_sql([part.path for part in parts], named=True)
    return f"""
        SELECT {values_sql}, part AS source_part, source_row
        FROM {parts_sql}
        JOIN {numbers_sql} ON file = filename
    """


def _canonical_sql(connection: duckdb.DuckDBPyConnection, name: str, query_sql: str) -> str:
    """Write a query with exactly the columns of a canonical table."""
    column_sql = {"is_on_dedicated_machine": "false"}
    for column, type_name, *_ in connection.execute(f"DESCRIBE {query_sql}").fetchall():
        if type_name != NO_TYPE:
            column_sql[column] = quoted(column)
    values_sql = columns_sql(TABLES[name], column_sql, is_typed=False)
    return f"SELECT {values_sql} FROM ({query_sql})"


def _only_row(connection: duckdb.DuckDBPyConnection, query_sql: str) -> tuple[Any, ...]:
    (row,) = connection.execute(query_sql).fetchall()
    return tuple(row)


def _make_ids(connection: duckdb.DuckDBPyConnection, kind: str, names_sql: str) -> None:
    """Give each name its id once, and refuse two names with one id: they would be confused."""
    ids_sql = quoted(f"{kind}_ids")
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE {ids_sql} AS
        SELECT name, {id_sql("name")} AS id
        FROM (SELECT DISTINCT {quoted(kind)} AS name FROM ({names_sql}))
        WHERE name IS NOT NULL
    """)
    clashes = connection.execute(f"""
        SELECT list(name ORDER BY name) FROM {ids_sql} GROUP BY id HAVING count(*) > 1 LIMIT 1
    """).fetchall()
    for (names,) in clashes:
        raise SourceError(
            f"column {kind}",
            "two names have one id",
            got=" and ".join(names),
            way_out="rename one of them",
        )


def _largest_machine(
    connection: duckdb.DuckDBPyConnection,
    terms: Terms,
    stated: Capacity,
) -> Capacity:
    """Return the size of the largest machine: that of the table of machines, else the stated one."""
    cores, n_bytes = _only_row(connection, "SELECT max(cpu), max(memory) FROM machine_rows")
    # Shares of the largest machine do not say how large it is.
    if "cpu" in terms.conversion.shares:
        cores = None
    if "memory" in terms.conversion.shares:
        n_bytes = None
    known = Capacity(cores or stated.cores, n_bytes or stated.bytes, stated.megahertz)
    _require_size(terms, "cpu", "cores", known.cores, "--capacity 8cores")
    _require_size(terms, "memory", "bytes", known.bytes, "--capacity 8cores,32GiB")
    _require_clock(terms, known.megahertz)
    return known


def _require_clock(terms: Terms, megahertz: float | None) -> None:
    is_in_megahertz = terms.conversion.share_of.get("cpu") == "megahertz"
    if megahertz is None and is_in_megahertz and terms.has("usage_rows", "average_cpu"):
        raise UsageError(
            "--capacity",
            "CPU in use is in MHz, and nothing says how many the cores of the largest machine have together",
            way_out="add --capacity 41600MHz, or 16cores,41600MHz,128GiB, with the size of yours",
        )


def _require_size(
    terms: Terms,
    resource: str,
    unit: str,
    amount: float | None,
    option: str,
) -> None:
    is_share = resource in terms.conversion.shares
    if not terms.conversion.has_sizes:
        return
    if amount is None and not is_share and _is_in_units(terms, resource):
        raise UsageError(
            "--capacity",
            f"{resource} is in {unit}, and no table of machines says how much the largest machine has",
            way_out=f"add {option}, with the size of yours",
        )


def _is_in_units(terms: Terms, resource: str) -> bool:
    """Whether a resource comes in cores or bytes, and not as a share of the largest machine."""
    for amount in (f"{resource}_request", f"{resource}_limit"):
        if terms.has("task_rows", amount) or terms.has("usage_rows", amount):
            return True
    if terms.conversion.share_of.get(resource) in ("largest", "machine", "megahertz"):
        return False
    kinds = ("average", "instant", "counter", "maximum")
    return any(terms.has("usage_rows", f"{kind}_{resource}") for kind in kinds)


def _from_first_usage(
    connection: duckdb.DuckDBPyConnection,
    conversion: Conversion,
    zero: int,
) -> tuple[Conversion, int]:
    """Begin the trace with its usage: what runs since weeks before, and has no end yet, began before the trace."""
    first_usage, first_life = _only_row(
        connection,
        """
        SELECT
            (SELECT min(least(time, "end" - length)) FROM usage_rows),
            (
                SELECT min(least(submit, start))
                FROM task_rows
                WHERE "end" IS NOT NULL OR run IS NOT NULL
            )
        """,
    )
    if first_usage is None:
        return conversion, zero
    first = min(first_usage, first_usage if first_life is None else first_life)
    begin = int(first) // WINDOW * WINDOW
    return replace(conversion, first=begin - 1), begin


def _zero(connection: duckdb.DuckDBPyConnection) -> int:
    """Return the time in the files that is the start of the store's clock."""
    (first,) = _only_row(
        connection,
        """
        SELECT least(
            (SELECT min(time) FROM usage_rows),
            (SELECT min("end" - length) FROM usage_rows),
            (SELECT min(submit) FROM task_rows),
            (SELECT min(start) FROM task_rows),
            (SELECT min(time) FROM machine_rows)
        )
        """,
    )
    # A multiple of the grid that windows are aligned to.
    return int(first or 0) // WINDOW * WINDOW
