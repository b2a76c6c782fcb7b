"""Samples of usage → rows of usage: container after container, so that only some are in memory."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from borgtrace.engine.identifiers import number
from borgtrace.errors import SourceError
from borgtrace.ingest.convert.joined_series import SeriesConflictError, join_series
from borgtrace.ingest.convert.repeated_samples import RepeatedSamples
from borgtrace.ingest.convert.series_steps import SampledSeries, Steps

_SLICE = 1 << 19
"""Samples that are sorted together."""
_MOST_SLICES = 64
"""Times that all samples are looked through, at most."""
_COUNTER = "counter_cpu"
_RATE = "instant_cpu"
_OF_LIFE = "id", "image", "name"
_MOST_LABELS = 3
"""Labels that a message shows of a series."""
_NO_TIMES = np.empty(0, np.int64)
_NO_VALUES = np.empty(0)
_SCHEMA = pa.schema(
    [
        ("task", pa.dictionary(pa.int32(), pa.string())),
        ("machine", pa.dictionary(pa.int32(), pa.string())),
        ("time", pa.int64()),
        ("end", pa.int64()),
        ("average_cpu", pa.float64()),
        ("instant_memory", pa.float64()),
    ]
)


@dataclass
class UsageOfSeries:
    """Rows of usage that series make.

    Parameters
    ----------
    path
        File of the rows; None where there are none.
    columns
        Amounts that are filled.
    step
        The usual time between samples, in µs; 0 where there are no two.
    counters
        What is left out, by reason.
    rated_tasks
        Tasks whose CPU is known as a rate that was recorded.
    repeated
        How often counters change.
    """

    path: Path | None = None
    columns: set[str] = field(default_factory=set)
    step: int = 0
    counters: Counter[str] = field(default_factory=Counter)
    rated_tasks: set[str] = field(default_factory=set)
    repeated: RepeatedSamples = field(default_factory=RepeatedSamples)


class _SeriesOfPlace(NamedTuple):
    """What the samples of one place are of."""

    task: str
    column: str
    series: SampledSeries


class _Rows(NamedTuple):
    """Rows of usage of one container."""

    steps: Steps
    cpu: npt.NDArray[np.float64]
    memory: npt.NDArray[np.float64]


def write_usage(connection: duckdb.DuckDBPyConnection, work: Path) -> UsageOfSeries:
    """Write the rows of usage of all containers into a file.

    Parameters
    ----------
    connection
        With the table ``usage_series`` and the view ``samples``.
    work
        Folder of the file.

    Raises
    ------
    SourceError
        Two series of one container differ at the same times.
    """
    usage = UsageOfSeries()
    places = SeriesPlaces.of(connection)
    if not places.series:
        return usage
    work.mkdir(parents=True, exist_ok=True)
    path = work / "usage_rows.parquet"
    n_rows = 0
    with pq.ParquetWriter(path, _SCHEMA, compression="lz4") as writer:
        for samples in _slices(connection, places):
            if not usage.step:
                usage.step = _usual_step(samples)
            rows = _rows_of_slice(samples, places, usage)
            if rows.num_rows:
                writer.write_table(rows)
                n_rows += rows.num_rows
    usage.path = path if n_rows else None
    return usage


class SeriesPlaces:
    """Which series the places in the order of samples are of."""

    def __init__(self, series: list[_SeriesOfPlace], machines: list[str]) -> None:
        self.series = series
        self.machines = machines
        self.tasks = list(dict.fromkeys(one.task for one in series))
        numbers = {task: number for number, task in enumerate(self.tasks)}
        self.task_of_place = np.array([numbers[one.task] for one in series], np.int64)

    @classmethod
    def of(cls, connection: duckdb.DuckDBPyConnection) -> "SeriesPlaces":
        """Return those of the table ``usage_series``."""
        rows = connection.execute("""
            SELECT task, "column", machine, part, life, cgroup, copy, replica
            FROM usage_series
            ORDER BY place
        """).fetchall()
        machines: dict[str, int] = {}
        series = []
        for task, column, machine, part, life, cgroup, copy, replica in rows:
            code = machines.setdefault(machine, len(machines)) if machine else -1
            one = SampledSeries(
                _NO_TIMES,
                _NO_VALUES,
                code,
                part,
                life,
                cgroup,
                copy,
                _without(copy, replica),
            )
            series.append(_SeriesOfPlace(task, column, one))
        return cls(series, list(machines))


def _without(copy: str, replica: str) -> str:
    """Return labels without some of them, as JSON."""
    labels = json.loads(copy)
    return json.dumps({name: labels[name] for name in labels if name not in json.loads(replica)})


def _slices(connection: duckdb.DuckDBPyConnection, places: SeriesPlaces) -> Iterator[pa.Table]:
    """Yield the samples in order of their places and times, some whole tasks at a time."""
    counts = connection.execute("""
        SELECT place, count(*) AS n
        FROM samples
        JOIN usage_series USING (series)
        GROUP BY place
    """).fetchnumpy()
    n_of_place = np.zeros(len(places.series), np.int64)
    n_of_place[counts["place"]] = counts["n"]
    n_of_task = np.bincount(places.task_of_place, n_of_place)
    largest = max(_SLICE, int(n_of_task.sum()) // _MOST_SLICES)
    slice_of_task = np.cumsum(n_of_task) // largest
    slice_of_place = slice_of_task[places.task_of_place]
    for number_of_slice in np.unique(slice_of_place):
        (own_places,) = np.nonzero(slice_of_place == number_of_slice)
        query_sql = f"""
            SELECT place, time, value
            FROM samples
            JOIN usage_series USING (series)
            WHERE place BETWEEN {number(int(own_places[0]))} AND {number(int(own_places[-1]))}
            ORDER BY place, time, value
        """
        yield connection.sql(query_sql).to_arrow_table()


def _usual_step(samples: pa.Table) -> int:
    """Return the most common time between two samples of a series; 0 where there are no two."""
    steps = np.diff(samples["time"].to_numpy())
    is_same = np.diff(samples["place"].to_numpy()) == 0
    lengths, counts = np.unique(steps[is_same & (steps > 0)], return_counts=True)
    return int(lengths[counts.argmax()]) if len(lengths) else 0


def _rows_of_slice(samples: pa.Table, places: SeriesPlaces, usage: UsageOfSeries) -> pa.Table:
    """Return the rows of usage of some tasks."""
    place = samples["place"].to_numpy()
    times = samples["time"].to_numpy()
    values = samples["value"].to_numpy()
    firsts = np.flatnonzero(np.diff(place, prepend=-1))
    series_of_task: dict[str, list[_SeriesOfPlace]] = {}
    for first, end in pairwise([*firsts.tolist(), len(place)]):
        one = places.series[place[first]]
        sampled = one.series._replace(times=times[first:end], values=values[first:end])
        if one.column == _COUNTER:
            usage.repeated.look(sampled.values)
        series_of_task.setdefault(one.task, []).append(one._replace(series=sampled))
    task_codes: list[int] = []
    parts: list[_Rows] = []
    tasks = list(series_of_task)
    for code, task in enumerate(tasks):
        rows = _rows_of_task(task, series_of_task[task], usage)
        parts.append(rows)
        task_codes += [code] * len(rows.steps.stops)
    return _table(tasks, task_codes, parts, places.machines)


def _rows_of_task(
    task: str,
    series: list[_SeriesOfPlace],
    usage: UsageOfSeries,
) -> _Rows:
    """Return windows of CPU with the memory at their ends; those of memory alone where there is no CPU."""
    rates = [one.series for one in series if one.column == _RATE]
    counters = [one.series for one in series if one.column == _COUNTER]
    others = [one.series for one in series if one.column not in (_RATE, _COUNTER)]
    cpu = _joined(task, rates or counters, usage, is_counter=not rates)
    memory = _joined(task, others, usage, is_counter=False)
    if len(memory.stops):
        usage.columns.add("instant_memory")
    if not len(cpu.stops):
        nothing = np.full(len(memory.stops), np.nan)
        return _Rows(memory, nothing, memory.amounts)
    usage.columns.add("average_cpu")
    cores = cpu.amounts
    if rates:
        usage.rated_tasks.add(task)
    else:
        cores = cpu.amounts / ((cpu.stops - cpu.starts) / 1e6)
    return _Rows(cpu, cores, _at_ends(cpu, memory))


def _joined(
    task: str,
    series: list[SampledSeries],
    usage: UsageOfSeries,
    *,
    is_counter: bool,
) -> Steps:
    if not series:
        return Steps(_NO_TIMES, _NO_TIMES, _NO_VALUES, np.empty(0, np.int32))
    try:
        joined = join_series(series, usage.step, is_counter=is_counter)
    except SeriesConflictError as conflict:
        raise _two_series(task, conflict) from conflict
    if not len(joined.steps.stops):
        usage.counters["lone_sample"] += len(series)
    if joined.n_copies:
        usage.counters["copied_series"] += joined.n_copies
    if joined.n_falls:
        usage.counters["counter_fell"] += joined.n_falls
    return joined.steps


def _two_series(task: str, conflict: SeriesConflictError) -> SourceError:
    first = json.loads(conflict.first.copy)
    second = json.loads(conflict.second.copy)
    names = {*first, *second}
    different = sorted(name for name in names if first.get(name) != second.get(name))
    if not different:
        return SourceError(
            task,
            "two values of one series at one time",
            expected="one value, or two that hardly differ",
            got="files of several servers or clusters",
            way_out="ingest the files of one of them, or give the series of each a label cluster",
        )
    # What changes with each life of a container says less than any other label.
    shown = [name for name in different if name not in _OF_LIFE] or different
    texts = []
    for labels in (first, second):
        pairs = [f"{name}={labels.get(name, '')!r}" for name in shown[:_MOST_LABELS]]
        texts.append(", ".join(pairs))
    return SourceError(
        task,
        "two series at one time, which differ",
        expected="one container of a name, or copies of one series",
        got=" and ".join(sorted(texts)),
        way_out="query one of them, or give the series of each cluster a label cluster",
    )


def _at_ends(windows: Steps, memory: Steps) -> npt.NDArray[np.float64]:
    """Return the last amount of memory within each window; NaN where there is none."""
    places = np.searchsorted(memory.stops, windows.stops, "right") - 1
    amounts = np.full(len(windows.stops), np.nan)
    is_there = places >= 0
    is_there[is_there] = memory.stops[places[is_there]] > windows.starts[is_there]
    amounts[is_there] = memory.amounts[places[is_there]]
    return amounts


def _table(
    tasks: list[str],
    task_codes: list[int],
    parts: list[_Rows],
    machines: list[str],
) -> pa.Table:
    starts, stops, _, machine_codes = (
        np.concatenate(columns) for columns in zip(*(part.steps for part in parts), strict=True)
    )
    cpu = np.concatenate([part.cpu for part in parts])
    memory = np.concatenate([part.memory for part in parts])
    task_column = pa.DictionaryArray.from_arrays(pa.array(task_codes, pa.int32()), tasks)
    known_machines = pa.array(machine_codes, pa.int32(), mask=machine_codes < 0)
    machine_column = pa.DictionaryArray.from_arrays(known_machines, machines or [""])
    columns: dict[str, Any] = {
        "task": task_column,
        "machine": machine_column,
        "time": starts,
        "end": stops,
        "average_cpu": pa.array(cpu, from_pandas=True),
        "instant_memory": pa.array(memory, from_pandas=True),
    }
    return pa.table(columns, _SCHEMA)
