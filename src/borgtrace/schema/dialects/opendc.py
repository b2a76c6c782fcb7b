"""Workloads for OpenDC: two Parquet files, tasks and the fragments of their use.

A task starts when it is submitted, and its fragments follow each other from there in the order of their file, whatever
their own times say. CPU is in MHz: use is a share of what all cores of the task have together. Machines are another
input of the simulator: say --capacity.

Files of version 2.1 (meta and trace) are read too: there a fragment ends at its timestamp.

Sources: TaskSchemas.kt and FragmentSchemas.kt of OpenDC, and its page on workloads.
"""

from borgtrace.schema.dialects.raw import RawField, RawTable
from borgtrace.schema.dialects.trace_format import (
    EVENTS_FROM_TIMES,
    Citation,
    Conversion,
    Dialect,
)
from borgtrace.schema.dialects.units import KB, MILLISECOND

TASKS = RawTable(
    name="tasks",
    table="task_rows",
    fields=(
        RawField("id", "task", is_mandatory=True),
        RawField("submission_time", "start", is_mandatory=True, scale=MILLISECOND),
        RawField("duration", "run", is_mandatory=True, scale=MILLISECOND),
        RawField("cpu_count", "cpu_request", is_mandatory=True),
        RawField("cpu_capacity", "cpu_clock", is_mandatory=True),
        # In KB, as OpenDC's reader has it (its pages say MB).
        RawField("mem_capacity", "memory_request", is_mandatory=True, scale=KB),
        RawField("gpu_count", "gpus"),
    ),
)

FRAGMENTS = RawTable(
    name="fragments",
    table="usage_rows",
    fields=(
        RawField("id", "task", is_mandatory=True),
        RawField("duration", "length", is_mandatory=True, scale=MILLISECOND),
        RawField("cpu_usage", "average_cpu", is_mandatory=True),
    ),
)

# Files of version 2.1, where a fragment ends at its timestamp.
META = RawTable(
    name="meta",
    table="task_rows",
    fields=(
        RawField("id", "task", is_mandatory=True),
        RawField("start_time", "start", is_mandatory=True, scale=MILLISECOND),
        RawField("stop_time", "end", is_mandatory=True, scale=MILLISECOND),
        RawField("cpu_count", "cpu_request", is_mandatory=True),
        RawField("cpu_capacity", "cpu_clock", is_mandatory=True),
        RawField("mem_capacity", "memory_request", is_mandatory=True, scale=KB),
    ),
)

TRACE = RawTable(
    name="trace",
    table="usage_rows",
    fields=(
        RawField("id", "task", is_mandatory=True),
        RawField("timestamp", "end", is_mandatory=True, scale=MILLISECOND),
        RawField("duration", "length", is_mandatory=True, scale=MILLISECOND),
        RawField("cpu_usage", "average_cpu", is_mandatory=True),
    ),
)

DIALECT = Dialect(
    name="opendc",
    title="Workload for OpenDC",
    tables={table.name: table for table in (TASKS, META, FRAGMENTS, TRACE)},
    formats=("parquet",),
    codes={"event_type": {**EVENTS_FROM_TIMES, "FINISH": "FINISH"}},
    absent={"machine_id": "tasks name no machine"},
    conversion=Conversion(clock="epoch", share_of={"cpu": "clock"}),
    licence="OpenDC is published under the license MIT; terms of the workloads beside it are not stated.",
    citations=(
        Citation(
            "F. Mastenbroek, G. Andreadis, S. Jounaid, W. Lai, J. Burley, J. Bosch, E. van Eyk, L. Versluis, "
            "V. van Beek, A. Iosup: OpenDC 2.0: Convenient Modeling and Simulation of Emerging Technologies in Cloud "
            "Datacenters. CCGrid 2021.",
            "https://github.com/atlarge-research/opendc",
        ),
    ),
)
