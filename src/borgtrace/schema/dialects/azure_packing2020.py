"""Azure's trace for packing of 2020: requests for VMs, and what each type of VM takes of each kind of machine.

One SQLite database, or its tables as CSV with headers. Times are days since collection began; what was there then has
a negative one. Low-priority VMs may be evicted, so their ends are not always their own: priority 1 is high here and 0
low, the other way round than in the files. A type takes another share of each kind of machine: the least of them is
taken, that of the largest kind. Machines themselves are not published.

Source: AzureTracesForPacking2020.md.
"""

from datetime import timedelta

from borgtrace.schema.dialects.raw import RawField, RawTable
from borgtrace.schema.dialects.trace_format import (
    EVENTS_FROM_TIMES,
    Citation,
    Conversion,
    Dialect,
)
from borgtrace.schema.dialects.units import DAY

VMS = RawTable(
    name="vm",
    table="task_rows",
    fields=(
        RawField("vmId", "task", is_mandatory=True),
        RawField("tenantId", "user"),
        RawField("vmTypeId", "kind", is_mandatory=True),
        # 0 is high and 1 low: elsewhere a higher number is a higher priority.
        RawField("priority", "priority", scale=-1, offset=1),
        RawField("starttime", "start", is_mandatory=True, scale=DAY, least=0),
        RawField("endtime", "end", scale=DAY, least=0),
    ),
)

VM_TYPES = RawTable(
    name="vmType",
    table="type_rows",
    fields=(
        RawField("id"),
        RawField("vmTypeId", "kind", is_mandatory=True),
        RawField("machineId", "platform", is_mandatory=True),
        RawField("core", "cpu", is_mandatory=True),
        RawField("memory", "memory"),
        RawField("hdd"),
        RawField("ssd"),
        RawField("nic"),
    ),
)

DIALECT = Dialect(
    name="azure-packing-2020",
    title="Azure trace for packing 2020",
    tables={table.name: table for table in (VM_TYPES, VMS)},
    codes={"event_type": {**EVENTS_FROM_TIMES, "FINISH": "FINISH"}},
    absent={"machine_id": "no machines are published: machineId is a kind of them"},
    conversion=Conversion(shares=("cpu", "memory"), first=0),
    # Starts are of 14 days, ends of 90.
    span=timedelta(days=14),
    licence="Azure's traces are published under the license CC-BY 4.0.",
    citations=(
        Citation(
            "O. Hadary, L. Marshall, I. Menache, A. Pan, D. Dion, E. Greeff, S. Dorminey, S. Joshi, Y. Chen, "
            "M. Russinovich, T. Moscibroda: Protean: VM Allocation Service at Scale. OSDI 2020.",
            "https://www.usenix.org/conference/osdi20/presentation/hadary",
        ),
    ),
)
