"""Users, priorities and constraints of the cell, each with its jobs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from borgtrace.explore.explored_store import ExploredStore
from borgtrace.explore.order import TableOrder, requested_order

MOST_ROWS = 100
"""Groups or jobs that a page lists, at most."""


@dataclass(frozen=True, slots=True)
class Facet:
    """A way to divide the tasks: its heading, the columns that identify a group and others, its query and order."""

    title: str
    key: Sequence[str]
    measures: Sequence[str]
    query_sql: str
    order: str

    @property
    def columns(self) -> list[str]:
        """All columns of a group."""
        return [*self.key, *self.measures]


MEASURES_OF_TASKS = ["n_jobs", "n_tasks", "cpu_request", "cpu_hours", "n_evict", "n_fail"]
COLUMNS_OF_JOBS = (
    "collection_id",
    "collection_logical_name",
    "user",
    "n_tasks",
    "priority",
    "cpu_request",
    "cpu_hours",
    "first_time",
)
ORDER_OF_JOBS = "n_tasks DESC, collection_id"

FACETS = {
    "users": Facet(
        title="Users",
        key=["user"],
        measures=MEASURES_OF_TASKS,
        query_sql="""
            SELECT user,
                count(DISTINCT collection_id) AS n_jobs,
                count(*) AS n_tasks,
                sum(cpu_request) AS cpu_request,
                sum(weighted_mean_average_cpu * seconds) / 3600 AS cpu_hours,
                sum(n_evict)::BIGINT AS n_evict,
                sum(n_fail)::BIGINT AS n_fail
            FROM tasks
            GROUP BY user
        """,
        order="n_tasks DESC, user NULLS LAST",
    ),
    "priorities": Facet(
        title="Priorities",
        key=["priority"],
        measures=MEASURES_OF_TASKS,
        query_sql="""
            SELECT priority,
                count(DISTINCT collection_id) AS n_jobs,
                count(*) AS n_tasks,
                sum(cpu_request) AS cpu_request,
                sum(weighted_mean_average_cpu * seconds) / 3600 AS cpu_hours,
                sum(n_evict)::BIGINT AS n_evict,
                sum(n_fail)::BIGINT AS n_fail
            FROM tasks
            GROUP BY priority
        """,
        order="priority NULLS LAST",
    ),
    "constraints": Facet(
        title="Constraints",
        key=["name", "relation", "value"],
        measures=["n_jobs", "n_tasks"],
        query_sql="""
            SELECT name, relation, value,
                count(DISTINCT collection_id) AS n_jobs,
                count(DISTINCT (collection_id, instance_index)) AS n_tasks
            FROM instance_constraints
            GROUP BY name, relation, value
        """,
        order="n_tasks DESC, name, relation, value",
    ),
}

# A parameter that is NULL chooses all, one that is empty what is not known.  Compared as text: a priority that is no
# number is found nowhere, and is no error.
JOBS = """
    SELECT collection_id,
        max(collection_logical_name) AS collection_logical_name,
        max(user) AS user,
        count(*) AS n_tasks,
        max(priority) AS priority,
        sum(cpu_request) AS cpu_request,
        sum(weighted_mean_average_cpu * seconds) / 3600 AS cpu_hours,
        min(first_time) AS first_time
    FROM tasks
    WHERE ($user IS NULL OR coalesce(user, '') = $user)
        AND ($priority IS NULL OR coalesce(priority::VARCHAR, '') = $priority)
    GROUP BY collection_id
"""

JOBS_WITH_CONSTRAINT = """
    SELECT collection_id,
        max(collection_logical_name) AS collection_logical_name,
        max(user) AS user,
        count(*) AS n_tasks,
        max(priority) AS priority,
        sum(cpu_request) AS cpu_request,
        sum(weighted_mean_average_cpu * seconds) / 3600 AS cpu_hours,
        min(first_time) AS first_time
    FROM tasks
    WHERE ($user IS NULL OR coalesce(user, '') = $user)
        AND ($priority IS NULL OR coalesce(priority::VARCHAR, '') = $priority)
        AND (collection_id, instance_index) IN (
            SELECT (collection_id, instance_index)
            FROM instance_constraints
            WHERE ($name IS NULL OR coalesce(name, '') = $name)
                AND ($relation IS NULL OR coalesce(relation, '') = $relation)
                AND ($value IS NULL OR value = $value)
        )
    GROUP BY collection_id
"""


def order_of_groups(name: str, query: Sequence[tuple[str, str]]) -> TableOrder:
    """Return the order of a facet's groups that an address asks for: each facet of a page has one of its own."""
    return requested_order(query, FACETS[name].columns, f"sort-{name}")


def order_of_jobs(query: Sequence[tuple[str, str]]) -> TableOrder:
    """Return the order of jobs that an address asks for."""
    return requested_order(query, COLUMNS_OF_JOBS)


def groups(
    explored: ExploredStore,
    name: str,
    order: TableOrder,
    limit: int = MOST_ROWS,
) -> pa.Table:
    """Return the groups of a facet, the largest first unless another order is chosen (priorities: in their order).

    Parameters
    ----------
    explored
        What is explored.
    name
        Of the facet.
    order
        Of the groups.
    limit
        How many at most.
    """
    facet = FACETS[name]
    order_sql = order.clause_sql(facet.order)
    query = f"{facet.query_sql} ORDER BY {order_sql} LIMIT $limit"
    return explored.store.sql(query, {"limit": limit})


def jobs(
    explored: ExploredStore,
    criteria: Mapping[str, str],
    order: TableOrder,
    start: int = 0,
    limit: int = MOST_ROWS,
) -> pa.Table:
    """Return the jobs of a group, those with the most tasks first unless another order is chosen.

    Parameters
    ----------
    explored
        What is explored.
    criteria
        Values of ``user``, ``priority``, or of a constraint's ``name``, ``relation`` and ``value``; an empty text is
        "unknown", but for a value, which may be empty.
    order
        Of the jobs.
    start
        Number of the first.
    limit
        How many at most.
    """
    parameters: dict[str, object] = {
        "user": criteria.get("user"),
        "priority": criteria.get("priority"),
        "start": start,
        "limit": limit,
    }
    jobs_sql = JOBS
    constraint = {name: criteria.get(name) for name in FACETS["constraints"].key}
    if any(value is not None for value in constraint.values()):
        jobs_sql = JOBS_WITH_CONSTRAINT
        parameters.update(constraint)
    order_sql = order.clause_sql(ORDER_OF_JOBS)
    in_order = f"{jobs_sql} ORDER BY {order_sql} LIMIT $limit OFFSET $start"
    return explored.store.sql(in_order, parameters)
