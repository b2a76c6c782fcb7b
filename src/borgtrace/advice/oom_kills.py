"""Containers that were killed because they were out of memory: how often, and at which limit.

The usage that killed a container is not seen: it lies between two samples. All that is known is that it reached the
limit, so that memory is recommended above that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.store import Store

OOM_KILLED = "OOMKilled"
"""What Kubernetes says of a container that was killed for its memory."""
MARGIN_ABOVE_LIMIT = 0.15
"""Memory is recommended so much above the limit at which a container was killed."""


@dataclass(frozen=True, slots=True, eq=False)
class OomKills:
    """What is known of the kills of each task, in the order of the store's index.

    Attributes
    ----------
    counts
        Kills: int64 (tasks,).
    limits
        Highest limit of memory in force at one of them, in parts of the largest machine; NaN where there was none.
    """

    counts: Index
    limits: Numbers

    def of(self, tasks: Flags) -> tuple[int, float]:
        """Return the kills of some tasks, and the highest limit in force at one; NaN where there was none."""
        n_kills = int(self.counts[tasks].sum())
        limits = self.limits[tasks]
        known = limits[~np.isnan(limits)]
        return n_kills, float(known.max()) if len(known) else math.nan


_KILLS_SQL = """
WITH killed AS (
    SELECT DISTINCT collection_id, instance_index
    FROM instance_events
    WHERE end_reason = $reason
),
events AS (
    SELECT
        collection_id,
        instance_index,
        end_reason,
        last_value(memory_limit IGNORE NULLS) OVER (
            PARTITION BY collection_id, instance_index
            ORDER BY time, source_part, source_row
        ) AS limit_in_force
    FROM instance_events
    JOIN killed USING (collection_id, instance_index)
),
counted AS (
    SELECT
        collection_id,
        instance_index,
        count(*) AS n_kills,
        max(limit_in_force) AS highest_limit
    FROM events
    WHERE end_reason = $reason
    GROUP BY ALL
),
numbered AS (
    SELECT
        collection_id,
        instance_index,
        row_number() OVER (ORDER BY collection_id, instance_index) - 1 AS place
    FROM tasks
)
SELECT place, n_kills, highest_limit
FROM counted
JOIN numbered USING (collection_id, instance_index)
"""
"""Each task that was killed: its place, how often, and the highest limit at which it was."""


def oom_kills_of(store: Store) -> OomKills:
    """Return the kills of all tasks.

    Parameters
    ----------
    store
        An open store.
    """
    kills = store.sql(_KILLS_SQL, {"reason": OOM_KILLED})
    n_tasks = len(store.offsets) - 1
    counts = np.zeros(n_tasks, np.int64)
    limits = np.full(n_tasks, np.nan)
    places = kills["place"].to_numpy()
    counts[places] = kills["n_kills"].to_numpy()
    limits[places] = kills["highest_limit"].to_numpy().astype(np.float64)
    return OomKills(counts, limits)
