"""Which container, pod or node a series is about, by the labels that clusters give their metrics.

Labels differ with the versions of Kubernetes and with the way in which metrics are collected: where a collector is a
pod itself, its own labels take the usual names, and those of the metric become ``exported_pod`` and the like.
"""

import json
import re
from collections.abc import Mapping
from typing import NamedTuple

from borgtrace.schema import RawTable
from borgtrace.schema.dialects.prometheus import KINDS_OF_WORKLOADS, OWNER_LABELS, OWNERS_OF_OWNERS

Labels = Mapping[str, str]

REPLICA_LABELS = frozenset(
    {
        "replica",
        "prometheus_replica",
        "receive_replica",
        "thanos_replica",
        "rule_replica",
        "ruler_replica",
        "__replica__",
    }
)
"""Labels that tell copies of one series apart, which several servers collected."""
_CLUSTER = (
    "cluster",
    "cluster_name",
    "k8s_cluster_name",
    "k8s_cluster",
    "kubernetes_cluster",
    "cluster_id",
)
_OF_DOCKER = "container_label_io_kubernetes_"
_NAMESPACE = "exported_namespace", "namespace", "k8s_namespace_name", "pod_namespace"
_POD = "exported_pod", "exported_pod_name", "pod", "pod_name", "k8s_pod_name"
_CONTAINER = (
    "exported_container",
    "exported_container_name",
    "container",
    "container_name",
    "k8s_container_name",
)
_NODE = (
    "exported_node",
    "node",
    "kubernetes_node",
    "node_name",
    "nodename",
    "kubernetes_io_hostname",
    "k8s_node_name",
)
_DOCKER_NAME = re.compile(r"k8s_([^_]+)_([^_]+)_([^_]+)_[^_]+_\d+")
"""Docker's name of a container of Kubernetes: container, pod, namespace."""
_HASH = re.compile(r"[0-9a-f]{32,64}")
_PORT = re.compile(r"(.+):\d+")


class Subject(NamedTuple):
    """What a series is about.

    Parameters
    ----------
    kind
        ``container``, ``pod`` (its containers together), ``docker`` (a container without Kubernetes), ``node``, or the
        kind of a workload such as ``ReplicaSet``.
    task
        Name of the container, pod or workload; empty of a node.
    pod
        Name of the pod; empty where there is none.
    cluster, namespace, own_pod, container
        What these names are made of; empty where it is not known.
    machine
        Name of the node, where it is known.
    part
        The core that a counter is of; empty where it is of all.
    life
        What tells apart the lives of a container that was started again; empty where nothing does.
    cgroup
        Its path in the tree of cgroups.
    copy
        All labels but that of the core, as JSON: other series of the task may be copies of it.
    replica
        Those of them that tell replicas apart.
    """

    kind: str
    task: str = ""
    pod: str = ""
    cluster: str = ""
    namespace: str = ""
    own_pod: str = ""
    container: str = ""
    machine: str = ""
    part: str = ""
    life: str = ""
    cgroup: str = ""
    copy: str = "{}"
    replica: str = "{}"


class LeftOut(NamedTuple):
    """Why a series is not read: a reason code."""

    reason: str


def describe_series(labels: Labels, raw: RawTable | None) -> Subject | LeftOut:
    """Return what a series is about, or why it is not read.

    Parameters
    ----------
    labels
        Its labels.
    raw
        What its metric says; None of a metric that is not known.

    Examples
    --------
    >>> from borgtrace.schema.dialects.prometheus import CONTAINER_CPU, POD_OWNER
    >>> labels = {"namespace": "shop", "pod_name": "web-0", "container_name": "app", "instance": "n1:10250"}
    >>> subject = describe_series(labels, CONTAINER_CPU)
    >>> subject.kind, subject.task, subject.machine
    ('container', 'shop/web-0/app', 'n1')
    >>> describe_series({"id": "/"}, CONTAINER_CPU)
    LeftOut(reason='cgroup_series')
    >>> describe_series({"namespace": "shop", "pod": "web-0", "instance": "ksm:8080"}, POD_OWNER).machine
    ''
    """
    if raw is None:
        return LeftOut("unknown_metric" if labels.get("__name__") else "unnamed_series")
    if raw.table == "machine_rows":
        return _describe_node(labels)
    if raw.name in OWNERS_OF_OWNERS:
        return _describe_owner(labels, *OWNERS_OF_OWNERS[raw.name])
    if raw.table == "task_rows":
        return _describe_state(labels)
    return _describe_usage(labels)


def _first(labels: Labels, names: tuple[str, ...]) -> str:
    return next((labels[name] for name in names if labels.get(name)), "")


def _with_cluster(labels: Labels, name: str) -> str:
    cluster = _first(labels, _CLUSTER)
    return f"{cluster}/{name}" if cluster and name else name


def _describe_owner(labels: Labels, kind: str, label: str) -> Subject | LeftOut:
    name = labels.get(label, "")
    if not name:
        return LeftOut("unlabelled_series")
    return Subject(
        kind,
        task=name,
        cluster=_first(labels, _CLUSTER),
        namespace=_first(labels, _NAMESPACE),
    )


def _describe_node(labels: Labels) -> Subject | LeftOut:
    # Not ``instance``: that is kube-state-metrics itself.
    node = _first(labels, _NODE)
    if not node:
        return LeftOut("unlabelled_series")
    return Subject("node", machine=_with_cluster(labels, node))


def _describe_state(labels: Labels) -> Subject | LeftOut:
    pod = _first(labels, _POD)
    if not pod:
        return LeftOut("unlabelled_series")
    namespace = _first(labels, _NAMESPACE)
    container = _first(labels, _CONTAINER)
    return _named(labels, namespace, pod, container, _first(labels, _NODE))


def _named(
    labels: Labels,
    namespace: str,
    pod: str,
    container: str,
    node: str,
) -> Subject:
    """Return a container or a pod of Kubernetes."""
    pod_name = _with_cluster(labels, "/".join(name for name in (namespace, pod) if name))
    return Subject(
        "container" if container else "pod",
        task=f"{pod_name}/{container}" if container else pod_name,
        pod=pod_name,
        cluster=_first(labels, _CLUSTER),
        namespace=namespace,
        own_pod=pod,
        container=container,
        machine=_with_cluster(labels, node),
    )


def _describe_usage(labels: Labels) -> Subject | LeftOut:
    namespace, pod, container = _names_of_container(labels)
    if container == "POD" or _is_pause(labels, container):
        return LeftOut("pause_container")
    machine = _first(labels, _NODE) or _without_port(labels.get("instance", ""))
    if pod:
        subject = _named(labels, namespace, pod, container, machine)
    else:
        name = labels.get("name", "")
        cgroup = labels.get("id", "")
        if not name or "kubepods" in cgroup:
            # Without a name it is the whole machine or a service, or a container of which nothing says the pod.
            return LeftOut("cgroup_series" if cgroup else "unlabelled_series")
        subject = Subject(
            "docker",
            task=_with_cluster(labels, name),
            cluster=_first(labels, _CLUSTER),
            machine=_with_cluster(labels, machine),
        )
    # All others, so that no two series are taken for cores of one.
    other_labels = {
        name: labels[name] for name in sorted(labels) if name not in ("__name__", "cpu")
    }
    replicas = {name: other_labels[name] for name in other_labels if name in REPLICA_LABELS}
    part = labels.get("cpu", "")
    return subject._replace(
        part="" if part == "total" else part,
        life=_life(labels),
        cgroup=labels.get("id", ""),
        copy=json.dumps(other_labels),
        replica=json.dumps(replicas),
    )


def _names_of_container(labels: Labels) -> tuple[str, str, str]:
    """Return namespace, pod and container of a series of cAdvisor; what is not known is empty."""
    pod = labels.get(f"{_OF_DOCKER}pod_name")
    if pod:
        # Docker's own labels: the others may be those of a collector that is a pod.
        namespace = labels.get(f"{_OF_DOCKER}pod_namespace", "")
        return namespace, pod, labels.get(f"{_OF_DOCKER}container_name", "")
    docker_name = _DOCKER_NAME.fullmatch(labels.get("name", ""))
    if docker_name:
        return docker_name[3], docker_name[2], docker_name[1]
    container = _first(labels, _CONTAINER)
    is_exported = bool(_first(labels, _POD[:2]))
    if is_exported and not _first(labels, _CONTAINER[:2]) and not labels.get("image"):
        # The collector's own container: the series is of a whole pod, and has none.
        container = ""
    return _first(labels, _NAMESPACE), _first(labels, _POD), container


def _is_pause(labels: Labels, container: str) -> bool:
    """Return whether a series is of the container that holds the network of a pod."""
    if container:
        return False
    image = labels.get("image", "")
    is_pause_image = re.search(r"(^|/)pause([-:@]|$)", image) is not None
    return is_pause_image or labels.get("name", "").startswith("k8s_POD_")


def _without_port(address: str) -> str:
    """Return the host of an address.

    Examples
    --------
    >>> _without_port("10.0.0.1:10250"), _without_port("n1")
    ('10.0.0.1', 'n1')
    """
    match = _PORT.fullmatch(address)
    return match[1] if match else address


def _life(labels: Labels) -> str:
    """Return the hash of a container, or else the end of its path or its name."""
    place = labels.get("id", "").rstrip("/").rpartition("/")[2]
    for text in (place, labels.get("name", "")):
        match = _HASH.search(text)
        if match:
            return match[0]
    return place or labels.get("name", "")


def text_of_state(labels: Labels, raw: RawTable) -> tuple[str, str]:
    """Return the field of a metric of states that a label fills, and its text; both empty where none does.

    Examples
    --------
    >>> from borgtrace.schema.dialects.prometheus import POD_OWNER
    >>> text_of_state({"owner_kind": "ReplicaSet", "owner_name": "web-7d4b"}, POD_OWNER)
    ('owner', 'ReplicaSet/web-7d4b')
    >>> text_of_state({"owner_kind": "<none>", "owner_name": "<none>"}, POD_OWNER)
    ('owner', '')
    """
    if "owner" in raw.names:
        return "owner", _owner_text(labels, raw)
    if "label" in raw.names:
        return "label", _first(labels, OWNER_LABELS)
    if "reason" in raw.names:
        return "reason", labels.get("reason", "")
    return "", ""


def _owner_text(labels: Labels, raw: RawTable) -> str:
    """Return kind and name of an owner, which never have a slash; empty where nothing owns a pod."""
    workload = labels.get("workload")
    if workload:
        kind = labels.get("workload_type", "").lower()
        kind = KINDS_OF_WORKLOADS.get(kind, kind)
        return f"{kind}/{workload}" if kind else ""
    kind = labels.get("owner_kind", "")
    name = labels.get("owner_name", "")
    # A pod that the kubelet itself runs is owned by its node, which owns all of these.
    if name and name != "<none>" and kind not in ("<none>", "Node"):
        return f"{kind}/{name}"
    if raw.name in OWNERS_OF_OWNERS:
        # What nothing owns is a workload of its own.
        own_kind, label = OWNERS_OF_OWNERS[raw.name]
        return f"{own_kind}/{labels.get(label, '')}"
    return ""


def series_text(labels: Labels) -> str:
    """Return labels as Prometheus writes them, cut where they are many.

    Examples
    --------
    >>> series_text({"__name__": "up", "job": "a"})
    'up{job="a"}'
    """
    metric = labels.get("__name__", "")
    pairs = [
        f"{name}={json.dumps(value)}"
        for name, value in sorted(labels.items())
        if name != "__name__"
    ]
    text = ", ".join(pairs)
    return f"{metric}{{{text[:200]}{'…' if len(text) > 200 else ''}}}"
