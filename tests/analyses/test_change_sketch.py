"""The sketch against sorting, by hand and at random."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from borgtrace.analyses.changes import change_sketch
from borgtrace.analyses.changes.change_sketch import ZERO_BUCKET, locate, middle, rank
from tests.analyses.tiny import answer, tiny, window


def sketch(values: list[float], alpha: float) -> Counter[int]:
    """Count values in buckets: k holds what is above γ to the power of k − 1, up to γ to the power of k."""
    width = math.log((1 + alpha) / (1 - alpha))
    return Counter(math.ceil(math.log(value) / width) if value else ZERO_BUCKET for value in values)


VALUES = st.lists(st.floats(1e-9, 1e9) | st.just(0.0), min_size=1, max_size=60)


@given(VALUES, st.floats(0.0, 1.0), st.sampled_from([0.001, 0.01, 0.1]))
def test_every_quantile_is_within_the_bound(values: list[float], q: float, alpha: float) -> None:
    counts = sketch(values, alpha)
    bucket, _ = locate(np.array(list(counts)), np.array(list(counts.values())), q)
    exact = sorted(values)[rank(q, len(values)) - 1]
    assert middle(bucket, alpha) == pytest.approx(exact, rel=alpha * (1 + 1e-9), abs=0.0)


def test_quantiles_of_one_task() -> None:
    cpu = (
        0.5,
        0.5,
        0.625,
        0.5,
        1.0,
        0.0,
        0.25,
    )  # changes: 0, 25 %, 20 %, 100 %, 100 %, from nothing
    tables = tiny(instance_usage=[window(1, 300 * k, value) for k, value in enumerate(cpu)])
    rows = {
        row["quantile"]: row
        for row in answer(change_sketch.QUESTION, tables)
        if (row["level"], row["resource"]) == ("task", "cpu")
    }
    # Six changes in order: 0, .2, .25, 1, 1, ∞; the quantile q is number ⌈6 q⌉.
    exact = {quantile: row["exact"] for quantile, row in rows.items()}
    assert exact == {
        0.1: 0.0,
        0.25: pytest.approx(0.2),
        0.5: 0.25,
        0.75: 1.0,
        0.9: None,
        0.95: None,
        0.99: None,
    }
    assert rows[0.5]["sketched"] == pytest.approx(0.25, rel=0.01)
    assert rows[0.5]["n_changes"] == 6
    assert rows[0.5]["n_buckets"] == 5
    finding = change_sketch.QUESTION.run(tables).findings[0]
    assert finding.verdict == "holds"


def test_the_smallest_error_leaves_zero_and_infinity_their_own_buckets() -> None:
    # ln γ is 0.0002: 2⁻²⁴ ÷ 300 lies in bucket −111,695 and 485,163,007 in 100,000, for its logarithm is 19.999995.
    windows = [
        window(1, 0, 1.0),
        window(1, 300, 1.0),
        window(1, 600, 1.0, length=299),
        window(1, 899, 1.0 - 2.0**-24, length=1),
        window(1, 900, 2.0**-30),
        window(1, 1200, 29612 / 2**16),
        window(1, 1500, 0.0),
    ]
    rows = {
        row["quantile"]: row
        for row in answer(change_sketch.QUESTION, tiny(instance_usage=windows), alpha=0.0001)
        if (row["level"], row["resource"]) == ("task", "cpu")
    }
    # Five changes in order: 0, 2⁻²⁴ ÷ 300, 1 − 2⁻³⁰ (nearly), 1, 29612 · 2¹⁴ − 1; the quantile q is number ⌈5 q⌉.
    exact = {quantile: row["exact"] for quantile, row in rows.items()}
    assert exact == {
        0.1: 0.0,
        0.25: pytest.approx(2.0**-24 / 300, rel=1e-5),
        0.5: pytest.approx(1.0 - 2.0**-30, rel=1e-12),
        0.75: 1.0,
        0.9: 485_163_007.0,
        0.95: 485_163_007.0,
        0.99: 485_163_007.0,
    }
    assert rows[0.25]["sketched"] == pytest.approx(2.0**-24 / 300, rel=1.1e-4)
    assert rows[0.9]["sketched"] == pytest.approx(485_163_007, rel=1.0001e-4)


def test_one_window_is_too_short() -> None:
    result = change_sketch.QUESTION.run(tiny(instance_usage=[window(1, 0, 0.5)]))
    assert result.not_applicable == "no two consecutive windows"
    assert math.isfinite(result.provenance.seconds)
