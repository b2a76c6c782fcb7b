"""GWA-T-12 Bitbrains: VMs of a hosting company, one CSV for each, with what it was given and used every 5 minutes.

Fields are separated by a semicolon and a tab. CPU is in MHz: use is a share of what all cores of the VM have together,
and may exceed it. Times are in seconds, whatever the header says; a file that has them in ms is read too. Memory is in
KB of 1,024 bytes: a VM of 64 GiB has 67,108,864. VMs of the set rnd are numbered anew and called rnd/7; its three
months have the same VMs. Hosts are not published: say --capacity.

Sources: the page GWA-T-12 of the Grid Workloads Archive, and rows of fastStorage.
"""

from borgtrace.schema.dialects.raw import RawField, RawTable, TaskFile
from borgtrace.schema.dialects.trace_format import (
    EVENTS_FROM_TIMES,
    Citation,
    Conversion,
    Dialect,
)
from borgtrace.schema.dialects.units import KIB, SECOND

FIRST_MILLISECONDS = 1e11
"""As seconds that is the year 5138, as milliseconds 1973."""

VM = RawTable(
    name="vm",
    table="usage_rows",
    task_file=TaskFile(folders=("rnd",)),
    fields=(
        RawField(
            "Timestamp [ms]",
            "time",
            is_mandatory=True,
            scale=SECOND,
            thousandths_from=FIRST_MILLISECONDS,
        ),
        RawField("CPU cores", "cpu_request", is_mandatory=True),
        RawField("CPU capacity provisioned [MHZ]", "cpu_clock", is_mandatory=True),
        RawField("CPU usage [MHZ]", "average_cpu", is_mandatory=True),
        RawField("CPU usage [%]"),
        RawField("Memory capacity provisioned [KB]", "memory_request", scale=KIB),
        RawField("Memory usage [KB]", "average_memory", scale=KIB),
        RawField("Disk read throughput [KB/s]"),
        RawField("Disk write throughput [KB/s]"),
        RawField("Network received throughput [KB/s]"),
        RawField("Network transmitted throughput [KB/s]"),
    ),
)

LICENCE = "The archive asks to acknowledge Bitbrains IT Services and to cite the paper."
CITATIONS = (
    Citation(
        "S. Shen, V. van Beek, A. Iosup: Statistical Characterization of Business-Critical Workloads Hosted in Cloud "
        "Datacenters. CCGrid 2015.",
        "https://gwa.ewi.tudelft.nl/datasets/gwa-t-12-bitbrains",
    ),
)

DIALECT = Dialect(
    name="bitbrains",
    title="Bitbrains VM trace (GWA-T-12)",
    tables={VM.name: VM},
    codes={"event_type": EVENTS_FROM_TIMES},
    absent={"machine_id": "no hosts are published"},
    # A reading stands until the next one of its VM, at most 5 minutes.
    conversion=Conversion(clock="epoch", step=300_000_000, share_of={"cpu": "clock"}),
    licence=LICENCE,
    citations=CITATIONS,
)
