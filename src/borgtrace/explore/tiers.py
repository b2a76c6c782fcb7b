"""Tiers in the order and the colors of all charts: a tier looks the same wherever it is met."""

from borgtrace.schema import Dialect

UNKNOWN = "unknown"
TIER_COLORS = ("c7", "c2", "c4", "c1", "c5", "c6")
"""Colors of the page, for the tiers from the lowest."""


def tier_colors(dialect: Dialect) -> dict[str, str]:
    """Return the color of each tier, the lowest first, which charts stack on top of each other.

    Examples
    --------
    >>> from borgtrace.schema import dialect
    >>> list(tier_colors(dialect("2011")))
    ['free', 'other', 'production', 'unknown']
    """
    by_priority = sorted(dialect.tiers, key=lambda tier: tier[1])
    names = dict.fromkeys(name for name, _, _ in by_priority)
    colors = dict(zip(names, TIER_COLORS, strict=False))
    return {**colors, UNKNOWN: "muted"}
