"""Azure's VM trace of 2019 (V2): CSV without a header, a table of VMs and five-minute readings of their CPU.

Readings are percent of the cores of their VM, and cores and memory are buckets, whose last ones have no upper end: the
publisher's own notebook takes 30 cores and 70 GB for them.  Readings name no machine, and none are listed: say
``--capacity``.  Source: ``AzurePublicDatasetV2.md``.
"""

from datetime import timedelta

from borgtrace.schema.dialects import licences
from borgtrace.schema.dialects.converted import STEPS, converted_dialect
from borgtrace.schema.dialects.raw import read_tables
from borgtrace.schema.dialects.trace_format import Conversion
from borgtrace.schema.time import WINDOW

AZURE_2019 = converted_dialect(
    "azure-2019",
    "Azure VM trace 2019",
    read_tables("azure2019", is_positional=True),
    # Readings begin at 0, every 300 s for 30 days: the last is at 2,591,700 s.
    Conversion(step=WINDOW, is_regular=True, of={"cpu": "request"}, first=0, last=2_591_700_000_000),
    {**STEPS, "FINISH": "FINISH"},
    absent={"machine_id": "no machines are published"},
    span=timedelta(days=30),
    licence=licences.AZURE,
)
