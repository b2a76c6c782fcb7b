"""The tables of a store on an engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from copy import copy
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ibis
import pyarrow as pa

from borgtrace.engine import connect, guard, put_parts, put_table, read_table, to_arrow, to_batches
from borgtrace.engine.dtypes import ibis_schema
from borgtrace.engine.memory import parse_memory
from borgtrace.errors import BorgtraceError, UsageError, shell_word
from borgtrace.lifecycle import DERIVED, Cache, drop, hold
from borgtrace.notation import Names, ResourceAmounts
from borgtrace.question.provenance import Provenance
from borgtrace.question.shared_tables import (
    LeftToSQLError,
    PlannedQuestion,
    SharedTable,
    reads_of,
)
from borgtrace.question.tables import Tables
from borgtrace.question.window_passes import PlannedPasses, WindowPass
from borgtrace.schema import TABLES
from borgtrace.store import Store
from borgtrace.store import open as open_store
from borgtrace.store.coverage import StoreCoverage, coverage
from borgtrace.store.kept_folders import Keeper

if TYPE_CHECKING:
    from ibis.backends.sql import SQLBackend

_PER_INSTANCE = tuple(name for name, table in TABLES.items() if "instance_index" in table.names)
# A predicate chooses other tasks of another parent, and all of them share the names of one connection.
_SERIAL = count()


class EngineTables(Tables):
    """Tables with rows; derived ones are computed on first use and, for a store, kept beside it.

    Parameters
    ----------
    tables
        Ibis tables by name; a canonical table that is not among them is empty.
    origin
        What the rows come from: what the store says of itself, the engine, the predicate the tables were filtered by.
    cache
        Where derived tables are kept; in the engine's memory where None.
    n_rows
        Row counts that are known already.
    traces
        The store's access to per-task arrays, or None: the pool of a colocation study is gathered from them.
    coverage
        How much of the whole trace the tables hold; all of it where None.
    sql
        The store's guarded connection, where predicates are run whatever the engine: they may come from a stranger.
        None runs them on one that holds nothing but the table of tasks.
    """

    def __init__(
        self,
        tables: Mapping[str, ibis.Table],
        origin: Provenance | None = None,
        *,
        cache: Cache | None = None,
        n_rows: Mapping[str, int] | None = None,
        traces: Any = None,
        coverage: StoreCoverage | None = None,
        sql: Callable[[str], pa.Table] | None = None,
    ) -> None:
        self.origin = origin or Provenance()
        known = self.origin
        super().__init__(
            known.generation, synthetic=known.is_synthetic, engine=known.engine, coverage=coverage
        )
        self.has_blocks = known.engine == "duckdb"
        self._tables = dict(tables)
        self._derived: dict[str, ibis.Table] = {}
        self._planned_reads: Counter[SharedTable] = Counter()
        self._shared: dict[SharedTable, ibis.Table] = {}
        self._n_rows = dict(n_rows or {})
        self._cache = cache if cache is not None else Cache(None)
        self.traces = traces
        self.expect_current: Callable[[], AbstractContextManager[None]] = nullcontext
        self._sql = sql or self._sql_over_tasks

    @classmethod
    def of(
        cls,
        store: Store | str | Path,
        engine: str | None = None,
        *,
        where: str = "",
        memory: str | None = None,
        threads: int | None = None,
    ) -> EngineTables:
        """Open the tables of a store on an engine.

        Parameters
        ----------
        store
            An open store or the path of one.
        engine
            ``"duckdb"`` (default), ``"local[n]"`` or ``"spark://host:port"``.
        where
            SQL predicate over ``tasks``: only the tasks that satisfy it, and what belongs to them.
        memory
            Budget of the engine; that of an open store where None, and 4 GB for a path.
        threads
            Of the engine; all cores where None.
        """
        if isinstance(store, str | Path):
            store = open_store(store, memory=memory or "4GB")
        opened = store
        memory = memory or opened.memory
        url = engine or "duckdb"
        n_rows = max(opened.manifest.tables.values(), default=0)
        connection = connect(url, memory=memory, threads=threads, n_rows=n_rows)
        is_spark = connection.name == "pyspark"
        tables = _read_tables(opened, connection, is_spark=is_spark)
        # What workers write to their own disks no other one sees.
        keeper: Keeper | None = opened.keeper
        if is_spark:
            # Nor what is in this user's cache, on this machine.
            beside_store = replace(opened.keeper, places=opened.keeper.places[:1])
            keeper = None if opened.layout.is_remote else beside_store
        manifest = opened.manifest
        made = cls(
            tables,
            provenance_of_store(opened, url),
            # The manifest has counted the rows already: asking whether a table has any costs no scan.
            n_rows=manifest.tables,
            cache=Cache(keeper),
            traces=opened.traces,
            coverage=coverage(manifest),
            sql=opened.sql,
        )
        made.memory = parse_memory(memory)
        made.expect_current = opened.expect_current
        made.amounts = ResourceAmounts.of(manifest)
        made.names = Names(opened)
        made.targets = (manifest.synthetic or {}).get("targets", ())
        return made.filter(where) if where else made

    @property
    def where(self) -> str:
        """The predicate that chose the tasks; empty where all of them are here."""
        return self.origin.where

    def canonical(self, name: str) -> ibis.Table:
        """Return a table of the trace; one that was not given is empty."""
        if name not in self._tables:
            self._tables[name] = ibis.memtable(ibis_schema(TABLES[name]).to_pyarrow().empty_table())
        return self._tables[name]

    def derived(self, name: str) -> ibis.Table:
        """Return a derived table, computed on first use."""
        if name not in self._derived:
            derived = DERIVED[name]
            with self.expect_current():
                self._derived[name] = self._cache.keep(self[derived.reads], derived, self.dialect)
        return self._derived[name]

    def plan(
        self,
        questions: Iterable[PlannedQuestion],
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        """Take note of the questions that will be asked in one run, so that what they share is computed once.

        What none of them reads is dropped.

        Parameters
        ----------
        questions
            All of them; questions that are asked without a plan share nothing.
        parameters
            Values that were set; each question takes its own.
        """
        questions = list(questions)
        self._planned_reads = reads_of(questions)
        passes: list[WindowPass] = []
        for question in questions:
            passes += question.window_passes(self, parameters or {})
        self.passes.plan(passes)
        for table in self._shared.keys() - self._planned_reads.keys():
            drop(self._shared.pop(table))

    def shared(self, table: SharedTable) -> ibis.Table:
        """Return a shared table: made by compiled code where it can be, or where the plan reads it more than once."""
        if table in self._shared:
            return self._shared[table]
        expr = table.build(self)
        name = f"{table.name}_{next(_SERIAL)}"
        with self.expect_current():
            held = self._hold_parts(table, expr, name)
            if held is None and self._planned_reads[table] <= 1:
                # Within its one query nothing is written, and columns that nobody reads are not computed.
                return expr
            # Counts within the engine's memory, and is spilled like all that it holds.
            self._shared[table] = hold(expr, name) if held is None else held
        return self._shared[table]

    def _hold_parts(self, table: SharedTable, expr: ibis.Table, name: str) -> ibis.Table | None:
        if table.parts is None or not self.has_blocks:
            return None
        with suppress(LeftToSQLError):
            return put_parts(ibis.get_backend(expr), name, table.parts(self))
        return None

    def n_rows(self, name: str) -> int:
        """Return the number of rows of a table, counting them on first use."""
        if name not in self._n_rows:
            table = self[name]
            counted = to_arrow(table.aggregate(n=table.count()))
            self._n_rows[name] = counted["n"][0].as_py()
        return self._n_rows[name]

    def fetch(self, expr: ibis.Table, stage: str | None = None) -> pa.Table:
        """Run a relational stage and return its rows.

        Raises
        ------
        StoreError
            The store has been replaced since it was opened.
        """
        with self.expect_current():
            return to_arrow(expr)

    def fetch_batches(
        self, expr: ibis.Table, stage: str | None = None, rows: int = 1_000_000
    ) -> Generator[pa.RecordBatch]:
        """Run a relational stage and yield its rows as the embedded engine finds them.

        Raises
        ------
        StoreError
            The store has been replaced since it was opened.
        """
        # Closed also where nobody wants the last batch: until then the connection answers no other query.
        with self.expect_current(), to_batches(expr, rows) as reader:
            yield from reader

    def filter(self, predicate: str) -> EngineTables:
        """Keep the tasks that satisfy an SQL predicate over ``tasks``, and what belongs to them.

        Raises
        ------
        UsageError
            Where the predicate is not SQL over the columns of ``tasks``.
        """
        chosen = self._choose(predicate)
        collections = chosen.select("collection_id").distinct()
        tables = dict(self._tables)
        # Tables of machines stay whole: a machine belongs to no task.
        for name in (*_PER_INSTANCE, "collection_events"):
            table = self.canonical(name)
            if name == "collection_events":
                tables[name] = table.semi_join(collections, "collection_id")
            else:
                tables[name] = table.semi_join(chosen, ["collection_id", "instance_index"])
        # Derived tables and counts of the whole are none of its part; arrays of tasks know no predicate.
        made = copy(self)
        made._tables = tables
        made._derived = {}
        made._shared = {}
        made.passes = PlannedPasses()
        made._n_rows = {}
        made.traces = None
        made._cache = self._cache.narrowed(predicate)
        before = self.origin.where
        where = f"({before}) and ({predicate})" if before else predicate
        made.origin = replace(self.origin, where=where)
        return made

    def interrupt(self) -> None:
        """End the query that the embedded engine is running, from another thread; others hear of signals themselves."""
        backend = self.canonical("tasks").get_backend()
        if backend.name == "duckdb":
            backend.con.interrupt()

    def provenance(self, parameters: Mapping[str, Any], seconds: float) -> Provenance:
        """Say what a result comes from.

        Parameters
        ----------
        parameters
            Parameters of the question, as they were used.
        seconds
            How long the answer took.

        Raises
        ------
        StoreError
            The store has been replaced since it was opened: the answer may come from two versions.
        """
        with self.expect_current():
            return replace(self.origin, parameters=dict(parameters), seconds=seconds)

    def _choose(self, predicate: str) -> ibis.Table:
        try:
            ids = self._sql(
                f"SELECT collection_id, instance_index FROM tasks WHERE {guard.condition(predicate)}"
            )
        except BorgtraceError as error:
            what = f"not a predicate over tasks: {error.what}{f': {error.got}' * bool(error.got)}"
            store = shell_word(self.origin.store or "STORE")
            way_out = f"see its columns: borgtrace info {store} --schema"
            raise UsageError("--where", what, got=predicate, way_out=way_out) from error
        # Held by the engine: every table is filtered by it.
        return put_table(self.canonical("tasks").get_backend(), f"chosen_{next(_SERIAL)}", ids)

    def _sql_over_tasks(self, query: str) -> pa.Table:
        return guard.query(guard.open_tasks(to_arrow(self.canonical("tasks"))), query)


def _read_tables(store: Store, connection: SQLBackend, *, is_spark: bool) -> dict[str, ibis.Table]:
    """Return the canonical tables of a store on an engine."""
    # All Spark tables of a process live in one session: two stores must not share their names.
    suffix = f"_{store.digest[:16]}" if is_spark else ""
    tables = {}
    with store.expect_current():
        for name, table in TABLES.items():
            parts = [str(part) for part in store.layout.parts(name)]
            tables[name] = read_table(connection, table, parts, name=f"{name}{suffix}")
    return tables


def provenance_of_store(store: Store, engine: str) -> Provenance:
    """Return what an answer about a store is computed from, before anything is asked.

    Parameters
    ----------
    store
        The store.
    engine
        What computes it.
    """
    manifest = store.manifest
    return Provenance(
        store=str(store.path),
        digest=store.digest,
        generation=manifest.generation,
        cell=manifest.cell,
        is_synthetic=manifest.is_synthetic,
        engine=engine,
        is_simulated=manifest.made == "simulated",
    )
