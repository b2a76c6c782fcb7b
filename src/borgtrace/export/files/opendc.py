"""Input of OpenDC: tasks, and fragments of constant use, as Parquet."""

import pyarrow as pa

from borgtrace.export.files.queries import ExportQuery, MachineSize, read_query
from borgtrace.schema import TERMINAL_EVENTS
from borgtrace.schema.time import TRACE_START
from borgtrace.store import Store

CLOCK = 1000
"""MHz of a core for OpenDC, where cores have a clock: its topology must say the same."""
# What OpenDC's reader takes: TaskSchemas.kt (version 4) and FragmentSchemas.kt (version 2), in their order.
TASKS = pa.schema(
    [
        pa.field("id", pa.int32(), nullable=False),
        pa.field("name", pa.string()),
        pa.field("submission_time", pa.timestamp("ms", "UTC"), nullable=False),
        pa.field("duration", pa.int64(), nullable=False),
        pa.field("cpu_count", pa.int32(), nullable=False),
        pa.field("cpu_capacity", pa.float64(), nullable=False),
        pa.field("mem_capacity", pa.int64(), nullable=False),
    ]
)
FRAGMENTS = pa.schema(
    [
        pa.field("id", pa.int32(), nullable=False),
        pa.field("duration", pa.int64(), nullable=False),
        pa.field("cpu_usage", pa.float64(), nullable=False),
    ]
)


def opendc_queries(store: Store, size: MachineSize) -> list[ExportQuery]:
    """Return the queries of ``tasks.parquet`` and ``fragments.parquet``.

    Parameters
    ----------
    store
        Where from.
    size
        Cores and bytes of the largest machine.

    Raises
    ------
    UsageError
        The size is not known.
    """
    manifest = store.manifest
    start = manifest.dialect.wall_clock(TRACE_START, manifest.cell)
    shared = {
        "cores": size.need_cores(),
        "clock": CLOCK,
        "zero": TRACE_START,
        "terminal": list(TERMINAL_EVENTS),
    }
    tasks = ExportQuery(
        sql=read_query("opendc_tasks"),
        parameters={
            **shared,
            "bytes": size.need_bytes(),
            "origin": 1000 * int(start.timestamp()),
        },
        file_name=lambda part: "tasks.parquet",
        schema=TASKS,
    )
    fragments = ExportQuery(
        sql=read_query("opendc_fragments"),
        parameters=shared,
        file_name=lambda part: "fragments.parquet",
        schema=FRAGMENTS,
    )
    return [tasks, fragments]
