"""The Standard Workload Format: a line of 18 numbers per job, −1 where one is missing, below a header of comments.

Processors are counted as those that a job was given; memory and CPU time are those of one of them. A job of several
attempts (status 2, 3, 4) has a line for each. The header says when the log began, in which time zone, and how many
nodes and processors there are.

Source: D. G. Feitelson, "The Standard Workload Format", version 2.2 (Parallel Workloads Archive).
"""

from borgtrace.schema.dialects.raw import RawField, RawTable
from borgtrace.schema.dialects.trace_format import Citation, Codes, Conversion, Dialect
from borgtrace.schema.dialects.units import KIB, SECOND

STATUSES: Codes = {
    0: "FAIL",
    1: "FINISH",
    # Attempts of one job: to be continued, the last one that completed, the last one that failed.
    2: "EVICT",
    3: "FINISH",
    4: "FAIL",
    5: "KILL",
    # No statuses of the format: they stand for its submit and wait times.
    101: "SUBMIT",
    102: "SCHEDULE",
}
_UNKNOWN_IF_NEGATIVE = (
    "wait",
    "run",
    "cpu_request",
    "memory_request",
    "used_cpu_time",
    "used_memory",
    "user",
    "app",
)
NEGATIVES_ARE_UNKNOWN = dict.fromkeys(_UNKNOWN_IF_NEGATIVE, (-1,))
SWF_FIELDS = (
    RawField("job number", "task", is_mandatory=True),
    RawField("submit time", "submit", is_mandatory=True, scale=SECOND),
    RawField("wait time", "wait", scale=SECOND),
    RawField("run time", "run", scale=SECOND),
    RawField("allocated processors", "cpu_request"),
    RawField("average CPU time", "used_cpu_time"),
    RawField("used memory", "used_memory", scale=KIB),
    RawField("requested processors"),
    RawField("requested time"),
    RawField("requested memory", "memory_request", scale=KIB),
    RawField("status", "status"),
    RawField("user", "user"),
    RawField("group"),
    RawField("executable", "app"),
    RawField("queue"),
    RawField("partition"),
    RawField("preceding job"),
    RawField("think time"),
)
CITATION = Citation(
    "S. J. Chapin, W. Cirne, D. G. Feitelson, J. P. Jones, S. T. Leutenegger, U. Schwiegelshohn, W. Smith, "
    "D. Talby: Benchmarks and Standards for the Evaluation of Parallel Job Schedulers. JSSPP 1999.",
    "https://www.cs.huji.ac.il/labs/parallel/workload/swf.html",
)

LOG = RawTable(
    name="swf",
    table="task_rows",
    is_positional=True,
    fields=SWF_FIELDS,
)

DIALECT = Dialect(
    name="swf",
    title="Log in the Standard Workload Format",
    tables={LOG.name: LOG},
    formats=("swf",),
    codes={"event_type": STATUSES},
    null_codes={"event_type": (-1,)},
    none=NEGATIVES_ARE_UNKNOWN,
    absent={"machine_id": "a job names no machine"},
    conversion=Conversion(
        clock="epoch",
        per_core=("used_cpu_time", "used_memory", "memory_request"),
        is_local=True,
        has_sizes=False,
    ),
    licence="Logs of the Parallel Workloads Archive are published under terms of their own, one by one.",
    citations=(CITATION,),
)
