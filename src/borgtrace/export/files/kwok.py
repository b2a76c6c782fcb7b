"""Manifests of Kubernetes for KWOK and kube-scheduler-simulator: priority classes, nodes, and pods as they arrive."""

from borgtrace.export.files.queries import (
    MACHINES_LEDGER,
    ExportQuery,
    MachineSize,
    need_machines,
    read_steps,
    tie_order,
)
from borgtrace.schema import TERMINAL_EVENTS
from borgtrace.schema.time import TRACE_START
from borgtrace.store import Store

_TASKS_LEDGER = """
SELECT reason, count(*) AS rows FROM candidates GROUP BY reason ORDER BY reason
"""


def kwok_queries(store: Store, size: MachineSize) -> list[ExportQuery]:
    """Return the queries of priority classes, nodes and pods, in the order in which kubectl applies a folder.

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
    parameters = {
        "cores": size.need_cores(),
        "bytes": size.need_bytes(),
        "zero": TRACE_START,
        "terminal": list(TERMINAL_EVENTS),
        "tie_order": tie_order(store),
    }
    need_machines(store, "kwok")
    priorities = ExportQuery(
        sql=read_steps("kwok_tasks", "kwok_priorities"),
        parameters=parameters,
        file_name=lambda part: "0-priorities.yaml",
    )
    nodes = ExportQuery(
        sql=read_steps("machines", "kwok_labels", "kwok_nodes"),
        parameters=parameters,
        file_name=lambda part: "1-nodes.yaml",
        what="machines",
        ledger=MACHINES_LEDGER,
    )
    pods = ExportQuery(
        sql=read_steps("machines", "kwok_labels", "kwok_tasks", "kwok_pods"),
        parameters=parameters,
        file_name=lambda part: "2-pods.yaml",
        what="tasks",
        ledger=read_steps("kwok_tasks") + _TASKS_LEDGER,
    )
    return [priorities, nodes, pods]
