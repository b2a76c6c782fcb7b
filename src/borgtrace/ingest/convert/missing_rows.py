"""Rows that need rows of a table that is missing: refused where nothing of them can be kept, else counted.

A share of a request is no amount without the request, and windows that follow each other have no time without the start
of their task.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import duckdb

from borgtrace.engine.identifiers import quoted
from borgtrace.errors import SchemaError
from borgtrace.ingest.convert.conversion_terms import Terms
from borgtrace.schema import Dialect

_KINDS = ("average", "instant", "counter", "maximum")
_STARTED_SQL = "SELECT task FROM task_rows WHERE start IS NOT NULL"
_LIVED_SQL = 'SELECT (task, instance) FROM task_rows WHERE start < "end"'


@dataclass(frozen=True)
class MissingRows:
    """What rows of other tables would have said.

    Parameters
    ----------
    notes
        Sentences about it.
    left_out
        Rows that are not stored, by the number of their source.
    """

    notes: tuple[str, ...] = ()
    left_out: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class _Files:
    """The files of an ingest, for messages."""

    dialect: Dialect
    names: Sequence[str]
    tables: Sequence[str]

    def of_record(self, record: str) -> list[str]:
        """Return the raw tables that are there and hold rows of a kind."""
        return [name for name in self.tables if self.dialect.tables[name].table == record]

    def filling(self, record: str, column: str) -> str:
        """Return the raw tables of the format whose rows fill a column, in words."""
        names = []
        for raw in self.dialect.tables.values():
            if raw.table == record and any(item.column == column for item in raw.fields):
                names.append(raw.name)
        return " or ".join(names) or f"a table that says {column} of tasks"

    def refusal(self, needed: str, why: str) -> SchemaError:
        """Return the error for rows of which nothing can be kept."""
        present = ", ".join(self.tables)
        return SchemaError(
            ", ".join(self.names[:3]),
            "no row can be stored without another table",
            expected=f"{needed}, {why}",
            got=present,
            way_out=f"ingest it together with {needed}",
        )


def find_missing_rows(
    connection: duckdb.DuckDBPyConnection,
    terms: Terms,
    dialect: Dialect,
    files: Sequence[str],
    tables: Sequence[str],
) -> MissingRows:
    """Find rows that say nothing, or less, without rows of another table.

    Parameters
    ----------
    connection
        Where the staged rows are shown.
    terms
        How they are converted.
    dialect
        Their format.
    files, tables
        Names of the files, and of their raw tables.

    Raises
    ------
    SchemaError
        Nothing of them can be kept.
    """
    present = _Files(dialect, files, tables)
    n_usage = _count(connection, "SELECT count(*) FROM measured_rows")
    if not n_usage:
        incomplete = _incomplete_tables(terms, present)
        if incomplete is None:
            return MissingRows(tuple(_notes_about_kinds(terms, present)))
        # Machines alone are worth a store.
        if terms.has("machine_rows"):
            return MissingRows((incomplete.note,))
        raise present.refusal(incomplete.needed, incomplete.why)
    left_out = _rows_without_time(connection, terms)
    if sum(left_out.values()) == n_usage:
        needed = present.filling("task_rows", "start")
        raise present.refusal(needed, "which says when tasks start")
    notes = [_note_left_out(left_out, present)] if left_out else []
    notes += _notes_about_shares(connection, terms, present)
    return MissingRows(tuple(notes), left_out)


@dataclass(frozen=True)
class _Incomplete:
    """Tables that are there, and what would complete them."""

    tables: Sequence[str]
    needed: str
    why: str = "which says when tasks ran"

    @property
    def note(self) -> str:
        """A sentence about them."""
        names = ", ".join(self.tables)
        return f"Not stored without {self.needed}, {self.why}: the rows of {names}."


def _incomplete_tables(terms: Terms, files: _Files) -> _Incomplete | None:
    """Return the tables about tasks that say nothing alone; None where there are none."""
    names = []
    if not terms.has("task_rows"):
        names += [*files.of_record("submission_rows"), *files.of_record("type_rows")]
    elif not terms.has_lives:
        names += files.of_record("task_rows")
    if not names:
        return None
    needed = files.filling("task_rows", "start")
    if terms.has("task_rows"):
        needed = files.filling("usage_rows", "task")
    return _Incomplete(names, needed)


def _notes_about_kinds(terms: Terms, files: _Files) -> list[str]:
    """Return what is said of tasks whose kind says what they request, where nothing describes the kinds."""
    if not terms.has("task_rows", "kind") or terms.has("type_rows"):
        return []
    return [f"Requests of tasks are unknown: {files.filling('type_rows', 'cpu')} says them."]


def _has_no_time_sql(terms: Terms) -> str:
    """Write whether the window of a row follows from the life of its task, which no row says."""
    if terms.has("usage_rows", "instance_name"):
        return f"(instance IS NULL OR (task, instance) NOT IN ({_LIVED_SQL}))"
    if terms.has("usage_rows", "time"):
        return "false"
    return f'("end" IS NULL AND task NOT IN ({_STARTED_SQL}))'


def _rows_without_time(connection: duckdb.DuckDBPyConnection, terms: Terms) -> dict[int, int]:
    """Count rows whose window nothing tells, by the number of their source."""
    counted = connection.execute(f"""
        SELECT source_part, count(*)
        FROM measured_rows
        WHERE {_has_no_time_sql(terms)}
        GROUP BY source_part
    """).fetchall()
    return dict(counted)


def _note_left_out(left_out: Mapping[int, int], files: _Files) -> str:
    n_rows = sum(left_out.values())
    needed = files.filling("task_rows", "start")
    usage = " and ".join(files.of_record("usage_rows"))
    return f"Left out: {n_rows:,} rows of {usage} about tasks of which {needed} says no life."


def _notes_about_shares(
    connection: duckdb.DuckDBPyConnection,
    terms: Terms,
    files: _Files,
) -> list[str]:
    """Return sentences about amounts that are a share of what nobody says; refuse where there are no others."""
    notes = []
    is_anything_known = terms.has("usage_rows", "cycles_per_instruction")
    needs: dict[str, str] = {}
    for resource in ("cpu", "memory"):
        columns = [f"{kind}_{resource}" for kind in _KINDS]
        filled = [column for column in columns if terms.has("usage_rows", column)]
        if not filled:
            continue
        request = f"{resource}_request"
        is_share = terms.conversion.share_of.get(resource) in ("request", "clock")
        if not is_share or terms.has("usage_rows", request):
            is_anything_known = True
            continue
        n_measured, n_unknown = _count_shares(connection, terms, filled, request)
        is_anything_known = is_anything_known or n_unknown < n_measured
        if n_unknown:
            needs[resource] = files.filling("task_rows", request)
            notes.append(
                f"Unknown {resource} in {n_unknown:,} of {n_measured:,} rows: it is a share of what their task "
                f"requests, which no row of {needs[resource]} says."
            )
    if needs and not is_anything_known:
        needed = next(iter(needs.values()))
        raise files.refusal(needed, "which says what tasks request: usage is a share of it")
    return notes


def _count_shares(
    connection: duckdb.DuckDBPyConnection,
    terms: Terms,
    columns: Sequence[str],
    request: str,
) -> tuple[int, int]:
    """Count the rows that measure a resource, and those of them whose task requests nobody knows what."""
    measured_sql = ", ".join(quoted(column) for column in columns)
    known_sql = f"SELECT task FROM task_rows WHERE {quoted(request)} IS NOT NULL"
    n_tasks, n_unknown_tasks = _only_row(
        connection,
        f"SELECT count(*), count(*) FILTER (name NOT IN ({known_sql})) FROM task_ids",
    )
    # Mostly all are known, and none is looked up once more in each row.
    are_all_known = n_tasks > 0 and n_unknown_tasks == 0
    is_unknown_sql = "false" if are_all_known else f"task NOT IN ({known_sql})"
    n_measured, n_unknown = _only_row(
        connection,
        f"""
        SELECT count(*), count(*) FILTER ({is_unknown_sql})
        FROM measured_rows
        WHERE coalesce({measured_sql}) IS NOT NULL AND NOT {_has_no_time_sql(terms)}
        """,
    )
    return int(n_measured), int(n_unknown)


def _only_row(connection: duckdb.DuckDBPyConnection, query_sql: str) -> tuple[Any, ...]:
    (row,) = connection.execute(query_sql).fetchall()
    return tuple(row)


def _count(connection: duckdb.DuckDBPyConnection, query_sql: str) -> int:
    (number,) = _only_row(connection, query_sql)
    return int(number)
