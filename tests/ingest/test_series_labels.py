"""What the labels of series say: one container is one task, whatever labels its series have, and is counted once."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from borgtrace.errors import SourceError
from borgtrace.ingest.read.series_labels import REPLICA_LABELS
from borgtrace.schema.reasons import REASONS
from tests.ingest.prometheus_files import (
    APP,
    CPU,
    GIB,
    LIMITS,
    MEMORY,
    OWNER,
    REQUESTS,
    answer,
    core_seconds,
    cores,
    left_out,
    level,
    series,
    steady,
    store_of,
)

HALF = steady(0.5)
FIRST_HASH, SECOND_HASH = "a" * 64, "b" * 64
POD = {"namespace": "shop", "pod": "web-0", "node": "n1"}
SLICE = "/kubepods.slice/pod1.slice"


def life(container_hash: str) -> dict[str, str]:
    """Return the labels of one life of a container."""
    return {"id": f"{SLICE}/cri-containerd-{container_hash}.scope", "name": container_hash}


NAMES = [
    ("since-1.16", APP, "shop/web-0/app"),
    (
        "before-1.16",
        {"namespace": "shop", "pod_name": "web-0", "container_name": "app", "instance": "n1"},
        "shop/web-0/app",
    ),
    ("without-container", POD | {"id": "/kubepods/pod1", "cpu": "total"}, "shop/web-0"),
    (
        "collector-is-a-pod",
        {
            "namespace": "monitoring",
            "pod": "cadvisor-x",
            "container": "cadvisor",
            "exported_namespace": "shop",
            "exported_pod": "web-0",
            "exported_container": "app",
            "image": "app:1",
        },
        "shop/web-0/app",
    ),
    (
        "pod-seen-by-a-collector",
        {
            "namespace": "monitoring",
            "pod": "cadvisor-x",
            "container": "cadvisor",
            "exported_namespace": "shop",
            "exported_pod": "web-0",
        },
        "shop/web-0",
    ),
    (
        "labels-of-docker",
        {
            "namespace": "monitoring",
            "pod": "cadvisor-x",
            "container": "cadvisor",
            "container_label_io_kubernetes_pod_namespace": "shop",
            "container_label_io_kubernetes_pod_name": "web-0",
            "container_label_io_kubernetes_container_name": "app",
        },
        "shop/web-0/app",
    ),
    ("name-of-docker", {"name": "k8s_app_web-0_shop_5c1_3", "instance": "n1"}, "shop/web-0/app"),
    ("docker-alone", {"name": "web", "id": "/docker/ab", "instance": "n1:8080"}, "web"),
    ("cluster", APP | {"cluster": "eu"}, "eu/shop/web-0/app"),
    ("no-namespace", {"pod": "web-0", "container": "app"}, "web-0/app"),
]


@pytest.mark.parametrize(
    ("labels", "name"), [case[1:] for case in NAMES], ids=[case[0] for case in NAMES]
)
def test_labels_name_a_container(tmp_path: Path, labels: dict[str, str], name: str) -> None:
    # Ten minutes of half a core.
    assert core_seconds(store_of(tmp_path, answer(series(CPU, labels, HALF)))) == {name: 300}


LEFT_OUT = [
    ("unnamed_series", "", APP),
    ("unknown_metric", "up", APP),
    ("resource_not_read", LIMITS, APP | {"resource": "ephemeral_storage"}),
    ("pause_container", CPU, APP | {"container": "POD"}),
    ("pause_container", CPU, POD | {"image": "registry.k8s.io/pause:3.9", "name": FIRST_HASH}),
    ("pause_container", CPU, {"name": "k8s_POD_web-0_shop_5c1_0", "instance": "n1"}),
    ("cgroup_series", CPU, {"id": "/", "node": "n1"}),
    ("cgroup_series", CPU, {"id": "/system.slice/kubelet.service", "node": "n1"}),
    ("cgroup_series", CPU, {"id": f"{SLICE}/{FIRST_HASH}", "name": FIRST_HASH}),
    ("unlabelled_series", CPU, {"instance": "n1", "job": "cadvisor"}),
    ("resource_not_read", REQUESTS, APP | {"resource": "ephemeral_storage"}),
    ("state_not_read", OWNER, POD | {"owner_kind": "<none>", "owner_name": "<none>"}),
    ("state_not_read", OWNER, POD | {"owner_kind": "Node", "owner_name": "n1"}),
    ("pod_total", CPU, POD),
    (
        "recorded_series",
        "node_namespace_pod_container:container_cpu_usage_seconds_total:sum_irate",
        APP,
    ),
]


@pytest.mark.parametrize(("reason", "metric", "labels"), LEFT_OUT)
def test_a_series_that_is_left_out_is_counted(
    tmp_path: Path,
    reason: str,
    metric: str,
    labels: dict[str, str],
) -> None:
    more = series(metric, labels, steady(3))
    store = store_of(tmp_path, answer(series(CPU, APP, HALF), more))
    assert core_seconds(store) == {"shop/web-0/app": 300}
    assert left_out(store) == {reason: 1}


def test_every_reason_to_leave_a_series_out_is_tried() -> None:
    # Those that need more than one series, or more than labels, have tests of their own here and beside.
    others = {
        "copied_series",
        "counter_fell",
        "ended_before",
        "histogram_series",
        # Which stores of earlier versions may have.
        "limit_series",
        "lone_sample",
        "warned_answer",
    }
    reasons = {code for code, reason in REASONS.items() if reason.leaves_out}
    assert {reason for reason, *_ in LEFT_OUT} | others == reasons


def test_a_series_of_one_sample_is_counted(tmp_path: Path) -> None:
    lone = series(CPU, APP | {"pod": "web-1"}, [(0, "1")])
    store = store_of(tmp_path, answer(series(CPU, APP, HALF), lone))
    assert core_seconds(store) == {"shop/web-0/app": 300}
    assert left_out(store) == {"lone_sample": 1}


def test_cores_are_added_and_the_total_beside_them_is_not(tmp_path: Path) -> None:
    parts = [
        series(CPU, APP | {"cpu": "cpu00"}, steady(0.1, begun=1000)),
        series(CPU, APP | {"cpu": "cpu01"}, steady(0.2, begun=500)),
    ]
    assert cores(store_of(tmp_path / "parts", answer(*parts))) == [0.3] * 10
    total = series(CPU, APP | {"cpu": "total"}, steady(0.3, begun=1500))
    assert cores(store_of(tmp_path / "both", answer(*parts, total))) == [0.3] * 10


def test_a_core_without_a_sample_makes_a_longer_window(tmp_path: Path) -> None:
    """At 60 s only one core was sampled: its seconds count from 0 to 120 s, with those of the other one."""
    first = series(CPU, APP | {"cpu": "cpu00"}, [(0, "0"), (60, "6"), (120, "30")])
    second = series(CPU, APP | {"cpu": "cpu01"}, [(0, "0"), (120, "30")])
    assert cores(store_of(tmp_path, answer(first, second))) == [0.5]


@pytest.mark.parametrize("label", sorted(REPLICA_LABELS))
def test_replicas_fill_gaps_of_each_other(tmp_path: Path, label: str) -> None:
    """Each grows by 0.01 s a minute, from another value; the first one lacks two samples."""
    first = [sample for sample in steady(1 / 6000, begun=1000.5) if sample[0] not in (300, 360)]
    second = steady(1 / 6000, begun=1000.3)
    store = store_of(
        tmp_path,
        answer(
            series(CPU, APP | {label: "a"}, first),
            series(CPU, APP | {label: "b"}, second),
        ),
        capacity="32cores,32GiB",
    )
    assert core_seconds(store) == {"shop/web-0/app": 0.025}
    assert left_out(store) == {"copied_series": 1}


@pytest.mark.parametrize(
    "label", ["job", "metrics_path", "endpoint", "service", "instance", "region"]
)
def test_copies_that_were_collected_twice_count_once(tmp_path: Path, label: str) -> None:
    copies = [series(CPU, APP | {label: value}, HALF) for value in ("a", "b")]
    store = store_of(tmp_path, answer(*copies))
    assert core_seconds(store) == {"shop/web-0/app": 300}
    assert left_out(store) == {"copied_series": 1}


@pytest.mark.parametrize("label", ["job", "instance", "region"])
def test_two_series_at_one_time_that_differ_are_refused(tmp_path: Path, label: str) -> None:
    pair = [series(CPU, APP | {label: "a"}, HALF), series(CPU, APP | {label: "b"}, steady(0.6))]
    with pytest.raises(SourceError) as caught:
        store_of(tmp_path, answer(*pair))
    assert str(caught.value) == (
        "shop/web-0/app: two series at one time, which differ: expected one container of a name, or copies of one "
        f"series, got {label}='a' and {label}='b'; query one of them, or give the series of each cluster a label "
        "cluster"
    )


def test_two_values_of_one_series_at_one_time_are_refused(tmp_path: Path) -> None:
    """Of two servers, none of which says its cluster."""
    with pytest.raises(SourceError) as caught:
        store_of(
            tmp_path, answer(series(CPU, APP, HALF)), answer(series(CPU, APP, steady(3, begun=500)))
        )
    assert str(caught.value) == (
        "shop/web-0/app: two values of one series at one time: expected one value, or two that hardly differ, got "
        "files of several servers or clusters; ingest the files of one of them, or give the series of each a label "
        "cluster"
    )


def test_series_of_several_steps_are_read_together(tmp_path: Path) -> None:
    """Three samples five minutes apart, beside many of every 15 s."""
    often = [(15 * place, str(7.5 * place)) for place in range(41)]
    rarely = [(300 * place, str(150 * place)) for place in range(3)]
    found = [series(CPU, APP, often), series(CPU, APP | {"pod": "web-1"}, rarely)]
    store = store_of(tmp_path, answer(*found))
    assert core_seconds(store) == {"shop/web-0/app": 300, "shop/web-1/app": 300}
    assert left_out(store) == {}


def test_two_clusters_have_containers_and_nodes_of_one_name(tmp_path: Path) -> None:
    pair = [
        series(CPU, APP | {"cluster": "eu"}, HALF),
        series(CPU, APP | {"cluster": "us"}, steady(1)),
    ]
    store = store_of(tmp_path, answer(*pair))
    assert core_seconds(store) == {"eu/shop/web-0/app": 300, "us/shop/web-0/app": 600}
    assert store.sql("select count(*) as n from machine_events").to_pylist() == [{"n": 2}]


@pytest.mark.parametrize("labels", ["id", "image", "name", "instance", "job"])
def test_a_label_that_changes_does_not_split_a_counter(tmp_path: Path, labels: str) -> None:
    """The counter goes on behind the change: 30 s a minute throughout."""
    first = series(CPU, APP | {labels: "one"}, steady(0.5, n=6))
    second = series(CPU, APP | {labels: "two"}, steady(0.5, n=5, begun=180, first=6))
    store = store_of(tmp_path, answer(first, second))
    expected = 300.0
    if labels in ("id", "name"):
        # Another container, which counts from 0: what it has used when it is first seen is its own.
        expected += 150
    assert core_seconds(store) == {"shop/web-0/app": expected}


def test_a_container_that_starts_again_counts_from_zero(tmp_path: Path) -> None:
    """Half a core for 5 minutes; then, within the next minute, 24 s of a new one, which uses a core."""
    first = series(CPU, APP | life(FIRST_HASH), steady(0.5, n=6))
    second = series(CPU, APP | life(SECOND_HASH), steady(1, n=5, begun=24, first=6))
    store = store_of(tmp_path, answer(first, second))
    assert cores(store) == [0.5] * 5 + [0.4] + [1.0] * 4


def test_the_last_value_of_a_container_that_is_gone_does_not_count(tmp_path: Path) -> None:
    """Prometheus repeats it for five minutes: the new container has begun meanwhile."""
    gone = steady(0.5, n=6) + [(60 * minute, "150") for minute in range(6, 11)]
    new = steady(1, n=5, begun=24, first=6)
    found = [
        series(CPU, APP | life(FIRST_HASH), gone),
        series(CPU, APP | life(SECOND_HASH), new),
        series(MEMORY, APP | life(FIRST_HASH), level(4 * GIB)),
        series(MEMORY, APP | life(SECOND_HASH), level(GIB, n=5, first=6)),
    ]
    store = store_of(tmp_path, answer(*found))
    assert cores(store) == [0.5] * 5 + [0.4] + [1.0] * 4
    rows = store.sql("select average_memory as m from instance_usage order by start_time")
    assert [row["m"] * 32 for row in rows.to_pylist()] == [4] * 5 + [1] * 5


def test_a_fall_of_less_than_a_tenth_is_no_restart(tmp_path: Path) -> None:
    """Thanos joins replicas whose counters differ a little: 1000.3 s in a minute would be 16.7 cores."""
    samples = [(0, "1000.5"), (60, "1000.6"), (120, "1000.3"), (180, "1000.4")]
    store = store_of(tmp_path, answer(series(CPU, APP, samples)), capacity="32cores,32GiB")
    assert core_seconds(store) == {"shop/web-0/app": 0.05}
    assert left_out(store) == {"counter_fell": 1}


def test_one_container_at_two_places_in_the_tree_counts_once(tmp_path: Path) -> None:
    """As under kind and k3s: the same hash, once below the cgroup of the kubelet."""
    first = life(FIRST_HASH)
    second = first | {"id": "/kubelet" + first["id"]}
    pair = [series(CPU, APP | labels, HALF) for labels in (first, second)]
    assert core_seconds(store_of(tmp_path, answer(*pair))) == {"shop/web-0/app": 300}


def test_one_container_by_old_and_new_labels_counts_once(tmp_path: Path) -> None:
    old = {"namespace": "shop", "pod_name": "web-0", "container_name": "app", "node": "n1"}
    pair = [series(CPU, labels, HALF) for labels in (old, APP)]
    assert core_seconds(store_of(tmp_path, answer(*pair))) == {"shop/web-0/app": 300}


def test_docker_containers_of_one_name_on_two_hosts_are_two(tmp_path: Path) -> None:
    labels = {"name": "web", "id": "/docker/ab"}
    pair = [
        series(CPU, labels | {"instance": "a:8080"}, HALF),
        series(CPU, labels | {"instance": "b:8080"}, steady(1)),
    ]
    assert core_seconds(store_of(tmp_path, answer(*pair))) == {"a/web": 300, "b/web": 600}


def test_a_cgroup_inside_the_pod_is_not_added_to_it(tmp_path: Path) -> None:
    outer = series(CPU, POD | {"id": "/kubepods/pod1"}, HALF)
    inner = series(CPU, POD | {"id": f"/kubepods/pod1/{FIRST_HASH}"}, steady(0.4))
    assert core_seconds(store_of(tmp_path, answer(outer, inner))) == {"shop/web-0": 300}


def test_the_node_of_a_request_is_not_the_address_of_the_collector(tmp_path: Path) -> None:
    labels = {name: value for name, value in APP.items() if name != "node"}
    found = [
        series(CPU, labels | {"instance": "n1:10250"}, HALF),
        series(REQUESTS, labels | {"resource": "cpu", "instance": "ksm:8080"}, [(0, "2")]),
    ]
    store = store_of(tmp_path, answer(*found))
    names = store.sql("select value from machine_attributes where name = 'name'").to_pylist()
    assert names == [{"value": "n1"}]


def test_a_pod_that_is_read_whole_asks_for_what_its_containers_do(tmp_path: Path) -> None:
    found = [
        series(CPU, POD, HALF),
        series(REQUESTS, APP | {"resource": "cpu"}, [(0, "2")]),
        series(REQUESTS, APP | {"resource": "cpu", "container": "proxy"}, [(0, "1")]),
        series("kube_pod_container_resource_requests_memory_bytes", APP, [(0, str(4 * GIB))]),
    ]
    store = store_of(tmp_path, answer(*found))
    rows = store.sql("select cpu_request * 8 as cpu, memory_request * 32 as gib from tasks")
    assert rows.to_pylist() == [{"cpu": 3.0, "gib": 4.0}]


def _everything() -> list[dict[str, Any]]:
    """Return series of every kind: lives, replicas, cores, pods, clusters, states."""
    found = []
    for cluster in ("eu", "us"):
        for number in range(3):
            labels = APP | {"cluster": cluster, "pod": f"web-{number}"}
            for replica in ("a", "b"):
                copy = labels | {"replica": replica}
                found += [
                    series(CPU, copy | life(FIRST_HASH), steady(0.1 + number / 10, n=6)),
                    series(CPU, copy | life(SECOND_HASH), steady(0.3, n=5, begun=5, first=6)),
                    series(MEMORY, copy | life(FIRST_HASH), level(GIB * (1 + number))),
                ]
            found += [
                series(CPU, labels | {"container": ""}, steady(1)),
                series(REQUESTS, labels | {"resource": "cpu"}, [(0, "1"), (600, "2")]),
                series(OWNER, labels | {"owner_name": f"{cluster}-web"}, [(0, "1")]),
            ]
    return found


def _halves(found: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Cut each series in two, which share a sample."""
    first = [one | {"values": one["values"][:4]} for one in found]
    second = [one | {"values": one["values"][3:]} for one in found]
    return first, second


def test_the_order_of_files_and_series_changes_nothing(tmp_path: Path) -> None:
    found = _everything()
    whole = store_of(tmp_path / "whole", answer(*found)).manifest.digest
    for seed in range(3):
        shuffled = random.Random(seed).sample(found, len(found))
        first, second = _halves(shuffled)
        texts = [answer(*second[:9]), answer(*first), answer(*second[9:])]
        assert store_of(tmp_path / f"{seed}", *texts).manifest.digest == whole


def test_an_answer_without_a_usable_series_says_why(tmp_path: Path) -> None:
    found = [
        series("", APP, HALF),
        series("", APP | {"pod": "web-1"}, HALF),
        series(CPU, {"id": "/"}, HALF),
    ]
    with pytest.raises(SourceError) as caught:
        store_of(tmp_path, answer(*found))
    labels = 'container="app", namespace="shop", node="n1", pod="web-0"'
    assert str(caught.value) == (
        f"{tmp_path / 'answer-0.json'}: no series that can be used: expected container_cpu_usage_seconds_total, "
        "container_memory_working_set_bytes or metrics of kube-state-metrics, with the labels namespace, pod and "
        "container, got 2 × unnamed_series: The series has no name, as results of functions such as rate() have none: "
        f"{{{labels}}}; 1 × cgroup_series: The series is of the whole machine, a service, or a container of which "
        f'nothing says the pod: {CPU}{{id="/"}}; query the counter by its name and without rate(); its increases are '
        "made here"
    )


def test_labels_of_other_kinds_are_refused_by_sample(tmp_path: Path) -> None:
    odd = [
        {"metric": APP | {"__name__": CPU, "tier": tier}, "values": [[1, "1"]]}
        for tier in (1, None, "\ud800")
    ]
    store = store_of(tmp_path, json.dumps({"result": [series(CPU, APP, HALF), *odd]}))
    assert core_seconds(store) == {"shop/web-0/app": 300}
    assert left_out(store) == {"unparsable_value": 3}
