"""F-DATA: jobs of the supercomputer Fugaku from March 2021 to April 2024.

Memory, CPU time and power are not read: the publisher does not say their units.

Source: docs/feature_list.csv of francescoantici/F-DATA.
"""

from borgtrace.schema.dialects.raw import RawField, RawTable
from borgtrace.schema.dialects.trace_format import (
    EVENTS_FROM_TIMES,
    Citation,
    Conversion,
    Dialect,
)
from borgtrace.schema.dialects.units import SECOND

JOBS = RawTable(
    name="fdata",
    table="task_rows",
    fields=(
        RawField("jid", "task", is_mandatory=True),
        RawField("usr", "user"),
        RawField("jnam", "app"),
        RawField("cnumat", "cpu_request", is_mandatory=True),
        RawField("adt", "submit", is_mandatory=True, zone="UTC"),
        RawField("sdt", "start", is_mandatory=True, zone="UTC"),
        RawField("edt", "end", is_mandatory=True, zone="UTC"),
        RawField("exit state", "status", is_mandatory=True),
        RawField("duration", "run", scale=SECOND),
    ),
)

DIALECT = Dialect(
    name="f-data",
    title="F-DATA trace of Fugaku",
    tables={JOBS.name: JOBS},
    formats=("parquet",),
    codes={"event_type": {**EVENTS_FROM_TIMES, "completed": "FINISH", "failed": "FAIL"}},
    absent={"machine_id": "a job names no machine"},
    conversion=Conversion(clock="epoch", is_local=True, has_sizes=False),
    licence="The trace is published under CC-BY 4.0.",
    citations=(
        Citation(
            "F. Antici, A. Bartolini, J. Domke, Z. Kiziltan, K. Yamamoto: F-DATA: A Fugaku Workload Dataset for "
            "Job-centric Predictive Modelling in HPC Systems. Scientific Data 2025.",
            "https://github.com/francescoantici/F-DATA",
        ),
    ),
)
