"""Claims about documented anomalies: each occurs as often as its publisher says.

Its scope decides for the table, the chart and the list of claims at once: where a rate is not judged in one of them,
it is judged in none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa

from borgtrace.analyses.quality.anomalies import Anomaly, is_as_documented, tolerance
from borgtrace.question import Claim, Criterion, Measure, NotApplicable, Scope
from borgtrace.question.criteria import WithMoreData
from borgtrace.schema.dialects import AnomalyRate
from borgtrace.schema.dialects.google import REAL_PARTS


class Shares(NamedTuple):
    """How many rows (or seconds) have an anomaly, of those that could have it."""

    n: int
    of: int

    def __str__(self) -> str:
        """Return the share with both numbers, as people read it."""
        return f"{self.n / self.of:.4%} ({self.n:,} of {self.of:,})"


def claims_about(anomaly: Anomaly) -> Iterator[Claim]:
    """Yield a claim for each documented rate of an anomaly."""
    for rate, traces in anomaly.rates.items():
        yield claim_about(anomaly, rate, traces)


def claim_about(anomaly: Anomaly, rate: AnomalyRate, traces: tuple[str, ...]) -> Claim:
    """Return the claim that an anomaly occurs as often as it is documented for some traces."""
    name = ["QUALITY", anomaly.code]
    # The trace is part of the name where each has a rate of its own.
    if len(anomaly.rates) > 1:
        name += traces
    return Claim(
        "-".join(name),
        statement=anomaly.statement,
        source=rate.source,
        kind="criterion" if rate.source == REAL_PARTS else "published",
        scope=Scope(traces=traces, tables=anomaly.tables).needing(days=anomaly.days),
        measure=shares_of(anomaly),
        criterion=Criterion(
            rate.expected,
            tolerance(rate),
            lambda shares: is_as_documented(rate, shares.n, shares.of),
        ),
        with_more_data=with_more_data(rate),
    )


def with_more_data(rate: AnomalyRate) -> WithMoreData:
    """Say what more data can do to an anomaly's share: "never" and "always" are rules, which one row refutes."""
    is_rule = rate.documented in ((0.0, 0.0), (1.0, 1.0))
    return "stays refuted" if is_rule and not rate.is_count else "moves"


def shares_of(anomaly: Anomaly) -> Measure:
    """Measure how many rows have an anomaly."""

    def measure(answer: pa.Table) -> Shares:
        for row in answer.to_pylist():
            if row["anomaly"] == anomaly.code and row["of"]:
                return Shares(row["n"], row["of"])
        raise NotApplicable(anomaly.why)

    return measure
