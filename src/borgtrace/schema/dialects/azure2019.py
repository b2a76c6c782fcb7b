"""Azure's VM trace of 2019 (V2): CSV without a header, a table of VMs and five-minute readings of their CPU.

Readings are percent of the cores of their VM. Cores and memory are buckets, the last of which have no upper end: the
publisher's own notebook takes 30 cores and 70 GB for them. Readings name no machine, and none are listed: say
--capacity.

Source: AzurePublicDatasetV2.md.
"""

from datetime import timedelta

from borgtrace.schema.dialects.raw import ENCRYPTED, NUMBER, RawField, RawTable
from borgtrace.schema.dialects.trace_format import (
    EVENTS_FROM_TIMES,
    Citation,
    Conversion,
    Dialect,
)
from borgtrace.schema.dialects.units import GIB, PERCENT, SECOND

MEMORY_BUCKETS = r"2|4|8|32|64|>64"
"""Sizes in GB, by which files of V2 are told from those of V1, which has exact ones: 1.75, 3.5, 7, 14 …"""

VMS = RawTable(
    name="vmtable",
    table="task_rows",
    is_positional=True,
    fields=(
        RawField("vmid", "task", is_mandatory=True, pattern=ENCRYPTED),
        RawField("subscriptionid", "user"),
        RawField("deploymentid", "app"),
        RawField(
            "vmcreated",
            "submit",
            is_mandatory=True,
            pattern=NUMBER,
            scale=SECOND,
        ),
        RawField("vmdeleted", "end", scale=SECOND),
        RawField("maxcpu"),
        RawField("avgcpu"),
        RawField("p95maxcpu"),
        RawField("vmcategory"),
        RawField("vmcorecountbucket", "cpu_request", words=((">24", 30.0),)),
        RawField(
            "vmmemorybucket",
            "memory_request",
            pattern=MEMORY_BUCKETS,
            scale=GIB,
            words=((">64", 70.0),),
        ),
    ),
)

CPU_READINGS = RawTable(
    name="vm_cpu_readings",
    table="usage_rows",
    is_positional=True,
    parts=195,
    fields=(
        RawField(
            "timestamp",
            "time",
            is_mandatory=True,
            pattern=NUMBER,
            scale=SECOND,
        ),
        RawField("vmid", "task", is_mandatory=True, pattern=ENCRYPTED),
        RawField("mincpu"),
        RawField("maxcpu", "maximum_cpu", scale=PERCENT),
        RawField("avgcpu", "average_cpu", scale=PERCENT),
    ),
)

DIALECT = Dialect(
    name="azure-2019",
    title="Azure VM trace 2019",
    tables={table.name: table for table in (VMS, CPU_READINGS)},
    codes={"event_type": {**EVENTS_FROM_TIMES, "FINISH": "FINISH"}},
    absent={"machine_id": "no machines are published"},
    # Readings begin at 0, every 300 s for 30 days: the last is at 2,591,700 s.
    conversion=Conversion(
        step=300_000_000,
        is_regular=True,
        share_of={"cpu": "request"},
        first=0,
        last=2_591_700_000_000,
    ),
    span=timedelta(days=30),
    licence="Azure's traces are published under the license CC-BY 4.0.",
    citations=(
        Citation(
            "E. Cortez, A. Bonde, A. Muzio, M. Russinovich, M. Fontoura, R. Bianchini: Resource Central: Understanding "
            "and Predicting Workloads for Improved Resource Management in Large Cloud Platforms. SOSP 2017.",
            "https://github.com/Azure/AzurePublicDataset",
        ),
    ),
)
