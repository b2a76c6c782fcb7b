"""Rules that the values of a column keep: declared once, from which every reader derives its tests."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

from borgtrace.schema.data_files import read_rows

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
    row["reason"]: Check(**cast(Any, row | {"bound": int(row["bound"])}))
    for row in read_rows(Path(__file__).with_name("checks.csv"))
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
