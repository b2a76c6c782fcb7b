"""The usage of one task, and of many: columns by name, a frame, a table for notebooks, or a chart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from borgtrace.engine.frames import import_pandas
from borgtrace.interactive.arrow_traces import tasks_with_windows, windows_of_task
from borgtrace.kernels.arrays import Index, ShortIndex
from borgtrace.notation import Names, ResourceAmounts
from borgtrace.schema import PERCENTILES, TABLES
from borgtrace.schema.time import HOUR, SECOND, TRACE_START
from borgtrace.store.traces import Traces

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd
    import pyarrow as pa

    from borgtrace.question.charts import Chart
    from borgtrace.store.store import Store

TIME_COLUMNS = ("start_time", "duration")
"""Columns in seconds."""
SHOWN_WINDOWS = 10
"""Windows that a notebook shows."""
SHOWN_TASKS = 10
"""Tasks that a notebook shows."""
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
    store
        Where it was read, which knows its name and the size of machines; None where that is not known.
    """

    collection_id: int
    instance_index: int
    columns: Mapping[str, npt.NDArray[np.generic]]
    store: Store | None = None

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
        return import_pandas().DataFrame(dict(self.columns))

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        """Hand the columns, a row per window, to a library that reads Arrow; NaN stays NaN, and nothing is copied."""
        return windows_of_task(self.columns).__arrow_c_array__(requested_schema)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Do the same for libraries that take streams alone."""
        batch = windows_of_task(self.columns)
        return batch.__arrow_c_stream__(requested_schema)

    def plot(self) -> Chart:
        """Draw CPU usage over time: the mean of each window and its one sampled second."""
        import altair as alt

        from borgtrace.question import charts

        name = f"{self.collection_id}-{self.instance_index}"
        amounts = ResourceAmounts()
        if self.store is not None:
            name = Names(self.store).task(self.collection_id, self.instance_index)
            amounts = ResourceAmounts.of(self.store.manifest)
        rows = []
        for column, series in PLOTTED_COLUMNS.items():
            for start, cpu in zip(self["start_time"], self[column], strict=True):
                hour = (float(start) * SECOND - TRACE_START) / HOUR
                rows.append(
                    {
                        "hour": hour,
                        "cpu": float(cpu) * amounts.factor("cpu"),
                        "series": series,
                    }
                )
        title = f"Task {name}"
        return (
            charts.base(rows, title)
            .mark_line()
            .encode(
                x=alt.X("hour:Q", title="hours since the start"),
                y=alt.Y("cpu:Q", title=amounts.heading("CPU", "cpu")),
                color=alt.Color("series:N", title="series"),
                tooltip=charts.tooltips(rows),
            )
        )


@dataclass(frozen=True, slots=True, repr=False)
class TaskTraces(Traces):
    """Traces of several tasks: as flat columns and offsets, and one by one as :class:`Trace`.

    Attributes
    ----------
    collection_ids, instance_indexes
        The tasks, shape (n,).
    store
        Where they were read.
    """

    collection_ids: Index
    instance_indexes: ShortIndex
    store: Store

    def __getitem__(self, i: int) -> Trace:
        """Return the i-th task's usage; the last is −1."""
        return Trace(
            int(self.collection_ids[i]),
            int(self.instance_indexes[i]),
            # Named, since a class with slots is made anew and `super` would look for the old one.
            Traces.__getitem__(self, i),
            self.store,
        )

    def __iter__(self) -> Iterator[Trace]:
        """Iterate over the tasks."""
        return (self[i] for i in range(len(self)))

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        """Hand a row per task, with its usage as lists, to a library that reads Arrow; values are not copied."""
        return self._batch().__arrow_c_array__(requested_schema)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Do the same for libraries that take streams alone."""
        return self._batch().__arrow_c_stream__(requested_schema)

    def _batch(self) -> pa.RecordBatch:
        return tasks_with_windows(
            self.collection_ids, self.instance_indexes, self.offsets, self.columns
        )

    def __repr__(self) -> str:
        return f"<Traces of {len(self):,} tasks: {self.offsets[-1]:,} windows>"

    def _repr_html_(self) -> str:
        """Show the first tasks in a notebook."""
        rows = []
        n_windows = np.diff(self.offsets)
        for i in range(min(len(self), SHOWN_TASKS)):
            task = f"{self.collection_ids[i]}-{self.instance_indexes[i]}"
            rows.append(f"<tr><td>{i}</td><td>{task}</td><td>{n_windows[i]:,}</td></tr>")
        caption = f"<caption>{escape(repr(self))}</caption>"
        heading = "<tr><th></th><th>task</th><th>windows</th></tr>"
        return f"<table>{caption}{heading}{''.join(rows)}</table>"
