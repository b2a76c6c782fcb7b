"""Rules that the values of a column keep: declared once, from which every reader derives its tests."""

from dataclasses import dataclass
from typing import Literal

Rule = Literal["at_least", "at_most", "ascending", "not_empty"]


@dataclass(frozen=True, slots=True)
class Check:
    """One rule and what a row that breaks it is called.

    What a column's type says (an integer parses and fits, a code is known, an amount is finite, a list is as long as
    it must be) is not repeated as a check.

    Parameters
    ----------
    reason
        Code in :data:`borgtrace.schema.reasons.REASONS`; it decides whether the row is refused or only counted.
    rule
        ``at_least`` and ``at_most`` compare with `bound`; ``ascending`` and ``not_empty`` are about lists.
    bound
        The smallest or largest value allowed.
    minus
        Column that is subtracted first, for rules on two columns; a row without either value keeps the rule.
    flag, reason_if_flag
        A boolean column, and the reason instead of `reason` for rows where it is true.

    Examples
    --------
    >>> Check("end_before_start", "at_least", minus="start_time").bound
    0
    """

    reason: str
    rule: Rule
    bound: int = 0
    minus: str = ""
    flag: str = ""
    reason_if_flag: str = ""


NOT_NEGATIVE = Check("integer_out_of_range", "at_least")
# A reason of its own: a negative amount is a fault of measuring, a negative id one of writing.
AMOUNT_NOT_NEGATIVE = Check("negative_resource", "at_least")


def at_most_maximum(maximum: str) -> Check:
    """Return the rule that a mean is no larger than the maximum of its window.

    Where maxima are sums over sub-containers (2011's aggregation_type) the maximum itself is no bound, so breaking it
    is only information.
    """
    return Check(
        "mean_above_maximum",
        "at_most",
        minus=maximum,
        flag="aggregation_type",
        reason_if_flag="mean_above_summed_maximum",
    )
