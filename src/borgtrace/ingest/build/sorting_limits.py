"""The connection that reads rows for sorting: what it can reach, and how many rows are sorted in memory."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb

from borgtrace.engine.embedded import raw_connection
from borgtrace.engine.guard import lock
from borgtrace.engine.memory import parse_memory
from borgtrace.storage import RemotePath, remove, user_cache

MOST_WRITERS = 4
"""Most files made at a time, whatever the number of cores: they share the memory."""
COPIES = 4
"""Of a file's rows, in memory while it is made: as read, sorted, and being encoded; the next one's are read."""
MOST_ROWS, WORTH_SHARING = 1 << 22, 1 << 20
"""Most rows of a file, however much memory there is, and rows above which several cores share a table: its files."""
ROW_BYTES = 160
"""Of usage in memory: 140 bytes of the 2011 trace, 230 with the percentiles of 2019."""


def sorting_connection(
    memory: str,
    threads: int | None,
    folders: Sequence[str],
    spill: Path | None = None,
) -> duckdb.DuckDBPyConnection:
    """Open the connection that reads rows for sorting.

    Statistics propagation is off: with it, whether DuckDB writes a Parquet column as NOT NULL depends on what the
    optimizer happens to know about the input files.

    Parameters
    ----------
    memory
        What DuckDB may hold before it spills, such as ``"4GB"``.
    threads
        Its threads; all cores where None.
    folders
        All that it can read and write, from `within_reach`: rows and their texts come from anyone.
    spill
        Where it spills; made here.  None: in the temporary folder.
    """
    if spill is not None:
        spill.parent.mkdir(parents=True, exist_ok=True)
        # What is left of a process that died, or a link to elsewhere.
        remove(spill)
        spill.mkdir(mode=0o700)
    connection = raw_connection(memory, threads, spill)
    connection.execute("SET disabled_optimizers = 'statistics_propagation'")
    # The footers of staged parts are read for each range of collections.
    connection.execute("SET parquet_metadata_cache = true")
    lock(connection, folders)
    return connection


def within_reach(*places: Path) -> list[str]:
    """Return stores and folders as `sorting_connection` takes them; of one in a bucket, the folder of its copies."""
    folders: dict[Path, None] = {}
    for place in places:
        here = user_cache() if isinstance(place, RemotePath) else place
        folders |= dict.fromkeys(_folders_behind(here))
    return [f"{folder}/" for folder in folders]


def _folders_behind(place: Path) -> Iterator[Path]:
    """Yield where the files of a folder really are: tables of a store, or their parts, may be links."""
    yield place.resolve()
    for table in place.glob("*"):
        if table.is_symlink():
            yield table.resolve()
    for part in place.glob("*/part-*.parquet"):
        if part.is_symlink():
            yield part.resolve().parent


def reach_of(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the folders that a connection from `sorting_connection` can reach, for one beside it."""
    ((folders,),) = connection.execute("SELECT current_setting('allowed_directories')").fetchall()
    return list(folders)


def rows_of_file(
    n_rows: int, most_rows: int = MOST_ROWS, worth_sharing: int = WORTH_SHARING
) -> int:
    """Return the most rows of a file, by those of the table alone: files must not depend on the number of cores.

    Parameters
    ----------
    n_rows
        Of the table.
    most_rows
        That fit into memory.
    worth_sharing
        Below which one file is enough.

    Examples
    --------
    >>> rows_of_file(1000), rows_of_file(8_000_000), rows_of_file(10**9)
    (1048576, 2000000, 4194304)
    """
    return min(most_rows, max(worth_sharing, n_rows // MOST_WRITERS))


def writers(connection: duckdb.DuckDBPyConnection) -> tuple[int, int]:
    """Return how many files are worked on at a time, and the bytes of memory that each may take."""
    query = "SELECT current_setting('threads'), current_setting('memory_limit')"
    ((threads, memory),) = connection.execute(query).fetchall()
    n_writers = min(int(threads), MOST_WRITERS)
    return n_writers, parse_memory(memory) // n_writers


def most_rows_of_file(connection: duckdb.DuckDBPyConnection) -> int:
    """Return how many rows are sorted in memory."""
    _, memory = writers(connection)
    return min(MOST_ROWS, memory // (COPIES * ROW_BYTES))
