"""Alibaba's trace of 2017: the tasks of batch jobs, CSV without a header.

A task is a collection called job/task, its job the logical name. Its request is for each of its instances, CPU in
percent of a core and memory a share of the largest machine's. What has a negative time began before the trace. The
other tables are not read: batch_instance names no instance, and containers and servers are events of another kind.

Sources: schema.csv and trace_201708.md of cluster-trace-v2017.
"""

from datetime import timedelta

from borgtrace.schema.dialects.raw import RawField, RawTable
from borgtrace.schema.dialects.trace_format import (
    EVENTS_FROM_TIMES,
    Citation,
    Conversion,
    Dialect,
)
from borgtrace.schema.dialects.units import PERCENT, SECOND

STATES = "Ready|Waiting|Running|Terminated|Failed|Cancelled"
ID = "[0-9]+"
_TIME = r"-?\d+"

BATCH_TASK = RawTable(
    name="batch_task",
    table="task_rows",
    is_positional=True,
    fields=(
        RawField(
            "create_timestamp",
            "submit",
            is_mandatory=True,
            pattern=_TIME,
            scale=SECOND,
            least=0,
        ),
        RawField("modify_timestamp", "end", scale=SECOND),
        RawField("job_id", "job", is_mandatory=True, pattern=ID),
        RawField("task_id", "task", is_mandatory=True, pattern=ID),
        RawField("instance_num"),
        RawField("status", "status", is_mandatory=True, pattern=STATES),
        RawField("plan_cpu", "cpu_request", scale=PERCENT),
        RawField("plan_mem", "memory_request"),
    ),
)

_OTHERS = "of this trace only batch_task is"

DIALECT = Dialect(
    name="alibaba-2017",
    title="Alibaba cluster trace 2017",
    tables={BATCH_TASK.name: BATCH_TASK},
    codes={
        "event_type": {
            **EVENTS_FROM_TIMES,
            "Terminated": "FINISH",
            "Failed": "FAIL",
            "Cancelled": "KILL",
            "Running": "SCHEDULE",
            "Ready": "SUBMIT",
            "Waiting": "SUBMIT",
        },
    },
    # A time of 0 is before the trace, or none yet.
    none={"end": (0,)},
    absent={"machine_id": "tasks name no machine"},
    conversion=Conversion(shares=("memory",), first=0),
    unread=dict.fromkeys(("server_event", "server_usage", "container_event"), _OTHERS),
    span=timedelta(hours=24),
    licence="Alibaba's traces are published for research or study; their folders hold no license.",
    citations=(
        Citation(
            "Alibaba Group: cluster-trace-v2017. Alibaba Cluster Trace Program, 2017.",
            "https://github.com/alibaba/clusterdata",
        ),
    ),
)
