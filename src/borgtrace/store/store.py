"""A store, open for reading: tables for questions, traces for tasks."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from borgtrace.errors import StoreNotice, UsageError, shell_word
from borgtrace.kernels.arrays import Index, ShortIndex
from borgtrace.schema import TABLES
from borgtrace.storage import RemotePath, as_path, translate_bucket_errors, user_cache
from borgtrace.store.columns import DEFAULT_COLUMNS
from borgtrace.store.compatibility import lacking_columns
from borgtrace.store.integrity import origin_of, read_intact
from borgtrace.store.kept_folders import Keeper
from borgtrace.store.kept_in_bucket import BucketKeeper
from borgtrace.store.layout import Layout
from borgtrace.store.manifest import Manifest
from borgtrace.store.traces import TraceReader, Traces
from borgtrace.store.version import checked_batches, expect_version, present_version

if TYPE_CHECKING:
    import duckdb
    import ibis.expr.types as ir
    import numpy.typing as npt
    import pyarrow as pa

    from borgtrace.engine.answer_columns import Carrier
    from borgtrace.engine.query_request import QueryRequest
    from borgtrace.store.ibis_tables import StoreTables


def open(path: str | Path, *, memory: str = "4GB") -> Store:
    """Open a store for reading.

    Parameters
    ----------
    path
        The store's folder, or its URL in a bucket.
    memory
        Budget of the engine that answers questions; it spills beyond.

    Raises
    ------
    StoreError
        When there is no store, it is half-built, of another major version, or a file is missing or
        has changed; the message has the command that mends it.

    Notes
    -----
    Takes milliseconds, except for a store that is new here: each of its files is compared with its digest once. Any
    number of processes may read at once.
    """
    return Store.open(path, memory=memory)


def _lacking_notice(store: Store, lacking: Sequence[str]) -> str:
    version = store.manifest.code_version
    names = ", ".join(lacking)
    return (
        f"{store.path}: made by borgtrace {version}, without {names} (NULL here); "
        f"to have them: borgtrace ingest SRC --store {shell_word(store.path)} --rebuild"
    )


class Store:
    """One cell's trace. Use `borgtrace.open`.

    Attributes
    ----------
    path
        The folder.
    manifest
        What it holds: tables, sources, quality counters; see `borgtrace.store.manifest.Manifest`.
    """

    def __init__(
        self,
        path: Path,
        manifest: Manifest,
        memory: str = "4GB",
        version: str | None = None,
    ) -> None:
        self.path = path
        self.manifest = manifest
        self.memory = memory
        self.layout = Layout(path)
        self._version = version

    @classmethod
    def open(cls, path: str | Path, *, memory: str = "4GB") -> Self:
        """Open a store of this class; see :func:`borgtrace.store.open`."""
        root = as_path(path)
        # First: a store that is replaced while it is opened is refused.
        version = present_version(root)
        with expect_version(root, version):
            store = cls(root, read_intact(root), memory, version)
            lacking = store._lacking_columns()
        if lacking:
            # stacklevel 3: the line that called the function `open`.
            warnings.warn(_lacking_notice(store, lacking), StoreNotice, stacklevel=3)
        return store

    def _lacking_columns(self) -> list[str]:
        """Return the columns that a store of this version would have values in."""
        manifest = self.manifest
        lacking = []
        for name in lacking_columns(self.layout, manifest.schema, manifest.format_version):
            table, column = name.split(".")
            if manifest.dialect.can_fill(table, column):
                lacking.append(name)
        return lacking

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process opens its own connections and maps the arrays again; it may run in another folder.
        return type(self), (self.path.absolute(), self.manifest, self.memory, self._version)

    @cached_property
    def keeper(self) -> Keeper:
        """Where aggregates of the store are kept: beside it, or in the user's cache."""
        places = (self.layout.cache, user_cache())
        return Keeper(places, origin_of(self.layout, self.manifest), self.expect_current)

    @cached_property
    def bucket_keeper(self) -> BucketKeeper | None:
        """Where aggregates are kept for the workers of a cluster; None for a store of this machine."""
        place = self.layout.shared_cache
        if not isinstance(place, RemotePath):
            return None
        return BucketKeeper(place, self.keeper.origin, self.expect_current)

    @contextmanager
    def expect_current(self) -> Iterator[None]:
        """Refuse what the block reads from the store's files, or any error of its, if the store is replaced meanwhile.

        An open store is a snapshot. Arrays that are open stay as they were; what is read by its name is the version
        that was opened, or is refused.

        Raises
        ------
        StoreError
            The store has been replaced since it was opened.
        """
        with expect_version(self.path, self._version):
            yield

    @property
    def digest(self) -> str:
        """Content digest of the store's tables: the same sources always give the same digest."""
        return self.manifest.digest

    @cached_property
    def tables(self) -> StoreTables:
        """The store's tables as Ibis tables: ``store.tables.instance_usage``."""
        # Imported late, here and below: Ibis takes half a second, opening a store milliseconds.
        from borgtrace.store.ibis_tables import StoreTables

        with self.expect_current():
            return StoreTables(self.layout, self.memory, self.expect_current)

    @property
    def tasks(self) -> ir.Table:
        """The index, one row per instance, as an Ibis table."""
        return self.tables.tasks

    @cached_property
    def _connection(self) -> duckdb.DuckDBPyConnection:
        from borgtrace.engine.guard import open_store

        with self.expect_current():
            files = {TABLES[name]: parts for name, parts in self._parts().items()}
            return open_store(self.path, files, memory=self.memory)

    def _parts(self) -> dict[str, list[str]]:
        # Another process works in another folder.
        return {name: [str(part.absolute()) for part in self.layout.parts(name)] for name in TABLES}

    def _request(
        self,
        query: str,
        parameters: Mapping[str, Any] | None,
        carrier: Carrier = "arrow",
        most_rows: int | None = None,
    ) -> QueryRequest:
        from borgtrace.engine.query_request import QueryRequest

        return QueryRequest(
            self.path.absolute(),
            self._parts(),
            self.memory,
            query,
            parameters,
            carrier,
            most_rows,
            self._version,
        )

    def sql(
        self,
        query: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
    ) -> pa.Table:
        """Answer one SELECT over the tables.

        Parameters
        ----------
        query
            A single query, or EXPLAIN of one; it can neither write nor read outside the store.
        parameters
            Values of ``$name`` in the query, which are never read as SQL.
        timeout
            Seconds it may take; any number where None. With one, the query runs in a process of its own, which is
            ended when the time is over or when it holds an eighth (at least 150 MB) more than the store's `memory`.

        Raises
        ------
        UsageError
            When it is not a single query, or names what does not exist.
        EngineError
            When the engine refuses the work, or the time is over.
        StoreError
            When the store has been replaced since it was opened, or its bucket cannot be read.
        """
        if timeout is not None:
            from borgtrace.engine.query_process import table_apart

            with self.expect_current():
                return table_apart(self._request(query, parameters), timeout)
        from borgtrace.engine.guard import query as guarded_query

        with self.expect_current(), translate_bucket_errors(self.path):
            return guarded_query(self._connection, query, parameters=parameters)

    def stream(
        self,
        query: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        is_bounded: bool = False,
        carrier: Carrier = "arrow",
        most_rows: int | None = None,
    ) -> pa.RecordBatchReader:
        """Answer one SELECT in batches, for answers larger than memory; refuses what `sql` refuses.

        Parameters
        ----------
        query, parameters, timeout
            As for :meth:`sql`; the time is over when the last batch is taken.
        is_bounded
            Whether the query runs in a process of its own without a `timeout`, too: for queries of strangers.
        carrier
            Who takes the rows: columns of types that it lacks come as text, ``"text"`` knows numbers, texts, lists
            and records only.
        most_rows
            Rows after which the answer of such a process ends; all where None.
        """
        with self.expect_current():
            if is_bounded or timeout is not None:
                from borgtrace.engine.query_process import stream_apart

                reader = stream_apart(
                    self._request(query, parameters, carrier, most_rows),
                    timeout,
                )
            else:
                from borgtrace.engine.guard import stream

                reader = stream(self._connection, query, parameters=parameters, carrier=carrier)
        return checked_batches(reader, self.expect_current)

    def attach_sql(self) -> str:
        """Return the statements that make the tables views in any DuckDB: ``borgtrace sql STORE --attach``.

        Raises
        ------
        UsageError
            The store is in a bucket.
        """
        from borgtrace.engine.attached import attach_sql

        return attach_sql({TABLES[name]: parts for name, parts in self._parts().items()})

    @cached_property
    def _reader(self) -> TraceReader:
        with self.expect_current():
            return TraceReader(self.layout, lambda: self.keeper, self.expect_current)

    def task_columns(self, columns: Sequence[str]) -> pa.Table:
        """Return columns of the index, one row per instance in task order.

        Raises
        ------
        StoreError
            When the store has been replaced since it was opened.
        """
        with self.expect_current():
            return self.layout.tasks(columns)

    def usage_rows(self) -> int:
        """Return the number of usage rows.

        Raises
        ------
        UsageError
            When there is none: nothing can be made from usage then.
        """
        rows = self.manifest.tables.get("instance_usage", 0)
        dialect = self.manifest.dialect
        if not rows and not dialect.publishes_table("instance_usage"):
            raise UsageError(
                str(self.path),
                f"{dialect.title} publishes no usage",
                way_out="take a trace that does",
            )
        if not rows:
            raise UsageError(
                str(self.path),
                "the store has no usage",
                expected="rows in instance_usage",
                got="none",
                way_out="ingest task_usage or instance_usage files first",
            )
        return rows

    @property
    def offsets(self) -> Index:
        """Row of each task's first window in the arrays, and the number of rows last: (n + 1,)."""
        return self._reader.offsets

    def array(
        self,
        column: str,
        spans: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None = None,
    ) -> npt.NDArray[np.generic]:
        """Return one usage column of all tasks in task order, memory-mapped (built on first use).

        Parameters
        ----------
        column
            Its name.
        spans
            First rows and ends of what is needed, shape (n,) both: of a store in a bucket, no more than that is sure
            to be fetched. All of it where None.
        """
        return self._reader.array(column, spans)

    def trace(
        self, collection_id: int, instance_index: int, columns: Sequence[str] = ()
    ) -> dict[str, npt.NDArray[np.generic]]:
        """Return one task's windows in time order.

        Parameters
        ----------
        collection_id, instance_index
            The task.
        columns
            Further columns, as for :meth:`traces`.

        Returns
        -------
        dict
            Arrays of shape (n,), views of memory maps: ``start_time`` (s), ``duration`` (s),
            ``average_cpu``, ``sampled_cpu``, ``average_memory`` (NaN for NULL), and the further columns.

        Raises
        ------
        UsageError
            When the store has no such task or column.

        Notes
        -----
        A binary search in the index and five slices: microseconds.
        """
        arrays = self._reader.trace(collection_id, instance_index)
        if columns:
            arrays.update(self.traces([(collection_id, instance_index)], columns).columns)
        return arrays

    def traces(
        self,
        selection: str | Sequence[tuple[int, int]] | npt.NDArray[np.integer[Any]] | None = None,
        columns: Sequence[str] = DEFAULT_COLUMNS,
    ) -> Traces:
        """Return many tasks as flat columns and offsets.

        Parameters
        ----------
        selection
            SQL predicate over ``tasks``; or (collection_id, instance_index) pairs; or positions in
            ``tasks``; all tasks where None.
        columns
            Numeric usage columns, ``start_time`` and ``duration``; percentiles of a window's CPU, ``p0`` to ``p100``,
            or a distribution, for all that it holds.

        Raises
        ------
        UsageError
            For an unknown task or column, or a predicate that does not parse.
        """
        return self._reader.traces(self.select_tasks(selection), tuple(columns))

    def task_rows(self, pairs: Index) -> Index:
        """Return the positions of tasks given as (collection_id, instance_index), shape (n, 2).

        Raises
        ------
        UsageError
            For the first task that the store does not have.
        """
        return self._reader.rows(pairs)

    def task_ids(self, rows: Index) -> tuple[Index, ShortIndex]:
        """Return collection ids and instance indexes of tasks given by their positions."""
        return self._reader.collections[rows], self._reader.instances[rows]

    def rows_of_collection(self, collection_id: int) -> tuple[int, int]:
        """Return the positions of the instances of a collection: the first, and the one after the last."""
        collections = self._reader.collections
        first, end = np.searchsorted(collections, [collection_id, collection_id + 1])
        return int(first), int(end)

    def select_tasks(self, selection: Any = None) -> Index:
        """Return the positions of the tasks of a selection, as :meth:`traces` takes it."""
        if selection is None:
            return np.arange(len(self._reader.collections))
        if isinstance(selection, str):
            return self._rows_where(selection)
        if isinstance(selection, np.ndarray) and selection.ndim == 1:
            # One dimension is positions; two are pairs of ids.
            return selection.astype(np.int64, copy=False)
        pairs = np.asarray(selection, np.int64).reshape(-1, 2)
        return self._reader.rows(pairs)

    def _rows_where(self, predicate: str) -> Index:
        from borgtrace.engine.guard import condition

        # Through `sql`, so that the guard judges a predicate too: it may come from a stranger.
        answer = self.sql(
            f"""
            SELECT r
            FROM (
                SELECT
                    *,
                    -- In key order this is the position in the index, whose file has that order.
                    row_number() OVER (ORDER BY collection_id, instance_index) - 1 AS r
                FROM tasks
            ) AS tasks
            WHERE {condition(predicate)}
            ORDER BY r
            """
        )
        return answer.column("r").to_numpy().astype(np.int64)

    def __repr__(self) -> str:
        """Say what the store is in one line."""
        manifest = self.manifest
        made = f"{manifest.made}, " if manifest.made else ""
        cell = f" cell {manifest.cell}" if manifest.cell else ""
        n_rows = sum(manifest.tables.values())
        facts = f"{made}{manifest.generation}{cell}, {n_rows:,} rows"
        return f"<Store {self.path} ({facts})>"

    def _repr_html_(self) -> str:
        """Show the tables in a notebook."""
        manifest = self.manifest
        rows = [
            f"<tr><td>{name}</td><td style='text-align:right'>{count:,}</td></tr>"
            for name, count in manifest.tables.items()
        ]
        made = f" — <b>{manifest.made}</b>" if manifest.made else ""
        # Generation and cell come from a file that may be anybody's.
        trace = escape(manifest.dialect.title)
        title = f"{trace} {escape(manifest.cell)}{made}"
        header = "<tr><th>table</th><th>rows</th></tr>"
        return f"<table><caption>{title}</caption>{header}{''.join(rows)}</table>"
