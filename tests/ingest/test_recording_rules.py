"""Recording rules of kube-prometheus: read as what they are, and never beside what they are recorded from."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ingest.prometheus_files import (
    APP,
    CORES,
    CPU,
    GIB,
    LIMITS,
    MEMORY,
    OWNER,
    REQUESTS,
    answer,
    cores,
    left_out,
    level,
    series,
    steady,
    store_of,
)

RULE = "node_namespace_pod_container"
RATE = f"{RULE}:container_cpu_usage_seconds_total:sum_rate5m"
IRATE = f"{RULE}:container_cpu_usage_seconds_total:sum_irate"
OF_MEMORY = f"{RULE}:container_memory_working_set_bytes"
ACTIVE = "cluster:namespace:pod_{}:active:kube_pod_container_resource_{}"
WORKLOAD = "namespace_workload_pod:kube_pod_owner:relabel"
PLACE = {"cluster": "", "namespace": "shop", "pod": "web-0", "container": "app", "node": "n1"}


def test_rates_are_cores_and_memory_is_bytes(tmp_path: Path) -> None:
    store = store_of(
        tmp_path,
        answer(
            series(IRATE, PLACE, [(0, "0.5"), (60, "1"), (120, "2")]),
            series(OF_MEMORY, PLACE, [(0, str(GIB)), (60, str(2 * GIB)), (120, str(4 * GIB))]),
        ),
    )
    # Each stands for the minute before it.
    assert cores(store) == [0.5, 1.0, 2.0]
    memory = store.sql("select 32 * average_memory as gib from instance_usage order by start_time")
    assert memory["gib"].to_pylist() == [1.0, 2.0, 4.0]
    assert (
        "CPU of 1 container is that of recording rules: means over up to five minutes before each sample, in which "
        "shorter peaks are not seen." in store.manifest.notes
    )


@pytest.mark.parametrize("rules", [(RATE,), (IRATE,), (RATE, IRATE)])
def test_nothing_is_counted_twice(tmp_path: Path, rules: tuple[str, ...]) -> None:
    raw = [series(CPU, APP, steady(0.5)), series(MEMORY, APP, level(GIB))]
    # Evaluated at other times than the metrics are scraped, their values differ.
    recorded = [series(rule, PLACE, level(0.7)) for rule in rules]
    recorded.append(series(OF_MEMORY, PLACE, level(3 * GIB)))
    alone = store_of(tmp_path / "raw", answer(*raw))
    both = store_of(tmp_path / "both", answer(*raw), answer(*recorded))
    query = "select * exclude (source_part) from instance_usage order by all"
    assert both.sql(query).equals(alone.sql(query))
    assert left_out(both) == {"recorded_series": len(rules) + 1}
    assert both.manifest.notes == alone.manifest.notes


def test_of_several_rules_one_is_read(tmp_path: Path) -> None:
    store = store_of(
        tmp_path, answer(series(IRATE, PLACE, level(3)), series(RATE, PLACE, level(0.5)))
    )
    assert set(cores(store)) == {0.5}
    assert left_out(store) == {"recorded_series": 1}


def test_rules_serve_the_containers_that_have_nothing_else(tmp_path: Path) -> None:
    other = PLACE | {"pod": "web-1"}
    store = store_of(
        tmp_path,
        answer(
            series(CPU, APP, steady(0.5)),
            series(IRATE, PLACE, level(3)),
            series(IRATE, other, level(2)),
        ),
    )
    used = store.sql("""
        select pod, max(average_cpu) as most
        from instance_usage join tasks using (collection_id, instance_index)
        group by pod order by pod
    """).to_pylist()
    assert [tuple(row.values()) for row in used] == [("web-0", 0.5 / CORES), ("web-1", 2 / CORES)]


def test_requests_limits_and_workloads_are_read_from_rules_too(tmp_path: Path) -> None:
    about = []
    for bound, amount in (("requests", 1), ("limits", 2)):
        for resource, factor in (("cpu", 1), ("memory", GIB)):
            name = ACTIVE.format(resource, bound)
            labels = PLACE | {"resource": resource}
            about.append(series(name, labels, level(amount * factor)))
    pod = {"namespace": "shop", "pod": "web-0", "workload": "web", "workload_type": "deployment"}
    about.append(series(WORKLOAD, pod, level(1)))
    expected = [
        {
            "cpu_request": 1 / 8,
            "memory_request": 1 / 32,
            "cpu_limit": 2 / 8,
            "memory_limit": 2 / 32,
            "owner_kind": "Deployment",
            "collection_logical_name": "web",
        }
    ]
    query = f"select {', '.join(expected[0])} from tasks"
    usage = answer(series(IRATE, PLACE, level(0.5)))
    assert store_of(tmp_path / "rules", usage, answer(*about)).sql(query).to_pylist() == expected
    # Beside the metrics that they are recorded from they say the same, once.
    for metric, amount in ((REQUESTS, 1), (LIMITS, 2)):
        for resource, factor in (("cpu", 1), ("memory", GIB)):
            about.append(series(metric, APP | {"resource": resource}, level(amount * factor)))
    owner = {"owner_kind": "ReplicaSet", "owner_name": "web-5d9c"}
    about.append(series(OWNER, {"namespace": "shop", "pod": "web-0"} | owner, level(1)))
    assert store_of(tmp_path / "both", usage, answer(*about)).sql(query).to_pylist() == expected


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("statefulset", "StatefulSet"),
        ("DaemonSet", "DaemonSet"),
        ("rollout", "rollout"),
        ("barepod", None),
    ],
)
def test_kinds_of_workloads_are_those_of_kubernetes(
    tmp_path: Path, kind: str, expected: str | None
) -> None:
    pod = {"namespace": "shop", "pod": "web-0", "workload": "web", "workload_type": kind}
    usage = answer(series(CPU, APP, steady(0.5)))
    store = store_of(tmp_path, usage, answer(series(WORKLOAD, pod, level(1))))
    assert store.sql("select owner_kind from tasks").to_pylist() == [{"owner_kind": expected}]
