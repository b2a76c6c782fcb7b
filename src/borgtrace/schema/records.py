"""What a row of a converted file is: usage, the life of a task, or a machine, in base units and with its own names.

Files of these are staged row by row like those of Google's traces; `borgtrace.ingest.conversion` then makes canonical
rows of all of them together, since ids, shares of a request and derived events need more than one row.
"""

from collections.abc import Mapping

from borgtrace.schema.checks import AMOUNT_NOT_NEGATIVE, NOT_NEGATIVE, Check
from borgtrace.schema.tables import TABLES
from borgtrace.schema.tables.columns import code, number
from borgtrace.schema.types import Column, Table


def _text(name: str, doc: str, *, nullable: bool = True) -> Column:
    return Column(name, "string", "id", doc, nullable)


def _time(name: str, doc: str, *checks: Check) -> Column:
    # Without "after the trace", which only Google's files have.
    return Column(name, "int64", "us", doc, checks=(NOT_NEGATIVE, *checks))


def _amount(name: str, doc: str, unit: str) -> Column:
    # float64: bytes of a machine have more digits than a float32 holds.
    return Column(name, "float64", unit, doc, checks=(AMOUNT_NOT_NEGATIVE,))


_TASK = (
    _text("task", "Name of the container, VM or job.", nullable=False),
    number("instance", "int32", "id", "Index of the task in its job; 0 where it is alone."),
    _text("machine", "Name of the machine."),
)
USAGE_ROWS = Table(
    "usage_rows",
    "measurement of a task",
    (),
    (
        *_TASK,
        _time("time", "When it was measured: the start of its window, or the end where the format says so."),
        _time("end", "End of its window.", Check("end_before_start", "at_least", minus="time")),
        _time("length", "Length of its window."),
        _amount("average_cpu", "Mean CPU over the window.", "cores"),
        _amount("instant_cpu", "CPU at one instant.", "cores"),
        _amount("counter_cpu", "CPU time since the task began.", "s"),
        _amount("maximum_cpu", "Largest CPU in the window.", "cores"),
        _amount("average_memory", "Mean memory over the window.", "bytes"),
        _amount("instant_memory", "Memory at one instant.", "bytes"),
        _amount("maximum_memory", "Largest memory in the window.", "bytes"),
    ),
)
TASK_ROWS = Table(
    "task_rows",
    "attempt of a task",
    (),
    (
        *_TASK,
        _text("app", "Application or deployment, which other tasks share."),
        _text("user", "Who submitted it."),
        number("priority", "int32", "rank", "Its priority."),
        _time("submit", "When it was submitted."),
        _time("wait", "How long it waited."),
        _time("start", "When it started."),
        _time("run", "How long it ran."),
        _time("end", "When it ended."),
        code("status", "event_type", "How it ended."),
        _amount("cpu_request", "Requested CPU.", "cores"),
        _amount("memory_request", "Requested memory.", "bytes"),
        _amount("gpus", "Requested GPUs, whole or shared.", "1"),
        _amount("gpu_share", "Requested share of each, in thousandths of a device.", "1"),
        _text("gpu_model", "GPU models that it accepts."),
    ),
)
MACHINE_ROWS = Table(
    "machine_rows",
    "machine",
    (),
    (
        _text("machine", "Name of the machine.", nullable=False),
        _time("time", "When it was added; before the trace where it is not said."),
        _amount("cpu", "Its CPU.", "cores"),
        _amount("memory", "Its memory.", "bytes"),
        _text("platform", "Its kind."),
        _amount("gpus", "Its GPUs.", "1"),
        _text("gpu_model", "Their model."),
    ),
)
RECORDS: dict[str, Table] = {table.name: table for table in (USAGE_ROWS, TASK_ROWS, MACHINE_ROWS)}
"""Kinds of rows of converted files, by name."""


def _fills(rows: str, text: str) -> dict[str, tuple[str, ...]]:
    """Read ``column=name,name`` for each column that `rows` give."""
    pairs = (item.split("=") for item in text.split())
    return {column: tuple(f"{rows}.{name}" for name in names.split(",")) for column, names in pairs}


FILLS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "instance_usage": _fills(
        "usage_rows",
        "start_time=time end_time=end,length,time collection_id=task instance_index=instance machine_id=machine "
        "average_cpu=average_cpu,instant_cpu,counter_cpu sampled_cpu=instant_cpu maximum_cpu=maximum_cpu "
        "average_memory=average_memory,instant_memory maximum_memory=maximum_memory",
    ),
    "instance_events": _fills(
        "task_rows",
        "time=submit,start,end type=status collection_id=task instance_index=instance machine_id=machine "
        "priority=priority user=user cpu_request=cpu_request memory_request=memory_request",
    ),
    "collection_events": _fills(
        "task_rows", "time=submit,start,end collection_logical_name=app priority=priority user=user"
    )
    | dict.fromkeys(("collection_id", "collection_name"), ("task_rows.task", "usage_rows.task")),
    "instance_constraints": _fills("task_rows", "value=gpu_share,gpu_model"),
    "machine_events": _fills(
        "machine_rows", "time=time machine_id=machine platform_id=platform cpu_capacity=cpu memory_capacity=memory"
    ),
    "machine_attributes": _fills("machine_rows", "value=gpus,gpu_model,machine"),
}
"""Which columns of such rows give a canonical column, by its table; the first that a format has is named."""


def row_of(name: str) -> Table:
    """Return what a row of a raw table is: a canonical table, or a kind of rows that are converted.

    Parameters
    ----------
    name
        Of the table, as a raw table names it.

    Examples
    --------
    >>> row_of("usage_rows").grain, row_of("machine_events").grain
    ('measurement of a task', 'machine event')
    """
    return RECORDS[name] if name in RECORDS else TABLES[name]
