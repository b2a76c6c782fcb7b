"""Input of Batsim: a workload of jobs and their lengths (JSON), and a platform of cores (XML of SimGrid)."""

from borgtrace.export.files.queries import (
    MACHINES_LEDGER,
    RUNS_LEDGER,
    ExportQuery,
    MachineSize,
    need_machines,
    read_steps,
)
from borgtrace.schema import TERMINAL_EVENTS
from borgtrace.schema.time import TRACE_START
from borgtrace.store import Store

_CORES = """
SELECT CAST(sum(greatest(1, round(cpu_capacity * $cores))) AS BIGINT) AS n FROM machines
"""
# Batsim's scheduler talks from master_host, which runs no jobs.  Profiles of this layout use no network, so there is
# no route.
_PLATFORM = """<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="cell" routing="None">
    <host id="master_host" speed="1Gf"/>
"""


def batsim_queries(store: Store, size: MachineSize) -> list[ExportQuery]:
    """Return the queries of ``workload.json`` and ``platform.xml``.

    Parameters
    ----------
    store
        Where from.
    size
        Cores of the largest machine, and its bytes where they are known.

    Raises
    ------
    UsageError
        The cores are not known, or no machine has a capacity.
    """
    cores = size.need_cores()
    need_machines(store, "batsim")
    n_cores = store.sql(read_steps("machines") + _CORES, {"cores": cores})["n"][0].as_py()
    parameters = {
        "cores": cores,
        "bytes": size.bytes,
        "zero": TRACE_START,
        "terminal": list(TERMINAL_EVENTS),
    }
    workload = ExportQuery(
        sql=read_steps("attempts", "runs", "batsim_workload"),
        parameters=parameters,
        file_name=lambda part: "workload.json",
        head=f'{{"nb_res": {n_cores}, "jobs": [\n',
        tail="}}\n",
        what="attempts",
        ledger=read_steps("attempts", "runs") + RUNS_LEDGER,
    )
    platform = ExportQuery(
        sql=read_steps("machines", "batsim_platform"),
        parameters=parameters,
        file_name=lambda part: "platform.xml",
        head=_PLATFORM,
        tail="  </zone>\n</platform>\n",
        what="machines",
        ledger=MACHINES_LEDGER,
    )
    return [workload, platform]
