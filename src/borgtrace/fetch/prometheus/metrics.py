"""The metrics that are asked for: usage from cAdvisor, and facts about pods and nodes from kube-state-metrics.

Sources: the lists of metrics of cAdvisor (``docs/storage/prometheus.md``) and of kube-state-metrics (``docs/metrics``),
whose version 2.0 put the resources of ``…_cpu_cores`` and ``…_memory_bytes`` into a label.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace

from borgtrace.fetch.prometheus.selector import Matcher, Matchers, write_series

OF_CONTAINERS = frozenset({"namespace", "pod", "container", "uid"})
OF_PODS = frozenset({"namespace", "pod", "uid"})
OF_RULES = OF_CONTAINERS | frozenset({"node"})
"""Of what kube-prometheus records of containers."""
OF_REPLICASETS = frozenset({"namespace", "replicaset"})
OF_JOBS = frozenset({"namespace", "job_name"})
OF_NODES = frozenset({"node"})
LABELS_OF_EXPORTERS = frozenset(
    {
        *OF_CONTAINERS,
        *OF_NODES,
        *OF_REPLICASETS,
        *OF_JOBS,
        "container_name",
        "cpu",
        "endpoint",
        "exported_container",
        "exported_namespace",
        "exported_pod",
        "id",
        "image",
        "instance",
        "job",
        "metrics_path",
        "name",
        "pod_name",
        "service",
    }
)
"""Labels that cAdvisor, kube-state-metrics or scraping give; all others, such as ``cluster``, are on all series."""
LATER_NAMES = {"pod_name": "pod", "container_name": "container"}
"""What labels are called since Kubernetes 1.16, and always were in kube-state-metrics."""


def is_rule(name: str) -> bool:
    """Return whether a metric is recorded by a rule, which by convention has a colon in its name.

    Examples
    --------
    >>> is_rule("namespace_workload_pod:kube_pod_owner:relabel"), is_rule("kube_pod_owner")
    (True, False)
    """
    return ":" in name


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
    labels
        Labels of exporters that it has; conditions on others cannot be met. Of nodes, ``namespace`` is that of
        kube-state-metrics itself.
    """

    title: str
    names: tuple[tuple[str, ...], ...]
    is_usage: bool = False
    is_lasting: bool = False
    labels: frozenset[str] = LABELS_OF_EXPORTERS

    def known_names(self, names: Collection[str]) -> tuple[str, ...]:
        """Return the metrics to ask for, of those that a server has; empty where it has none."""
        for group in self.names:
            known = tuple(name for name in group if name in names)
            if known:
                return known
        return ()

    def series(self, name: str, matchers: Matchers) -> str:
        """Return the series of a metric in PromQL, without conditions that its labels cannot meet."""
        conditions = []
        for matcher in matchers:
            if self.has_label(name, matcher.label):
                conditions.append(self._renamed(matcher))
        return write_series(name, conditions)

    def lacking(self, name: str, matchers: Matchers) -> list[str]:
        """Return the labels of conditions that a metric cannot meet."""
        return [matcher.label for matcher in matchers if not self.has_label(name, matcher.label)]

    def has_label(self, name: str, label: str) -> bool:
        """Return whether a metric may have a label, under its name of today."""
        current = LATER_NAMES.get(label, label)
        labels = OF_RULES if is_rule(name) else self.labels
        return current in labels or label not in LABELS_OF_EXPORTERS

    def _renamed(self, matcher: Matcher) -> Matcher:
        if self.is_usage:
            return matcher
        return replace(matcher, label=LATER_NAMES.get(matcher.label, matcher.label))


WANTED = (
    Wanted(
        "CPU time",
        (
            ("container_cpu_usage_seconds_total",),
            ("node_namespace_pod_container:container_cpu_usage_seconds_total:sum_rate5m",),
            ("node_namespace_pod_container:container_cpu_usage_seconds_total:sum_irate",),
            ("node_namespace_pod_container:container_cpu_usage_seconds_total:sum_rate",),
        ),
        is_usage=True,
    ),
    Wanted(
        "memory",
        (
            ("container_memory_working_set_bytes",),
            ("node_namespace_pod_container:container_memory_working_set_bytes",),
        ),
        is_usage=True,
    ),
    Wanted(
        "requests",
        (
            ("kube_pod_container_resource_requests",),
            (
                "kube_pod_container_resource_requests_cpu_cores",
                "kube_pod_container_resource_requests_memory_bytes",
            ),
            (
                "cluster:namespace:pod_cpu:active:kube_pod_container_resource_requests",
                "cluster:namespace:pod_memory:active:kube_pod_container_resource_requests",
            ),
        ),
        is_lasting=True,
        labels=OF_CONTAINERS | OF_NODES,
    ),
    Wanted(
        "limits",
        (
            ("kube_pod_container_resource_limits",),
            (
                "kube_pod_container_resource_limits_cpu_cores",
                "kube_pod_container_resource_limits_memory_bytes",
            ),
            (
                "cluster:namespace:pod_cpu:active:kube_pod_container_resource_limits",
                "cluster:namespace:pod_memory:active:kube_pod_container_resource_limits",
            ),
        ),
        is_lasting=True,
        labels=OF_CONTAINERS | OF_NODES,
    ),
    Wanted(
        "owners of pods",
        (("kube_pod_owner",), ("namespace_workload_pod:kube_pod_owner:relabel",)),
        is_lasting=True,
        labels=OF_PODS,
    ),
    Wanted(
        "owners of ReplicaSets",
        (("kube_replicaset_owner",),),
        is_lasting=True,
        labels=OF_REPLICASETS,
    ),
    Wanted("owners of Jobs", (("kube_job_owner",),), is_lasting=True, labels=OF_JOBS),
    Wanted("labels of pods", (("kube_pod_labels",),), is_lasting=True, labels=OF_PODS),
    Wanted(
        "sizes of nodes",
        (
            ("kube_node_status_capacity",),
            ("kube_node_status_capacity_cpu_cores", "kube_node_status_capacity_memory_bytes"),
        ),
        is_lasting=True,
        labels=OF_NODES,
    ),
    Wanted(
        "what nodes leave to pods",
        (
            ("kube_node_status_allocatable",),
            (
                "kube_node_status_allocatable_cpu_cores",
                "kube_node_status_allocatable_memory_bytes",
            ),
        ),
        is_lasting=True,
        labels=OF_NODES,
    ),
    Wanted(
        "ends of containers",
        (("kube_pod_container_status_last_terminated_reason",),),
        labels=OF_CONTAINERS,
    ),
    Wanted(
        "restarts of containers",
        (("kube_pod_container_status_restarts_total",),),
        labels=OF_CONTAINERS,
    ),
)

ALL_NAMES = tuple(name for wanted in WANTED for group in wanted.names for name in group)
"""Every metric that may be asked for."""
