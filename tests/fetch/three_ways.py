"""One cluster written three ways: as CSV, as answers to range queries, and (by the tests) fetched from a server."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.metric_servers import Series

import borgtrace
from borgtrace.ingest import IngestOptions, ingest

DECLARATION = """\
clock = "epoch"
step = "1m"
[usage]
task = "task"
machine = "node"
time = { column = "time", unit = "s" }
cpu = { column = "cpu_seconds", unit = "s", kind = "counter" }
memory = { column = "memory", unit = "bytes", kind = "instant" }
[tasks]
task = "task"
machine = "node"
cpu_request = { column = "cpu_request", unit = "cores" }
memory_request = { column = "memory_request", unit = "bytes" }
app = "owner"
owner_kind = "owner_kind"
namespace = "namespace"
pod = "pod"
container = "container"
[machines]
machine = "node"
cpu = { column = "cpu", unit = "cores" }
memory = { column = "memory", unit = "bytes" }
"""
USAGE = {
    "container_cpu_usage_seconds_total": "cpu_seconds",
    "container_memory_working_set_bytes": "memory",
}
WITHOUT_SOURCES = "* exclude (source_part, source_row)"


def contents(store: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows of all tables of a store, without what says which file each is of."""
    opened = borgtrace.open(store)
    tables = {}
    for name, n_rows in sorted(opened.manifest.tables.items()):
        if n_rows:
            columns = "*" if name == "tasks" else WITHOUT_SOURCES
            rows = opened.sql(f"select {columns} from {name} order by all").to_pylist()
            tables[name] = [tuple(str(value) for value in row.values()) for row in rows]
    return tables


def table_digests(store: Path) -> dict[str, tuple[int, str]]:
    """Return the number of rows of each table and the sum of their hashes, without what says which file each is of."""
    opened = borgtrace.open(store)
    digests = {}
    for name, n_rows in sorted(opened.manifest.tables.items()):
        if n_rows:
            columns = "*" if name == "tasks" else WITHOUT_SOURCES
            rows = f"(select {columns} from {name}) as one"
            ((total,),) = (
                row.values()
                for row in opened.sql(
                    f"select cast(sum(hash(one)::hugeint) as varchar) from {rows}"
                ).to_pylist()
            )
            digests[name] = (n_rows, str(total))
    return digests


def ingest_csv(series: Iterable[Series], folder: Path) -> Path:
    """Write a cluster as three CSV files with their declaration, and ingest them."""
    folder.mkdir(parents=True)
    usage: dict[tuple[str, str, int], dict[str, str]] = defaultdict(dict)
    tasks: dict[str, dict[str, str]] = defaultdict(dict)
    nodes: dict[str, dict[str, str]] = defaultdict(dict)
    owners = {}
    for one in series:
        labels = one.labels
        name = "/".join(labels.get(part, "") for part in ("namespace", "pod", "container"))
        if one.metric in USAGE:
            for at, value in one.samples:
                usage[name, labels["node"], at][USAGE[one.metric]] = value
        elif one.metric == "kube_pod_container_resource_requests":
            tasks[name][f"{labels['resource']}_request"] = one.samples[-1][1]
            tasks[name]["node"] = labels["node"]
        elif one.metric == "kube_pod_owner":
            # These have no series of kube_replicaset_owner: the Deployment is concluded from the name.
            owners[name.rstrip("/")] = labels["owner_name"].removesuffix("-5d9c")
        elif one.metric == "kube_node_status_capacity":
            nodes[labels["node"]][labels["resource"]] = one.samples[-1][1]
    rows = [
        {"task": task, "node": node, "time": at, **values}
        for (task, node, at), values in usage.items()
    ]
    _write(folder / "usage.csv", rows)
    about = []
    for task, values in tasks.items():
        namespace, pod, container = task.split("/")
        place = {"namespace": namespace, "pod": pod, "container": container}
        owner = {"owner": owners[f"{namespace}/{pod}"], "owner_kind": "Deployment"}
        about.append({"task": task, **values, **place, **owner})
    _write(folder / "tasks.csv", about)
    _write(folder / "machines.csv", [{"node": node, **values} for node, values in nodes.items()])
    (folder / "own.toml").write_text(DECLARATION)
    files = [folder / name for name in ("usage.csv", "tasks.csv", "machines.csv")]
    ingest(files, folder / "store", IngestOptions(jobs=1, dialect=str(folder / "own.toml")))
    return folder / "store"


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)


def ingest_answers(series: Iterable[Series], folder: Path) -> Path:
    """Write a cluster as one answer for each metric, and ingest them."""
    folder.mkdir(parents=True)
    answers: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for one in series:
        values = [[at, value] for at, value in one.samples]
        answers[one.metric].append({"metric": dict(one.labels), "values": values})
    for name, result in answers.items():
        answer = {"status": "success", "data": {"resultType": "matrix", "result": result}}
        (folder / f"{name}.json").write_text(json.dumps(answer))
    ingest([folder], folder / "store", IngestOptions(jobs=1))
    return folder / "store"
