"""Tiers by the name of a trace: use :class:`borgtrace.schema.dialects.Dialect` where one is at hand."""

from __future__ import annotations

from borgtrace.schema.dialects import Tiers, dialect


def tiers(generation: str) -> Tiers:
    """Return the tiers of the priorities of a trace."""
    return dialect(generation).tiers


def tier_of(priority: int, generation: str = "2019") -> str:
    """Name the tier of one priority; KeyError outside the published range."""
    return dialect(generation).tier_of(priority)
