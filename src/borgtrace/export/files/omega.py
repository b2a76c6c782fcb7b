"""Distributions of jobs, as Google's cluster-scheduler-simulator takes them."""

from borgtrace.export.files.queries import ExportQuery, MachineSize, read_query, tie_order
from borgtrace.schema import TERMINAL_EVENTS
from borgtrace.schema.dialects import Dialect
from borgtrace.schema.time import TRACE_START
from borgtrace.store import Store

_FILES = (
    "init_cluster_state.log",
    "interarrival_cmb.log",
    "csizes_cmb.log",
    "runtimes_cmb.log",
)
_NO_PRIORITY = 2**31
"""A priority that no job has."""


def omega_queries(store: Store, size: MachineSize) -> list[ExportQuery]:
    """Return the query of the cell at the start, and of the jobs that arrive.

    Parameters
    ----------
    store
        Where from.
    size
        Cores and bytes of the largest machine.

    Raises
    ------
    UsageError
        The size is not known.
    """
    manifest = store.manifest
    cell = manifest.cell or manifest.dialect.trace
    query = ExportQuery(
        sql=read_query("omega"),
        parameters={
            "cores": size.need_cores(),
            "bytes": size.need_bytes(),
            "zero": TRACE_START,
            "cell": cell.replace(" ", "-"),
            "production": _lowest_production_priority(manifest.dialect),
            "terminal": list(TERMINAL_EVENTS),
            "tie_order": tie_order(store),
        },
        file_name=_FILES.__getitem__,
        n_files=len(_FILES),
    )
    return [query]


def _lowest_production_priority(dialect: Dialect) -> int:
    for name, lowest, _ in dialect.tiers:
        if name == "production":
            return lowest
    # In a trace without tiers nothing is production.
    return _NO_PRIORITY
