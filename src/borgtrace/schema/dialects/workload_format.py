"""The Standard Workload Format: a line of 18 numbers per job, −1 where one is missing.

Processors are the only resource, as those that a job was given.  A job of several attempts (status 2, 3, 4) has a line
for each.  Say ``--capacity`` with the processors of the machine, which a log's header calls ``MaxProcs``.
Source: D. G. Feitelson, "The Standard Workload Format", version 2.2 (Parallel Workloads Archive).
"""

from borgtrace.schema.dialects import licences
from borgtrace.schema.dialects.converted import converted_dialect
from borgtrace.schema.dialects.raw import read_tables
from borgtrace.schema.dialects.trace_format import Conversion

# 2, 3 and 4 are attempts of one job: to be continued, the last one that completed, the last one that failed.  The last
# two numbers here are no statuses of the format, but stand for what its submit and wait times are.
STATUS = {0: "FAIL", 1: "FINISH", 2: "EVICT", 3: "FINISH", 4: "FAIL", 5: "KILL", 101: "SUBMIT", 102: "SCHEDULE"}

WORKLOAD_FORMAT = converted_dialect(
    "swf",
    "Log in the Standard Workload Format",
    read_tables("swf", is_positional=True),
    Conversion(),
    STATUS,
    formats=("swf",),
    null_codes={"event_type": (-1,)},
    none=dict.fromkeys(("wait", "run", "cpu_request", "user", "app"), (-1,)),
    absent={"machine_id": "a job names no machine"},
    licence=licences.WORKLOADS,
)
