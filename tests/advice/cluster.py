"""An invented cluster of Kubernetes whose advice is known by hand, as answers of Prometheus.

Two nodes of 8 cores and 32 GiB; each has two pods of the Deployment ``web`` (request 1 core, 2 GiB; limit 2 cores,
2 GiB) and one of the StatefulSet ``db`` (2 cores, 4 GiB, no limits). Usage is steady: web .25 cores and 1 GiB, db 1
core and 3 GiB. On node n1, for half an hour, ``db`` uses all of its 2 cores.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import borgtrace
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.interactive import Store

START = 1_793_491_200
"""2026-11-01 00:00 UTC: 600 s in the store."""
STEP = 300
GIB = 2**30
BURST_SLOTS = range(500, 506)
"""Slots of the half hour: 41 h 40 min after the beginning."""
PODS = (
    ("web", "web-6d4cf56db6-bbbbb", "n0"),
    ("web", "web-6d4cf56db6-ccccc", "n0"),
    ("web", "web-6d4cf56db6-ddddd", "n1"),
    ("web", "web-6d4cf56db6-fffff", "n1"),
    ("db", "db-0", "n0"),
    ("db", "db-1", "n1"),
)
USED = {"web": (0.25, 1.0), "db": (1.0, 3.0)}
REQUESTED = {"web": (1.0, 2.0), "db": (2.0, 4.0)}
LIMITS = {"web": (2.0, 2.0)}
OWNERS = {"web": ("ReplicaSet", "web-6d4cf56db6"), "db": ("StatefulSet", "db")}
Values = Sequence[float]


def answers(n_slots: int) -> dict[str, list[dict[str, Any]]]:
    """Return the series of the cluster over so many slots of 5 minutes, by what they are about."""
    n = n_slots + 1
    series: dict[str, list[dict[str, Any]]] = {"usage": [], "pods": [], "nodes": []}
    for app, pod, node in PODS:
        labels = {"namespace": "shop", "pod": pod, "container": app, "node": node}
        cores, gib = USED[app]
        counter = [0.0]
        for slot in range(n_slots):
            is_burst = (app, node) == ("db", "n1") and slot in BURST_SLOTS
            counter.append(counter[-1] + (2.0 if is_burst else cores) * STEP)
        series["usage"].append(_series("container_cpu_usage_seconds_total", labels, counter))
        series["usage"].append(
            _series("container_memory_working_set_bytes", labels, [gib * GIB] * n)
        )
        for metric, amounts in (
            ("kube_pod_container_resource_requests", REQUESTED[app]),
            ("kube_pod_container_resource_limits", LIMITS.get(app)),
        ):
            if amounts is not None:
                cpu = labels | {"resource": "cpu", "unit": "core"}
                memory = labels | {"resource": "memory", "unit": "byte"}
                series["pods"].append(_series(metric, cpu, [amounts[0]] * n))
                series["pods"].append(_series(metric, memory, [amounts[1] * GIB] * n))
        kind, name = OWNERS[app]
        owner = {"namespace": "shop", "pod": pod, "owner_kind": kind, "owner_name": name}
        series["pods"].append(_series("kube_pod_owner", owner, [1.0] * n))
    above = {
        "namespace": "shop",
        "replicaset": "web-6d4cf56db6",
        "owner_kind": "Deployment",
        "owner_name": "web",
    }
    series["pods"].append(_series("kube_replicaset_owner", above, [1.0] * n))
    for node in ("n0", "n1"):
        cpu = {"node": node, "resource": "cpu", "unit": "core"}
        memory = {"node": node, "resource": "memory", "unit": "byte"}
        series["nodes"].append(_series("kube_node_status_capacity", cpu, [8.0] * n))
        series["nodes"].append(_series("kube_node_status_capacity", memory, [32.0 * GIB] * n))
    return series


def _series(metric: str, labels: dict[str, str], values: Values) -> dict[str, Any]:
    samples = [[START + STEP * place, f"{value:.10g}"] for place, value in enumerate(values)]
    return {"metric": {"__name__": metric, **labels}, "values": samples}


def killed_twice(n_slots: int) -> list[dict[str, Any]]:
    """Return what says that the first pod of ``web`` was OOM-killed after slots 10 and 15."""
    app, pod, _ = PODS[0]
    labels = {"namespace": "shop", "pod": pod, "container": app}
    restarts = [float((slot >= 10) + (slot >= 15)) for slot in range(n_slots + 1)]
    reason = [float(slot >= 10) for slot in range(n_slots + 1)]
    return [
        _series(
            "kube_pod_container_status_last_terminated_reason",
            labels | {"reason": "OOMKilled"},
            reason,
        ),
        _series("kube_pod_container_status_restarts_total", labels, restarts),
    ]


def write_answers(
    folder: Path,
    n_slots: int,
    more: Sequence[dict[str, Any]] = (),
) -> Path:
    """Write the answers of the cluster, and more series, into a folder."""
    folder.mkdir(parents=True)
    for name, series in (answers(n_slots) | {"more": [*more]}).items():
        data = {"resultType": "matrix", "result": series}
        (folder / f"{name}.json").write_text(json.dumps({"status": "success", "data": data}))
    return folder


def cluster_store(
    folder: Path,
    n_slots: int,
    more: Sequence[dict[str, Any]] = (),
) -> Store:
    """Ingest the cluster, and more series."""
    answered = write_answers(folder / "answers", n_slots, more)
    ingest([answered], folder / "shop", IngestOptions(jobs=1))
    return borgtrace.open(folder / "shop")
