"""What is asked of a server: usage as cAdvisor counts it, and what kube-state-metrics says of pods and nodes.

Sources: the lists of metrics of cAdvisor (``docs/storage/prometheus.md``) and of kube-state-metrics (``docs/metrics``),
whose version 2.0 put the resources of ``…_cpu_cores`` and ``…_memory_bytes`` into a label.
"""

from collections.abc import Collection
from dataclasses import dataclass

from borgtrace.fetch.prometheus.selector import Matchers, without_labels, write_series

LABELS_OF_CONTAINERS = frozenset(
    {
        "container",
        "container_name",
        "exported_container",
        "exported_namespace",
        "exported_pod",
        "id",
        "image",
        "name",
        "namespace",
        "pod",
        "pod_name",
        "uid",
    }
)
"""Labels that say nothing of a node; there, ``namespace`` is that of kube-state-metrics itself."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One thing to know of the containers, and the metrics that say it.

    Attributes
    ----------
    title
        What it is, for messages.
    names
        Metrics that say it, the best first; of those that a server has, the first group is asked for.
    is_usage
        Whether it is measured, and must be there; the rest is welcome.
    is_lasting
        Whether it hardly changes, so that one value an hour is enough.
    is_of_nodes
        Whether its labels are of nodes, not of containers.
    """

    title: str
    names: tuple[tuple[str, ...], ...]
    is_usage: bool = False
    is_lasting: bool = False
    is_of_nodes: bool = False

    def known_names(self, names: Collection[str]) -> tuple[str, ...]:
        """Return the metrics to ask for, of those that a server has; empty where it has none."""
        for group in self.names:
            known = tuple(name for name in group if name in names)
            if known:
                return known
        return ()

    def series(self, name: str, matchers: Matchers) -> str:
        """Return the series of a metric in PromQL, without conditions that its labels cannot meet."""
        if self.is_of_nodes:
            matchers = without_labels(matchers, LABELS_OF_CONTAINERS)
        return write_series(name, matchers)


WANTED = (
    Wanted("CPU time", (("container_cpu_usage_seconds_total",),), is_usage=True),
    Wanted("memory", (("container_memory_working_set_bytes",),), is_usage=True),
    Wanted(
        "requests",
        (
            ("kube_pod_container_resource_requests",),
            (
                "kube_pod_container_resource_requests_cpu_cores",
                "kube_pod_container_resource_requests_memory_bytes",
            ),
        ),
        is_lasting=True,
    ),
    Wanted(
        "limits",
        (
            ("kube_pod_container_resource_limits",),
            (
                "kube_pod_container_resource_limits_cpu_cores",
                "kube_pod_container_resource_limits_memory_bytes",
            ),
        ),
        is_lasting=True,
    ),
    Wanted("owners of pods", (("kube_pod_owner",),), is_lasting=True),
    Wanted("labels of pods", (("kube_pod_labels",),), is_lasting=True),
    Wanted(
        "sizes of nodes",
        (
            ("kube_node_status_allocatable",),
            ("kube_node_status_capacity",),
            (
                "kube_node_status_allocatable_cpu_cores",
                "kube_node_status_allocatable_memory_bytes",
            ),
            ("kube_node_status_capacity_cpu_cores", "kube_node_status_capacity_memory_bytes"),
        ),
        is_lasting=True,
        is_of_nodes=True,
    ),
    Wanted("ends of containers", (("kube_pod_container_status_last_terminated_reason",),)),
)

ALL_NAMES = tuple(name for wanted in WANTED for group in wanted.names for name in group)
"""Every metric that may be asked for."""
