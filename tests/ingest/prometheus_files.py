"""Invented series of Prometheus, and stores of them; every amount is worked out by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import borgtrace
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.store import Store

START = 1_793_491_200
"""Seconds since 1970; a multiple of 300 s, so that it is 600 s in the store."""
CPU = "container_cpu_usage_seconds_total"
MEMORY = "container_memory_working_set_bytes"
REQUESTS = "kube_pod_container_resource_requests"
LIMITS = "kube_pod_container_resource_limits"
OWNER = "kube_pod_owner"
CAPACITY = "kube_node_status_capacity"
ALLOCATABLE = "kube_node_status_allocatable"
TERMINATED = "kube_pod_container_status_last_terminated_reason"
APP = {"namespace": "shop", "pod": "web-0", "container": "app", "node": "n1"}
CORES = 8
GIB = 2**30

Samples = Sequence[tuple[float, Any]]


def steady(cores: float, n: int = 11, begun: float = 0, first: int = 0) -> list[tuple[float, str]]:
    """Return samples of a counter each minute: so many cores, all the time.

    Parameters
    ----------
    cores
        What is used.
    n
        How many samples.
    begun
        The first value.
    first
        Minute of the first sample.
    """
    return [((first + place) * 60, f"{begun + cores * 60 * place:.9g}") for place in range(n)]


def level(amount: float, n: int = 11, first: int = 0) -> list[tuple[float, str]]:
    """Return samples of a gauge each minute."""
    return [((first + place) * 60, str(amount)) for place in range(n)]


def series(metric: str, labels: Mapping[str, str], samples: Samples) -> dict[str, Any]:
    """Return a series as a range query answers it; samples are seconds after `START`, and values."""
    name = {"__name__": metric} if metric else {}
    return {
        "metric": name | dict(labels),
        "values": [[START + after, value] for after, value in samples],
    }


def answer(*found: Mapping[str, Any], kind: str = "matrix") -> str:
    """Return the answer of the HTTP API with these series."""
    return json.dumps({"status": "success", "data": {"resultType": kind, "result": list(found)}})


def store_of(folder: Path, *texts: str, capacity: str = "8cores,32GiB") -> Store:
    """Ingest files of these texts into a store."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, text in enumerate(texts):
        path = folder / f"answer-{number}.json"
        path.write_text(text)
        paths.append(path)
    ingest(paths, folder / "store", IngestOptions(jobs=1, capacity=capacity))
    return borgtrace.open(folder / "store")


def core_seconds(store: Store) -> dict[str, float]:
    """Return what each task used, in core-seconds, by its name."""
    rows = store.sql(f"""
        select name, round(sum(average_cpu * {CORES} * (end_time - start_time)) / 1e6, 3) as used
        from instance_usage u
        join (select distinct collection_id, collection_name as name from collection_events) c
        using (collection_id)
        group by name
    """).to_pylist()
    return {row["name"]: row["used"] for row in rows}


def cores(store: Store) -> list[float]:
    """Return the CPU of each window, in cores."""
    rows = store.sql(
        "select average_cpu from instance_usage order by collection_id, start_time"
    ).to_pylist()
    return [round(row["average_cpu"] * CORES, 4) for row in rows]


def left_out(store: Store) -> dict[str, int]:
    """Return how many series are left out for each reason."""
    counts: dict[str, int] = {}
    for of_table in store.manifest.counters.values():
        counts.update(of_table)
    return counts
