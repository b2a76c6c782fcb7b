"""Tasks all together, by tier and by scheduling class: the three cuts of most questions."""

from __future__ import annotations

import ibis.expr.types as ir
import numpy as np

from borgtrace.analyses._quantiles import Groups, counts, fetch_counts
from borgtrace.analyses._windows import UNKNOWN, tier
from borgtrace.recipe import Tables
from borgtrace.schema import Column

GROUP_COLUMNS = (
    Column("grouping", "string", "id", "What the rows are cut by: all, tier or class.", nullable=False),
    Column("group", "string", "id", "Name of the tier, number of the class, or all.", nullable=False),
)
"""First two columns of a result that is cut this way."""


def per_group(tables: Tables, attempts: ir.Table, value: ir.Value, stage: str, *by: str) -> Groups:
    """Count values of attempts by (tier, class, `by` …)."""
    named = attempts.mutate(
        tier=tier(attempts.priority, tables.generation),
        class_=attempts.scheduling_class.cast("string").fill_null(UNKNOWN),
    )
    keys = ("tier", "class_", *by)
    return fetch_counts(tables, counts(named, value, keys), keys, stage)


def merged(groups: Groups) -> Groups:
    """Turn counts by (tier, class, …) into counts by (grouping, group, …): all, each tier, each class."""
    members: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for key in groups:
        tier_, class_, *rest = key
        for cut in (("all", "all"), ("tier", tier_), ("class", class_)):
            members.setdefault((*cut, *rest), []).append(key)
    return {
        cut: (np.concatenate([groups[key][0] for key in keys]), np.concatenate([groups[key][1] for key in keys]))
        for cut, keys in sorted(members.items())
    }
