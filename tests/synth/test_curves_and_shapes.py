"""Curves, ranks, forms and numbers, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from borgtrace.synth.measure import number_text
from borgtrace.synth.model.draws import QuantileCurve, RankShares, pick
from borgtrace.synth.model.profile import Likeness
from borgtrace.synth.model.profiles import PROFILES
from borgtrace.synth.model.shapes import Mixed, maximum_scores, normal_scores, quantiles
from borgtrace.synth.write.raw_rows import csv_text


def test_a_curve_is_straight_in_the_logarithm_and_has_steps() -> None:
    curve = QuantileCurve((0.0, 0.5, 0.5, 1.0), (1.0, 10.0, 20.0, 2000.0))
    assert [curve.at(u) for u in (0, 0.25, 0.5, 0.75, 1)] == pytest.approx(
        [1, math.sqrt(10), 10, 200, 2000]
    )
    # What lies outside the curve is at its ends.
    found = [curve.below(value) for value in (0.1, 1, math.sqrt(10), 10, 20, 200, 2000, 9999)]
    assert found == pytest.approx([0, 0, 0.25, 0.5, 0.5, 0.75, 1, 1])


def test_ranks_by_their_shares_and_then_by_a_power_law() -> None:
    # Of the last quarter: ranks 3, 4, … with probabilities as 1/r − 1/(r + 1), r from 1 to 3.
    drawn = [
        RankShares(
            (0.5, 0.25),
            exponent=2.0,
            n_ranks=5,
            shift=0.0,
        ).rank_at(u)
        for u in (0, 0.49, 0.5, 0.74, 0.75, 0.9, 0.93, 0.98, 0.9999)
    ]
    assert drawn == [1, 1, 2, 2, 3, 3, 4, 5, 5]


def test_a_value_by_its_share_of_the_weights() -> None:
    assert [pick({1: 1, 2: 3}, u) for u in (0, 0.2, 0.25, 0.9, 1.0)] == [1, 1, 2, 2, 2]


def test_forms_of_distributions() -> None:
    # Two modes at a tenth and at 1, hardly spread: a quarter of the way up lies the lower one.
    both = Mixed(0.05, 0.5, 0.1).at(np.array([0.25, 0.75]))
    assert both == pytest.approx([0.1, 1.0], rel=0.02)
    assert Mixed(0.05, 0.5, 0.0).at(np.array([0.25]))[0] < 1e-4
    table = quantiles(Mixed(0.05, 0.5, 0.1))
    assert table[len(table) // 4] < table[-1] == table.max()
    # Midpoints of four equal parts are at ∓1.150 and ∓.3186, with a deviation of .8440.
    assert normal_scores(2) == pytest.approx([-1.3629, -0.3775, 0.3775, 1.3629], abs=1e-4)
    # The largest of one, and of two: Φ(z) and Φ(z)² are a quarter and three quarters.
    assert maximum_scores(2, 2).tolist() == [
        pytest.approx([-0.6745, 0.6745], abs=1e-4),
        pytest.approx([0.0, 1.1078], abs=1e-4),
    ]


def test_numbers_of_ten_bits() -> None:
    codes = [0, 1, 1023, 1024, 1025, 1024 + 511, 1024 + 512]
    expected = [
        0,
        2**-20,
        1023 * 2**-20,
        2**-10,
        513 * 2**-19,
        1023 * 2**-19,
        2**-9,
    ]
    assert [number_text.ten_bit_number(code) for code in codes] == expected
    for texts, words in ((["12345678"], 1), (["1", "123456789"], 2), ([""], 0)):
        packed = number_text.pack(texts)
        assert (packed.words.shape, packed.lengths.tolist()) == (
            (len(texts), words),
            [len(text) for text in texts],
        )


def test_values_as_text() -> None:
    assert [csv_text(value) for value in (None, True, False, 7, -1, 0.25, 1 / 3, "x")] == [
        *("", "1", "0", "7", "-1", "0.25", "0.3333", "x")
    ]


def test_a_likeness_says_what_carries_over_and_what_is_missing() -> None:
    carried = (
        "Distributions of the store carry over (arrivals, sizes, requests, lives, usage, machines), no series, id or "
        "name. Groups of fewer than ten jobs are merged, and at either end of a distribution ten values count as their "
        "mean."
    )
    profile = PROFILES["2011"]
    assert Likeness(profile).note == carried
    assert Likeness(profile, missing=("usage", "machines")).note == (
        f"{carried} Published figures stand in for usage, machines."
    )
