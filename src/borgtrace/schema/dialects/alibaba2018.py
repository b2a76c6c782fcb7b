"""Alibaba's trace of 2018: machines, containers with their use, and batch jobs whose tasks wait for each other.

A container is a task of its own, its deploy unit the logical name.  A task of a batch job is a collection called
job/task, the job its logical name; rows of an instance are its attempts.  ``M5_3_4`` waits for the tasks 3 and 4 of its
job; names of another form say nothing.  CPU in use is percent of what a container requests, and all memory a share of
the largest machine's.  Sources: ``schema.txt`` and ``trace_2018.md`` of ``cluster-trace-v2018``.
"""

from datetime import timedelta

from borgtrace.schema.dialects import licences
from borgtrace.schema.dialects.converted import STEPS, converted_dialect
from borgtrace.schema.dialects.raw import read_tables
from borgtrace.schema.dialects.trace_format import Conversion
from borgtrace.schema.time import WINDOW

_ENDS = {"Terminated": "FINISH", "Failed": "FAIL", "Interrupted": "EVICT", "Cancelled": "KILL"}
# A time of 0 is before or after the trace: what runs has no end, what waits no start.
_STATES = {"Running": "SCHEDULE", "Ready": "SUBMIT", "Waiting": "SUBMIT"}

ALIBABA_2018 = converted_dialect(
    "alibaba-2018",
    "Alibaba cluster trace 2018",
    read_tables("alibaba2018", is_positional=True),
    Conversion(
        # Containers are measured every 10 to 300 s.
        step=WINDOW,
        of={"cpu": "request", "memory": "request"},
        shares=("memory",),
        first=0,
        waits=r"[A-Za-z]+(\d+)((?:_\d+)*)",
    ),
    {**STEPS, "UPDATE_RUNNING": "UPDATE_RUNNING", **_ENDS, **_STATES},
    none={"end": (0,), "cpu": (-1,), "cpu_request": (-1,), "cycles_per_instruction": (-1,)}
    | dict.fromkeys(("average_cpu", "average_memory", "memory", "memory_request"), (-1, 101)),
    span=timedelta(days=8),
    licence=licences.ALIBABA,
)
