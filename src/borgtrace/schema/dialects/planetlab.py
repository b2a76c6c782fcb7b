"""CPU of PlanetLab's VMs, as CloudSim uses it: a file for each VM and day, with 288 whole percentages.

The folder of a file names the day (20110303), the file the VM, and its rows follow each other every 5 minutes. Of which
machine a percentage is a share is not published: each VM is taken to be as large as the largest machine.

Source: the README of planetlab-workload-traces, and its files.
"""

from datetime import timedelta

from borgtrace.schema.dialects.raw import RawField, RawTable, TaskFile
from borgtrace.schema.dialects.trace_format import (
    EVENTS_FROM_TIMES,
    Citation,
    Conversion,
    Dialect,
)
from borgtrace.schema.dialects.units import PERCENT

PERCENTAGE = r"100|[1-9]?\d"

VM_DAY = RawTable(
    name="vm_day",
    table="usage_rows",
    is_positional=True,
    task_file=TaskFile(day="%Y%m%d", n_rows=288),
    fields=(
        RawField(
            "cpu_percent", "average_cpu", is_mandatory=True, pattern=PERCENTAGE, scale=PERCENT
        ),
    ),
)

DIALECT = Dialect(
    name="planetlab",
    title="PlanetLab VM trace",
    tables={VM_DAY.name: VM_DAY},
    codes={"event_type": EVENTS_FROM_TIMES},
    absent={"machine_id": "no nodes are published"},
    conversion=Conversion(
        clock="epoch",
        step=300_000_000,
        is_regular=True,
        share_of={"cpu": "largest"},
    ),
    span=timedelta(days=49),
    licence="PlanetLab's traces are published without a license, by permission of the CoMon project.",
    citations=(
        Citation(
            "A. Beloglazov, R. Buyya: Optimal Online Deterministic Algorithms and Adaptive Heuristics for Energy and "
            "Performance Efficient Dynamic Consolidation of Virtual Machines in Cloud Data Centers. "
            "Concurrency and Computation: Practice and Experience 24 (13), 2012.",
            "https://github.com/beloglazov/planetlab-workload-traces",
        ),
        Citation(
            "K. Park, V. S. Pai: CoMon: a Mostly-Scalable Monitoring System for PlanetLab. "
            "ACM SIGOPS Operating Systems Review 40 (1), 2006.",
            "https://doi.org/10.1145/1113361.1113374",
        ),
    ),
)
