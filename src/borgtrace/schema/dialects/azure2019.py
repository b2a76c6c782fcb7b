"""Azure's VM trace of 2019 (V2): CSV without a header, a table of VMs and five-minute readings of their CPU.

Readings are percent of the cores of their VM, and cores and memory are buckets, whose last ones have no upper end: the
publisher's own notebook takes 30 cores and 70 GB for them.  Readings name no machine, and none are listed: say
``--capacity``.  Source: ``AzurePublicDatasetV2.md``.
"""

from datetime import timedelta

from borgtrace.schema.dialects import licences
from borgtrace.schema.dialects.converted import STEPS, converted_dialect
from borgtrace.schema.dialects.raw import RawField, RawTable
from borgtrace.schema.dialects.trace_format import Citation, Conversion
from borgtrace.schema.dialects.units import MEMORY, TIMES
from borgtrace.schema.time import WINDOW

_SECONDS, _GIB = TIMES["s"][0], MEMORY["GiB"][0]
# Encrypted ids are Base64 of 48 bytes.
_HASH = r"[A-Za-z0-9+/=]{24,}"

VMS = RawTable(
    "vmtable",
    "task_rows",
    (
        RawField("vmid", "task", is_mandatory=True, pattern=_HASH),
        RawField("subscriptionid", "user"),
        RawField("deploymentid", "app"),
        RawField("vmcreated", "submit", is_mandatory=True, scale=_SECONDS, pattern=r"\d+"),
        RawField("vmdeleted", "end", scale=_SECONDS),
        RawField("maxcpu", ""),
        RawField("avgcpu", ""),
        RawField("p95maxcpu", ""),
        RawField("vmcategory", ""),
        RawField("vmcorecountbucket", "cpu_request", words=((">24", 30.0),)),
        RawField("vmmemorybucket", "memory_request", scale=_GIB, words=((">64", 70.0),)),
    ),
    is_positional=True,
)
READINGS = RawTable(
    "vm_cpu_readings",
    "usage_rows",
    (
        RawField("timestamp", "time", is_mandatory=True, scale=_SECONDS, pattern=r"\d+"),
        RawField("vmid", "task", is_mandatory=True, pattern=_HASH),
        RawField("mincpu", ""),
        RawField("maxcpu", "maximum_cpu", scale=0.01),
        RawField("avgcpu", "average_cpu", scale=0.01),
    ),
    is_positional=True,
    parts=195,
)

AZURE_2019 = converted_dialect(
    "azure-2019",
    "Azure VM trace 2019",
    (VMS, READINGS),
    # Readings begin at 0, every 300 s for 30 days: the last is at 2,591,700 s.
    Conversion(step=WINDOW, is_regular=True, of={"cpu": "request"}, first=0, last=2_591_700_000_000),
    {**STEPS, "FINISH": "FINISH"},
    absent={"machine_id": "no machines are published"},
    span=timedelta(days=30),
    citations=(
        Citation(
            "E. Cortez, A. Bonde, A. Muzio, M. Russinovich, M. Fontoura, R. Bianchini: Resource Central: Understanding "
            "and Predicting Workloads for Improved Resource Management in Large Cloud Platforms. SOSP 2017.",
            "https://github.com/Azure/AzurePublicDataset",
        ),
    ),
    licence=licences.AZURE,
)
