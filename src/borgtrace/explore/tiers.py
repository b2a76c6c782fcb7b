"""Tiers in the order and the colors of all charts, the same in every view."""

from borgtrace.question import colours
from borgtrace.schema import Dialect

UNKNOWN = "unknown"


def tier_colors(dialect: Dialect) -> dict[str, str]:
    """Return the color of each tier, the lowest first, which charts stack on top of each other.

    Examples
    --------
    >>> from borgtrace.schema import dialect
    >>> tier_colors(dialect("2011"))["production"]
    'tier-production'
    """
    by_priority = sorted(dialect.tiers, key=lambda tier: tier[1])
    names = [*(name for name, _, _ in by_priority), UNKNOWN]
    return {name: colours.tier(name).name for name in names}


def label_of_tier(tier: str) -> str:
    """Return what a legend calls what a tier used: in many clusters nobody knows of tiers."""
    return "used, tier unknown" if tier == UNKNOWN else tier
