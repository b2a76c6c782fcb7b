"""What somebody published, and whether it holds on this trace."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import pyarrow as pa

from borgtrace.recipe.criteria import Criterion
from borgtrace.recipe.notapplicable import NotApplicable

Verdict = Literal["holds", "does not hold", "not applicable"]


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim after measuring: published – measured – verdict.

    ``reason`` says why a claim is not applicable, and is empty otherwise.
    """

    id: str
    statement: str
    published: str
    measured: str
    verdict: Verdict
    reason: str = ""
    source: str = ""

    def __str__(self) -> str:
        verdict = f"{self.verdict}: {self.reason}" if self.reason else self.verdict
        return f"{self.id}: {self.statement}: published {self.published}, measured {self.measured}: {verdict}"


@dataclass(frozen=True, slots=True)
class Claim:
    """A published statement, how to measure it on a result, and what makes it true.

    Parameters
    ----------
    id
        Short and unique: source and number, e.g. ``"S4-obs7"``.
    statement
        What was said, in one clause.
    published
        What was published, and what makes the claim true.
    measure
        From the result table to a number (or a text); raises :class:`NotApplicable` with the reason
        where the result cannot tell.  None or NaN means "not applicable" too.
    source
        Paper and section.
    format
        How a measured number is printed.

    Examples
    --------
    >>> from borgtrace.recipe.criteria import above
    >>> claim = Claim("X-1", "most are short", above(0.5), measure=lambda t: t["share"][0].as_py())
    >>> print(claim.judge(pa.table({"share": [0.625]})))
    X-1: most are short: published > 0.5, measured 0.625: holds
    """

    id: str
    statement: str
    published: Criterion
    measure: Callable[[pa.Table], Any]
    source: str = ""
    format: str = ".4g"

    def judge(self, result: pa.Table) -> Finding:
        """Measure the claim on a result table."""
        try:
            value = self.measure(result)
        except NotApplicable as reason:
            return self.not_applicable(str(reason))
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return self.not_applicable("nothing to measure it on")
        verdict: Verdict = "holds" if self.published.test(value) else "does not hold"
        return self._finding(self._text(value), verdict)

    def not_applicable(self, reason: str) -> Finding:
        """Say that the store cannot tell, and why."""
        return self._finding("–", "not applicable", reason)

    def _finding(self, measured: str, verdict: Verdict, reason: str = "") -> Finding:
        published = self._text(self.published.published)
        return Finding(self.id, self.statement, published, measured, verdict, reason, self.source)

    def _text(self, value: Any) -> str:
        # A count under ".4g" would print as 1.235e+06.
        return format(value, self.format) if isinstance(value, float) else str(value)


def from_source(source: str, *claims: Claim) -> tuple[Claim, ...]:
    """Return claims, with the source of those that name none.

    Parameters
    ----------
    source
        Paper and section.
    claims
        Claims, of which some may name a source of their own.
    """
    return tuple(claim if claim.source else replace(claim, source=source) for claim in claims)
