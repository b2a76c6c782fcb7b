"""CPU of Bitbrains' VMs (GWA-T-12) as one table of all VMs, as it is handed on for forecasts.

CPU is in MHz of all cores of a VM together, and no row says how many cores those are: say how many MHz the largest
machine has, such as --capacity 86400MHz. The percentage is not read: it is a share of the VM and not of a machine.

Source: the rows themselves, which are those of GWA-T-12.
"""

from borgtrace.schema.dialects.bitbrains import CITATIONS, FIRST_MILLISECONDS, LICENCE
from borgtrace.schema.dialects.raw import RawField, RawTable
from borgtrace.schema.dialects.trace_format import EVENTS_FROM_TIMES, Conversion, Dialect
from borgtrace.schema.dialects.units import SECOND

VMS = RawTable(
    name="vms",
    table="usage_rows",
    fields=(
        RawField("vm", "task", is_mandatory=True),
        RawField(
            "time",
            "time",
            is_mandatory=True,
            scale=SECOND,
            thousandths_from=FIRST_MILLISECONDS,
        ),
        RawField("cpu_mhz", "average_cpu", is_mandatory=True),
        RawField("cpu_pct", is_mandatory=True),
    ),
)

DIALECT = Dialect(
    name="bitbrains-cpu",
    title="CPU of Bitbrains' VMs in one table",
    tables={VMS.name: VMS},
    formats=("csv", "parquet"),
    codes={"event_type": EVENTS_FROM_TIMES},
    absent={"machine_id": "no hosts are published"},
    conversion=Conversion(clock="epoch", step=300_000_000, share_of={"cpu": "megahertz"}),
    licence=LICENCE,
    citations=CITATIONS,
)
