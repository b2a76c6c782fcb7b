"""Ranges of priorities, read from the names of a trace's tiers: a tier, high priority, production."""

from typing import NamedTuple

from borgtrace.errors import UsageError
from borgtrace.schema import Dialect

LOWEST = -1
HIGHEST = 2**31
"""Bounds of all priorities; −1 means unknown."""


class PriorityRange(NamedTuple):
    """The lowest and the highest of some priorities."""

    lowest: int
    highest: int


ALL_PRIORITIES = PriorityRange(LOWEST, HIGHEST)


def serving(dialect: Dialect) -> int:
    """Return the lowest priority of production; `LOWEST` where the trace has no such tier: then every job serves."""
    return _tiers(dialect).get("production", ALL_PRIORITIES).lowest


def priorities(dialect: Dialect, tasks: str) -> PriorityRange:
    """Return the priorities of ``all``, ``high`` or a tier.

    High priority is what koordinator calls so: production and mid, where the trace has a tier mid.

    Parameters
    ----------
    dialect
        Format of the trace; names the tiers.
    tasks
        ``all``, ``high`` or the name of a tier.

    Raises
    ------
    UsageError
        The trace has no such tier.
    """
    if tasks == "all":
        return ALL_PRIORITIES
    tiers = _tiers(dialect)
    if tasks == "high":
        lowest = serving(dialect)
        if "mid" in tiers:
            lowest = min(lowest, tiers["mid"].lowest)
        return PriorityRange(lowest, HIGHEST)
    if tasks not in tiers:
        known = ", ".join(dict.fromkeys(("all", "high", *tiers)))
        raise UsageError("--tasks", "no such tier", expected=known, got=tasks)
    return tiers[tasks]


def _tiers(dialect: Dialect) -> dict[str, PriorityRange]:
    return {name: PriorityRange(lowest, highest) for name, lowest, highest in dialect.tiers}
