"""An invented cluster as Prometheus sees it: its series, and what is known of them by hand."""

from __future__ import annotations

import random

from tests.metric_servers import Series

START = 1_790_035_200
"""2026-09-22 00:00 UTC."""
MINUTE = 60
GIB = 2**30


def cluster(n_pods: int = 4, minutes: int = 120, seed: int = 0) -> list[Series]:
    """Return the series of some pods, of which a node has up to ten; the last pod ends in the middle.

    Counters grow by whole milliseconds, and everything is written as a scrape would read it.
    """
    generator = random.Random(seed)
    n_nodes = max(2, n_pods // 10)
    series = []
    for number in range(n_pods):
        pod = {"namespace": "web" if number % 2 else "shop", "pod": f"pod-{number}"}
        labels = {**pod, "container": "app", "node": f"n{number % n_nodes}"}
        length = minutes // 2 if number == n_pods - 1 else minutes
        times = [START + MINUTE * minute for minute in range(length)]
        milliseconds = 0
        cpu = []
        memory = []
        for at in times:
            milliseconds += generator.randrange(60_000)
            cpu.append((at, f"{milliseconds / 1000:.3f}"))
            memory.append((at, str(generator.randrange(GIB // 4, GIB))))
        series.append(_series("container_cpu_usage_seconds_total", {**labels, "cpu": "total"}, cpu))
        series.append(_series("container_memory_working_set_bytes", labels, memory))
        for resource, unit, amount in (("cpu", "core", "0.5"), ("memory", "byte", str(GIB))):
            about = {**labels, "resource": resource, "unit": unit}
            lasting = [(at, amount) for at in times]
            series.append(_series("kube_pod_container_resource_requests", about, lasting))
        owner = {**pod, "owner_kind": "ReplicaSet", "owner_name": f"{pod['namespace']}-5d9c"}
        series.append(_series("kube_pod_owner", owner, [(at, "1") for at in times]))
    for node in (f"n{number}" for number in range(n_nodes)):
        for resource, unit, amount in (("cpu", "core", "8"), ("memory", "byte", str(16 * GIB))):
            about = {"namespace": "kube-system", "node": node, "resource": resource, "unit": unit}
            lasting = [(START + MINUTE * minute, amount) for minute in range(minutes)]
            series.append(_series("kube_node_status_capacity", about, lasting))
    return series


def full_cluster() -> list[Series]:
    """Return the small cluster with what else can be known: limits, owners of owners, labels, room for pods, an end."""
    series = cluster()
    times = [START + MINUTE * minute for minute in range(120)]
    for number in range(4):
        pod = {"namespace": "web" if number % 2 else "shop", "pod": f"pod-{number}"}
        labels = {
            **pod,
            "container": "app",
            "node": f"n{number % 2}",
            "resource": "cpu",
            "unit": "core",
        }
        limit = [(at, "1") for at in times]
        series.append(_series("kube_pod_container_resource_limits", labels, limit))
        series.append(_series("kube_pod_labels", {**pod, "label_app": "front"}, limit))
    killed = {"namespace": "shop", "pod": "pod-0", "container": "app", "reason": "OOMKilled"}
    reasons = [(at, "1") for at in times[30:]]
    series.append(_series("kube_pod_container_status_last_terminated_reason", killed, reasons))
    killed.pop("reason")
    restarts = [(at, "0" if at < times[30] else "1") for at in times]
    series.append(_series("kube_pod_container_status_restarts_total", killed, restarts))
    for namespace in ("shop", "web"):
        own = {"namespace": namespace, "replicaset": f"{namespace}-5d9c"}
        owner = {"owner_kind": "Deployment", "owner_name": namespace}
        series.append(
            _series("kube_replicaset_owner", {**own, **owner}, [(at, "1") for at in times])
        )
    job = {"namespace": "shop", "job_name": "night-28394710"}
    owner = {"owner_kind": "CronJob", "owner_name": "night"}
    series.append(_series("kube_job_owner", {**job, **owner}, [(at, "1") for at in times]))
    for node in ("n0", "n1"):
        about = {"namespace": "kube-system", "node": node, "resource": "cpu", "unit": "core"}
        room = [(at, "7.5") for at in times]
        series.append(_series("kube_node_status_allocatable", about, room))
    return series


def _series(name: str, labels: dict[str, str], samples: list[tuple[int, str]]) -> Series:
    return Series({"__name__": name, **labels}, tuple(samples))
