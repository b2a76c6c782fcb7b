"""The siblings of a job: other jobs of its logical name, and other jobs of its user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

import pyarrow as pa

from borgtrace.engine.identifiers import quoted
from borgtrace.explore.explored_store import ExploredStore

MOST_SIBLINGS = 12
"""Jobs that a page lists of each kind."""
SHARED = {"collection_logical_name": "logical name", "user": "user"}
"""What siblings have in common, by its column."""


class Siblings(NamedTuple):
    """Other jobs that have something in common with a job.

    Attributes
    ----------
    shared
        What that is: ``logical name`` or ``user``.
    value
        The name that they share.
    n_jobs
        How many there are.
    jobs
        The first of them.
    address
        Of the page that lists all; None where there is none.
    """

    shared: str
    value: str
    n_jobs: int
    jobs: pa.Table
    address: str | None


def siblings(
    explored: ExploredStore,
    collection_id: int,
    job_facts: Mapping[str, Any],
    limit: int = MOST_SIBLINGS,
) -> list[Siblings]:
    """Return the siblings of a job by its logical name and by its user, as far as it has any.

    Parameters
    ----------
    explored
        What is explored.
    collection_id
        The job.
    job_facts
        What :func:`borgtrace.explore.job.facts` says of it.
    limit
        How many jobs of each kind at most: the first by name where people gave names, else the nearest ids.
    """
    groups = []
    for column, shared in SHARED.items():
        value = job_facts.get(column)
        if not value:
            continue
        jobs = _jobs_with(explored, collection_id, column, value, limit)
        if not jobs.num_rows:
            continue
        n_jobs = jobs["n_jobs"][0].as_py()
        address = f"/jobs?user={quote(value, safe='')}" if column == "user" else None
        groups.append(Siblings(shared, value, n_jobs, jobs.drop_columns("n_jobs"), address))
    return groups


def _jobs_with(
    explored: ExploredStore,
    collection_id: int,
    column: str,
    value: str,
    limit: int,
) -> pa.Table:
    # Ids made from names are neighbors of nothing.
    order_sql = (
        "any_value(name)" if explored.notation.names.are_own else "abs(collection_id - $job)"
    )
    query = f"""
        WITH names AS (
            SELECT collection_id, min(collection_name) AS name
            FROM collection_events
            GROUP BY collection_id
        )
        SELECT collection_id,
            count(*) AS n_instances,
            min(first_time) AS first_time,
            max(end_type) AS end_type,
            count(*) OVER () AS n_jobs
        FROM tasks
        LEFT JOIN names USING (collection_id)
        WHERE tasks.{quoted(column)} = $value AND collection_id <> $job
        GROUP BY collection_id
        ORDER BY {order_sql}, collection_id
        LIMIT $limit
    """
    parameters = {
        "value": value,
        "job": collection_id,
        "limit": limit,
    }
    return explored.store.sql(query, parameters)
