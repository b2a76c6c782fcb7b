"""A question that this store cannot answer is an answer, not a failure."""

from __future__ import annotations


class NotApplicable(Exception):  # noqa: N818 - an answer, not an error: "too short", "no usage"
    """Raised by `compute` or by a claim's `measure` where the data cannot answer; says why.

    Examples
    --------
    >>> str(NotApplicable("the trace is shorter than one day"))
    'the trace is shorter than one day'
    """
