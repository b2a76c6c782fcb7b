"""Rules that the values of a column keep, declared once; every reader derives its tests from them.

What a column's type says (an integer parses and fits, a code is known, an amount is finite, a list is as long as it
must be) is not repeated as a check.
"""

from dataclasses import dataclass
from typing import Literal

from borgtrace.schema.time import AFTER_TRACE, WINDOW

Rule = Literal["at_least", "at_most", "ascending", "not_empty"]


@dataclass(frozen=True, slots=True)
class ColumnCheck:
    """One rule, and the reason code of a row that breaks it.

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
    >>> ColumnCheck("end_before_start", "at_least", minus="start_time").bound
    0
    """

    reason: str
    rule: Rule
    bound: int = 0
    minus: str = ""
    flag: str = ""
    reason_if_flag: str = ""


INTEGER_NOT_NEGATIVE = ColumnCheck("integer_out_of_range", "at_least")
# A reason of its own: a negative amount is a fault of measuring, a negative id one of writing.
AMOUNT_NOT_NEGATIVE = ColumnCheck("negative_resource", "at_least")
NOT_NEGATIVE = (INTEGER_NOT_NEGATIVE, AMOUNT_NOT_NEGATIVE)
"""Rules that unsigned numbers keep by themselves."""
FURTHEST_TIME = 10**16
"""Largest instant and longest time of a converted row, in µs: 317 years, so that a sum of two stays an int64."""

# The sentinel itself is the one value beyond the bound.
NOT_AFTER_TRACE = ColumnCheck("after_trace_time", "at_most", AFTER_TRACE - 1)
CPU_AT_MOST_1 = ColumnCheck("cpu_above_1", "at_most", 1)
LIST_NOT_EMPTY = ColumnCheck("percentiles_empty", "not_empty")
LIST_ASCENDING = ColumnCheck("percentiles_unordered", "ascending")


def amount_at_most(largest: int) -> ColumnCheck:
    """Check that an amount is not beyond what any machine or job has."""
    return ColumnCheck("amount_out_of_range", "at_most", largest)


def code_at_most(largest: int) -> ColumnCheck:
    """Check that a number which is a code is none beyond the largest one."""
    return ColumnCheck("unknown_enum_code", "at_most", largest)


def not_before(start: str) -> ColumnCheck:
    """Check that a time is not before the one in the column `start`."""
    return ColumnCheck("end_before_start", "at_least", minus=start)


def within_window_of(start: str) -> ColumnCheck:
    """Check that a time is at most 300 s after the one in the column `start`."""
    return ColumnCheck("window_over_300s", "at_most", WINDOW, minus=start)


def sample_at_most(maximum: str) -> ColumnCheck:
    """Check that a sample does not exceed the column `maximum`."""
    return ColumnCheck("sample_out_of_range", "at_most", minus=maximum)


def mean_at_most(maximum: str) -> ColumnCheck:
    """Check that a mean does not exceed the column `maximum`.

    Where maxima are sums over sub-containers (2011's ``aggregation_type``) the maximum is no bound, so breaking the
    rule is only information.
    """
    return ColumnCheck(
        "mean_above_maximum",
        "at_most",
        minus=maximum,
        flag="aggregation_type",
        reason_if_flag="mean_above_summed_maximum",
    )
