"""Rules that the values of a column keep: declared once, from which every reader derives its tests."""

from dataclasses import dataclass, replace
from typing import Any, Literal

from borgtrace.schema.time import AFTER_TRACE, WINDOW

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


CHECKS: dict[str, Check] = {
    check.reason: check
    for check in (
        Check("integer_out_of_range", "at_least"),
        # A reason of its own: a negative amount is a fault of measuring, a negative id one of writing.
        Check("negative_resource", "at_least"),
        Check("unknown_enum_code", "at_most"),
        # The sentinel itself is the one value beyond the bound.
        Check("after_trace_time", "at_most", AFTER_TRACE - 1),
        Check("end_before_start", "at_least"),
        Check("window_over_300s", "at_most", WINDOW),
        Check("cpu_above_1", "at_most", 1),
        Check("sample_out_of_range", "at_most"),
        # Where maxima are sums over sub-containers (2011's aggregation_type) the maximum itself is no bound, so
        # breaking it is only information.
        Check("mean_above_maximum", "at_most", 0, "", "aggregation_type", "mean_above_summed_maximum"),
        Check("percentiles_empty", "not_empty"),
        Check("percentiles_unordered", "ascending"),
    )
}
"""Rules by reason, without the other column, or the bound, that a column adds."""
NOT_NEGATIVE = (CHECKS["integer_out_of_range"], CHECKS["negative_resource"])
"""Rules that unsigned numbers keep by themselves."""


def parse_check(text: str) -> Check:
    """Read a rule of a column.

    Examples
    --------
    >>> parse_check("window_over_300s:start_time").minus, parse_check("unknown_enum_code:3").bound
    ('start_time', 3)
    """
    reason, _, other = text.partition(":")
    own: dict[str, Any] = {"bound": int(other)} if other.isdecimal() else {"minus": other}
    return replace(CHECKS[reason], **own)
