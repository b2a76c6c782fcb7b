"""The sketch against sorting, by hand and at random."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from borgtrace.analyses.changes import change_sketch, machine_changes
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


USAGE = (
    st.none() | st.sampled_from([0.0, 0.125, 0.25, 0.375]) | st.floats(0.001953125, 0.5, width=16)
)
"""Few values, which make ties and zeros, and any others."""


@settings(max_examples=25)
@given(
    usage=st.lists(st.tuples(st.integers(1, 3), st.integers(0, 8), USAGE, USAGE), max_size=30),
    rows_per_batch=st.integers(1, 7),
)
def test_quantiles_are_those_of_sorting_all_changes(
    usage: list[tuple[int, int, float | None, float | None]], rows_per_batch: int
) -> None:
    # One task on each machine, and one window of it in a slot: both levels have the same changes.
    series = {(machine, slot): (cpu, memory) for machine, slot, cpu, memory in usage}
    # At least one change.
    series |= {(4, 0): (0.25, 0.25), (4, 1): (0.25, 0.25)}
    windows = [
        window(machine, 300 * slot, cpu, memory, machine_id=machine)
        for (machine, slot), (cpu, memory) in series.items()
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(machine_changes, "ROWS_PER_BATCH", rows_per_batch)
        rows = answer(change_sketch.QUESTION, tiny(instance_usage=windows))
    exact: dict[str, list[float | None]] = {}
    for row in rows:
        exact.setdefault(f"{row['level']} {row['resource']}", []).append(row["exact"])

    expected = {}
    for position, resource in enumerate(("cpu", "memory")):
        changes = sorted(changes_by_hand({key: both[position] for key, both in series.items()}))
        quantiles = [changes[rank(q, len(changes)) - 1] for q in change_sketch.QUANTILES if changes]
        if quantiles:
            values = [None if change == math.inf else change for change in quantiles]
            expected |= {f"{level} {resource}": values for level in ("machine", "task")}
    assert exact == expected


def changes_by_hand(series: dict[tuple[int, int], float | None]) -> list[float]:
    """Return |later − earlier| ÷ earlier of neighboring slots, infinite from zero to something."""
    changes = []
    for (machine, slot), later in series.items():
        earlier = series.get((machine, slot - 1))
        if later is None or earlier is None:
            continue
        if earlier > 0.0:
            changes.append(abs(later - earlier) / earlier)
        else:
            changes.append(math.inf if later else 0.0)
    return changes
