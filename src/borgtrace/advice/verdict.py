"""Whether a target was kept on the periods that were judged, as far as the interval of the risk tells."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from borgtrace.question.promises import is_kept

LEAST_SAVINGS = 0.005
"""What saves less is no overcommitment worth the name."""


class Verdict(StrEnum):
    """What the judged periods say of a target."""

    KEPT = "kept"
    """The whole interval is within the target."""
    UNCERTAIN = "not certain"
    """The risk is within the target, its interval reaches above it."""
    ABOVE = "above, perhaps by chance"
    """The risk is above the target, its interval reaches below it."""
    MISSED = "missed"
    """The whole interval is above the target."""
    NOTHING = "nothing promised"
    """Hardly less than the requests was promised."""

    @property
    def is_advised(self) -> bool:
        """Whether requests may be cut so: where the risk was not above the target."""
        return self in (Verdict.KEPT, Verdict.UNCERTAIN)


def verdict_of(row: Mapping[str, Any]) -> Verdict:
    """Return the verdict on a resource, from its savings, target, and risk with its interval.

    Parameters
    ----------
    row
        Has ``savings``, ``target``, ``rate``, ``rate_low`` and ``rate_high``.
    """
    if row["savings"] < LEAST_SAVINGS:
        return Verdict.NOTHING
    kept = is_kept(row["rate_low"], row["rate_high"], row["target"])
    if kept is not None:
        return Verdict.KEPT if kept else Verdict.MISSED
    return Verdict.UNCERTAIN if row["rate"] <= row["target"] else Verdict.ABOVE
