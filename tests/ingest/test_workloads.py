"""Limits, owners, places and ends out of memory: from series and from own tables, worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import borgtrace
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.ingest.find.sniffing import sniff
from borgtrace.store import Store
from tests.ingest.prometheus_files import (
    APP,
    CAPACITY,
    CORES,
    CPU,
    GIB,
    LIMITS,
    OWNER,
    REQUESTS,
    TERMINATED,
    answer,
    level,
    series,
    steady,
    store_of,
)

SIDECAR = APP | {"container": "proxy"}
POD = {"namespace": "shop", "pod": "web-7d4b9c6f5-x2x4z"}
REPLICASET = {"namespace": "shop", "replicaset": "web-7d4b9c6f5"}
OF_REPLICASET = {"owner_kind": "ReplicaSet", "owner_name": "web-7d4b9c6f5"}
OF_DEPLOYMENT = {"owner_kind": "Deployment", "owner_name": "web"}
HALF = steady(0.5)
NODE = [
    series(CAPACITY, {"node": "n1", "resource": "cpu"}, [(0, str(CORES))]),
    series(CAPACITY, {"node": "n1", "resource": "memory"}, [(0, str(32 * GIB))]),
]
USAGE = """\
time,namespace,pod,container,node,cpu_usage_cores,memory_bytes,cpu_request,{limits}
2026-11-01T00:00:00Z,shop,web-0,app,n1,0.5,1073741824,1,{values}
2026-11-01T00:05:00Z,shop,web-0,app,n1,0.5,1073741824,1,{values}
2026-11-01T00:10:00Z,shop,web-0,app,n1,0.5,1073741824,1,{values}
"""


def tasks(store: Store, *columns: str) -> list[tuple[Any, ...]]:
    """Return columns of tasks, in order."""
    rows = store.sql(f"select {', '.join(columns)} from tasks order by all").to_pylist()
    return [tuple(row.values()) for row in rows]


def own_store(folder: Path, text: str) -> Store:
    """Ingest a table of usage by what is guessed of it."""
    (folder / "own.csv").write_text(text)
    ingest([folder / "own.csv"], folder / "store", IngestOptions(jobs=1, capacity="8cores,32GiB"))
    return borgtrace.open(folder / "store")


def test_limits_of_containers_are_stored_like_their_requests(tmp_path: Path) -> None:
    store = store_of(
        tmp_path,
        answer(series(CPU, APP, HALF), series(CPU, SIDECAR, HALF)),
        answer(
            series(REQUESTS, APP | {"resource": "cpu"}, level(1)),
            # The last one known counts.
            series(LIMITS, APP | {"resource": "cpu"}, [(0, "4"), (600, "2")]),
            series(LIMITS, APP | {"resource": "memory"}, level(8 * GIB)),
        ),
    )
    columns = ("container", "cpu_request", "cpu_limit", "memory_limit")
    assert tasks(store, *columns) == [("app", 1 / 8, 2 / 8, 8 / 32), ("proxy", None, None, None)]
    events = store.sql(
        "select type, cpu_limit from instance_events where cpu_limit > 0 order by all"
    )
    assert [tuple(row.values()) for row in events.to_pylist()] == [
        ("SCHEDULE", 0.25),
        ("SUBMIT", 0.25),
    ]


def test_limits_of_older_versions_are_read_too(tmp_path: Path) -> None:
    store = store_of(
        tmp_path,
        answer(series(CPU, APP, HALF)),
        answer(
            series(f"{LIMITS}_cpu_cores", APP, level(2)),
            series(f"{LIMITS}_memory_bytes", APP, level(GIB)),
        ),
    )
    assert tasks(store, "cpu_limit", "memory_limit") == [(2 / 8, 1 / 32)]


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"app": 2, "proxy": 1}, 3 / 8),
        # A pod is limited where all of its containers are.
        ({"app": 2}, None),
        ({"app": 2, "proxy": 0}, None),
    ],
)
def test_a_pod_measured_as_a_whole_has_the_limits_of_all_its_containers(
    tmp_path: Path, limits: dict[str, int], expected: float | None
) -> None:
    pod = {name: APP[name] for name in ("namespace", "pod", "node")}
    about = [
        series(REQUESTS, APP | {"container": name, "resource": "cpu"}, level(1))
        for name in ("app", "proxy")
    ]
    about += [
        series(LIMITS, APP | {"container": name, "resource": "cpu"}, level(amount))
        for name, amount in limits.items()
    ]
    store = store_of(tmp_path, answer(series(CPU, pod, HALF)), answer(*about))
    columns = ("namespace", "pod", "container", "cpu_request", "cpu_limit")
    assert tasks(store, *columns) == [("shop", "web-0", None, 2 / 8, expected)]


LIMIT_COLUMNS = [
    ("cpu limit,limits.memory", "500m,1Gi", (0.5 / 8, 1 / 32)),
    ("limits_cpu,memory_limit_bytes", "2,2147483648", (2 / 8, 2 / 32)),
    ("cpu_limit_millicores,mem_limit_mib", "1500,512", (1.5 / 8, 0.5 / 32)),
    # Each stands for no limit.
    ("cpu_limit,memory_limit_bytes", "0,9223372036854771712", (None, None)),
    ("cpu_limit,memory_limit_bytes", "-1,0", (None, None)),
    ("cpu_limit_cores,memory_limit_bytes", "unlimited,max", (None, None)),
    ("cpu_limit_cores,memory_limit_bytes", ",none", (None, None)),
]


@pytest.mark.parametrize(("names", "values", "expected"), LIMIT_COLUMNS)
def test_columns_called_like_limits_are_limits(
    tmp_path: Path, names: str, values: str, expected: tuple[float | None, ...]
) -> None:
    store = own_store(tmp_path, USAGE.format(limits=names, values=values))
    assert tasks(store, "n_windows", "cpu_request", "cpu_limit", "memory_limit") == [
        (3, 1 / 8, *expected)
    ]


def test_a_limit_whose_unit_is_open_is_left_out_and_named(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text(USAGE.format(limits="mem_limit", values="512"))
    draft = sniff(tmp_path / "own.csv")
    assert not draft.questions
    assert draft.remarks["usage memory_limit"] == (
        "column mem_limit: limit of memory, not read; to read it, add "
        'memory_limit = { column = "mem_limit", unit = "…" }'
    )


def test_columns_of_kubernetes_say_where_a_task_belongs(tmp_path: Path) -> None:
    store = own_store(
        tmp_path,
        USAGE.format(limits="cluster,owner_kind,owner_name", values="eu,StatefulSet,web"),
    )
    columns = (
        "cluster",
        "namespace",
        "pod",
        "container",
        "owner_kind",
        "collection_logical_name",
        "n_windows",
    )
    assert tasks(store, *columns) == [("eu", "shop", "web-0", "app", "StatefulSet", "web", 3)]


Named = tuple[str, str]
"""Kind and name."""
OF_POD: dict[str, Named] = {
    "ReplicaSet": ("ReplicaSet", "web-7d4b9c6f5"),
    "Job": ("Job", "backup-28394710"),
}
OWNERS: list[tuple[Named, tuple[str, str, Named] | None, Named]] = [
    # What owns a pod, what owns that, in which namespace; and the workload.
    (OF_POD["ReplicaSet"], ("shop", "web-7d4b9c6f5", ("Deployment", "web")), ("Deployment", "web")),
    (OF_POD["ReplicaSet"], ("shop", "web-7d4b9c6f5", ("Rollout", "web")), ("Rollout", "web")),
    (OF_POD["ReplicaSet"], ("shop", "web-7d4b9c6f5", ("<none>", "<none>")), OF_POD["ReplicaSet"]),
    # Another namespace says nothing of it; and as ReplicaSets have owners, nothing is concluded from its name.
    (OF_POD["ReplicaSet"], ("test", "web-7d4b9c6f5", ("Deployment", "x")), OF_POD["ReplicaSet"]),
    (OF_POD["ReplicaSet"], None, ("Deployment", "web")),
    # Kubernetes makes its hashes without vowels.
    (("ReplicaSet", "web-aeiou"), None, ("ReplicaSet", "web-aeiou")),
    (OF_POD["Job"], ("shop", "backup-28394710", ("CronJob", "nightly")), ("CronJob", "nightly")),
    (OF_POD["Job"], None, ("CronJob", "backup")),
    (("Job", "import-3"), None, ("Job", "import-3")),
    (("StatefulSet", "db"), None, ("StatefulSet", "db")),
]


@pytest.mark.parametrize(("owner", "above", "expected"), OWNERS)
def test_the_owner_of_a_pod_is_its_workload(
    tmp_path: Path,
    owner: Named,
    above: tuple[str, str, Named] | None,
    expected: Named,
) -> None:
    usage = series(CPU, POD | {"container": "app", "node": "n1"}, HALF)
    states = [series(OWNER, POD | _owned_by(owner), level(1))]
    if above:
        namespace, name, higher = above
        metric, label = METRICS_OF_OWNERS[owner[0]]
        labels = {"namespace": namespace, label: name} | _owned_by(higher)
        states.append(series(metric, labels, level(1)))
    store = store_of(tmp_path, answer(usage), answer(*states))
    assert tasks(store, "owner_kind", "collection_logical_name") == [expected]


METRICS_OF_OWNERS = {
    "ReplicaSet": ("kube_replicaset_owner", "replicaset"),
    "Job": ("kube_job_owner", "job_name"),
}


def _owned_by(owner: Named) -> dict[str, str]:
    kind, name = owner
    return {"owner_kind": kind, "owner_name": name}


def test_labels_name_an_application_where_no_owner_is_known(tmp_path: Path) -> None:
    usage = []
    states = []
    for name in ("web-0", "agent-1"):
        pod = {"namespace": "shop", "pod": name}
        usage.append(series(CPU, pod | {"container": "app", "node": "n1"}, HALF))
        states.append(series("kube_pod_labels", pod | {"label_app": "front"}, level(1)))
    states.append(series(OWNER, pod | _owned_by(("DaemonSet", "agent")), level(1)))
    store = store_of(tmp_path, answer(*usage), answer(*states))
    assert tasks(store, "owner_kind", "collection_logical_name") == [
        ("DaemonSet", "agent"),
        (None, "front"),
    ]


def test_a_concluded_owner_is_said(tmp_path: Path) -> None:
    usage = series(CPU, POD | {"container": "app", "node": "n1"}, HALF)
    store = store_of(tmp_path, answer(usage), answer(series(OWNER, POD | OF_REPLICASET, level(1))))
    assert (
        "No series says what owns each ReplicaSet (kube_replicaset_owner): of 1 pods the Deployment is concluded from "
        "its name, such as web-7d4b9c6f5." in store.manifest.notes
    )


def test_owners_of_two_clusters_stay_apart(tmp_path: Path) -> None:
    usage = []
    states = []
    for cluster, deployment in (("eu", "web"), ("us", "site")):
        place = {"cluster": cluster}
        usage.append(series(CPU, POD | place | {"container": "app", "node": "n1"}, HALF))
        states.append(series(OWNER, POD | place | OF_REPLICASET, level(1)))
        owner = {"owner_kind": "Deployment", "owner_name": deployment}
        states.append(series("kube_replicaset_owner", REPLICASET | place | owner, level(1)))
    store = store_of(tmp_path, answer(*usage), answer(*states))
    assert tasks(store, "cluster", "collection_logical_name") == [("eu", "web"), ("us", "site")]


def test_tasks_are_grouped_by_owner_namespace_and_container(tmp_path: Path) -> None:
    usage = []
    states = []
    for namespace, n_pods in (("shop", 3), ("test", 1)):
        for number in range(n_pods):
            pod = {"namespace": namespace, "pod": f"web-{number}"}
            usage.append(series(CPU, pod | {"container": "app", "node": "n1"}, HALF))
            owner = {"owner_kind": "StatefulSet", "owner_name": "web"}
            states.append(series(OWNER, pod | owner, level(1)))
    store = store_of(tmp_path, answer(*usage), answer(*states))
    groups = store.sql("""
        select namespace, owner_kind, collection_logical_name as owner, container, count(*) as n
        from tasks
        group by all
        order by all
    """).to_pylist()
    assert [tuple(group.values()) for group in groups] == [
        ("shop", "StatefulSet", "web", "app", 3),
        ("test", "StatefulSet", "web", "app", 1),
    ]


def test_ends_out_of_memory_are_counted_by_task(tmp_path: Path) -> None:
    # web-0 is killed twice: between, it ended by an error.  web-1 ended by an error alone.
    runs = {
        ("web-0", "OOMKilled"): [2, 3, 12, 13],
        ("web-0", "Error"): list(range(4, 12)),
        ("web-1", "Error"): [4, 5, 6],
    }
    usage = []
    states = []
    for pod in ("web-0", "web-1"):
        usage.append(series(CPU, APP | {"pod": pod}, steady(0.5, n=15)))
    for (pod, reason), minutes in runs.items():
        samples = [(60 * minute, "1" if minute in minutes else "0") for minute in range(15)]
        states.append(series(TERMINATED, APP | {"pod": pod, "reason": reason}, samples))
    store = store_of(tmp_path, answer(*usage), answer(*states))
    rows = store.sql("""
        select pod, count(*) filter (end_reason = 'OOMKilled') as n_oom, count(end_reason) as n_ends
        from instance_events
        join tasks using (collection_id, instance_index)
        group by pod
        order by pod
    """).to_pylist()
    assert [tuple(row.values()) for row in rows] == [("web-0", 2, 3), ("web-1", 0, 1)]


def test_ends_for_the_same_reason_are_told_by_the_count_of_restarts(tmp_path: Path) -> None:
    # Killed in minutes 3, 5 and 9, by an error in 7; the reason of the second does not differ from that of the first.
    counts = [0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    reasons = {"OOMKilled": [3, 4, 5, 6, 9, 10], "Error": [7, 8]}
    states = []
    for reason, minutes in reasons.items():
        samples = [(60 * minute, "1" if minute in minutes else "0") for minute in range(11)]
        states.append(series(TERMINATED, APP | {"reason": reason}, samples))
    restarts = [(60 * minute, str(count)) for minute, count in enumerate(counts)]
    name = "kube_pod_container_status_restarts_total"
    states.append(series(name, APP, restarts))
    # A copy of it that lags behind by some seconds.
    lagging = [(60 * minute + 20, str(count)) for minute, count in enumerate(counts)]
    states.append(series(name, APP | {"replica": "b"}, lagging))
    store = store_of(tmp_path, answer(series(CPU, APP, HALF)), answer(*states))
    ends = store.sql("""
        select (time / 1e6 - 600) / 60 as minute, type, end_reason
        from instance_events where end_reason is not null order by time
    """).to_pylist()
    assert [tuple(row.values()) for row in ends] == [
        (3, "FAIL", "OOMKilled"),
        (5, "FAIL", "OOMKilled"),
        (7, "FAIL", "Error"),
        (9, "FAIL", "OOMKilled"),
    ]


def test_a_count_that_begins_anew_is_no_restart(tmp_path: Path) -> None:
    # The pod of a StatefulSet was made again: its count falls to 0, and its next restart counts.
    counts = [5] * 3 + [0] * 5 + [1] * 3
    restarts = [(600 * place, str(count)) for place, count in enumerate(counts)]
    killed = series(TERMINATED, APP | {"reason": "OOMKilled"}, [(0, "1"), (4800, "1")])
    name = "kube_pod_container_status_restarts_total"
    usage = series(CPU, APP, steady(0.5, n=120))
    store = store_of(tmp_path, answer(usage), answer(killed, series(name, APP, restarts)))
    ends = store.sql("select time from instance_events where end_reason is not null").to_pylist()
    assert ends == [{"time": (600 + 4800) * 1_000_000}]


def test_a_store_without_limits_keeps_its_digest(tmp_path: Path) -> None:
    """The digest that a version without these columns gave: a column that is NULL throughout adds nothing."""
    lines = ["task,time,cpu,memory_bytes"]
    for task in ("a", "b"):
        for minute in range(0, 60, 5):
            lines.append(f"{task},2026-11-01T00:{minute:02}:00Z,0.5,{minute + 1}000000")
    store = own_store(tmp_path, "\n".join(lines) + "\n")
    assert store.manifest.digest == DIGEST


DIGEST = "72438b06647bb0b8e553b3e3c89f000196a0fa11b537be28d40f6c3d7e120dd2"
