"""Job logs of Slurm, as ``sacct`` prints them: a row for each job and each of its steps.

A job was given what its AllocTRES say (else AllocCPUS or NCPUS; what it asked for while it waits), and asked for the
memory of its ReqMem. It used its TotalCPU and the largest MaxRSS of its steps. Times are those of the machine that
printed them, in a zone that nobody names.

Source: SchedMD/slurm, doc/man/man1/sacct.1, src/sacct/print.c.
"""

from borgtrace.schema.dialects.raw import RawField, RawTable
from borgtrace.schema.dialects.trace_format import EVENTS_FROM_TIMES, Codes, Conversion, Dialect
from borgtrace.schema.dialects.units import SECOND

ENDS: Codes = {
    **EVENTS_FROM_TIMES,
    "PENDING": "SUBMIT",
    "CONFIGURING": "SCHEDULE",
    "RUNNING": "SCHEDULE",
    "SUSPENDED": "SCHEDULE",
    "COMPLETING": "SCHEDULE",
    "COMPLETED": "FINISH",
    "FAILED": "FAIL",
    "OUT_OF_MEMORY": "FAIL",
    # Stopped by the scheduler or a person.
    "CANCELLED": "KILL",
    "TIMEOUT": "KILL",
    "DEADLINE": "KILL",
    "REVOKED": "KILL",
    # Made to leave a machine: it may run again.
    "PREEMPTED": "EVICT",
    "NODE_FAIL": "EVICT",
    "BOOT_FAIL": "EVICT",
    "REQUEUED": "EVICT",
    "RESIZING": "EVICT",
}


def _table(name: str) -> RawTable:
    return RawTable(
        name=name,
        table="task_rows",
        fields=(
            RawField("JobID", "task", is_mandatory=True),
            RawField("step", "step"),
            RawField("JobName", "app"),
            RawField("User", "user"),
            RawField("Submit", "submit", zone="UTC"),
            RawField("Start", "start", zone="UTC"),
            RawField("End", "end", zone="UTC"),
            RawField("Elapsed", "run", scale=SECOND),
            RawField("State", "status"),
            RawField("AllocCPUS", "cpu_request"),
            RawField("ReqMem", "memory_request"),
            RawField("gpus", "gpus"),
            RawField("NodeList", "nodes"),
            RawField("TotalCPU", "used_cpu_time"),
            RawField("MaxRSS", "largest_memory"),
        ),
    )


TEXT = _table("sacct")
JSON = _table("sacct_json")

DIALECT = Dialect(
    name="sacct",
    title="Job log of Slurm",
    tables={table.name: table for table in (TEXT, JSON)},
    formats=("log",),
    codes={"event_type": ENDS},
    absent={"priority": "priorities of Slurm are beyond the range of the store"},
    conversion=Conversion(clock="epoch", is_local=True, has_sizes=False),
)
