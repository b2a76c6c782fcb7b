"""Make a smaller store whose tables are consistent."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb

from borgtrace.engine import guard
from borgtrace.engine.embedded import select_sql
from borgtrace.engine.identifiers import number, quoted
from borgtrace.errors import UsageError, shell_word
from borgtrace.ingest.build.clustering import cluster
from borgtrace.ingest.build.completion import index_and_digest, new_store
from borgtrace.ingest.build.file_ranges import sorted_files
from borgtrace.ingest.build.sorted_relation import UnsortedRows
from borgtrace.ingest.progress import Progress
from borgtrace.notation import WallClock, span_option
from borgtrace.schema import TABLES, TRACE_TABLES
from borgtrace.storage import as_path
from borgtrace.store import Manifest, Store
from borgtrace.store.criteria import Criteria
from borgtrace.store.integrity import check_unchanged, read_intact
from borgtrace.store.layout import Layout
from borgtrace.store.version import expect_version, present_version

_TABLES_OF_TASKS = ("instance_events", "instance_usage")
_WHERE = "--where"


def subset(
    store: str | Path,
    out: str | Path,
    cut: Criteria,
    *,
    memory: str = "4GB",
    threads: int | None = None,
    progress: Progress | None = None,
) -> Manifest:
    """Copy part of a store into a new one.

    Parameters
    ----------
    store, out
        The store and the new one.
    cut
        Which tasks to keep: those that meet all criteria, with their collections.  Collections without tasks are kept
        where whole collections are chosen (``jobs``, ``fraction``).  ``time``: usage windows and events that begin
        in [from, to), with the earlier events of the tasks they belong to, so that every life begins at its beginning.
        Machine tables are kept whole (up to the end of ``time``): capacity belongs to the cell.
    memory, threads
        Budget of the sort.
    progress
        Receives progress.

    Raises
    ------
    UsageError
        When no criterion is given, nothing is left, or `out` holds something.
    StoreError
        When `store` is not a finished store, or a file of it has changed since it was written.
    """
    source = as_path(store)
    version = present_version(source)
    manifest = read_intact(source)
    terms = cut.terms(manifest.dialect)
    if not terms and not cut.time:
        raise UsageError(
            "subset",
            "no criterion",
            expected="one or more",
            way_out="such as --jobs, --tier or --time: borgtrace subset --help",
        )
    selection = _Selection(Layout(source), manifest, cut, terms)
    with (
        new_store(out, memory, threads, [source]) as (connection, work),
        expect_version(source, version),
    ):
        subset_manifest = _copy(connection, selection, work, progress or Progress())
        subset_manifest.write(Layout(work).manifest)
    return subset_manifest


@dataclass(frozen=True)
class _Selection:
    """Which part of a store is copied.

    Parameters
    ----------
    source, manifest
        The store.
    cut
        The criteria.
    terms
        Their SQL, by option.
    """

    source: Layout
    manifest: Manifest
    cut: Criteria
    terms: Mapping[str, str]

    @property
    def is_of_collections(self) -> bool:
        """Whether whole collections are chosen; else a choice is one of tasks."""
        return not self.cut.time and self.terms.keys() <= {"--jobs", "--fraction"}

    @property
    def key_sql(self) -> str:
        """Columns of the table ``chosen``."""
        return "collection_id" if self.is_of_collections else "collection_id, instance_index"

    def condition_sql(self, name: str) -> str:
        """Write whether a row of a table belongs to what was chosen."""
        table = TABLES[name]
        condition_sql = "true"
        # Machine tables and events before the time stay: without them a state at its start would be unknown.
        if self.cut.time and table.time:
            condition_sql = f"{quoted(table.time)} < {number(self.cut.time[1])}"
        if table.is_about_machines:
            return condition_sql
        # Usage needs no earlier rows: each window stands alone.
        if name == "instance_usage" and self.cut.time:
            condition_sql = _within_sql(name, self.cut.time)
        key_sql = self.key_sql if "instance_index" in table.names else "collection_id"
        return f"{condition_sql} AND ({key_sql}) IN (SELECT {key_sql} FROM chosen)"

    @property
    def way_out(self) -> str:
        """What to do where nothing meets the criteria."""
        if self.terms.keys() == {"--fraction"} and not self.cut.time:
            return "choose a larger fraction or another seed"
        store = shell_word(self.source.root)
        return (
            f"choose other criteria: borgtrace info {store} shows the times and rows of the store"
        )

    def describe(self) -> str:
        """Return the criteria in words, for the notes of the new store."""
        # Ids may be a million, and a condition on a hash says nothing to a reader.
        short = {
            "--jobs": _counted(self.cut.jobs, "job"),
            "--machines": _counted(self.cut.machines, "machine"),
            "--fraction": f"fraction {self.cut.fraction}, seed {self.cut.seed}",
        }
        words = [short.get(option, term) for option, term in self.terms.items()]
        if self.cut.time:
            clock = WallClock.of(self.manifest)
            words.insert(0, f"time {span_option(*self.cut.time)} ({clock.span(*self.cut.time)})")
        return " and ".join(words)


def _counted(ids: tuple[int, ...], noun: str) -> str:
    plural = "" if len(ids) == 1 else "s"
    return f"{len(ids):,} {noun}{plural}"


def _copy(
    connection: duckdb.DuckDBPyConnection,
    selection: _Selection,
    work: Path,
    progress: Progress,
) -> Manifest:
    source = selection.source
    manifest = selection.manifest
    paths = [path for name in TRACE_TABLES for path in source.parts(name)]
    check_unchanged(source, manifest, paths)
    _choose(connection, selection)
    files: dict[str, list[Path]] = {}
    for name in TRACE_TABLES:
        files[name] = []
        # A store of an earlier version may lack a table.
        rows = manifest.tables.get(name, 0)
        progress.begin(f"copy {name}", rows, "rows")
        if source.parts(name):
            condition_sql = selection.condition_sql(name)
            relation_sql = f"SELECT * FROM {quoted(name)} AS t WHERE {condition_sql}"
            files[name] = cluster(connection, TABLES[name], UnsortedRows(relation_sql), work / name)
        progress.advance(f"copy {name}", rows)
    tables = sorted_files(files)
    facts = index_and_digest(connection, tables, manifest.dialect, work, progress)
    # Known only now, and harmless: `new_folder` removes its files if the block fails.
    if not facts["tables"]["tasks"] and not facts["tables"]["collection_events"]:
        raise UsageError(
            "subset",
            f"no job or task meets {selection.describe()}",
            way_out=selection.way_out,
        )
    note = f"subset of {manifest.digest} by {selection.describe()}"
    return replace(
        manifest,
        # The ledger counts whole files, and a subset has parts of them: conservation would not hold.
        sources=(),
        notes=(*manifest.notes, note),
        **facts,
    )


def _choose(connection: duckdb.DuckDBPyConnection, selection: _Selection) -> None:
    """Make the table ``chosen`` of (collection_id, instance_index), or of collection_id alone."""
    for name, table in TABLES.items():
        rows_sql = select_sql(table, selection.source.local_parts(name))
        connection.execute(f"CREATE VIEW {quoted(name)} AS {rows_sql}")
    conditions = [term for option, term in selection.terms.items() if option != _WHERE]
    if _WHERE in selection.terms:
        _register_where(connection, selection)
        conditions.append("(collection_id, instance_index) IN (FROM meets_where)")
    time = selection.cut.time
    if time:
        lives_sql = " UNION ".join(
            f"SELECT collection_id, instance_index FROM {quoted(name)} "
            f"WHERE {_within_sql(name, time)}"
            for name in _TABLES_OF_TASKS
        )
        conditions.append(f"(collection_id, instance_index) IN ({lives_sql})")
    # Collections without tasks count where whole collections are chosen.
    names: tuple[str, ...] = ("tasks",)
    if selection.is_of_collections:
        names = ("collection_events", *_TABLES_OF_TASKS)
    condition_sql = " AND ".join(conditions)
    keys_sql = " UNION ".join(
        f"SELECT {selection.key_sql} FROM {quoted(name)} WHERE {condition_sql}" for name in names
    )
    connection.execute(f"CREATE TEMP TABLE chosen AS {keys_sql}")


def _register_where(connection: duckdb.DuckDBPyConnection, selection: _Selection) -> None:
    """Show the tasks that meet a predicate of the user's, which runs on the guarded connection of the store alone."""
    guard.condition(selection.cut.where or "")
    where_sql = selection.terms[_WHERE]
    tasks = Store.open(selection.source.root).sql(
        f"select collection_id, instance_index from tasks where {where_sql}"
    )
    connection.register("meets_where", tasks)


def _within_sql(name: str, time: tuple[int, int]) -> str:
    """Write whether a row of a table begins in [from, to)."""
    time_sql = quoted(TABLES[name].time)
    return f"{time_sql} >= {number(time[0])} AND {time_sql} < {number(time[1])}"
