"""What `borgtrace.open` returns: a store with its questions, its page and pictures of its tasks.

The layers below know tables and arrays; this one puts what they can do within reach of a dot.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from borgtrace.schema import PERCENTILES, TABLES
from borgtrace.schema.time import HOUR, SECOND
from borgtrace.store.store import Store as StoredTables

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import numpy.typing as npt
    import pandas as pd
    import pyarrow as pa

    from borgtrace.question import Result
    from borgtrace.question.charts import Chart
    from borgtrace.report import Summary

_SECONDS = ("start_time", "duration")
_SHOWN = 10
"""Windows that a notebook shows."""


# Not frozen: that would triple the time to make one, of which there are as many as tasks that are looked at.
@dataclass(slots=True, repr=False)
class Trace(Mapping[str, "npt.NDArray[np.generic]"]):
    """One task's usage: a mapping of column names to arrays of shape (n,), read-only views of the store.

    Times are seconds of the trace, amounts fractions of the largest machine, NaN where the trace has no value.

    Attributes
    ----------
    collection_id, instance_index
        The task.
    columns
        The arrays by name.
    """

    collection_id: int
    instance_index: int
    columns: Mapping[str, npt.NDArray[np.generic]]

    def __getitem__(self, name: str) -> npt.NDArray[np.generic]:
        """Return a column by its name."""
        return self.columns[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the columns."""
        return iter(self.columns)

    def __len__(self) -> int:
        """Return the number of columns."""
        return len(self.columns)

    def __getattr__(self, name: str) -> npt.NDArray[np.generic]:
        """Return a column as an attribute: ``trace.average_cpu``."""
        try:
            return self.columns[name]
        except KeyError:
            raise AttributeError(name) from None

    def __repr__(self) -> str:
        windows = len(next(iter(self.columns.values())))
        return f"<Trace of task {self.collection_id}-{self.instance_index}: {windows:,} windows>"

    def _repr_html_(self) -> str:
        """Show the first windows in a notebook."""
        units = self.units
        head = "".join(f"<th>{name} ({units[name]})</th>" for name in self)
        first = zip(*(column[:_SHOWN].tolist() for column in self.columns.values()), strict=True)
        body = "".join(
            "<tr>" + "".join(f"<td>{value:.6g}</td>" for value in row) + "</tr>" for row in first
        )
        return f"<table><caption>{escape(repr(self))}</caption><tr>{head}</tr>{body}</table>"

    @property
    def units(self) -> dict[str, str]:
        """Unit of each column, as the schema declares it; times are seconds."""
        usage = {column.name: column.unit for column in TABLES["instance_usage"].columns}
        usage |= {name: usage[held_in] for name, (held_in, _) in PERCENTILES.items()}
        return {name: "s" if name in _SECONDS else usage[name] for name in self.columns}

    def to_pandas(self) -> pd.DataFrame:
        """Return the columns as a frame of pandas, one row per window."""
        import pandas as pd

        return pd.DataFrame(dict(self.columns))

    def plot(self) -> Chart:
        """Draw CPU usage over time: the mean of each window and its one sampled second."""
        import pyarrow as pa

        from borgtrace.question.charts import Plot, line
        from borgtrace.schema import Column, Table

        hours = np.asarray(self["start_time"], float) * SECOND / HOUR
        rows = {
            "hour": np.tile(hours, 2),
            "cpu": np.concatenate([self["average_cpu"], self["sampled_cpu"]]).astype(float),
            "series": np.repeat(["mean of the window", "one second of it"], len(hours)),
        }
        columns = (
            Column("hour", "float64", "h", "Hour of the trace."),
            Column("cpu", "float64", "fraction", "CPU."),
            Column("series", "string", "", "Mean of the window, or its sampled second."),
        )
        declared = Table("trace", "window", ("hour",), columns)
        title = f"Task {self.collection_id}-{self.instance_index}"
        return (
            Plot(pa.table(rows), declared, x="hour", y="cpu", color="series")
            .add(line())
            .draw(title)
        )


class Store(StoredTables):
    """One cell's trace, open for questions.  Use `borgtrace.open`.

    Examples
    --------
    ::

        store = borgtrace.open("cell-2011")
        store.sql("select count(*) from tasks where priority >= $low", {"low": 9})
        store.table("tasks").group_by("priority").count().to_pandas()
        store.analyze("queue_length", step="1h").plot()
        store.trace(3418309, 0).plot()
        store.report("report.html")
    """

    def table(self, name: str) -> ir.Table:
        """Return a table as an Ibis expression, with ``.to_pandas()``, ``.to_polars()`` and ``.to_pyarrow()``.

        Raises
        ------
        UsageError
            Where the store has no such table; the message names the nearest.
        """
        from borgtrace.errors import check_names

        check_names("name", (name,), TABLES, "no such table")
        return getattr(self.tables, name)

    def analyze(
        self, question: str, *, where: str = "", engine: str = "duckdb", **parameters: Any
    ) -> Result:
        """Answer a question: a table, a chart, and claims with their verdicts.

        Parameters
        ----------
        question
            Its name; ``borgtrace.question.recipes()`` has all of them.
        where
            SQL predicate that selects tasks.
        engine
            ``"duckdb"``, ``"local[N]"`` or ``"spark://HOST:PORT"``.
        parameters
            Parameters of the question; times may be amounts such as ``"1h30m"``.

        Raises
        ------
        UsageError
            For an unknown question or parameter, or a predicate that is none.
        """
        from borgtrace.question import EngineTables, find_recipe
        from borgtrace.schema.time import parse_time

        recipe = find_recipe(question)
        for name, unit in recipe.time_units.items():
            if isinstance(value := parameters.get(name), str):
                parameters[name] = type(recipe.parameters[name])(parse_time(value, name) / unit)
        return recipe.run(
            EngineTables.of(self.path, engine, where=where, memory=self.memory), **parameters
        )

    def report(self, out: str | Path, questions: Sequence[str] = ()) -> Summary:
        """Write one self-contained page with the answers to some questions, or to all.

        Raises
        ------
        UsageError
            For an unknown question.
        """
        from borgtrace.report import write

        return write(self, Path(out), questions, memory=self.memory)

    def trace(  # type: ignore[override]
        self, collection_id: int, instance_index: int, columns: Sequence[str] = ()
    ) -> Trace:
        """Return one task's usage, window by window.

        Parameters
        ----------
        collection_id, instance_index
            The task.
        columns
            Further columns, such as ``p50``, or a distribution for all of its percentiles (2019).

        Raises
        ------
        UsageError
            When the store has no such task or column.

        Notes
        -----
        A binary search in the index and five slices: microseconds.
        """
        return Trace(
            collection_id, instance_index, super().trace(collection_id, instance_index, columns)
        )


def open(path: str | Path, *, memory: str = "4GB") -> Store:
    """Open a store for questions.

    Parameters
    ----------
    path
        The store's folder.
    memory
        Budget of the engine that answers questions; it spills beyond.

    Raises
    ------
    StoreError
        When there is no store, it is half-built, of another major version, or a file is missing or
        unreadable; the message has the command that mends it.

    Notes
    -----
    Takes milliseconds: only the manifest and the footers of the files are read.  Any number of processes may read
    at once.
    """
    return Store.open(path, memory=memory)


def compare(stores: Mapping[str, Store | str | Path], questions: Sequence[str]) -> pa.Table:
    """Judge the claims of some questions on several stores, side by side.

    Parameters
    ----------
    stores
        Stores, or paths of them, by the label that their columns get.
    questions
        Names of questions.

    Returns
    -------
    pyarrow.Table
        A row per claim: question, id, statement, published; then measured and verdict of each store, as
        ``LABEL measured`` and ``LABEL verdict``.

    Raises
    ------
    StoreError
        Where one of them cannot be opened.
    UsageError
        For an unknown question.
    """
    import pyarrow as pa

    rows: dict[str, dict[str, str]] = {}
    for label, store in stores.items():
        opened = store if isinstance(store, Store) else open(store)
        for question in questions:
            for finding in opened.analyze(question).findings:
                claim = {
                    "id": finding.id,
                    "statement": finding.statement,
                    "published": finding.published,
                }
                row = rows.setdefault(finding.id, {"question": question, **claim})
                row[f"{label} measured"], row[f"{label} verdict"] = (
                    finding.measured,
                    finding.verdict,
                )
    return pa.Table.from_pylist(list(rows.values()))
