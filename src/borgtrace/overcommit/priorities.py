"""Which priorities are high, and which jobs serve: read from the names of a trace's tiers."""

from borgtrace.errors import UsageError
from borgtrace.schema import Dialect

LOWEST = -1
HIGHEST = 2**31
"""Bounds of all priorities; −1 stands for none known."""


def serving(dialect: Dialect) -> int:
    """Return the lowest priority of production; `LOWEST` where the trace has no such tier: then every job serves."""
    return _tiers(dialect).get("production", (LOWEST, HIGHEST))[0]


def priorities(dialect: Dialect, tasks: str) -> tuple[int, int]:
    """Return the lowest and the highest priority of ``all``, ``high`` or a tier.

    High priority is what koordinator calls so: production and mid, where the trace has a tier mid.

    Parameters
    ----------
    dialect
        Format of the trace; names the tiers.
    tasks
        What is asked for.

    Raises
    ------
    UsageError
        For a tier that the trace has not.
    """
    tiers = _tiers(dialect)
    if tasks == "all":
        return LOWEST, HIGHEST
    if tasks == "high":
        return min(tiers.get("mid", (HIGHEST,))[0], serving(dialect)), HIGHEST
    if tasks not in tiers:
        known = ", ".join(dict.fromkeys(("all", "high", *tiers)))
        raise UsageError("--tasks", "no such tier", expected=known, got=tasks)
    return tiers[tasks]


def _tiers(dialect: Dialect) -> dict[str, tuple[int, int]]:
    return {name: (low, high) for name, low, high in dialect.tiers}
