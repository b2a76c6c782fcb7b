"""Input of Alea: jobs in its SWF of 21 fields, clusters of machines, and when machines are away."""

from borgtrace.export.files.queries import (
    MACHINES_LEDGER,
    RUNS_LEDGER,
    ExportQuery,
    MachineSize,
    need_machines,
    read_steps,
    tie_order,
)
from borgtrace.schema import TERMINAL_EVENTS
from borgtrace.schema.time import TRACE_START
from borgtrace.store import Store

_JOBS = "fairshare.swf"
# Alea reads the last field, nodes and processors of each, only if the name of the file has one of a few words; with
# most of them it takes memory for bytes, which are KB in SWF.  Without it, a job of 21 fields has one processor.


def alea_queries(store: Store, size: MachineSize) -> list[ExportQuery]:
    """Return the queries of ``fairshare.swf`` and the ``.machines`` and ``.failures`` beside it.

    Parameters
    ----------
    store
        Where from.
    size
        Cores and bytes of the largest machine.

    Raises
    ------
    UsageError
        The size is not known, or no machine has a capacity.
    """
    cores = size.need_cores()
    n_bytes = size.need_bytes()
    need_machines(store, "alea")
    tiers = store.manifest.dialect.tiers
    parameters = {
        "cores": cores,
        "bytes": n_bytes,
        "zero": TRACE_START,
        "terminal": list(TERMINAL_EVENTS),
        "tie_order": tie_order(store),
        "tiers": [name for name, _, _ in tiers],
        "lowest": [low for _, low, _ in tiers],
        "highest": [high for _, _, high in tiers],
    }
    jobs = ExportQuery(
        sql=read_steps("attempts", "runs", "alea_jobs"),
        parameters=parameters,
        file_name=lambda part: _JOBS,
        what="attempts",
        ledger=read_steps("attempts", "runs") + RUNS_LEDGER,
    )
    machines = ExportQuery(
        sql=read_steps("machines", "alea_shapes", "alea_machines"),
        parameters=parameters,
        file_name=lambda part: f"{_JOBS}.machines",
        what="machines",
        ledger=MACHINES_LEDGER,
    )
    failures = ExportQuery(
        sql=read_steps("attempts", "runs", "machines", "alea_shapes", "alea_failures"),
        parameters=parameters,
        file_name=lambda part: f"{_JOBS}.failures",
    )
    return [jobs, machines, failures]
