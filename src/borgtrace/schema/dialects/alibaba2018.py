"""Alibaba's trace of 2018: machines, containers with their use, and batch jobs whose tasks wait for each other.

A container is a task of its own, its deploy unit the logical name. A task of a batch job is a collection called
job/task, the job its logical name; rows of an instance are its attempts. M5_3_4 waits for the tasks 3 and 4 of its job;
names of another form say nothing. CPU in use is percent of what a container requests, and all memory a share of the
largest machine's.

Sources: schema.txt, whose order the fields have, and trace_2018.md of cluster-trace-v2018.
"""

from datetime import timedelta

from borgtrace.schema.dialects.raw import LETTERED, NUMBER, RawField, RawTable
from borgtrace.schema.dialects.trace_format import (
    EVENTS_FROM_TIMES,
    Citation,
    Conversion,
    Dialect,
)
from borgtrace.schema.dialects.units import PERCENT, SECOND

MACHINE_META = RawTable(
    name="machine_meta",
    table="machine_rows",
    is_positional=True,
    fields=(
        RawField("machine_id", "machine", is_mandatory=True, pattern=LETTERED),
        RawField(
            "time_stamp",
            "time",
            is_mandatory=True,
            pattern=NUMBER,
            scale=SECOND,
        ),
        RawField("failure_domain_1"),
        RawField("failure_domain_2"),
        RawField("cpu_num", "cpu"),
        RawField("mem_size", "memory", scale=PERCENT),
        RawField("status"),
    ),
)

CONTAINER_META = RawTable(
    name="container_meta",
    table="task_rows",
    is_positional=True,
    fields=(
        RawField("container_id", "task", is_mandatory=True, pattern=LETTERED),
        RawField("machine_id", "machine"),
        RawField(
            "time_stamp",
            "start",
            is_mandatory=True,
            pattern=NUMBER,
            scale=SECOND,
        ),
        RawField("app_du", "app"),
        RawField("status"),
        RawField("cpu_request", "cpu_request", scale=PERCENT),
        RawField("cpu_limit"),
        RawField("mem_size", "memory_request", scale=PERCENT),
    ),
)

BATCH_TASK = RawTable(
    name="batch_task",
    table="task_rows",
    is_positional=True,
    fields=(
        RawField("task_name", "task", is_mandatory=True),
        RawField("instance_num"),
        RawField("job_name", "job", is_mandatory=True, pattern=LETTERED),
        RawField("task_type"),
        RawField("status", "status", is_mandatory=True),
        RawField(
            "start_time",
            "start",
            is_mandatory=True,
            pattern=NUMBER,
            scale=SECOND,
        ),
        RawField("end_time", "end", scale=SECOND),
        RawField("plan_cpu", "cpu_request", scale=PERCENT),
        RawField("plan_mem", "memory_request", scale=PERCENT),
    ),
)

# The names in schema.txt are right, its comments are shifted by one: averages span whole lives, and are no
# measurements of a slot.
BATCH_INSTANCE = RawTable(
    name="batch_instance",
    table="task_rows",
    is_positional=True,
    fields=(
        RawField("instance_name", "instance_name", is_mandatory=True),
        RawField("task_name", "task", is_mandatory=True),
        RawField("job_name", "job", is_mandatory=True, pattern=LETTERED),
        RawField("task_type"),
        RawField("status", "status", is_mandatory=True),
        RawField(
            "start_time",
            "start",
            is_mandatory=True,
            pattern=NUMBER,
            scale=SECOND,
        ),
        RawField("end_time", "end", scale=SECOND),
        RawField("machine_id", "machine"),
        RawField("seq_no"),
        RawField("total_seq_no"),
        RawField("cpu_avg"),
        RawField("cpu_max"),
        RawField("mem_avg"),
        RawField("mem_max"),
    ),
)

CONTAINER_USAGE = RawTable(
    name="container_usage",
    table="usage_rows",
    is_positional=True,
    fields=(
        RawField("container_id", "task", is_mandatory=True, pattern=LETTERED),
        RawField("machine_id", "machine"),
        RawField(
            "time_stamp",
            "time",
            is_mandatory=True,
            pattern=NUMBER,
            scale=SECOND,
        ),
        RawField("cpu_util_percent", "average_cpu", scale=PERCENT),
        RawField("mem_util_percent", "average_memory", scale=PERCENT),
        RawField("cpi", "cycles_per_instruction"),
        RawField("mem_gps"),
        RawField("mpki"),
        RawField("net_in"),
        RawField("net_out"),
        RawField("disk_io_percent"),
    ),
)

_TABLES = (
    MACHINE_META,
    CONTAINER_META,
    BATCH_TASK,
    BATCH_INSTANCE,
    CONTAINER_USAGE,
)

DIALECT = Dialect(
    name="alibaba-2018",
    title="Alibaba cluster trace 2018",
    tables={table.name: table for table in _TABLES},
    codes={
        "event_type": {
            **EVENTS_FROM_TIMES,
            "UPDATE_RUNNING": "UPDATE_RUNNING",
            "Terminated": "FINISH",
            "Failed": "FAIL",
            "Interrupted": "EVICT",
            "Cancelled": "KILL",
            # A time of 0 is before or after the trace: what runs has no end, what waits no start.
            "Running": "SCHEDULE",
            "Ready": "SUBMIT",
            "Waiting": "SUBMIT",
        },
    },
    none={
        "end": (0,),
        "cpu": (-1,),
        "cpu_request": (-1,),
        "cycles_per_instruction": (-1,),
        "average_cpu": (-1, 101),
        "average_memory": (-1, 101),
        "memory": (-1, 101),
        "memory_request": (-1, 101),
    },
    conversion=Conversion(
        # Containers are measured every 10 to 300 s.
        step=300_000_000,
        share_of={"cpu": "request", "memory": "request"},
        shares=("memory",),
        first=0,
        dependency_pattern=r"[A-Za-z]+(\d+)((?:_\d+)*)",
    ),
    unread={"machine_usage": "use of whole machines is not that of tasks"},
    span=timedelta(days=8),
    licence="Alibaba's traces are published for research or study; their folders hold no license.",
    citations=(
        Citation(
            "Alibaba Group: cluster-trace-v2018. Alibaba Cluster Trace Program, 2018.",
            "https://github.com/alibaba/clusterdata",
        ),
    ),
)
