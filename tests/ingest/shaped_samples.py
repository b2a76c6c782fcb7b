"""Own data as people have it: in several files, a column for each series, printed, or as services answer."""

from __future__ import annotations

from typing import Any

USAGE = """\
namespace,pod,container,time,node,cpu_cores
shop,web-0,app,0,n1,1
shop,web-0,app,300,n1,2
shop,web-1,app,0,n2,0.5
shop,web-1,app,300,n2,0.25
"""
PODS = """\
namespace,pod,cpu_request,memory_request,cpu_limit,owner_name
shop,web-0,500m,1Gi,1,web
shop,web-1,2,4Gi,4,web
"""
NODES = "name,cpu,memory,instance_type\nn1,8,16Gi,large\nn2,4,8Gi,small\n"
CLUSTER = {"usage.csv": USAGE, "pods.csv": PODS, "nodes.csv": NODES}

WIDE = '"Time","web-0","web-1"\n2026-11-01 00:00:00,250m,\n2026-11-01 00:05:00,500m,1\n'
LONG = (
    '"Series";"Time";"Value"\nweb-0;2026-11-01T00:00:00+00:00;250m\n'
    "web-0;2026-11-01T00:05:00+00:00;500m\nweb-1;2026-11-01T00:05:00+00:00;1\n"
)
TOP = "NAMESPACE   NAME    CPU(cores)   MEMORY(bytes)\nshop        web-0   {cpu}         1Gi\n"


def _pod_metrics(time: str, cpu: str) -> dict[str, Any]:
    """A PodMetrics as metrics.k8s.io answers: usage over the window that ends at its timestamp."""
    containers = [
        {"name": "app", "usage": {"cpu": cpu, "memory": "1Gi"}},
        {"name": "proxy", "usage": {"cpu": "1500000n", "memory": "524288Ki"}},
    ]
    return {
        "metadata": {"name": "web-0", "namespace": "shop", "creationTimestamp": time},
        "timestamp": time,
        "window": "30s",
        "containers": containers,
    }


def pod_metrics_list(time: str, cpu: str) -> dict[str, Any]:
    """Return the answer of metrics.k8s.io about one pod."""
    return {
        "kind": "PodMetricsList",
        "apiVersion": "metrics.k8s.io/v1beta1",
        "metadata": {},
        "items": [_pod_metrics(time, cpu)],
    }


CLOUDWATCH_SERIES = [
    {
        "Id": "m1",
        "Label": label,
        "Timestamps": ["2026-11-01T00:10:00+00:00", "2026-11-01T00:05:00+00:00"],
        "Values": [4.0, 2.0],
        "StatusCode": "Complete",
    }
    for label in ("i-0a", "i-0b")
]
KRR = {
    "scans": [
        {
            "object": {"name": "web", "container": "app"},
            "recommended": {"requests": {"cpu": {"value": 0.1, "severity": "OK"}}},
        }
    ]
}
NODE_METRICS = {
    "kind": "NodeMetricsList",
    "apiVersion": "metrics.k8s.io/v1beta1",
    "items": [
        {
            "metadata": {"name": "m1"},
            "timestamp": "2026-11-01T00:05:00Z",
            "window": "20s",
            "usage": {"cpu": "1", "memory": "1Gi"},
        }
    ],
}
