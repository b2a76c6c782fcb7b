"""The tables of a store as attributes, on the embedded engine."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pyarrow as pa
from ibis.backends.duckdb import Backend

from borgtrace.engine import read_table, to_batches
from borgtrace.engine.embedded import raw_connection
from borgtrace.engine.frames import import_pandas
from borgtrace.schema import TABLES
from borgtrace.store.layout import Layout
from borgtrace.store.version import checked_batches

from ibis.expr import types as ir  # isort: skip

ExpectCurrent = Callable[[], AbstractContextManager[None]]


class StoreBackend(Backend):
    """Ibis on DuckDB, over the tables of one version of a store: an answer is of that version, or is refused."""

    expect_current: ExpectCurrent

    def execute(self, *arguments: Any, **options: Any) -> Any:
        """Answer with a frame of pandas."""
        import_pandas()
        with self.expect_current():
            return super().execute(*arguments, **options)

    def to_pyarrow(self, *arguments: Any, **options: Any) -> Any:
        """Answer with a table of Arrow."""
        with self.expect_current():
            return super().to_pyarrow(*arguments, **options)

    def to_polars(self, *arguments: Any, **options: Any) -> Any:
        """Answer with a frame of polars."""
        with self.expect_current():
            return super().to_polars(*arguments, **options)

    def to_parquet(self, *arguments: Any, **options: Any) -> None:
        """Write the answer as Parquet."""
        with self.expect_current():
            super().to_parquet(*arguments, **options)

    def to_csv(self, *arguments: Any, **options: Any) -> None:
        """Write the answer as CSV."""
        with self.expect_current():
            super().to_csv(*arguments, **options)

    def to_pyarrow_batches(
        self, expr: Any, /, *, chunk_size: int = 1_000_000, **_: Any
    ) -> pa.RecordBatchReader:
        """Answer in batches; each is checked before it is handed out."""
        with self.expect_current():
            # Ibis's own method calls what DuckDB has renamed.
            reader = to_batches(expr.as_table(), chunk_size)
        return checked_batches(reader, self.expect_current)


class StoreTables:
    """Ibis tables by name: ``tables.instance_events``; a table without files is empty.

    Parameters
    ----------
    layout
        The store.
    memory
        Budget of the engine.
    expect_current
        Makes a block that refuses what is read in it if the store has been replaced.
    """

    def __init__(self, layout: Layout, memory: str, expect_current: ExpectCurrent) -> None:
        self.connection = StoreBackend.from_connection(raw_connection(memory))
        self.connection.expect_current = expect_current
        # As attributes of the instance, so that an editor or notebook completes their names.
        attributes = vars(self)
        for name, table in TABLES.items():
            files = [str(part) for part in layout.parts(name)]
            attributes[name] = read_table(self.connection, table, files)

    def __getattr__(self, name: str) -> ir.Table:
        """Say which tables there are; only an unknown name gets here."""
        raise AttributeError(f"no table {name}; there are {', '.join(TABLES)}")
