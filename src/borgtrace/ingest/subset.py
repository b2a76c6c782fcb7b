"""A smaller store that is consistent over its tables."""

from dataclasses import replace
from pathlib import Path

import duckdb

from borgtrace.engine import guard
from borgtrace.engine.embedded import select_sql
from borgtrace.errors import UsageError
from borgtrace.ingest.build.clustering import cluster
from borgtrace.ingest.build.completion import index_and_digest, new_store
from borgtrace.ingest.progress import Progress
from borgtrace.schema import TABLES, TRACE_TABLES
from borgtrace.storage import as_path
from borgtrace.store import Manifest, Store
from borgtrace.store.criteria import Criteria
from borgtrace.store.integrity import check_unchanged, read_intact
from borgtrace.store.layout import Layout

_LIVES = ("instance_events", "instance_usage")
"""Tables that tell of tasks."""
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
        Told what is being done.

    Raises
    ------
    UsageError
        When no criterion is given, nothing is left, or `out` holds something.
    StoreError
        When `store` is not a finished store, or a file of it has changed since it was written.
    """
    held = read_intact(as_path(store))
    terms = cut.terms(held.dialect)
    if not terms and not cut.time:
        way_out = "such as --jobs, --tier or --time: borgtrace subset --help"
        raise UsageError("subset", "no criterion", expected="one or more", way_out=way_out)
    with new_store(out, memory, threads) as (connection, work):
        manifest = _copy(
            connection, Layout(as_path(store)), held, cut, work, progress or Progress()
        )
        manifest.write(Layout(work).manifest)
    return manifest


def _copy(
    connection: duckdb.DuckDBPyConnection,
    source: Layout,
    held: Manifest,
    cut: Criteria,
    work: Path,
    progress: Progress,
) -> Manifest:
    terms = cut.terms(held.dialect)
    check_unchanged(source, held, [path for name in TRACE_TABLES for path in source.parts(name)])
    _choose(connection, source, cut, terms)
    files: dict[str, list[Path]] = {name: [] for name in TRACE_TABLES}
    for name in TRACE_TABLES:
        # A store of an earlier version may lack a table.
        rows = held.tables.get(name, 0)
        progress.begin(f"copy {name}", rows, "rows")
        if source.parts(name):
            relation = f"SELECT * FROM {name} AS t WHERE {_condition(name, cut, terms)}"
            files[name] = cluster(connection, TABLES[name], relation, work / name)
        progress.advance(f"copy {name}", rows)
    done = index_and_digest(connection, files, held.dialect, work, progress)
    # Known only now, and harmless: `new_folder` removes what was written when the block fails.
    if not done["tables"]["tasks"] and not done["tables"]["collection_events"]:
        raise UsageError(
            "subset", "nothing is left", way_out="see what the store holds: borgtrace info STORE"
        )
    return replace(
        held,
        # The ledger speaks of whole files, of which a subset has parts: conservation would not hold.
        sources=(),
        notes=(*held.notes, f"subset of {held.digest} by {_describe(cut, terms)}"),
        **done,
    )


def _choose(
    connection: duckdb.DuckDBPyConnection, source: Layout, cut: Criteria, terms: dict[str, str]
) -> None:
    """Make the table ``chosen`` of (collection_id, instance_index), or of collection_id alone."""
    for name, table in TABLES.items():
        connection.execute(f"CREATE VIEW {name} AS {select_sql(table, source.local_parts(name))}")
    conditions = list(terms.values())
    if _WHERE in terms:
        # A predicate of the user's runs on the guarded connection of the store, and never on this one.
        conditions.remove(terms[_WHERE])
        guard.condition(cut.where or "")
        chosen = Store.open(source.root).sql(
            f"select collection_id, instance_index from tasks where {terms[_WHERE]}"
        )
        connection.register("meets_where", chosen)
        conditions.append("(collection_id, instance_index) IN (FROM meets_where)")
    if cut.time:
        alive = (
            f"SELECT collection_id, instance_index FROM {name} WHERE {_is_in(name, cut.time)}"
            for name in _LIVES
        )
        conditions.append(f"(collection_id, instance_index) IN ({' UNION '.join(alive)})")
    # Collections without tasks count where whole collections are chosen; else a choice is one of tasks.
    names = ("collection_events", *_LIVES) if _by_collection(cut, terms) else ("tasks",)
    key, condition = _key(cut, terms), " AND ".join(conditions)
    queries = (f"SELECT {key} FROM {name} WHERE {condition}" for name in names)
    connection.execute(f"CREATE TEMP TABLE chosen AS {' UNION '.join(queries)}")


def _by_collection(cut: Criteria, terms: dict[str, str]) -> bool:
    return not cut.time and terms.keys() <= {"--jobs", "--fraction"}


def _key(cut: Criteria, terms: dict[str, str]) -> str:
    return "collection_id" if _by_collection(cut, terms) else "collection_id, instance_index"


def _is_in(name: str, time: tuple[int, int]) -> str:
    return f"{TABLES[name].time} >= {time[0]} AND {TABLES[name].time} < {time[1]}"


def _condition(name: str, cut: Criteria, terms: dict[str, str]) -> str:
    """SQL that is true for the rows of a table that belong to what was chosen."""
    # Machine tables and events before the time stay: without them a state at its start would be unknown.
    until = f"{TABLES[name].time} < {cut.time[1]}" if cut.time and TABLES[name].time else "true"
    if TABLES[name].is_about_machines:
        return until
    # Usage needs no earlier rows: a window says all it says by itself.
    if name == "instance_usage" and cut.time:
        until = _is_in(name, cut.time)
    key = _key(cut, terms) if "instance_index" in TABLES[name].names else "collection_id"
    return f"{until} AND ({key}) IN (SELECT {key} FROM chosen)"


def _describe(cut: Criteria, terms: dict[str, str]) -> str:
    # Ids may be a million, and a condition on a hash says nothing to a reader.
    short = {
        "--jobs": f"{len(cut.jobs)} jobs",
        "--machines": f"{len(cut.machines)} machines",
        "--fraction": f"fraction {cut.fraction}, seed {cut.seed}",
    }
    time = [f"time {cut.time[0]}..{cut.time[1]}"] if cut.time else []
    return " and ".join(time + [short.get(option, term) for option, term in terms.items()])
