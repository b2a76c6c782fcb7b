"""A log in the Standard Workload Format: a line for each attempt of a task."""

from borgtrace.export.files.queries import ExportQuery, MachineSize, read_steps
from borgtrace.schema import TERMINAL_EVENTS
from borgtrace.schema.time import TRACE_START
from borgtrace.store import Store

_CELL_CPU = """
    SELECT coalesce(sum(cpu ORDER BY machine_id), 1) AS cpu
    FROM (SELECT machine_id, max(cpu_capacity) AS cpu FROM machine_events GROUP BY machine_id)
"""


def swf_queries(store: Store, size: MachineSize) -> list[ExportQuery]:
    """Return the query of ``jobs.swf``.

    Parameters
    ----------
    store
        Where from.
    size
        Cores of the largest machine.

    Raises
    ------
    UsageError
        The cores are not known.
    """
    manifest = store.manifest
    cores = size.need_cores()
    processors = cores * store.sql(_CELL_CPU)["cpu"][0].as_py()
    start = manifest.dialect.wall_clock(TRACE_START, manifest.cell)
    head = (
        f"; Version: 2.2\n; MaxProcs: {processors:.0f}\n; UnixStartTime: {int(start.timestamp())}\n"
    )
    query = ExportQuery(
        sql=read_steps("attempts", "swf"),
        parameters={
            "cores": cores,
            "zero": TRACE_START,
            "terminal": list(TERMINAL_EVENTS),
        },
        file_name=lambda part: "jobs.swf",
        head=head,
    )
    return [query]
