"""Guard against foreign queries and files: a connection that reads one place only, and a check of each query.

Two walls, because each has a gap.  The connection has external access off, the store as the only
allowed directory, and its configuration locked; but DuckDB would still let COPY and ATTACH write
inside the store.  So each query is parsed by DuckDB itself, must be exactly one SELECT, and its
parse tree may hold no other kind of query and no table function outside a short list.

Foreign files, whose names and values reach our own queries, are read on such a connection as well.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from borgtrace.engine.answer_columns import Carrier, for_carrier
from borgtrace.engine.embedded import add_view, raw_connection
from borgtrace.engine.identifiers import literal
from borgtrace.engine.stoppable import Stoppable
from borgtrace.errors import BorgtraceError, EngineError, UsageError, did_you_mean, first_line
from borgtrace.schema import TABLES, Table
from borgtrace.storage import as_path, plain_path

# Rebuilt from these words and the checked query behind them: what runs is what was checked.
_OPTION = r"(?:ANALYZE|FORMAT\s+\w+)"
_EXPLAIN = re.compile(
    rf"(?:\s|--[^\n]*\n|/\*.*?\*/)*"
    rf"(EXPLAIN\s+ANALYZE\b|EXPLAIN\b(?:\s*\(\s*{_OPTION}(?:\s*,\s*{_OPTION})*\s*\))?)(.*)",
    re.IGNORECASE | re.DOTALL,
)
_NO_TABLE = re.compile(r"Catalog Error: Table with name (\S+) does not exist!")
_NAMES = "every table and column: borgtrace info --schema"
_PIVOT = "list the values: PIVOT instance_events ON type IN ('EVICT', 'FAIL') USING count(*)"
# Allowed rather than forbidden kinds: a version of DuckDB that learns a new statement does not open a hole.
_QUERY_NODES = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})

TABLE_FUNCTIONS = frozenset(
    {
        # Read values.
        "range",
        "generate_series",
        "unnest",
        "repeat",
        "repeat_row",
        "json_each",
        "json_tree",
        # Read tables of the connection.
        "histogram",
        "histogram_values",
        "summary",
        # Read its catalog and its settings.
        "duckdb_columns",
        "duckdb_functions",
        "duckdb_tables",
        "duckdb_types",
        "duckdb_views",
        "pragma_table_info",
        "pragma_version",
        # Read files; the connection reaches those of the store alone.
        "read_parquet",
        "read_json",
        "read_json_auto",
        "read_csv",
        "read_csv_auto",
        "read_text",
        "glob",
        "parquet_scan",
        "parquet_metadata",
        "parquet_schema",
        "parquet_file_metadata",
        "parquet_kv_metadata",
    }
)
"""Table functions a query may call."""


def open_store(
    root: Path,
    tables: Mapping[Table, Sequence[str]],
    *,
    memory: str = "4GB",
    threads: int | None = None,
    temp_directory: Path | None = None,
) -> duckdb.DuckDBPyConnection:
    """Open a connection that sees `tables` as views and can read nothing outside `root`.

    Parameters
    ----------
    root
        Directory of the store.
    tables
        Parquet files of each table.
    memory, threads, temp_directory
        As for :func:`borgtrace.engine.embedded.raw_connection`; spilling stays possible.

    Raises
    ------
    EngineError
        Where a file cannot be read.
    """
    con = raw_connection(memory, threads, temp_directory)
    try:
        for table, paths in tables.items():
            add_view(
                con,
                table,
                paths,
                table.name,
                is_temporary=False,
            )
    except (duckdb.Error, OSError, pa.ArrowInvalid) as error:
        raise EngineError(str(root), "the store cannot be read", got=first_line(error)) from error
    lock(con, _readable_folders(root, chain.from_iterable(tables.values())))
    return con


def _readable_folders(root: Path, paths: Iterable[str]) -> list[str]:
    """Return the folders that queries of a store may read: its own, and those through which its tables are read."""
    folders = {plain_path(as_path(path)).parent.absolute() for path in paths}
    # A query could use a pattern in the store's own path to read its neighbors.
    if plain_path(root) == root:
        folders.add(root.resolve())
    # The slash at the end keeps out a neighbor whose name only begins like the store's.
    return [f"{folder}/" for folder in sorted(folders)]


def open_tasks(tasks: pa.Table) -> duckdb.DuckDBPyConnection:
    """Open a connection that sees the table ``tasks``, which no store holds, and can read no file at all."""
    con = raw_connection()
    con.register("arrow_rows", tasks)
    con.execute("CREATE TABLE tasks AS FROM arrow_rows")
    con.unregister("arrow_rows")
    lock(con)
    return con


def open_file(path: Path, *, threads: int | None = None) -> duckdb.DuckDBPyConnection:
    """Open a connection that can read one foreign file and nothing else, whatever is inside the file.

    Parameters
    ----------
    path
        The file, on this machine.
    threads
        Threads of DuckDB; all cores where None.
    """
    con = raw_connection(threads=threads)
    con.execute(f"SET allowed_paths = [{literal(str(plain_path(path)))}]")
    lock(con)
    return con


def open_values(*, threads: int | None = 1) -> duckdb.DuckDBPyConnection:
    """Open a connection that can read no file at all, for rows in memory that a foreign file gave.

    Connections of a process share a database, since opening one takes 20 ms, and a guess asks ten times; what is
    registered on one connection, no other sees.

    Parameters
    ----------
    threads
        Threads of DuckDB; all cores where None.
    """
    return _database_of_values(os.getpid(), threads).cursor()


@cache
def _database_of_values(process: int, threads: int | None) -> duckdb.DuckDBPyConnection:
    # By process: the threads of a database, and its locks, do not survive a fork.
    con = raw_connection(threads=threads)
    lock(con)
    return con


def lock(con: duckdb.DuckDBPyConnection, folders: Sequence[str] = ()) -> None:
    """Let a connection reach no file outside some folders, load nothing, and keep its settings for good.

    Parameters
    ----------
    con
        The connection; its folder for spilling stays within reach.
    folders
        Each with a slash at its end, which keeps out a neighbor whose name only begins like it.
    """
    if folders:
        folders_sql = ", ".join(literal(folder) for folder in folders)
        con.execute(f"SET allowed_directories = [{folders_sql}]")
    con.execute("SET autoload_known_extensions = false")
    con.execute("SET enable_external_access = false")
    # Last: afterward no setting can be changed, those above included.
    con.execute("SET lock_configuration = true")


def query(
    con: duckdb.DuckDBPyConnection,
    sql: str,
    timeout: float | None = None,
    parameters: Mapping[str, Any] | None = None,
    carrier: Carrier = "arrow",
) -> pa.Table:
    """Check `sql`, run it on a connection from :func:`open_store`, and return all rows.

    Parameters
    ----------
    con
        Connection from :func:`open_store`.
    sql
        One SELECT, or EXPLAIN of one.
    timeout
        Seconds it may take; any number where None.
    parameters
        Values of ``$name`` in the query: they are never read as SQL.
    carrier
        Who takes the rows: columns of types that it lacks come as text.  No two columns share a name.

    Raises
    ------
    UsageError
        Where `sql` is not one SELECT, calls a table function that is not allowed, or is wrong.
    EngineError
        Where DuckDB refuses the work (a file outside the store, memory exhausted), or the time is over.
    """
    # A cursor of its own, so that a stream that is still being read is not cut off, and threads may query at once.
    cursor = con.cursor()
    with refusals():
        checked_sql = check(cursor, sql)
        running = Stoppable(cursor, timeout)
        answer: pa.Table = running.step(
            lambda: _answer(cursor, checked_sql, parameters, carrier).to_arrow_table()
        )
    return answer.combine_chunks()


def stream(
    con: duckdb.DuckDBPyConnection,
    sql: str,
    batch_rows: int = 100_000,
    timeout: float | None = None,
    parameters: Mapping[str, Any] | None = None,
    carrier: Carrier = "arrow",
) -> pa.RecordBatchReader:
    """Check `sql` at once, then return its rows in batches, for results larger than memory.

    Raises the errors of :func:`query`, those of the run while the batches are taken.

    Parameters
    ----------
    con
        Connection from :func:`open_store`.
    sql
        One SELECT, or EXPLAIN of one.
    batch_rows
        Most rows of a batch.
    timeout
        Seconds until the last batch is taken; any number where None.
    parameters, carrier
        As for :func:`query`.
    """
    cursor = con.cursor()  # several streams may be open at once
    running = Stoppable(cursor, timeout)
    with refusals():
        checked_sql = check(cursor, sql)
        reader = running.step(
            lambda: _answer(cursor, checked_sql, parameters, carrier).to_arrow_reader(batch_rows)
        )
    return pa.RecordBatchReader.from_batches(reader.schema, _batches(reader, running))


def _answer(
    cursor: duckdb.DuckDBPyConnection,
    checked_sql: str,
    parameters: Mapping[str, Any] | None,
    carrier: Carrier,
) -> duckdb.DuckDBPyRelation:
    return for_carrier(cursor.sql(checked_sql, params=parameters or None), carrier)


def _batches(reader: pa.RecordBatchReader, running: Stoppable) -> Iterator[pa.RecordBatch]:
    batches = iter(reader)
    with refusals():
        while True:
            batch = running.step(lambda: next(batches, None))
            if batch is None:
                return
            yield batch


def condition(predicate: str) -> str:
    """Return `predicate` in brackets, ready to stand behind WHERE beside other conditions.

    Parameters
    ----------
    predicate
        One condition in SQL; what it reads is for the connection to refuse.

    Raises
    ------
    UsageError
        Where it is more than one condition, such as ``true) OR (true`` or ``true LIMIT 1``, or `check` refuses it.

    Examples
    --------
    >>> condition("priority > 3").split()
    ['(priority', '>', '3', ')']
    """
    # On a line of its own, so that a remark at its end does not hide the bracket.
    bracketed_sql = f"({predicate}\n)"
    with refusals(), open_values() as con:
        # Without the brackets, what closes them and opens others is no condition; with them, a LIMIT is none.
        for condition_sql in (predicate, bracketed_sql):
            check(con, f"SELECT 1 WHERE {condition_sql}")
    return bracketed_sql


def check(con: duckdb.DuckDBPyConnection, sql: str) -> str:
    """Return `sql` as it may be run, once it is sure that it is one SELECT (or EXPLAIN of one) that only reads.

    Parameters
    ----------
    con
        Any connection: it only parses.
    sql
        What is to be checked.

    Raises
    ------
    UsageError
        Where it is anything else.

    Examples
    --------
    >>> check(duckdb.connect(), "select 1")
    'select 1'
    >>> check(duckdb.connect(), "drop table tasks")
    Traceback (most recent call last):
    ...
    borgtrace.errors.UsageError: query: not a SELECT: expected one SELECT, got DROP; ...
    """
    kinds = [statement.type.name for statement in con.extract_statements(sql)]
    if len(kinds) != 1:
        raise _not_a_select("not one statement", f"{len(kinds)} statements")
    # DuckDB writes such a PIVOT as two statements, the first of which makes a type.
    if kinds[0] == "MULTI":
        raise _not_a_select("PIVOT without its values", "several statements", _PIVOT)
    explained = _EXPLAIN.fullmatch(sql) if kinds[0] == "EXPLAIN" else None
    if explained:
        # EXPLAIN ANALYZE runs what it explains, so that must be a query by itself.
        return f"{explained[1]} {check(con, explained[2])}"
    if kinds[0] != "SELECT":
        raise _not_a_select("not a SELECT", kinds[0])
    # A SELECT may still hold a writing CTE or a table function that reaches elsewhere.
    for node in _nodes(_parse_tree(con, sql)):
        _check_node(node)
    return sql


def _not_a_select(what: str, got: str, way_out: str = "only a query can be answered") -> UsageError:
    return UsageError(
        "query",
        what,
        expected="one SELECT",
        got=got,
        way_out=way_out,
    )


def _too_deep() -> UsageError:
    return UsageError("query", "nested too deeply", way_out="name inner queries with WITH")


@contextmanager
def refusals() -> Iterator[None]:
    """Turn DuckDB's errors into UsageError (the query is wrong) or EngineError (the work failed).

    An error in the middle of a stream reaches us through Arrow, as an OSError with DuckDB's text.

    Raises
    ------
    UsageError
        Where DuckDB found the query wrong.
    EngineError
        Where it refused the work: a file outside the store, memory exhausted.
    """
    try:
        yield
    except (duckdb.Error, OSError) as error:
        raise _refusal(*str(error).strip().splitlines()) from error


def _refusal(line: str, *more: str) -> BorgtraceError:
    if line.startswith("Permission Error"):
        return EngineError("query", "only the store can be read", got=line)
    if line.startswith("Out of Memory Error"):
        way_out = "give more with --memory, or ask for less at once"
        return EngineError(
            "query",
            "memory exhausted",
            got=line,
            way_out=way_out,
        )
    # DuckDB would suggest a setting, which nobody can change here.
    if "Max expression depth limit" in line:
        return _too_deep()
    missing_table = _NO_TABLE.match(line)
    if missing_table:
        name = missing_table[1]
        # DuckDB would suggest tables of its own catalog, such as pg_sequences.
        similar = did_you_mean(name.lower(), TABLES)
        way_out = f"{similar} {_NAMES}" if similar else _NAMES
        return UsageError("query", f"table {name} does not exist", way_out=way_out)
    if line.startswith(("Binder Error", "Catalog Error")):
        # DuckDB's own suggestions are worth keeping; the lines that repeat the query are not.
        near = [text for text in more if text.startswith(("Candidate bindings", "Did you mean"))]
        return UsageError("query", line, way_out="; ".join([*near, _NAMES]))
    return UsageError("query", line)


def _parse_tree(con: duckdb.DuckDBPyConnection, sql: str) -> Any:
    ((text,),) = con.execute("SELECT json_serialize_sql(?)", [sql]).fetchall()
    try:
        tree = json.loads(text)
    # Python reads no deeper, and nobody writes a query that is.
    except RecursionError as error:
        raise _too_deep() from error
    if tree["error"]:
        raise _not_a_select("cannot be checked", str(tree.get("error_message")))
    return tree["statements"]


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Walk all objects of a parse tree; a loop, since a query may nest deeper than Python may."""
    pending = [tree]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            yield item
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)


def _check_node(node: Mapping[str, Any]) -> None:
    kind = node.get("type")
    if isinstance(kind, str) and kind.endswith("_NODE") and kind not in _QUERY_NODES:
        raise _not_a_select("part of it writes", kind.removesuffix("_NODE").removesuffix("_QUERY"))
    if kind == "TABLE_FUNCTION":
        # SQL names are the same in any case, and quoting hides none: "ARROW_SCAN" is arrow_scan.
        name = str(node["function"]["function_name"]).lower()
        if name not in TABLE_FUNCTIONS:
            allowed = ", ".join(sorted(TABLE_FUNCTIONS))
            raise UsageError(
                "query",
                "table function not allowed",
                expected=f"one of {allowed}",
                got=name,
            )
