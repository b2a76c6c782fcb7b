"""Series of a monitoring system → rows of usage, tasks and machines, as other converted formats have them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from borgtrace.engine.embedded import columns_sql, files_sql, select_sql
from borgtrace.engine.identifiers import literal, quoted
from borgtrace.errors import SourceError
from borgtrace.ingest.convert.series_ends import show_ends
from borgtrace.ingest.convert.series_tasks import COLUMNS_OF_TASKS, make_tasks
from borgtrace.ingest.convert.series_usage import write_usage
from borgtrace.ingest.files.staged_part import StagedPart
from borgtrace.schema import Dialect
from borgtrace.schema.dialects.prometheus import USAGE_METRICS
from borgtrace.schema.records import RECORDS

ONLY_ALLOCATABLE = (
    "Machines are as large as kube_node_status_allocatable says: what is left for pods, "
    "as kube_node_status_capacity is not there."
)
_ALLOCATABLE = "kube_node_status_allocatable"


@dataclass
class SeriesRows:
    """What is made of series, beside the views of rows.

    Parameters
    ----------
    fills
        Columns that are filled, by kind of row.
    counters
        What is left out, by reason.
    notes
        Sentences about what is derived.
    """

    fills: dict[str, frozenset[str]] = field(default_factory=dict)
    counters: Counter[str] = field(default_factory=Counter)
    notes: tuple[str, ...] = ()


def show_series(
    connection: duckdb.DuckDBPyConnection,
    dialect: Dialect,
    staged: Mapping[str, Sequence[StagedPart]],
    work: Path,
) -> SeriesRows:
    """Show the rows that series make as views of staged rows, and ended containers as ``ended_rows``.

    Parameters
    ----------
    connection
        DuckDB with its limits set.
    dialect
        The format.
    staged
        Staged parts of ``series`` and ``samples``.
    work
        Folder for what is too large for memory.

    Raises
    ------
    SourceError
        They make no row, or two of one name and time differ.
    """
    result = SeriesRows()
    _show_staged(connection, dialect, staged)
    result.counters.update(_show_usage_series(connection))
    usage = write_usage(connection, work)
    result.counters.update(usage.counters)
    if usage.rated_tasks:
        result.notes = (_note_on_rates(len(usage.rated_tasks)),)
    note_on_repeats = usage.repeated.note(usage.step)
    if note_on_repeats:
        result.notes = (*result.notes, note_on_repeats)
    usage_sql = ""
    if usage.path:
        columns = {"task", "machine", "time", "end", *usage.columns}
        result.fills["usage_rows"] = frozenset(columns)
        column_sql = {name: quoted(name) for name in columns}
        usage_sql = _record_sql("usage_rows", column_sql, f"FROM {files_sql([usage.path])}")
    for name in RECORDS:
        _show(connection, name, usage_sql if name == "usage_rows" else "")
    _show_tasks(connection, result)
    _show_machines(connection, result)
    result.counters.update(show_ends(connection, dialect, usage.step))
    if not result.fills.keys() & {"usage_rows", "machine_rows"}:
        raise _nothing_to_store(has_usage=bool(usage.counters["lone_sample"]))
    return result


def _note_on_rates(n_tasks: int) -> str:
    containers = "1 container" if n_tasks == 1 else f"{n_tasks:,} containers"
    return (
        f"CPU of {containers} is that of recording rules: means over up to five minutes before each sample, in which "
        "shorter peaks are not seen."
    )


def _nothing_to_store(*, has_usage: bool) -> SourceError:
    """Return the error for series that make no row of a store."""
    if has_usage:
        return SourceError(
            "series of usage",
            "no two samples of a series near each other",
            expected="samples over time",
            got="one of each",
            way_out="query a longer time, or with a smaller step",
        )
    return SourceError(
        "series",
        "requests, limits and owners without usage",
        expected="samples of container_cpu_usage_seconds_total or container_memory_working_set_bytes",
        got="none",
        way_out="query these as well, and ingest all files at once",
    )


def _show_staged(
    connection: duckdb.DuckDBPyConnection,
    dialect: Dialect,
    staged: Mapping[str, Sequence[StagedPart]],
) -> None:
    """Show staged series, each once, with the kind of row and the column that its values fill; and samples."""
    series_paths = [part.path for part in staged.get("series", ())]
    fields = [
        (raw.name, item.name, raw.table, item.column)
        for raw in dialect.tables.values()
        for item in raw.fields
    ]
    fields_sql = ", ".join(f"({', '.join(map(literal, names))})" for names in fields)
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE series AS
        SELECT s.*, f.kind_of_row, f."column"
        FROM (SELECT DISTINCT ON (series) * FROM {files_sql(series_paths)}) s
        JOIN (VALUES {fields_sql}) f(metric, field, kind_of_row, "column") USING (metric, field)
    """)
    sample_paths = [part.path for part in staged.get("samples", ())]
    connection.execute(f"""
        CREATE OR REPLACE TEMP VIEW samples AS
        SELECT series, time, value FROM {files_sql(sample_paths)}
    """)
    connection.execute("""
        CREATE OR REPLACE TEMP VIEW states AS
        SELECT series.*, time, value FROM samples JOIN series USING (series)
        WHERE kind_of_row != 'usage_rows'
    """)


def _show_usage_series(connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Show the series of usage by task; return how many are left out because others say the same, by reason."""
    counts = _rank_usage_series(connection)
    connection.execute("""
        CREATE OR REPLACE TEMP TABLE usage_series AS
        WITH docker_names AS (
            -- Hosts may each have a container of one name.
            SELECT task, count(DISTINCT machine) > 1 AS is_ambiguous
            FROM series
            WHERE kind = 'docker'
            GROUP BY task
        ),
        named AS (
            SELECT
                r.* EXCLUDE (rank, is_total, is_recorded) REPLACE (
                    CASE WHEN is_ambiguous THEN machine || '/' || task ELSE task END AS task
                )
            FROM ranked_series r
            LEFT JOIN docker_names USING (task)
            WHERE NOT is_total AND NOT is_recorded
        )
        SELECT *, row_number() OVER (ORDER BY task, "column", series) - 1 AS place FROM named
    """)
    return {reason: n for reason, n in counts.items() if n}


def _rank_usage_series(connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Mark the series of usage that others say as well; return how many there are, by reason."""
    metrics_sql = ", ".join(map(literal, USAGE_METRICS))
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE ranked_series AS
        SELECT
            *,
            kind = 'pod' AND pod IN (
                SELECT pod FROM series WHERE kind_of_row = 'usage_rows' AND kind = 'container'
            ) AS is_total,
            rank > min(rank) OVER (PARTITION BY task, ends_with("column", 'cpu')) AS is_recorded
        FROM (
            SELECT *, list_position([{metrics_sql}], metric) AS rank
            FROM series
            WHERE kind_of_row = 'usage_rows'
        )
    """)
    ((n_totals, n_recorded),) = connection.execute("""
        SELECT count(*) FILTER (is_total), count(*) FILTER (is_recorded AND NOT is_total)
        FROM ranked_series
    """).fetchall()
    return {"pod_total": n_totals, "recorded_series": n_recorded}


def _show(connection: duckdb.DuckDBPyConnection, name: str, rows_sql: str) -> None:
    """Show rows of a kind as if they were staged so, or none."""
    no_rows_sql = select_sql(RECORDS[name], [])
    rows_sql = (
        rows_sql or f"SELECT *, 0 AS source_part, 0::BIGINT AS source_row FROM ({no_rows_sql})"
    )
    connection.execute(f"CREATE OR REPLACE TEMP VIEW {quoted(f'staged_{name}')} AS {rows_sql}")


def _record_sql(name: str, column_sql: Mapping[str, str], rows_sql: str) -> str:
    """Write rows of a kind out of a query that has some of its columns.

    Each is made of several series, and has no place in a file: so the order of files changes nothing.
    """
    values_sql = columns_sql(RECORDS[name], column_sql)
    return f"SELECT {values_sql}, 0 AS source_part, 0::BIGINT AS source_row FROM ({rows_sql})"


def _show_tasks(connection: duckdb.DuckDBPyConnection, result: SeriesRows) -> None:
    """Show each container with what is known of it or of its pod."""
    notes = make_tasks(connection)
    column_sql = {name: quoted(name) for name in COLUMNS_OF_TASKS}
    rows_sql = _record_sql("task_rows", column_sql, "SELECT * FROM known_tasks")
    _show(connection, "task_rows", rows_sql)
    filled = _filled(connection, "known_tasks", COLUMNS_OF_TASKS)
    if filled:
        result.fills["task_rows"] = filled
    result.notes = (*result.notes, *notes)


def _show_machines(connection: duckdb.DuckDBPyConnection, result: SeriesRows) -> None:
    """Show each node with its capacity, or else with what it has for pods."""
    is_allocatable_sql = f"starts_with(metric, {literal(_ALLOCATABLE)})"
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE known_machines AS
        SELECT
            machine,
            arg_max(value, (NOT {is_allocatable_sql}, time, value))
                FILTER ("column" = 'cpu') AS cpu,
            arg_max(value, (NOT {is_allocatable_sql}, time, value))
                FILTER ("column" = 'memory') AS memory,
            bool_and({is_allocatable_sql}) AS is_allocatable
        FROM states
        WHERE kind_of_row = 'machine_rows'
        GROUP BY machine
    """)
    columns = ("machine", "cpu", "memory")
    column_sql = {name: quoted(name) for name in columns}
    rows_sql = _record_sql("machine_rows", column_sql, "SELECT * FROM known_machines")
    _show(connection, "machine_rows", rows_sql)
    filled = _filled(connection, "known_machines", columns)
    if filled:
        result.fills["machine_rows"] = filled
    ((has_allocatable,),) = connection.execute(
        "SELECT coalesce(bool_or(is_allocatable), false) FROM known_machines"
    ).fetchall()
    if has_allocatable:
        result.notes = (*result.notes, ONLY_ALLOCATABLE)


def _filled(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    columns: Sequence[str],
) -> frozenset[str]:
    """Return the columns of a table that have any value."""
    counts_sql = ", ".join(f"count({quoted(name)})" for name in columns)
    (counts,) = connection.execute(f"SELECT {counts_sql} FROM {quoted(table)}").fetchall()
    return frozenset(name for name, n in zip(columns, counts, strict=True) if n)
