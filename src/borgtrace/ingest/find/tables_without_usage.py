"""Tables that are known to hold no usage over time, and what to fetch instead."""

from typing import NamedTuple

from borgtrace.errors import SourceError
from borgtrace.ingest.find.sniffed_table import SniffedTable


class KnownTable(NamedTuple):
    """A table that holds no usage of tasks, by columns that it has, and those that it may have at most."""

    columns: frozenset[str]
    what: str
    way_out: str
    most_columns: frozenset[str] = frozenset()


TABLES = (
    KnownTable(
        frozenset({"object.container", "recommended.requests.cpu.value"}),
        "krr's report: requests and recommendations, and no usage over time",
        "fetch the usage that it was made from: borgtrace fetch prometheus URL DEST",
    ),
    KnownTable(
        frozenset(
            {"collection_id", "collection_type", "scheduling_class", "collection_logical_name"}
        ),
        "collection_events of Google's trace of 2019: events of jobs, and no usage of tasks",
        "fetch instance_events and instance_usage of the same cell too, as JSON or Parquet, and name the folder of all",
    ),
    KnownTable(
        frozenset({"ParentID", "TaskID", "NrmlTaskCores", "NrmlTaskMem"}),
        "Google's trace of seven hours (2010), whose amounts are shares of nobody knows what",
        "take the trace of 2011 or 2019: borgtrace fetch --help",
    ),
    KnownTable(
        frozenset({"cells", "nbformat"}),
        "a notebook of Jupyter, and no table",
        "export the table that it makes as CSV or Parquet",
    ),
    KnownTable(
        frozenset({"pod", "cpu", "memory"}),
        "usage without times, as kubectl top prints it",
        "print the time before each table: while date -u; do kubectl top pods -A; sleep 60; done > top.txt; "
        "or name each file by its time, such as top-2026-11-01T00:05:00Z.txt",
        most_columns=frozenset({"namespace", "pod", "container", "cpu", "memory"}),
    ),
    KnownTable(
        frozenset({"resource_name", "sku_id", "usage.amount"}),
        "a bill of usage (GKE usage metering), of namespaces and not of tasks",
        "fetch usage over time: borgtrace fetch prometheus URL DEST",
    ),
    KnownTable(
        frozenset({"node", "cpu", "cpu%", "memory"}),
        "usage of nodes (kubectl top node), which is not that of tasks",
        "print that of pods: while date -u; do kubectl top pods -A; sleep 60; done > top.txt",
    ),
    KnownTable(
        frozenset({"node", "start", "end", "window", "cpu", "memory"}),
        "usage of nodes (NodeMetrics), which is not that of tasks",
        "ask for that of pods: kubectl get --raw /apis/metrics.k8s.io/v1beta1/pods",
        most_columns=frozenset({"node", "start", "end", "window", "cpu", "memory"}),
    ),
)


def refuse_table_without_usage(table: SniffedTable) -> None:
    """Refuse a table that is known to hold no usage of tasks.

    Parameters
    ----------
    table
        Its first rows.

    Raises
    ------
    SourceError
        It is one of them.
    """
    names = set(table.names)
    for known in TABLES:
        has_no_more = not known.most_columns or names <= known.most_columns
        if known.columns <= names and has_no_more:
            raise SourceError(str(table.path), known.what, way_out=known.way_out)
