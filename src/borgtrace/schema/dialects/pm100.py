"""PM100: jobs of the supercomputer Marconi100 of 2020 that had their nodes for themselves, with their power.

Memory and power are not read: the publisher does not say their units.

Source: the documentation of francescoantici/PM100-data.
"""

from borgtrace.schema.dialects.raw import RawField, RawTable
from borgtrace.schema.dialects.sacct import ENDS
from borgtrace.schema.dialects.trace_format import Citation, Conversion, Dialect
from borgtrace.schema.dialects.units import SECOND

JOBS = RawTable(
    name="job_table",
    table="task_rows",
    fields=(
        RawField("job_id", "task", is_mandatory=True),
        RawField("user_id", "user"),
        RawField("job_state", "status", is_mandatory=True),
        RawField("submit_time", "submit", is_mandatory=True, zone="UTC"),
        RawField("start_time", "start", zone="UTC"),
        RawField("end_time", "end", zone="UTC"),
        RawField("run_time", "run", scale=SECOND),
        RawField("num_cores_alloc", "cpu_request", is_mandatory=True),
        RawField("num_gpus_alloc", "gpus", is_mandatory=True),
    ),
)

DIALECT = Dialect(
    name="pm100",
    title="PM100 trace of Marconi100, 2020",
    tables={JOBS.name: JOBS},
    formats=("parquet",),
    codes={"event_type": ENDS},
    absent={"machine_id": "nodes are published as text of no fixed form"},
    conversion=Conversion(clock="epoch", is_local=True, has_sizes=False),
    citations=(
        Citation(
            "F. Antici, M. Seyedkazemi Ardebili, A. Bartolini, Z. Kiziltan: PM100: A Job Power Consumption Dataset "
            "of a Large-Scale Production HPC System. SC-W 2023.",
            "https://doi.org/10.1145/3624062.3624263",
        ),
    ),
)
