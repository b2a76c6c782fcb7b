"""What a row of a converted file is: usage, the life of a task, or a machine, in base units and with its own names.

Files of these are staged row by row like those of Google's traces; `borgtrace.ingest.conversion` then makes canonical
rows of all of them together, since ids, shares of a request and derived events need more than one row.
"""

from collections.abc import Mapping
from pathlib import Path

from borgtrace.schema.tables import TABLES, read_declarations
from borgtrace.schema.types import Table

RECORDS: dict[str, Table] = read_declarations(Path(__file__).with_name("records.columns"))
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
