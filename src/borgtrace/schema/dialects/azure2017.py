"""Azure's VM trace of 2017 (V1): CSV without a header, a table of VMs and five-minute readings of their CPU.

As in V2 readings are percent of the cores of their VM, but cores and memory are exact, not buckets. Readings of both
are alike: their files are told by their names (of 125 here), else say --dialect. Machines are not published: say
--capacity.

Source: AzurePublicDatasetV1.md, and the schema in its Links file.
"""

from dataclasses import replace
from datetime import timedelta

from borgtrace.schema.dialects.azure2019 import CPU_READINGS as CPU_READINGS_OF_V2
from borgtrace.schema.dialects.azure2019 import DIALECT as V2
from borgtrace.schema.dialects.azure2019 import MEMORY_BUCKETS
from borgtrace.schema.dialects.azure2019 import VMS as VMS_OF_V2
from borgtrace.schema.dialects.raw import RawField
from borgtrace.schema.dialects.units import GIB

EXACT_MEMORY = rf"(?!(?:{MEMORY_BUCKETS})$)\d+(?:\.\d+)?"
"""Sizes in GB that are no buckets of V2."""

VMS = replace(
    VMS_OF_V2,
    fields=(
        *VMS_OF_V2.fields[:9],
        RawField("vmcorecount", "cpu_request"),
        RawField("vmmemory", "memory_request", pattern=EXACT_MEMORY, scale=GIB),
    ),
)
CPU_READINGS = replace(CPU_READINGS_OF_V2, parts=125)

DIALECT = replace(
    V2,
    name="azure-2017",
    title="Azure VM trace 2017",
    trace="azure-2017",
    tables={table.name: table for table in (VMS, CPU_READINGS)},
    span=timedelta(days=30),
)
