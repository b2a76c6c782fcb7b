"""Workloads for OpenDC before version 2.1: two Parquet files, VMs (meta) and the fragments of their use (trace).

A fragment ends at its time. CPU in use is in MHz of all cores together, and no file says how many a core has: say
--capacity with the cores and the MHz of the largest machine, such as 16cores,41600MHz,128GiB.

Sources: the trace readers of OpenDC 2.0, and the workloads beside them.
"""

from borgtrace.schema.dialects.opendc import DIALECT as LATER
from borgtrace.schema.dialects.raw import RawField, RawTable
from borgtrace.schema.dialects.trace_format import EVENTS_FROM_TIMES, Conversion, Dialect
from borgtrace.schema.dialects.units import KB, MILLISECOND

META = RawTable(
    name="meta",
    table="task_rows",
    fields=(
        RawField("id", "task", is_mandatory=True),
        RawField("submissionTime", "start", is_mandatory=True, scale=MILLISECOND),
        RawField("endTime", "end", is_mandatory=True, scale=MILLISECOND),
        RawField("maxCores", "cpu_request", is_mandatory=True),
        RawField("requiredMemory", "memory_request", is_mandatory=True, scale=KB),
    ),
)

TRACE = RawTable(
    name="trace",
    table="usage_rows",
    fields=(
        RawField("id", "task", is_mandatory=True),
        RawField("time", "end", is_mandatory=True, scale=MILLISECOND),
        RawField("duration", "length", is_mandatory=True, scale=MILLISECOND),
        RawField("cores"),
        RawField("cpuUsage", "average_cpu", is_mandatory=True),
        RawField("flops"),
    ),
)

DIALECT = Dialect(
    name="opendc-2020",
    title="Workload for OpenDC before version 2.1",
    tables={table.name: table for table in (META, TRACE)},
    formats=("parquet",),
    codes={"event_type": {**EVENTS_FROM_TIMES, "FINISH": "FINISH"}},
    absent={"machine_id": "VMs name no machine"},
    conversion=Conversion(clock="epoch", share_of={"cpu": "megahertz"}),
    licence=LATER.licence,
    citations=LATER.citations,
)
