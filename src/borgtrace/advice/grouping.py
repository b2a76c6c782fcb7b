"""Which tasks are one workload: replicas of a deployment, runs of a program, tasks of a job."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from functools import lru_cache

import numpy as np

from borgtrace.errors import UsageError, check_names
from borgtrace.kernels.arrays import Index
from borgtrace.question import Row
from borgtrace.store import Store

WAYS = ("owner", "name", "job", "user")
"""How tasks can be grouped."""
PARTS_OF_A_CONTAINER = 3
"""Of a task of Kubernetes, called namespace/pod/container."""
_DRAWN = "bcdfghjklmnpqrstvwxz2456789"
"""Letters and digits of generated names: no vowels, and nothing that looks like another."""
_SUFFIXES = (
    # What a Deployment adds: the hash of the pod's template, then five of the letters that Kubernetes draws from.
    re.compile(rf"-[{_DRAWN}]{{6,10}}-[{_DRAWN}]{{5}}$"),
    # What a DaemonSet or a Job adds.
    re.compile(rf"-[{_DRAWN}]{{5}}$"),
    # Numbers of replicas and runs.
    re.compile(r"[-_./]?\d+$"),
)


@dataclass(frozen=True, slots=True)
class Workload:
    """A workload.

    Attributes
    ----------
    name
        As tables show it.
    cluster, namespace, owner, owner_kind, container
        Of a container of Kubernetes; empty where they are not known.
    """

    name: str
    cluster: str = ""
    namespace: str = ""
    owner: str = ""
    owner_kind: str = ""
    container: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Workloads:
    """Workloads of a store.

    Attributes
    ----------
    all
        Each workload, by name.
    of_task
        Place of each task's workload, in the order of the store's index: int64 (tasks,).
    by
        How they were grouped.
    """

    all: Sequence[Workload]
    of_task: Index
    by: str


def workloads_of(store: Store, by: str = "") -> Workloads:
    """Group the tasks of a store.

    Parameters
    ----------
    store
        An open store.
    by
        One of `WAYS`; empty: ``owner`` where half of the tasks have one, else ``name`` where they have names, else
        ``job``.

    Raises
    ------
    UsageError
        For another way, or one of which the store knows nothing.
    """
    check_names("--by", [by] if by else [], WAYS, "no such way to group tasks")
    tasks = named_tasks(store)
    ways = (by,) if by else ("owner", "name")
    for way in ways:
        workloads = GROUPERS[way](tasks)
        n_named = sum(workload.name != "" for workload in workloads)
        if n_named * 2 > len(workloads) or (by and n_named):
            return grouped(workloads, tasks, way)
    if by:
        raise UsageError(
            "--by",
            f"no task of the store has the {by} that workloads are told by",
            way_out="every store has jobs: --by job",
        )
    return grouped(by_job(tasks), tasks, "job")


def named_tasks(store: Store) -> list[Row]:
    """Return the tasks in the order of the index, with what is known of where they belong."""
    tasks = store.task_columns(
        [
            "collection_id",
            "user",
            "collection_logical_name",
            "cluster",
            "namespace",
            "container",
            "owner_kind",
        ]
    )
    jobs = store.sql("""
        SELECT collection_id, any_value(collection_name) AS job_name
        FROM collection_events
        WHERE collection_name IS NOT NULL
        GROUP BY collection_id
    """)
    names = dict(zip(jobs["collection_id"].to_pylist(), jobs["job_name"].to_pylist(), strict=True))
    rows = []
    for task in tasks.to_pylist():
        rows.append({**task, "job_name": names.get(task["collection_id"])})
    return rows


def by_owner(tasks: Sequence[Row]) -> list[Workload]:
    """Group tasks by namespace, owner and container of Kubernetes, else by the job's logical name."""
    workloads = []
    for task in tasks:
        owner = task["collection_logical_name"] or ""
        parts = [task["cluster"], task["namespace"], owner, task["container"]]
        workloads.append(
            Workload(
                name="/".join(part for part in parts if part) if owner else "",
                cluster=task["cluster"] or "",
                namespace=task["namespace"] or "",
                owner=owner,
                owner_kind=task["owner_kind"] or "",
                container=task["container"] or "",
            )
        )
    return workloads


def by_name(tasks: Sequence[Row]) -> list[Workload]:
    """Group tasks by the name of their job, without what tells replicas and runs apart."""
    return [Workload(pattern_of(task["job_name"] or "")) for task in tasks]


@lru_cache(maxsize=100_000)
def pattern_of(name: str) -> str:
    """Return the name of a job without what tells replicas and runs apart; of a container its pod's name counts.

    Examples
    --------
    >>> pattern_of("shop/web-6d4cf56db6-x7k2p/app"), pattern_of("shop/my-cache/app")
    ('shop/web/app', 'shop/my-cache/app')
    >>> pattern_of("nightly-etl-0042")
    'nightly-etl'
    """
    parts = name.split("/")
    place = 1 if len(parts) == PARTS_OF_A_CONTAINER else len(parts) - 1
    for suffix in _SUFFIXES:
        shortened = suffix.sub("", parts[place])
        if shortened and shortened != parts[place]:
            parts[place] = shortened
            break
    return "/".join(parts)


def by_job(tasks: Sequence[Row]) -> list[Workload]:
    """Group tasks by their job."""
    return [Workload(task["job_name"] or str(task["collection_id"])) for task in tasks]


def by_user(tasks: Sequence[Row]) -> list[Workload]:
    """Group tasks by their user."""
    return [Workload(task["user"] or "") for task in tasks]


GROUPERS: dict[str, Callable[[Sequence[Row]], list[Workload]]] = {
    "owner": by_owner,
    "name": by_name,
    "job": by_job,
    "user": by_user,
}
"""Each way, and what groups tasks by it; a task of which it knows nothing has a workload without a name."""


def grouped(workloads: Sequence[Workload], tasks: Sequence[Row], by: str) -> Workloads:
    """Return the workloads; a task without one is grouped with the others of its job."""
    whole = []
    for workload, task in zip(workloads, tasks, strict=True):
        whole.append(workload if workload.name else Workload(str(task["collection_id"])))
    unique = sorted(set(whole), key=astuple)
    place = {workload: number for number, workload in enumerate(unique)}
    of_task = np.array([place[workload] for workload in whole], np.int64)
    return Workloads(unique, of_task, by)
