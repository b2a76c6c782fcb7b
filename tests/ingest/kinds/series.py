"""Forms in which people keep series of Prometheus, and labels of series: what becomes of each."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from tests.ingest.prometheus_files import (
    APP,
    CPU,
    LIMITS,
    OWNER,
    REQUESTS,
    START,
    answer,
    level,
    series,
    steady,
)

FILES: dict[str, str] = {
    "an answer of `/api/v1/query_range`": "read",
    "its `data` alone, its `result` alone, or the list alone, as `promtool query range -o json` prints it": (
        "read"
    ),
    "several answers in one file, in lines, in a list or by name": "read",
    "an answer packed with gzip": "read",
    "what `promtool query range` prints as text": "read",
    "lines of VictoriaMetrics' `/api/v1/export`": "read",
    "OpenMetrics, or the text format of Prometheus, with a time behind each value; `promtool tsdb dump`": (
        "read"
    ),
    "an answer to an instant query about requests, owners, labels or nodes": "read",
    "an answer to an instant query about usage, or `/metrics` without times": (
        "refused: an instant query or another snapshot"
    ),
    "a scalar": "refused: one number without labels",
    "a string": "refused: one text without labels",
    "an answer of Loki": "refused: lines of logs, not series",
    "an answer with `status: error`": "refused: Prometheus answered with an error",
    "names of labels or of series": "refused: not an answer to a range query",
    "half an answer": "refused: not an answer to a range query",
    "an answer without series": "refused: no rows",
    "results of `rate()`, `sum()` and the like, which have no name": (
        "refused: no series that can be used"
    ),
    "requests without usage": "refused: requests, limits and owners without usage",
    "one sample of each series": "refused: no two samples of a series near each other",
    "`NaN`, `+Inf`, `null` or a negative number among the values": (
        "that sample is refused: the window reaches from the one before to the one after"
    ),
    "warnings of the server, or a partial answer": "read, and counted as `warned_answer`",
}
"""What becomes of a file with series."""
LABELS_OF_SERIES: dict[str, str] = {
    "`namespace`, `pod`, `container`": "the task `namespace/pod/container`",
    "`pod_name`, `container_name` (before Kubernetes 1.16)": "the same task",
    "`exported_pod`, `exported_namespace`, `exported_container`": (
        "the same task: the other labels are those of the collector"
    ),
    "no `container`": "the task `namespace/pod`, with the requests of all of its containers",
    "no `container`, beside series of containers": "left out as `pod_total`",
    '`container="POD"`, or the image `pause`': "left out as `pause_container`",
    '`id="/"`, or a service of the system': "left out as `cgroup_series`",
    "`name` without a pod": "a container of Docker; `host/name` where several hosts have the name",
    "`cluster`": "part of the name of tasks and machines",
    '`cpu="cpu00"` …': 'added; a `cpu="total"` beside them is not',
    "`replica`, `prometheus_replica`, `receive_replica`, `__replica__` …": (
        "one is read, others fill its gaps; counted as `copied_series`"
    ),
    "other `id`, `name` or `image`: the container started again": (
        "goes on, from 0 where its hash is another"
    ),
    "the same series by another `job`, `instance`, `endpoint`, `service` or `metrics_path`": (
        "read once; counted as `copied_series`"
    ),
    "two series at one time that differ": "refused: two series at one time, which differ",
    "`kube_pod_container_resource_limits`": "the limits of the container",
    "`kube_pod_owner` of a ReplicaSet or a Job": (
        "the owner of that one, by `kube_replicaset_owner` or `kube_job_owner`; "
        "concluded from the name where no such series is there"
    ),
    "`node_namespace_pod_container:container_cpu_usage_seconds_total:sum_irate`, `…:sum_rate5m`, `…:sum_rate`": (
        "CPU in cores at each sample, where `container_cpu_usage_seconds_total` is not there"
    ),
    "a recording rule beside the metric that it is recorded from": "left out as `recorded_series`",
    "another metric": "left out as `unknown_metric`",
    "a native histogram": "left out as `histogram_series`",
}
"""What becomes of a series, by its labels."""
CPU_RULE = "node_namespace_pod_container:container_cpu_usage_seconds_total"
HALF = series(CPU, APP, steady(0.5))
POD = {"namespace": "shop", "pod": "web-0", "node": "n1"}
LABELS = 'container="app",namespace="shop",node="n1",pod="web-0"'
USED = {"shop/web-0/app": 300.0}
HASHES = "a" * 64, "b" * 64


class Example(NamedTuple):
    """Files, what the containers in them used, and how many of their series are counted for a reason."""

    texts: Sequence[str | bytes]
    used: dict[str, float] = USED
    counted: int = 1


def _lines(*parts: str) -> str:
    """Return a line of text for each sample, of parts of which the second one is its value, the third its time."""
    before, between, behind = parts
    return "".join(f"{before}{value}{between}{time}{behind}\n" for time, value in HALF["values"])


def _with(more: dict[str, str], cores: float = 0.5, metric: str = CPU) -> dict[str, Any]:
    return series(metric, APP | more, steady(cores))


def _life(container_hash: str) -> dict[str, str]:
    return {
        "id": f"/kubepods/pod1/{container_hash}",
        "name": container_hash,
        "image": container_hash[:3],
    }


def _odd() -> str:
    samples = steady(0.5)
    for place, odd in ((2, "NaN"), (4, "+Inf"), (6, None), (8, "-1")):
        samples[place] = (samples[place][0], odd)
    return answer(series(CPU, APP, samples))


STATES = [
    {"metric": {"__name__": REQUESTS, **APP, "resource": "cpu"}, "value": [START, "2"]},
    {"metric": {"__name__": "kube_pod_owner", **APP, "owner_name": "w"}, "value": [START, "1"]},
]
INSTANT = answer({"metric": HALF["metric"], "value": [START, "1"]}, kind="vector")
SCALAR = '{"status":"success","data":{"resultType":"scalar","result":[1793491200,"1"]}}'
EXPORT = {
    "metric": HALF["metric"],
    "values": [float(value) for _, value in HALF["values"]],
    "timestamps": [time * 1000 for time, _ in HALF["values"]],
}
WARNED = json.loads(answer(HALF)) | {"warnings": ["a store did not answer"]}
EXAMPLES = {
    "an answer of `/api/v1/query_range`": [Example([answer(HALF)])],
    "its `data` alone, its `result` alone, or the list alone, as `promtool query range -o json` prints it": [
        Example([json.dumps({"resultType": "matrix", "result": [HALF]})]),
        Example([json.dumps({"result": [HALF]})]),
        Example([json.dumps([HALF])]),
    ],
    "several answers in one file, in lines, in a list or by name": [
        Example([f"{answer()}\n{answer(HALF)}\n"]),
        Example([f"[{answer()},{answer(HALF)}]"]),
        Example([f'{{"a": {answer()}, "b": {answer(HALF)}}}']),
    ],
    "an answer packed with gzip": [Example([gzip.compress(answer(HALF).encode())])],
    "what `promtool query range` prints as text": [
        Example([f"{CPU}{{{LABELS}}} =>\n" + _lines("", " @[", "]")])
    ],
    "lines of VictoriaMetrics' `/api/v1/export`": [Example([json.dumps(EXPORT) + "\n"])],
    "OpenMetrics, or the text format of Prometheus, with a time behind each value; `promtool tsdb dump`": [
        Example(["# TYPE a counter\n" + _lines(f"{CPU}{{{LABELS}}} ", " ", "") + "# EOF\n"]),
        Example([_lines(f"{CPU}{{{LABELS}}} ", " ", "000")]),
        Example([_lines(f'{{__name__="{CPU}",{LABELS}}} ', " ", "000")]),
    ],
    "an answer to an instant query about requests, owners, labels or nodes": [
        Example([answer(HALF), answer(*STATES, kind="vector")])
    ],
    "an answer to an instant query about usage, or `/metrics` without times": [
        Example([INSTANT]),
        Example([f"# TYPE a counter\n{CPU}{{{LABELS}}} 1\n"]),
    ],
    "a scalar": [Example([SCALAR])],
    "a string": [Example([SCALAR.replace("scalar", "string")])],
    "an answer of Loki": [Example([SCALAR.replace("scalar", "streams")])],
    "an answer with `status: error`": [
        Example(['{"status":"error","errorType":"bad_data","error":"parse error"}'])
    ],
    "names of labels or of series": [
        Example(['{"status":"success","data":["pod","container"]}']),
        Example(['{"status":"success","data":[{"__name__":"up"}]}']),
    ],
    "half an answer": [Example([answer(HALF)[:-30]])],
    "an answer without series": [Example([answer()])],
    "results of `rate()`, `sum()` and the like, which have no name": [
        Example([answer(series("", APP, steady(0.5)))])
    ],
    "requests without usage": [
        Example([answer(series(REQUESTS, APP | {"resource": "cpu"}, [(0, "1")]))])
    ],
    "one sample of each series": [Example([answer(series(CPU, APP, [(0, "1")]))])],
    "`NaN`, `+Inf`, `null` or a negative number among the values": [Example([_odd()], counted=4)],
    "warnings of the server, or a partial answer": [
        Example([json.dumps(WARNED)]),
        Example([json.dumps(json.loads(answer(HALF)) | {"isPartial": True})]),
    ],
    "`namespace`, `pod`, `container`": [Example([answer(HALF)])],
    "`pod_name`, `container_name` (before Kubernetes 1.16)": [
        Example(
            [
                answer(
                    series(
                        CPU,
                        {"namespace": "shop", "pod_name": "web-0", "container_name": "app"},
                        steady(0.5),
                    )
                )
            ]
        )
    ],
    "`exported_pod`, `exported_namespace`, `exported_container`": [
        Example(
            [
                answer(
                    series(
                        CPU,
                        {
                            "namespace": "monitoring",
                            "pod": "collector",
                            "container": "cadvisor",
                            "exported_namespace": "shop",
                            "exported_pod": "web-0",
                            "exported_container": "app",
                        },
                        steady(0.5),
                    )
                )
            ]
        )
    ],
    "no `container`": [Example([answer(series(CPU, POD, steady(0.5)))], {"shop/web-0": 300.0})],
    "no `container`, beside series of containers": [
        Example([answer(HALF, series(CPU, POD, steady(3)))])
    ],
    '`container="POD"`, or the image `pause`': [
        Example([answer(HALF, _with({"container": "POD"}))]),
        Example([answer(HALF, series(CPU, POD | {"image": "k8s.gcr.io/pause:3.2"}, steady(1)))]),
    ],
    '`id="/"`, or a service of the system': [
        Example([answer(HALF, series(CPU, {"id": "/", "node": "n1"}, steady(4)))]),
        Example([answer(HALF, series(CPU, {"id": "/system.slice/sshd.service"}, steady(4)))]),
    ],
    "`name` without a pod": [
        Example(
            [answer(series(CPU, {"name": "db", "instance": "h1:8080"}, steady(0.5)))], {"db": 300}
        ),
        Example(
            [
                answer(
                    series(CPU, {"name": "db", "instance": "h1:8080"}, steady(0.5)),
                    series(CPU, {"name": "db", "instance": "h2:8080"}, steady(1)),
                )
            ],
            {"h1/db": 300, "h2/db": 600},
        ),
    ],
    "`cluster`": [
        Example(
            [answer(_with({"cluster": "a"}), _with({"cluster": "b"}, 1))],
            {"a/shop/web-0/app": 300, "b/shop/web-0/app": 600},
        )
    ],
    '`cpu="cpu00"` …': [
        Example([answer(_with({"cpu": "cpu00"}, 0.2), _with({"cpu": "cpu01"}, 0.3))]),
        Example(
            [
                answer(
                    _with({"cpu": "cpu00"}, 0.2),
                    _with({"cpu": "cpu01"}, 0.3),
                    _with({"cpu": "total"}, 0.5),
                )
            ]
        ),
    ],
    "`replica`, `prometheus_replica`, `receive_replica`, `__replica__` …": [
        Example([answer(_with({label: "a"}), _with({label: "b"}))])
        for label in ("replica", "prometheus_replica", "receive_replica", "__replica__")
    ],
    "other `id`, `name` or `image`: the container started again": [
        Example(
            [
                answer(
                    series(CPU, APP | _life(HASHES[0]), steady(0.5, n=6)),
                    series(CPU, APP | _life(HASHES[1]), steady(0.5, n=5, begun=30, first=6)),
                )
            ]
        )
    ],
    "the same series by another `job`, `instance`, `endpoint`, `service` or `metrics_path`": [
        Example([answer(_with({label: "a"}), _with({label: "b"}))])
        for label in ("job", "instance", "endpoint", "service", "metrics_path")
    ],
    "two series at one time that differ": [
        Example([answer(_with({"region": "a"}), _with({"region": "b"}, 1))])
    ],
    "`kube_pod_container_resource_limits`": [
        Example([answer(HALF, series(LIMITS, APP | {"resource": "cpu"}, [(0, "1")]))])
    ],
    "`kube_pod_owner` of a ReplicaSet or a Job": [
        Example([answer(HALF, series(OWNER, POD | labels, [(0, "1")]))])
        for labels in (
            {"owner_kind": "ReplicaSet", "owner_name": "web-7d4b9c6f5"},
            {"owner_kind": "Job", "owner_name": "backup-28394710"},
        )
    ],
    "`node_namespace_pod_container:container_cpu_usage_seconds_total:sum_irate`, `…:sum_rate5m`, `…:sum_rate`": [
        # Each of 11 samples is the mean of the minute before it.
        Example(
            [answer(series(f"{CPU_RULE}:{ending}", APP, level(0.5)))], {"shop/web-0/app": 330.0}
        )
        for ending in ("sum_irate", "sum_rate5m", "sum_rate")
    ],
    "a recording rule beside the metric that it is recorded from": [
        Example([answer(HALF, series(f"{CPU_RULE}:sum_irate", APP, level(3)))])
    ],
    "another metric": [Example([answer(HALF, series("up", APP, [(0, "1")]))])],
    "a native histogram": [
        Example([answer(HALF, {"metric": {"__name__": "h"}, "histograms": [[START, {}]]})])
    ],
}
"""Files of each row of the tables, by its first cell."""
