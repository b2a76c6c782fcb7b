"""Facts about containers from series: requests, limits, where each belongs, and the workload that owns its pod."""

from typing import NamedTuple

import duckdb

from borgtrace.engine.identifiers import literal, quoted
from borgtrace.schema.dialects.prometheus import (
    JOB_OWNER,
    POD_OWNER,
    POD_OWNER_RULE,
    REPLICASET_OWNER,
)

COLUMNS_OF_TASKS = (
    "task",
    "machine",
    "app",
    "owner_kind",
    "cluster",
    "namespace",
    "pod",
    "container",
    "cpu_request",
    "memory_request",
    "cpu_limit",
    "memory_limit",
)
"""Columns of rows about tasks that series may fill."""
_AMOUNTS = ("cpu_request", "memory_request", "cpu_limit", "memory_limit")

_AMOUNT_NAMES_SQL = ", ".join(map(literal, _AMOUNTS))
# The last one known; of several at one time, the largest.
_LAST_AMOUNTS_SQL = ", ".join(
    f"""arg_max(value, (time, value)) FILTER ("column" = {literal(name)}) AS {quoted(name)}"""
    for name in _AMOUNTS
)
_AMOUNTS_SQL = f"""
    WITH containers AS (
        SELECT
            task,
            pod AS whole,
            arg_max(machine, (time, machine)) FILTER (machine != '') AS machine,
            {_LAST_AMOUNTS_SQL}
        FROM states
        WHERE kind_of_row = 'task_rows' AND "column" IN ({_AMOUNT_NAMES_SQL})
        GROUP BY task, pod
    ),
    pods AS (
        -- Pods of which only the whole was measured ask for what all of their containers do, and are limited where
        -- each of these is.
        SELECT
            whole AS task,
            whole,
            max(machine) AS machine,
            sum(cpu_request) AS cpu_request,
            sum(memory_request) AS memory_request,
            CASE WHEN bool_and(coalesce(cpu_limit, 0) > 0) THEN sum(cpu_limit) END AS cpu_limit,
            CASE WHEN bool_and(coalesce(memory_limit, 0) > 0) THEN sum(memory_limit) END AS memory_limit
        FROM containers
        WHERE whole IN (SELECT task FROM usage_series WHERE kind = 'pod')
        GROUP BY whole
    ),
    known AS (
        SELECT * FROM containers WHERE whole NOT IN (SELECT whole FROM pods)
        UNION ALL SELECT * FROM pods
    )
    SELECT * FROM known
    UNION ALL BY NAME
    SELECT task, any_value(pod) AS whole
    FROM usage_series
    WHERE task NOT IN (SELECT task FROM known)
    GROUP BY task
"""
_PLACES_SQL = """
    SELECT
        task,
        max(nullif(cluster, '')) AS cluster,
        max(nullif(namespace, '')) AS namespace,
        max(nullif(own_pod, '')) AS pod,
        max(nullif(container, '')) AS container
    FROM series
    WHERE kind IN ('container', 'pod', 'docker')
    GROUP BY task
"""
_OWNERS_SQL = f"""
    WITH texts AS (
        SELECT
            kind,
            task,
            pod,
            cluster,
            namespace,
            list_position([{literal(POD_OWNER.name)}, {literal(POD_OWNER_RULE.name)}], metric) AS rank,
            time,
            CASE WHEN field = 'owner'
                THEN struct_pack(kind := split_part(text, '/', 1), name := split_part(text, '/', 2))
                ELSE struct_pack(kind := '', name := text) END AS owner
        FROM states
        WHERE "column" = 'app'
    ),
    owners AS (
        -- What owns a pod says more than its labels, and its workload more than that.
        SELECT
            pod,
            min(cluster) AS cluster,
            min(namespace) AS namespace,
            arg_max(owner, (coalesce(rank, 0), time, owner)) AS owner
        FROM texts
        WHERE kind IN ('container', 'pod')
        GROUP BY pod
    ),
    owners_of_owners AS (
        SELECT cluster, namespace, kind, task AS name, arg_max(owner, (time, owner)) AS owner
        FROM texts
        WHERE kind IN ('ReplicaSet', 'Job')
        GROUP BY cluster, namespace, kind, task
    )
    SELECT o.pod, coalesce(above.owner, o.owner) AS owner
    FROM owners o
    LEFT JOIN owners_of_owners above
    ON above.cluster = o.cluster AND above.namespace = o.namespace
    AND above.kind = o.owner.kind AND above.name = o.owner.name
"""


class _NamedAfterOwner(NamedTuple):
    """Workloads that another one makes, and gives its own name with something behind it.

    Parameters
    ----------
    metric
        The metric that says what owns them.
    kind, owner_kind
        Their kind, and that of their owner.
    ending
        What stands behind the name of the owner, as a pattern.
    """

    metric: str
    kind: str
    owner_kind: str
    ending: str


_NAMED_AFTER_OWNERS = (
    # Letters and digits of which Kubernetes makes hashes: no vowels, so that they are no words.
    _NamedAfterOwner(
        REPLICASET_OWNER.name, "ReplicaSet", "Deployment", "-[bcdfghjklmnpqrstvwxz2456789]{1,10}$"
    ),
    # The minute, or second, that a Job was due.
    _NamedAfterOwner(JOB_OWNER.name, "Job", "CronJob", "-[0-9]{8,10}$"),
)


def make_tasks(connection: duckdb.DuckDBPyConnection) -> tuple[str, ...]:
    """Make the table ``known_tasks``: each container with what is known of it or of its pod.

    Returns sentences about owners that are concluded from names.

    Parameters
    ----------
    connection
        With the tables ``series`` and ``usage_series``, and the view ``states``.
    """
    connection.execute(f"CREATE OR REPLACE TEMP TABLE pod_owners AS {_OWNERS_SQL}")
    notes = [_conclude_owners(connection, named) for named in _NAMED_AFTER_OWNERS]
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE known_tasks AS
        SELECT
            a.* EXCLUDE (whole),
            owner.name AS app,
            nullif(owner.kind, '') AS owner_kind,
            p.* EXCLUDE (task)
        FROM ({_AMOUNTS_SQL}) a
        LEFT JOIN ({_PLACES_SQL}) p ON p.task = a.task
        LEFT JOIN pod_owners o ON o.pod = a.whole AND a.whole != ''
    """)
    return tuple(note for note in notes if note)


def _conclude_owners(connection: duckdb.DuckDBPyConnection, named: _NamedAfterOwner) -> str:
    """Conclude owners from names where no series says them; return a sentence about it, or nothing."""
    ((is_said,),) = connection.execute(
        "SELECT count(*) > 0 FROM series WHERE metric = $1", [named.metric]
    ).fetchall()
    if is_said:
        return ""
    names = {"kind": named.kind, "pattern": f".{named.ending}"}
    has_ending_sql = "owner.kind = $kind AND regexp_matches(owner.name, $pattern)"
    ((n_pods, example),) = connection.execute(
        f"SELECT count(*), min(owner.name) FROM pod_owners WHERE {has_ending_sql}", names
    ).fetchall()
    if not n_pods:
        return ""
    connection.execute(
        f"""
        UPDATE pod_owners
        SET owner = struct_pack(
            kind := $owner_kind, name := regexp_replace(owner.name, $ending, '')
        )
        WHERE {has_ending_sql}
        """,
        {**names, "owner_kind": named.owner_kind, "ending": named.ending},
    )
    return (
        f"No series says what owns each {named.kind} ({named.metric}): of {n_pods:,} pods the {named.owner_kind} is "
        f"concluded from its name, such as {example}."
    )
