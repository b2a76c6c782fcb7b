"""Whether what a synthetic trace measures fits its published target, by hand."""

from __future__ import annotations

from math import inf

import pytest

from borgtrace.analyses.fidelity.fidelity import LESS, Measurement, row_of_target
from borgtrace.synth.model.targets import FidelityTarget
from tests.rows import chosen_columns


@pytest.mark.parametrize(
    ("measured", "low", "high", "verdict"),
    [
        # 10 is published.
        (None, None, None, "not measured"),
        (11.0, None, None, "fits"),
        (13.0, 9.0, 15.0, "fits"),
        (30.0, 20.0, 40.0, "does not fit"),
        (1.0, 0.5, 2.0, "does not fit"),
    ],
)
def test_a_target_fits_by_its_distance_or_by_its_interval(
    measured: float | None, low: float | None, high: float | None, verdict: str
) -> None:
    row = row_of_target(
        FidelityTarget("m", "all", 10.0, "A", "somewhere", True), Measurement(measured, low, high)
    )
    expected = {
        "verdict": verdict,
        "reference": "somewhere",
        "grade": "A",
    }
    assert chosen_columns(row, expected) == expected
    assert row["deviation"] == (None if measured is None else pytest.approx(measured / 10 - 1))


def test_a_trace_that_is_too_small_for_the_claim_gets_no_verdict_in_the_table() -> None:
    target = FidelityTarget("m", "all", 10.0, "A", "somewhere", True)
    near = row_of_target(target, Measurement(11.0), can_judge=False)
    far = row_of_target(target, Measurement(30.0), can_judge=False)
    assert [(row["is_near"], row["verdict"]) for row in (near, far)] == [
        (True, "not judged"),
        (False, "not judged"),
    ]


def test_a_target_below_zero_has_a_deviation_by_its_size_and_a_guide_no_verdict() -> None:
    row = row_of_target(
        FidelityTarget("m", "all", -2.0, "A", "somewhere", False), Measurement(-3.0, None, None)
    )
    assert row["deviation"] == -0.5
    assert row["verdict"] == "reported"
    assert (
        row_of_target(FidelityTarget("m", "all", 1.0, "A", "", True), Measurement(inf, None, None))[
            "verdict"
        ]
        == "does not fit"
    )


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        # The ends of an interval are rounded to 1e-6 of themselves; 1 is published.
        (0.5, LESS, "fits"),
        (0.5, LESS - 1e-9, "does not fit"),
        (1.0 / LESS, 2.0, "fits"),
        (1.0 / LESS + 1e-9, 2.0, "does not fit"),
    ],
)
def test_a_target_at_the_end_of_its_interval_fits(low: float, high: float, verdict: str) -> None:
    assert (
        row_of_target(FidelityTarget("m", "all", 1.0, "A", "", True), Measurement(1.5, low, high))[
            "verdict"
        ]
        == verdict
    )
