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

TIME_COLUMNS = ("start_time", "duration")
"""Columns in seconds."""
SHOWN_WINDOWS = 10
"""Windows that a notebook shows."""
PLOTTED_COLUMNS = {"average_cpu": "mean of the window", "sampled_cpu": "one second of it"}


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
        heading = "".join(f"<th>{name} ({unit})</th>" for name, unit in self.units.items())
        first_values = [column[:SHOWN_WINDOWS].tolist() for column in self.columns.values()]
        rows = []
        for values in zip(*first_values, strict=True):
            cells = "".join(f"<td>{value:.6g}</td>" for value in values)
            rows.append(f"<tr>{cells}</tr>")
        caption = f"<caption>{escape(repr(self))}</caption>"
        return f"<table>{caption}<tr>{heading}</tr>{''.join(rows)}</table>"

    @property
    def units(self) -> dict[str, str]:
        """Unit of each column, as the schema declares it; times are seconds."""
        units = {column.name: column.unit for column in TABLES["instance_usage"].columns}
        for name, (distribution, _) in PERCENTILES.items():
            units[name] = units[distribution]
        for name in TIME_COLUMNS:
            units[name] = "s"
        return {name: units[name] for name in self.columns}

    def to_pandas(self) -> pd.DataFrame:
        """Return the columns as a frame of pandas, one row per window."""
        import pandas as pd

        return pd.DataFrame(dict(self.columns))

    def plot(self) -> Chart:
        """Draw CPU usage over time: the mean of each window and its one sampled second."""
        import altair as alt

        from borgtrace.question import charts

        rows = []
        for column, series in PLOTTED_COLUMNS.items():
            for start, cpu in zip(self["start_time"], self[column], strict=True):
                hour = float(start) * SECOND / HOUR
                rows.append(
                    {
                        "hour": hour,
                        "cpu": float(cpu),
                        "series": series,
                    }
                )
        title = f"Task {self.collection_id}-{self.instance_index}"
        return (
            charts.base(rows, title)
            .mark_line()
            .encode(
                x=alt.X("hour:Q", title="hour of the trace (h)"),
                y=alt.Y("cpu:Q", title="CPU"),
                color=alt.Color("series:N", title="series"),
                tooltip=charts.tooltips(rows),
            )
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
        self,
        question: str,
        *,
        where: str = "",
        engine: str = "duckdb",
        **parameters: Any,
    ) -> Result:
        """Answer a question: a table, a chart, and claims with their verdicts.

        Parameters
        ----------
        question
            Its name; ``borgtrace.catalog.names()`` has all of them.
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
        from borgtrace.catalog import find
        from borgtrace.question import EngineTables
        from borgtrace.schema.time import parse_time

        asked_question = find(question)
        for name, unit in asked_question.time_units.items():
            value = parameters.get(name)
            if isinstance(value, str):
                kind = type(asked_question.parameters[name])
                parameters[name] = kind(parse_time(value, name) / unit)
        tables = EngineTables.of(self.path, engine, where=where, memory=self.memory)
        return asked_question.run(tables, **parameters)

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
        arrays = super().trace(collection_id, instance_index, columns)
        return Trace(collection_id, instance_index, arrays)


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
                    "question": question,
                    "id": finding.id,
                    "statement": finding.statement,
                    "published": finding.published,
                }
                row = rows.setdefault(finding.id, claim)
                row[f"{label} measured"] = finding.measured
                row[f"{label} verdict"] = finding.verdict
    return pa.Table.from_pylist(list(rows.values()))
