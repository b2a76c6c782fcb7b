"""Find machines, jobs, tasks and users by an id or a name, and say what tells the results apart."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import quote

import numpy as np

from borgtrace.explore.explored_store import ExploredStore
from borgtrace.notation import integer, short_name

IDS = re.compile(r"\s*(\d{1,18})(?:\s*[:/ ,]\s*(\d{1,9}))?\s*")
"""An id, or a pair of ids."""

# A limit for each kind: one letter begins thousands of hashes.
NAMES = """
    (
        SELECT DISTINCT 'user' AS kind, user AS name, NULL::BIGINT AS id
        FROM tasks
        WHERE starts_with(user, $text)
        ORDER BY name
        LIMIT 20
    )
    UNION ALL
    (
        SELECT DISTINCT 'machine' AS kind, value AS name, machine_id AS id
        FROM machine_attributes
        WHERE name = 'name' AND contains('/' || value, '/' || $text)
        ORDER BY name, id
        LIMIT 20
    )
    UNION ALL
    (
        SELECT DISTINCT 'job' AS kind, collection_name AS name, collection_id AS id
        FROM collection_events
        WHERE contains('/' || collection_name, '/' || $text)
        ORDER BY length(name), name, id
        LIMIT 20
    )
    UNION ALL
    (
        SELECT DISTINCT 'job' AS kind, collection_logical_name AS name, collection_id AS id
        FROM tasks
        WHERE starts_with(collection_logical_name, $text)
        ORDER BY name, id
        LIMIT 20
    )
"""
JOBS = """
    SELECT collection_id AS id,
        count(*) AS n_tasks,
        max(user) AS user,
        max(collection_logical_name) AS logical_name,
        max(priority) AS priority,
        min(first_time) AS first_time
    FROM tasks
    WHERE list_contains($ids, collection_id)
    GROUP BY collection_id
"""
USERS = """
    SELECT user AS name, count(DISTINCT collection_id) AS n_jobs, count(*) AS n_tasks
    FROM tasks
    WHERE list_contains($names, user)
    GROUP BY user
"""


class Match(NamedTuple):
    """What a search means: its kind, what it is called, its address, and what tells it from others."""

    kind: str
    name: str
    address: str
    about: str


def search(explored: ExploredStore, text: str) -> list[Match]:
    """Return what an id, a pair of ids, or the beginning of a name, or of a part of one, may mean.

    Parameters
    ----------
    explored
        What is explored.
    text
        What the reader wrote.
    """
    matches: list[Match] = []
    ids = IDS.fullmatch(text)
    if ids and ids[2] is not None:
        matches += tasks_of_ids(explored, int(ids[1]), int(ids[2]))
    elif ids:
        matches += jobs_and_machines_of_id(explored, int(ids[1]))
    if text.strip():
        matches += things_of_names(explored, text.strip())
    # A job may be found by its id and by both of its names.
    return list({match.address: match for match in reversed(matches)}.values())[::-1]


def tasks_of_ids(explored: ExploredStore, collection_id: int, instance_index: int) -> list[Match]:
    """Return the task of these ids, where there is one."""
    low, high = explored.store.rows_of_collection(collection_id)
    if low == high:
        return []
    instances = explored.store.task_ids(np.arange(low, high))[1]
    if instance_index not in instances:
        return []
    name = explored.notation.names.task_and_ids(collection_id, instance_index)
    (job,) = matches_of_jobs(explored, [collection_id])
    return [Match("task", name, f"/task/{collection_id}/{instance_index}", job.about)]


def jobs_and_machines_of_id(explored: ExploredStore, id_: int) -> list[Match]:
    """Return the job and the machine of an id, where there are any."""
    matches = []
    low, high = explored.store.rows_of_collection(id_)
    if low < high:
        matches += matches_of_jobs(explored, [id_])
    if explored.pyramid.place(id_) is not None:
        matches.append(match_of_machine(explored, id_))
    return matches


def things_of_names(explored: ExploredStore, text: str) -> list[Match]:
    """Return users, machines and jobs whose name, or a part of it, begins with a text."""
    rows = explored.store.sql(NAMES, {"text": text}).to_pylist()
    users = [row["name"] for row in rows if row["kind"] == "user"]
    jobs = [row["id"] for row in rows if row["kind"] == "job"]
    matches = matches_of_users(explored, users)
    for row in rows:
        # One that neither events nor usage place has no page.
        if row["kind"] == "machine" and explored.pyramid.place(row["id"]) is not None:
            matches.append(match_of_machine(explored, row["id"]))
    return [*matches, *matches_of_jobs(explored, list(dict.fromkeys(jobs)))]


def match_of_machine(explored: ExploredStore, machine_id: int) -> Match:
    """Return a machine with what it is."""
    name = explored.notation.names.machine_and_id(machine_id)
    about = explored.describe_machine(machine_id)
    return Match("machine", name, f"/machine/{machine_id}", about)


def matches_of_users(explored: ExploredStore, users: Sequence[str]) -> list[Match]:
    """Return users with how much they run."""
    matches = []
    for row in sorted(
        explored.store.sql(USERS, {"names": list(users)}).to_pylist(),
        key=lambda row: str(row["name"]),
    ):
        address = f"/jobs?user={quote(row['name'], safe='')}"
        about = f"{counted(row['n_jobs'], 'job')}, {counted(row['n_tasks'], 'task')}"
        matches.append(Match("user", short_name(row["name"]), address, about))
    return matches


def matches_of_jobs(explored: ExploredStore, ids: Sequence[int]) -> list[Match]:
    """Return jobs, in this order, with whose they are, how large, and when they began; none without tasks."""
    notation = explored.notation
    rows = {row["id"]: row for row in explored.store.sql(JOBS, {"ids": list(ids)}).to_pylist()}
    notation.names.jobs(rows)
    matches = []
    for id_ in ids:
        row = rows.get(id_)
        if row is None:
            continue
        parts = [counted(row["n_tasks"], "task")]
        if row["user"]:
            parts.append(f"of {short_name(row['user'])}")
        if row["logical_name"]:
            parts.append(f"named {short_name(row['logical_name'])}")
        if row["priority"] is not None:
            parts.append(f"with priority {row['priority']}")
        if row["first_time"] is not None:
            parts.append(f"from {notation.clock.text(row['first_time'])}")
        name = notation.names.job_and_id(id_)
        matches.append(Match("job", name, f"/job/{id_}", " ".join(parts)))
    return matches


def counted(count: int, noun: str) -> str:
    """Return a count with its noun."""
    return f"{integer(count)} {noun}{'' if count == 1 else 's'}"
