"""Microsoft's Philly trace of 2017: jobs that train networks on GPUs, with their attempts and machines.

The log has what each attempt had of each machine, and not why one ended before another: those are evictions here. A
table of jobs that is passed around has a line per job, without an id: it starts when it is submitted, as far as that
table says.

Source: the README of msr-fiddle/philly-traces.
"""

from borgtrace.schema.dialects.raw import RawField, RawTable
from borgtrace.schema.dialects.trace_format import (
    EVENTS_FROM_TIMES,
    Citation,
    Conversion,
    Dialect,
)
from borgtrace.schema.dialects.units import SECOND

MACHINES = RawTable(
    name="cluster_machine_list",
    table="machine_rows",
    fields=(
        RawField("machineId", "machine", is_mandatory=True),
        RawField("number of GPUs", "gpus", is_mandatory=True),
    ),
)

LOG = RawTable(
    name="cluster_job_log",
    table="task_rows",
    fields=(
        RawField("jobid", "task", is_mandatory=True),
        RawField("instance", "instance"),
        RawField("vc", "app"),
        RawField("user", "user"),
        RawField("status", "status"),
        RawField("submitted_time", "submit", zone="UTC"),
        RawField("start_time", "start", zone="UTC"),
        RawField("end_time", "end", zone="UTC"),
        RawField("ip", "machine"),
        RawField("gpus", "gpus"),
    ),
)

JOBS = RawTable(
    name="philly_jobs",
    table="task_rows",
    fields=(
        RawField("line", "task", is_mandatory=True),
        RawField("cluster", "app"),
        RawField("timestamp", "start", is_mandatory=True, zone="UTC"),
        RawField("duration", "run", is_mandatory=True, scale=SECOND),
        RawField("num_gpus", "gpus", is_mandatory=True),
    ),
)

_MACHINES_BY_MINUTE = "means of whole machines are no use of tasks"

DIALECT = Dialect(
    name="philly",
    title="Microsoft Philly trace 2017",
    tables={table.name: table for table in (MACHINES, LOG, JOBS)},
    formats=("log",),
    codes={
        "event_type": {
            **EVENTS_FROM_TIMES,
            "Pass": "FINISH",
            "Killed": "KILL",
            "Failed": "FAIL",
            "attempt": "EVICT",
            "running": "SCHEDULE",
            "Running": "SCHEDULE",
            "queued": "SUBMIT",
            "Queued": "SUBMIT",
        },
    },
    conversion=Conversion(clock="epoch", is_local=True, has_sizes=False),
    unread=dict.fromkeys(
        ("cluster_gpu_util", "cluster_cpu_util", "cluster_mem_util"), _MACHINES_BY_MINUTE
    ),
    licence="The trace is published under CC-BY 4.0.",
    citations=(
        Citation(
            "M. Jeon, S. Venkataraman, A. Phanishayee, J. Qian, W. Xiao, F. Yang: Analysis of Large-Scale "
            "Multi-Tenant GPU Clusters for DNN Training Workloads. USENIX ATC 2019.",
            "https://www.usenix.org/conference/atc19/presentation/jeon",
        ),
    ),
)
