"""Workloads for OpenDC: two Parquet files, tasks and the fragments of their use.

A task starts when it is submitted, and its fragments follow each other from there in the order of their file, whatever
they call their times.  CPU is in MHz: use is a share of what all cores of the task have together.  Machines are another
input of the simulator: say ``--capacity``.  Sources: ``TaskSchemas.kt`` and ``FragmentSchemas.kt`` of OpenDC, and its
page on workloads.
"""

from borgtrace.schema.dialects import licences
from borgtrace.schema.dialects.converted import STEPS, converted_dialect
from borgtrace.schema.dialects.raw import read_tables
from borgtrace.schema.dialects.trace_format import Conversion

OPENDC = converted_dialect(
    "opendc",
    "Workload for OpenDC",
    read_tables("opendc"),
    Conversion(clock="epoch", of={"cpu": "clock"}),
    {**STEPS, "FINISH": "FINISH"},
    formats=("parquet",),
    absent={"machine_id": "tasks name no machine"},
    licence=licences.OPENDC,
)
