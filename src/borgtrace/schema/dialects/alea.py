"""Logs of the simulator Alea: the Standard Workload Format with two or three fields more, and without a header.

Two kinds are published with it, and a third one beside its generator of logs. The first has the nodes of each core, a
queue and the nodes that were asked for; its times are since 1970 and its memory is in bytes of each node. The second
has the workflow of a job and its number there below a heading; its memory is in KB of each node. The generator's has
GPUs, a limit of time that may be exceeded, and the nodes that were asked for, below a header; whether its memory is
that of a node or of the job is not documented, so it is not read.

CPU time and used memory are the same numbers in all rows of the first kind, and those of the request in the others:
neither was measured, so neither is read.

Source: Alea's SWFLoader, the logs in its folder data-set, and the header of those of SWF_Workload_Generator.
"""

from dataclasses import replace

from borgtrace.schema.dialects.raw import BRACED, RawField, RawTable
from borgtrace.schema.dialects.swf import CITATION, NEGATIVES_ARE_UNKNOWN, STATUSES, SWF_FIELDS
from borgtrace.schema.dialects.trace_format import Citation, Conversion, Dialect
from borgtrace.schema.dialects.units import KIB

_NOT_MEASURED = ("average CPU time", "used memory")


def _fields(bytes_per_unit: float) -> tuple[RawField, ...]:
    """Return the first 18 fields, with requested memory in a unit of so many bytes."""
    fields = []
    for field in SWF_FIELDS:
        if field.name in _NOT_MEASURED:
            fields.append(RawField(field.name))
        elif field.name == "requested memory":
            fields.append(replace(field, scale=bytes_per_unit))
        else:
            fields.append(field)
    return tuple(fields)


LOG = RawTable(
    name="alea",
    table="task_rows",
    is_positional=True,
    fields=(
        *_fields(1),
        RawField("nodes", "nodes", pattern=BRACED),
        RawField("queue name"),
        RawField("requested nodes"),
    ),
)

WORKFLOWS = RawTable(
    name="alea_workflows",
    table="task_rows",
    is_positional=True,
    fields=(
        *(
            replace(field, column="") if field.name == "executable" else field
            for field in _fields(KIB)
        ),
        RawField("DAG_name", "app"),
        RawField("Task_ID"),
    ),
)

NODES_TIMES_CORES = r"[^ ]+:\d+x\d+"
"""Properties of nodes, their number and the cores of each: all:excl:3x112."""

GENERATED = RawTable(
    name="alea_generated",
    table="task_rows",
    is_positional=True,
    fields=(
        *(
            RawField(field.name) if field.name == "requested memory" else field
            for field in _fields(KIB)
        ),
        RawField("used GPUs", "gpus"),
        RawField("soft limit of time"),
        RawField("required properties", pattern=NODES_TIMES_CORES),
    ),
)

DIALECT = Dialect(
    name="alea",
    title="Log of the simulator Alea",
    tables={table.name: table for table in (LOG, WORKFLOWS, GENERATED)},
    formats=("swf",),
    codes={"event_type": STATUSES},
    null_codes={"event_type": (-1,)},
    none=NEGATIVES_ARE_UNKNOWN,
    conversion=Conversion(
        clock="epoch", per_node=("memory_request",), is_local=True, has_sizes=False
    ),
    licence="Alea's sources are under the LGPL; its logs are samples, for demonstration only.",
    citations=(
        Citation(
            "D. Klusáček, G. Podolníková, Š. Tóth: Complex Job Scheduling Simulations with Alea 4. SIMUTools 2016.",
            "https://github.com/aleasimulator/alea",
        ),
        CITATION,
    ),
)
