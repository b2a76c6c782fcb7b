"""Alibaba's GPU trace of 2020 (PAI): jobs, tasks, instances, their mean use and their machines, CSV without headers.

A task of a job is a collection called job/task, with the job as its logical name; workers are its instances, and rows
of a worker its attempts. A task's request is for each of its instances. What the sensors say is a mean over the whole
life of a worker: one window. Seconds are shifted: hours and weekdays are true in Shanghai, dates are not. Memory is in
GB of 1,024 MB of 1,024 KB …

Source: the README of cluster-trace-gpu-v2020.
"""

from datetime import timedelta

from borgtrace.schema.dialects.raw import HEXADECIMAL, RawField, RawTable
from borgtrace.schema.dialects.trace_format import (
    EVENTS_FROM_TIMES,
    Citation,
    Conversion,
    Dialect,
)
from borgtrace.schema.dialects.units import GIB, PERCENT, SECOND

STATES = "Running|Terminated|Failed|Waiting"
GPU_TYPE = r"[A-Z][A-Z0-9]*"
_THOUSANDTHS = 10.0
"""Of a GPU, in each percent of one."""

MACHINE_SPEC = RawTable(
    name="pai_machine_spec",
    table="machine_rows",
    is_positional=True,
    fields=(
        RawField("machine", "machine", is_mandatory=True, pattern=HEXADECIMAL),
        RawField("gpu_type", "gpu_model", pattern=GPU_TYPE),
        RawField("cap_cpu", "cpu", is_mandatory=True),
        RawField("cap_mem", "memory", is_mandatory=True, scale=GIB),
        RawField("cap_gpu", "gpus"),
    ),
)

JOB_TABLE = RawTable(
    name="pai_job_table",
    table="submission_rows",
    is_positional=True,
    fields=(
        RawField("job_name", "job", is_mandatory=True, pattern=HEXADECIMAL),
        RawField("inst_id", pattern=HEXADECIMAL),
        RawField("user", "user", pattern=HEXADECIMAL),
        RawField("status", pattern=STATES),
        RawField("start_time", "submit", scale=SECOND),
        RawField("end_time"),
    ),
)

TASK_TABLE = RawTable(
    name="pai_task_table",
    table="task_rows",
    is_positional=True,
    fields=(
        RawField("job_name", "job", is_mandatory=True, pattern=HEXADECIMAL),
        RawField("task_name", "task", is_mandatory=True),
        RawField("inst_num"),
        RawField("status", "status", is_mandatory=True, pattern=STATES),
        RawField("start_time", "start", scale=SECOND),
        RawField("end_time", "end", scale=SECOND),
        RawField("plan_cpu", "cpu_request", scale=PERCENT),
        RawField("plan_mem", "memory_request", scale=GIB),
        RawField("plan_gpu", "gpu_share", scale=_THOUSANDTHS),
        # Of the machine that it was given, not one that it asks for.
        RawField("gpu_type"),
    ),
)

INSTANCE_TABLE = RawTable(
    name="pai_instance_table",
    table="task_rows",
    is_positional=True,
    fields=(
        RawField("job_name", "job", is_mandatory=True, pattern=HEXADECIMAL),
        RawField("task_name", "task", is_mandatory=True),
        RawField("inst_name", pattern=HEXADECIMAL),
        RawField("worker_name", "instance_name", is_mandatory=True, pattern=HEXADECIMAL),
        RawField("inst_id"),
        RawField("status", "status", is_mandatory=True, pattern=STATES),
        RawField("start_time", "start", scale=SECOND),
        RawField("end_time", "end", scale=SECOND),
        RawField("machine", "machine"),
    ),
)

SENSOR_TABLE = RawTable(
    name="pai_sensor_table",
    table="usage_rows",
    is_positional=True,
    fields=(
        RawField("job_name", "job", is_mandatory=True, pattern=HEXADECIMAL),
        RawField("task_name", "task", is_mandatory=True),
        RawField("worker_name", "instance_name", is_mandatory=True, pattern=HEXADECIMAL),
        RawField("inst_id"),
        RawField("machine", "machine"),
        RawField("gpu_name"),
        RawField("cpu_usage", "average_cpu", scale=PERCENT),
        RawField("gpu_wrk_util"),
        RawField("avg_mem", "average_memory", scale=GIB),
        RawField("max_mem", "maximum_memory", scale=GIB),
        RawField("avg_gpu_wrk_mem"),
        RawField("max_gpu_wrk_mem"),
        RawField("read"),
        RawField("write"),
        RawField("read_count"),
        RawField("write_count"),
    ),
)

_TABLES = (MACHINE_SPEC, JOB_TABLE, TASK_TABLE, INSTANCE_TABLE, SENSOR_TABLE)

DIALECT = Dialect(
    name="alibaba-pai-2020",
    title="Alibaba GPU trace 2020 (PAI)",
    tables={table.name: table for table in _TABLES},
    codes={
        "event_type": {
            **EVENTS_FROM_TIMES,
            "Terminated": "FINISH",
            "Failed": "FAIL",
            "Running": "SCHEDULE",
            "Waiting": "SUBMIT",
        },
    },
    # A time of 0 is missing.
    none={"submit": (0,), "start": (0,), "end": (0,)},
    time_zones={"": "Asia/Shanghai"},
    conversion=Conversion(clock="epoch"),
    unread={
        "pai_group_tag_table": "tags of jobs have no place in a store",
        "pai_machine_metric": "means of whole machines over the life of a worker are no use of tasks",
    },
    span=timedelta(days=62),
    licence="Alibaba's GPU trace of 2020 is published under the license CC-BY 4.0.",
    citations=(
        Citation(
            "Q. Weng, W. Xiao, Y. Yu, W. Wang, C. Wang, J. He, Y. Li, L. Zhang, W. Lin, Y. Ding: MLaaS in the Wild: "
            "Workload Analysis and Scheduling in Large-Scale Heterogeneous GPU Clusters. NSDI 2022.",
            "https://www.usenix.org/conference/nsdi22/presentation/weng",
        ),
    ),
)
