"""SQL for the usage of converted files: measurements of any step, and counters, become windows of the store."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

import duckdb
import numpy as np
import pyarrow as pa

from borgtrace.engine.identifiers import number, quoted
from borgtrace.ingest.convert.conversion_terms import FIRST_ROW_SQL, Terms
from borgtrace.ingest.convert.series_steps import LONGEST_GAP
from borgtrace.kernels.arrays import Index
from borgtrace.schema.records import USAGE_ROWS
from borgtrace.schema.records.usage_rows import (
    CPU_PERCENTILES,
    CPU_TAIL_PERCENTILES,
    percentile_column,
)
from borgtrace.schema.time import TRACE_START, WINDOW

_IN_TASK_SQL = "PARTITION BY task, coalesce(instance, 0) ORDER BY time, source_part, source_row"
"""Window of the rows of an instance, in order of time."""
_REQUESTS_SQL = """
    SELECT
        task,
        coalesce(instance, 0) AS instance,
        arg_max(cpu_request, source_row) AS cpu_request,
        arg_max(cpu_clock, source_row) AS cpu_clock,
        arg_max(memory_request, source_row) AS memory_request
    FROM task_rows
    GROUP BY ALL
"""
_IDS_AND_REQUESTS_SQL = f"""
    -- Where a task has one instance, its name is looked up once in each row for both.
    SELECT i.*, r.* EXCLUDE (task, instance)
    FROM task_ids i
    LEFT JOIN ({_REQUESTS_SQL}) r ON r.task = i.name AND r.instance = 0
"""
_MACHINES_SQL = """
    LEFT JOIN (
        SELECT machine, max(cpu) AS cpu, max(memory) AS memory FROM machine_rows GROUP BY ALL
    ) m ON m.machine = u.machine
"""
_COUNTED_WINDOWS_SQL = f"""
    -- The windows between values of a counter, with the mean of each.  A counter that falls was reset, and counts from
    -- 0: its increase is the new value.  Values that are further apart than some steps are not joined: there is a gap.
    SELECT
        * REPLACE (
            (CASE WHEN counter_cpu >= before THEN counter_cpu - before ELSE counter_cpu END)
                / ((time - start) / 1e6) AS average_cpu
        ),
        time AS stop
    FROM (
        SELECT
            *,
            lag(time) OVER ({_IN_TASK_SQL}) AS start,
            lag(counter_cpu) OVER ({_IN_TASK_SQL}) AS before
        FROM usage_rows
        WHERE counter_cpu IS NOT NULL
    )
"""
_WINDOWS_IN_TURN_SQL = """
    -- Windows that follow each other from the start of their task: rows say only how long they are.
    SELECT *, stop - length AS start
    FROM (
        SELECT
            u.*,
            begun + sum(length) OVER (
                PARTITION BY u.task ORDER BY u.source_part, u.source_row
            ) AS stop
        FROM usage_rows u
        JOIN (SELECT task, min(start) AS begun FROM task_rows GROUP BY task) t ON t.task = u.task
        WHERE u."end" IS NULL
    )
"""


_WINDOWS_BEFORE_ENDS_SQL = f"""
    -- Windows that end at a time; those of other files, which say none, follow each other.
    SELECT *, greatest(0, "end" - length) AS start, "end" AS stop
    FROM usage_rows
    WHERE "end" IS NOT NULL
    UNION ALL BY NAME
    SELECT * FROM ({_WINDOWS_IN_TURN_SQL})
"""
_WINDOWS_OF_LIVES_SQL = """
    -- Means over the life of an instance, which is the window.  An instance with several rows, such as one for each of
    -- its devices, has one window, with the largest of each amount.
    SELECT u.* EXCLUDE (instance), t.instance, begun AS start, ended AS stop
    FROM ({rows_sql}) u
    JOIN (
        SELECT
            task,
            coalesce(instance, 0) AS instance,
            arg_max(start, ("end", start)) AS begun,
            max("end") AS ended
        FROM task_rows
        WHERE start < "end"
        GROUP BY ALL
    ) t ON t.task = u.task AND t.instance = u.instance
"""


def instance_usage_sql(terms: Terms) -> str:
    """Write windows with usage as fractions of the largest machine."""
    start_sql = terms.time_sql("u.start")
    stop_sql = terms.time_sql("u.stop")
    # Columns that no file fills are not looked for in each row.
    machine_sql = "k.id" if terms.has("usage_rows", "machine") else "NULL"
    ids_sql = f"({_IDS_AND_REQUESTS_SQL})" if _has_requests_by_name(terms) else "task_ids"
    joins_sql = _joins_sql(terms)
    # Joined with the ids of names: computing an id for each row took longer than all the rest.
    rows_sql = f"""
        SELECT
            t.id AS collection_id,
            coalesce(u.instance, 0) AS instance_index,
            {start_sql} AS start_time,
            {stop_sql} AS end_time,
            {machine_sql} AS machine_id,
            'JOB' AS collection_type,
            {_measurements_sql(terms)},
            u.source_part,
            u.source_row
        FROM ({windows_sql(terms)}) u
        JOIN {ids_sql} t ON t.name = u.task
        LEFT JOIN machine_ids k ON k.name = u.machine
        {joins_sql}
    """
    if terms.conversion.window:
        return _merged_sql(rows_sql, terms.conversion.window)
    return _cut_sql(rows_sql) if terms.has_long_windows else rows_sql


def may_be_long(terms: Terms) -> bool:
    """Return whether a window may be longer than a slot of the store, as far as that is known without looking at any.

    Parameters
    ----------
    terms
        How the files are converted.
    """
    step = terms.conversion.step
    if terms.conversion.window or not terms.has("usage_rows"):
        return False
    if step is None or terms.has("usage_rows", "end") or terms.has("usage_rows", "length"):
        return True
    # A counter may have been away for some steps.
    longest = LONGEST_GAP * step if terms.has("usage_rows", "counter_cpu") else step
    return longest > WINDOW


def n_long_windows_sql(terms: Terms) -> str:
    """Write how many windows are longer than a slot of the store.

    Parameters
    ----------
    terms
        How the files are converted.
    """
    return f"SELECT count(*) FROM ({windows_sql(terms)}) WHERE stop - start > {number(WINDOW)}"


def _cut_sql(rows_sql: str) -> str:
    """Write windows that are longer than a slot of the store in parts, one for each slot, with the mean of the whole.

    What is asked of slots, machines and hours takes a window for one of the slot in which it begins.
    """
    slot_sql = number(WINDOW)
    return f"""
        SELECT
            * EXCLUDE (slot) REPLACE (
                greatest(start_time, slot * {slot_sql}) AS start_time,
                least(end_time, (slot + 1) * {slot_sql}) AS end_time
            )
        FROM (
            SELECT *, unnest(range(start_time // {slot_sql}, (end_time - 1) // {slot_sql} + 1)) AS slot
            FROM ({rows_sql})
            WHERE end_time - start_time > {slot_sql}
        )
        UNION ALL BY NAME
        SELECT * FROM ({rows_sql}) WHERE end_time - start_time <= {slot_sql}
    """


def _measurements_sql(terms: Terms) -> str:
    """Write what was measured in a window, column by column."""
    sql_of_column = {
        "average_cpu": _amount_sql(terms, "average", "cpu"),
        "sampled_cpu": _amount_sql(terms, "instant", "cpu"),
        "maximum_cpu": _amount_sql(terms, "maximum", "cpu"),
        "average_memory": _amount_sql(terms, "average", "memory"),
        "maximum_memory": _amount_sql(terms, "maximum", "memory"),
        "cycles_per_instruction": _as_it_is_sql(terms, "cycles_per_instruction"),
        "sample_rate": _as_it_is_sql(terms, "sample_rate"),
        "assigned_memory": _amount_sql(terms, "assigned", "memory"),
        "cpu_usage_distribution": _percentiles_sql(terms, CPU_PERCENTILES),
        "tail_cpu_usage_distribution": _percentiles_sql(terms, CPU_TAIL_PERCENTILES),
    }
    return ", ".join(f"{value_sql} AS {column}" for column, value_sql in sql_of_column.items())


def _as_it_is_sql(terms: Terms, column: str) -> str:
    return f"u.{quoted(column)}" if terms.has("usage_rows", column) else "NULL"


def _percentiles_sql(terms: Terms, percentiles: Sequence[int]) -> str:
    """Write a list of percentiles of CPU; NULL where one of them is missing, or no file has them."""
    columns = [percentile_column(percentile) for percentile in percentiles]
    # The last percentile is the maximum.
    if columns[-1] == percentile_column(100) and not terms.has("usage_rows", columns[-1]):
        columns[-1] = "maximum_cpu"
    if not all(terms.has("usage_rows", column) for column in columns):
        return "NULL"
    percentiles_sql = [quoted("u", column) for column in columns]
    values_sql = ", ".join(_share_sql(terms, value_sql, "cpu") for value_sql in percentiles_sql)
    is_whole_sql = " AND ".join(f"{value_sql} IS NOT NULL" for value_sql in percentiles_sql)
    return f"CASE WHEN {is_whole_sql} THEN [{values_sql}] END"


def _merged_sql(rows_sql: str, window: int) -> str:
    """Write one window of all of a task that start in one slot: means are weighed by length."""
    return f"""
        SELECT
            collection_id,
            instance_index,
            machine_id,
            (start_time - {number(TRACE_START)}) // {number(window)} AS slot,
            min(start_time) AS start_time,
            max(end_time) AS end_time,
            'JOB' AS collection_type,
            {_weighted_mean_sql("average_cpu")} AS average_cpu,
            {_weighted_mean_sql("average_memory")} AS average_memory,
            {_weighted_mean_sql("cycles_per_instruction")} AS cycles_per_instruction,
            max(coalesce(maximum_cpu, sampled_cpu)) AS maximum_cpu,
            arg_max(sampled_cpu, start_time) AS sampled_cpu,
            max(maximum_memory) AS maximum_memory,
            {FIRST_ROW_SQL}
        FROM ({rows_sql})
        GROUP BY collection_id, instance_index, machine_id, slot
    """


def _weighted_mean_sql(column_sql: str) -> str:
    return (
        f"sum({column_sql} * (end_time - start_time))"
        f" / nullif(sum(end_time - start_time) FILTER ({column_sql} IS NOT NULL), 0)"
    )


def _amount_sql(terms: Terms, kind: str, resource: str) -> str:
    """Write a kind of usage of a resource as a fraction of the largest machine; NULL where no file has it."""
    kinds = ("average", "instant", "counter") if kind == "average" else (kind,)
    columns = []
    for filled_kind in kinds:
        if terms.has("usage_rows", f"{filled_kind}_{resource}"):
            # The mean of a window of a counter is made before.
            mean_kind = "average" if filled_kind == "counter" else filled_kind
            columns.append(f"{mean_kind}_{resource}")
    if not columns:
        return "NULL"
    columns_sql = ", ".join(columns)
    return _share_sql(terms, f"coalesce({columns_sql})", resource)


def _share_sql(terms: Terms, measured_sql: str, resource: str) -> str:
    """Write an amount of usage as a fraction of the largest machine."""
    whole = terms.conversion.share_of.get(resource, "")
    request_sql = _of_task_sql(terms, f"{resource}_request")
    if whole == "clock":
        # A machine that is off has neither cores nor clock.
        clock_sql = f"nullif({_of_task_sql(terms, 'cpu_clock')}, 0)"
        return terms.fraction_sql(f"{measured_sql} / {clock_sql} * {request_sql}", resource)
    if whole == "request":
        return terms.fraction_sql(f"{measured_sql} * {request_sql}", resource)
    if whole == "megahertz":
        return f"({measured_sql} / {number(terms.basis.megahertz or 1)})"
    if whole == "machine" and terms.has("machine_rows"):
        return terms.fraction_sql(f"{measured_sql} * m.{resource}", resource)
    # A share of the largest machine is one already; without a table all machines are as large.
    return measured_sql if whole else terms.fraction_sql(measured_sql, resource)


def _of_task_sql(terms: Terms, column: str) -> str:
    """Write what is said of a task: by the row itself, else by one about its life."""
    of_life_sql = quoted("t" if _has_requests_by_name(terms) else "r", column)
    if not terms.has("usage_rows", column):
        return of_life_sql
    of_row_sql = quoted("u", column)
    if not _needs_lives(terms):
        return of_row_sql
    return f"coalesce({of_row_sql}, {of_life_sql})"


def _needs_lives(terms: Terms) -> bool:
    """Whether usage is a share of what rows about the lives of tasks say."""
    needed = set()
    for resource, whole in terms.conversion.share_of.items():
        if whole in ("request", "clock"):
            needed.add(f"{resource}_request")
        if whole == "clock":
            needed.add("cpu_clock")
    if terms.conversion.is_mixed:
        # The last that is known stands in where a row leaves it out.
        return bool(needed)
    return any(not terms.has("usage_rows", column) for column in needed)


def _has_requests_by_name(terms: Terms) -> bool:
    """Whether the name of a task says which request its usage is a share of: no row names an instance of it."""
    of_instances = ("instance", "instance_name", "job")
    return _needs_lives(terms) and not any(terms.has("usage_rows", name) for name in of_instances)


def _joins_sql(terms: Terms) -> str:
    wholes = set(terms.conversion.share_of.values())
    joins = []
    if _needs_lives(terms) and not _has_requests_by_name(terms):
        joins.append(
            f"LEFT JOIN ({_REQUESTS_SQL}) r ON r.task = u.task AND r.instance = coalesce(u.instance, 0)"
        )
    if "machine" in wholes and terms.has("machine_rows"):
        joins.append(_MACHINES_SQL)
    return " ".join(joins)


def windows_sql(terms: Terms) -> str:
    """Write measurements with the ``start`` and the ``stop`` of their windows, in the time of the files."""
    if terms.has("usage_rows", "instance_name"):
        return _WINDOWS_OF_LIVES_SQL.format(rows_sql=_rows_of_instances_sql())
    if not terms.has("usage_rows", "time"):
        has_ends = terms.has("usage_rows", "end")
        return _WINDOWS_BEFORE_ENDS_SQL if has_ends else _WINDOWS_IN_TURN_SQL
    return _windows_from_times_sql(terms)


def _windows_from_times_sql(terms: Terms) -> str:
    conversion = terms.conversion
    if terms.has("usage_rows", "counter_cpu"):
        # Without two values of a counter there is no step, and no window.
        longest_sql = number(LONGEST_GAP * (conversion.step or 0))
        return f"{_COUNTED_WINDOWS_SQL} WHERE start < time AND time - start <= {longest_sql}"
    if conversion.step is None:
        return 'SELECT *, time AS start, coalesce("end", time + length) AS stop FROM usage_rows'
    step_sql = number(conversion.step)
    # Jitter makes no two windows of a task overlap.  Rows of one time are repeats, not windows without length.
    if conversion.label == "end":
        start_sql = f"greatest(0, time - {step_sql})"
        if not conversion.is_regular:
            before_sql = f"coalesce(nullif(lag(time) OVER ({_IN_TASK_SQL}), time), 0)"
            start_sql = f"greatest(0, time - {step_sql}, {before_sql})"
        return f"SELECT *, {start_sql} AS start, time AS stop FROM usage_rows"
    stop_sql = f"least(time + {step_sql})"
    if not (conversion.is_regular or are_cut_when_sorted(terms)):
        next_sql = f"nullif(lead(time) OVER ({_IN_TASK_SQL}), time)"
        stop_sql = f"least(time + {step_sql}, {next_sql})"
    return f'SELECT *, time AS start, coalesce("end", {stop_sql}) AS stop FROM usage_rows'


def _rows_of_instances_sql() -> str:
    """Write one row of each instance, with the largest of each of its amounts."""
    keys = ("task", "instance")
    values = [column.name for column in USAGE_ROWS.columns if column.name not in keys]
    values_sql = ", ".join(f"max({quoted(value)}) AS {quoted(value)}" for value in values)
    return f"""
        SELECT task, instance, {values_sql}, {FIRST_ROW_SQL}
        FROM usage_rows
        GROUP BY task, instance
    """


def usual_step(connection: duckdb.DuckDBPyConnection, column: str = "time") -> int:
    """Return the most common time between two measurements of a task, in µs; 0 where there are no two.

    Parameters
    ----------
    connection
        With a view of the rows.
    column
        A column that these measurements have.
    """
    query_sql = f"""
        SELECT mode(step)
        FROM (
            SELECT time - lag(time) OVER (PARTITION BY task, instance ORDER BY time) AS step
            FROM usage_rows
            WHERE {quoted(column)} IS NOT NULL
        )
        WHERE step > 0
    """
    ((step,),) = connection.execute(query_sql).fetchall()
    return int(step or 0)


def are_cut_when_sorted(terms: Terms) -> bool:
    """Whether `WindowCutter` cuts windows of a step each: to find the next row of each in SQL is to sort twice."""
    conversion = terms.conversion
    if conversion.step is None or conversion.label != "start":
        return False
    # Longer ones are cut into parts before they are sorted.
    if conversion.step > WINDOW:
        return False
    if conversion.is_regular or conversion.window:
        return False
    has_ends = terms.has("usage_rows", "end") or terms.has("usage_rows", "counter_cpu")
    return terms.has("usage_rows", "time") and not has_ends


class _Places(NamedTuple):
    """The instance and the start of each row."""

    collection: Index
    instance: Index
    start: Index


_NO_PLACE = _Places(*(np.array([-1], np.int64) for _ in _Places._fields))
"""That of no row: ids and indices are not negative."""


class WindowCutter:
    """Ends windows where the next of their task begins.

    Attributes
    ----------
    has_common_starts
        Whether any two windows of a task, so far, begin together.
    """

    def __init__(self) -> None:
        self.has_common_starts = False

    def cut(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield batches of rows, which are in their order; several threads may each cut those of a file."""
        for batch, next_batch in pairwise(chain(batches, [None])):
            rows = _places(batch)
            # The last row of all is followed by one of no task.
            first_following = _places(next_batch.slice(0, 1)) if next_batch else _NO_PLACE
            next_rows = _Places(
                *(
                    np.append(column[1:], first)
                    for column, first in zip(rows, first_following, strict=True)
                )
            )
            is_of_next = (rows.collection == next_rows.collection) & (
                rows.instance == next_rows.instance
            )
            is_followed = is_of_next & (rows.start < next_rows.start)
            if np.any(is_of_next & (rows.start == next_rows.start)):
                self.has_common_starts = True
            ends = np.asarray(batch.column("end_time"))
            cut_ends = np.where(is_followed, np.minimum(ends, next_rows.start), ends)
            place = batch.schema.get_field_index("end_time")
            yield batch.set_column(place, "end_time", pa.array(cut_ends))


def _places(batch: pa.RecordBatch) -> _Places:
    return _Places(
        np.asarray(batch.column("collection_id")),
        np.asarray(batch.column("instance_index")),
        np.asarray(batch.column("start_time")),
    )
