"""CSV files of 2011, as the readers of CloudSim Plus take them."""

from borgtrace.export.files.queries import ExportQuery, MachineSize, read_query, tie_order
from borgtrace.store import Store

_TASK_FILES = ("task_events.csv.gz", "task_usage.csv.gz")


def cloudsim_queries(store: Store, size: MachineSize) -> list[ExportQuery]:
    """Return the queries of ``machine_events``, ``task_events`` and ``task_usage``.

    Parameters
    ----------
    store
        Where from.
    size
        Not needed: resources stay fractions of the largest machine.
    """
    parameters = {"tie_order": tie_order(store)}
    machines = ExportQuery(
        sql=read_query("cloudsim_machines"),
        parameters=parameters,
        file_name=lambda part: "machine_events.csv.gz",
    )
    tasks = ExportQuery(
        sql=read_query("cloudsim_tasks"),
        parameters=parameters,
        file_name=_TASK_FILES.__getitem__,
        n_files=len(_TASK_FILES),
    )
    return [machines, tasks]
