"""What the questions about dependencies of the 2019 trace share."""

from __future__ import annotations

import ibis
import ibis.expr.types as ir

from borgtrace.recipe import NotApplicable, Tables

ENDS = ("EVICT", "FAIL", "FINISH", "KILL", "LOST", "NONE")
"""Ways of ending; the last for what was alive at the end of the trace."""


def require_2019(tables: Tables, what: str) -> None:
    """Raise :class:`NotApplicable` where the generation does not publish `what`."""
    if tables.generation == "2011" and not tables.is_plan:
        raise NotApplicable(f"2011 does not publish {what}")


def last_ends(attempts: ir.Table) -> ir.Table:
    """Return one row per collection: ``schedule_time`` of its first attempt, end of its last.

    Columns: ``collection_id``, ``end_time``, ``end_type``, ``schedule_time``.
    """
    life = ibis.window(group_by="collection_id", order_by=ibis.desc("attempt"))
    numbered = attempts.mutate(
        place=ibis.row_number().over(life),
        started=attempts.schedule_time.min().over(ibis.window(group_by="collection_id")),
    )
    return numbered.filter(numbered.place == 0).select("collection_id", "end_time", "end_type", schedule_time="started")
