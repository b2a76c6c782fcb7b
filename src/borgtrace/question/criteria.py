"""Criteria of claims: the published number, and how far from it a measured one may lie."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

WithMoreData = Literal["moves", "rises", "falls", "stays refuted"]
"""What more data can do to a measured value.

"moves": it may rise and fall, as shares, means and quantiles do; "rises": it can only rise, as a count or a maximum;
"falls": it can only fall, as a minimum; "stays refuted": the claim is a rule without exceptions, and no data takes back
an exception.
"""
Range = tuple[float, float]
"""Lowest and highest number."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """A published number with its tolerance.

    Parameters
    ----------
    published
        What was published: a number, or a text such as ``"> 0.95"``.
    tolerance
        What a measured value must satisfy, in words.
    test
        The same as a function of the measured value.
    accepts
        Range of the accepted numbers, infinite where it has no end; None where the test is not about a range.
    """

    published: str | float
    tolerance: str
    test: Callable[[Any], bool]
    accepts: Range | None = None

    def is_settled(self, value: Any, with_more_data: WithMoreData) -> bool:
        """Return whether the verdict on a measured value stays what it is, however much data is added.

        Parameters
        ----------
        value
            The value, measured on part of the data.
        with_more_data
            What more data can do to it.

        Examples
        --------
        >>> equals(0).is_settled(123, "rises"), equals(0).is_settled(0, "rises")
        (True, False)
        >>> above(0).is_settled(123, "rises"), above(0).is_settled(123, "moves")
        (True, False)
        """
        if with_more_data == "stays refuted":
            return not self.test(value)
        if with_more_data == "moves" or self.accepts is None:
            return False
        low, high = self.accepts
        if with_more_data == "rises":
            # What is accepted now may rise out of the range; what is above the range stays there.
            return high == math.inf if self.test(value) else bool(value > low)
        return low == -math.inf if self.test(value) else bool(value < high)

    def __str__(self) -> str:
        return str(self.published)


def with_tolerance(published: str, tolerance: str) -> str:
    """Return what was published with how far from it a measured value may lie, as people read it.

    Parameters
    ----------
    published
        The number or the text, as it is printed.
    tolerance
        Of the criterion; said once where it is all that was published.

    Examples
    --------
    >>> with_tolerance("0.5", "± 0.1"), with_tolerance("> 1", "> 1")
    ('0.5 (± 0.1)', '> 1')
    """
    return published if tolerance in ("", published) else f"{published} ({tolerance})"


def near(
    value: float, within: float = 0.0, *, relative: float = 0.0, published: str | None = None
) -> Criterion:
    """Accept what lies within an absolute distance of `value`, or within a `relative` one.

    Parameters
    ----------
    value
        The number, also what is printed as published.
    within
        Largest distance, in the unit of the value.
    relative
        Largest distance as a share of the value; replaces `within`.
    published
        What to print instead of the number.

    Examples
    --------
    >>> near(0.4, 0.05).test(0.45), near(1000, relative=0.02).test(1021)
    (True, False)
    """
    if relative:
        distance = abs(value) * relative
        return Criterion(
            published or value,
            f"± {relative * 100:g}%",
            lambda v: abs(v / value - 1) <= relative,
            accepts=(value - distance, value + distance),
        )
    return Criterion(
        published or value,
        f"± {within:g}",
        lambda v: abs(v - value) <= within,
        accepts=(value - within, value + within),
    )


def between(low: float, high: float, published: str | float) -> Criterion:
    """Accept `low` … `high`, both included.

    Parameters
    ----------
    low, high
        Ends of the range.
    published
        What was published, which the range surrounds.
    """
    return Criterion(
        published, f"{low:g} … {high:g}", lambda v: low <= v <= high, accepts=(low, high)
    )


def above(limit: float, published: str | float | None = None) -> Criterion:
    """Accept what is larger than `limit`."""
    return _bound(f"> {limit:g}", published, lambda v: v > limit, (limit, math.inf))


def below(limit: float, published: str | float | None = None) -> Criterion:
    """Accept what is smaller than `limit`."""
    return _bound(f"< {limit:g}", published, lambda v: v < limit, (-math.inf, limit))


def at_least(limit: float, published: str | float | None = None) -> Criterion:
    """Accept `limit` and what is larger."""
    return _bound(f"≥ {limit:g}", published, lambda v: v >= limit, (limit, math.inf))


def at_most(limit: float, published: str | float | None = None) -> Criterion:
    """Accept `limit` and what is smaller."""
    return _bound(f"≤ {limit:g}", published, lambda v: v <= limit, (-math.inf, limit))


def equals(value: Any, published: str | None = None) -> Criterion:
    """Accept `value` alone."""
    accepts = (value, value) if isinstance(value, int | float) else None
    return _bound(str(value), published, lambda v: v == value, accepts)


def _bound(
    tolerance: str,
    published: str | float | None,
    test: Callable[[Any], bool],
    accepts: Range | None,
) -> Criterion:
    return Criterion(tolerance if published is None else published, tolerance, test, accepts)
