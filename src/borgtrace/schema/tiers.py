"""Tiers: what a priority means.  Data only; expressions over columns live in the layers above."""

from __future__ import annotations

TIERS: tuple[tuple[str, int, int], ...] = (
    ("free", 0, 99),
    ("beb", 100, 115),
    ("mid", 116, 119),
    ("production", 120, 359),
    ("monitoring", 360, 2**31 - 1),
)
"""(tier, lowest, highest) raw v3 priority: v3 notes; best-effort batch 100–115 as in Google's notebook."""

TIERS_2011: tuple[tuple[str, int, int], ...] = (("free", 0, 1), ("other", 2, 8), ("production", 9, 11))
"""(tier, lowest, highest) 2011 priority, as the papers on 2011 use it."""

RAW_PRIORITY_2011: tuple[int, ...] = (0, 25, 100, 101, 103, 104, 107, 109, 119, 200, 360, 450)
"""Raw v3-like priority of each 2011 priority 0 … 11 (Tirmazi et al., EuroSys'20)."""


def tiers(generation: str) -> tuple[tuple[str, int, int], ...]:
    """Return the tier table that fits the priorities of `generation`.

    Examples
    --------
    >>> [name for name, _, _ in tiers("2011")]
    ['free', 'other', 'production']
    """
    return TIERS_2011 if generation == "2011" else TIERS


def tier_of(priority: int, generation: str = "2019") -> str:
    """Name the tier of one priority; KeyError outside the published range.

    Examples
    --------
    >>> tier_of(115), tier_of(116), tier_of(9, "2011")
    ('beb', 'mid', 'production')
    """
    for name, lowest, highest in tiers(generation):
        if lowest <= priority <= highest:
            return name
    raise KeyError(priority)
