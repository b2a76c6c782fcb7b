"""What makes a claim true: the published number and how far from it a measured one may lie."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


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
    """

    published: str | float
    tolerance: str
    test: Callable[[Any], bool]

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
        return Criterion(
            published or value, f"± {relative * 100:g}%", lambda v: abs(v / value - 1) <= relative
        )
    return Criterion(published or value, f"± {within:g}", lambda v: abs(v - value) <= within)


def between(low: float, high: float, published: str | float) -> Criterion:
    """Accept `low` … `high`, both included.

    Parameters
    ----------
    low, high
        Ends of the range.
    published
        What was published, which the range surrounds.
    """
    return Criterion(published, f"{low:g} … {high:g}", lambda v: low <= v <= high)


def above(limit: float, published: str | float | None = None) -> Criterion:
    """Accept what is larger than `limit`."""
    return _bound(f"> {limit:g}", published, lambda v: v > limit)


def below(limit: float, published: str | float | None = None) -> Criterion:
    """Accept what is smaller than `limit`."""
    return _bound(f"< {limit:g}", published, lambda v: v < limit)


def at_least(limit: float, published: str | float | None = None) -> Criterion:
    """Accept `limit` and what is larger."""
    return _bound(f"≥ {limit:g}", published, lambda v: v >= limit)


def at_most(limit: float, published: str | float | None = None) -> Criterion:
    """Accept `limit` and what is smaller."""
    return _bound(f"≤ {limit:g}", published, lambda v: v <= limit)


def equals(value: Any, published: str | None = None) -> Criterion:
    """Accept `value` alone."""
    return _bound(str(value), published, lambda v: v == value)


def _bound(tolerance: str, published: str | float | None, test: Callable[[Any], bool]) -> Criterion:
    return Criterion(tolerance if published is None else published, tolerance, test)
