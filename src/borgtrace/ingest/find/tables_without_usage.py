"""Tables that are known to hold no usage of tasks over time, and what to fetch in their place."""

from typing import NamedTuple

from borgtrace.errors import SourceError
from borgtrace.ingest.find.sniffed_table import SniffedTable


class KnownTable(NamedTuple):
    """A table that holds no usage of tasks, by columns that it has."""

    columns: frozenset[str]
    what: str
    way_out: str


TABLES = (
    KnownTable(
        frozenset({"object.container", "recommended.requests.cpu.value"}),
        "krr's report: requests and recommendations, and no usage over time",
        "fetch the usage that it was made from: borgtrace fetch prometheus URL DEST",
    ),
    KnownTable(
        frozenset({"node", "start", "end", "window", "cpu", "memory"}),
        "usage of nodes (NodeMetrics), which is not that of tasks",
        "ask for that of pods: kubectl get --raw /apis/metrics.k8s.io/v1beta1/pods",
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
        if known.columns <= names and not names & {"pod", "container"}:
            raise SourceError(str(table.path), known.what, way_out=known.way_out)
