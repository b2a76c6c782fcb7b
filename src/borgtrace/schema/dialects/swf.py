"""The Standard Workload Format: a line of 18 numbers per job, −1 where one is missing.

Processors are the only resource, counted as those that a job was given. A job of several attempts (status 2, 3, 4) has
a line for each. Say --capacity with the processors of the machine, which a log's header calls MaxProcs.

Source: D. G. Feitelson, "The Standard Workload Format", version 2.2 (Parallel Workloads Archive).
"""

from borgtrace.schema.dialects.raw import RawField, RawTable
from borgtrace.schema.dialects.trace_format import Citation, Conversion, Dialect
from borgtrace.schema.dialects.units import SECOND

LOG = RawTable(
    name="swf",
    table="task_rows",
    is_positional=True,
    fields=(
        RawField("job number", "task", is_mandatory=True),
        RawField("submit time", "submit", is_mandatory=True, scale=SECOND),
        RawField("wait time", "wait", scale=SECOND),
        RawField("run time", "run", scale=SECOND),
        RawField("allocated processors", "cpu_request"),
        RawField("average CPU time"),
        RawField("used memory"),
        RawField("requested processors"),
        RawField("requested time"),
        RawField("requested memory"),
        RawField("status", "status"),
        RawField("user", "user"),
        RawField("group"),
        RawField("executable", "app"),
        RawField("queue"),
        RawField("partition"),
        RawField("preceding job"),
        RawField("think time"),
    ),
)

DIALECT = Dialect(
    name="swf",
    title="Log in the Standard Workload Format",
    tables={LOG.name: LOG},
    formats=("swf",),
    codes={
        "event_type": {
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
        },
    },
    null_codes={"event_type": (-1,)},
    none={
        "wait": (-1,),
        "run": (-1,),
        "cpu_request": (-1,),
        "user": (-1,),
        "app": (-1,),
    },
    absent={"machine_id": "a job names no machine"},
    conversion=Conversion(),
    licence="Logs of the Parallel Workloads Archive are published under terms of their own, one by one.",
    citations=(
        Citation(
            "S. J. Chapin, W. Cirne, D. G. Feitelson, J. P. Jones, S. T. Leutenegger, U. Schwiegelshohn, W. Smith, "
            "D. Talby: Benchmarks and Standards for the Evaluation of Parallel Job Schedulers. JSSPP 1999.",
            "https://www.cs.huji.ac.il/labs/parallel/workload/swf.html",
        ),
    ),
)
