"""Curves, ranks, forms and numbers, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from borgtrace.synth.measure.number_text import pack, ten_bit_number
from borgtrace.synth.model.draws import QuantileCurve, RankShares, pick
from borgtrace.synth.model.profile import Likeness
from borgtrace.synth.model.profiles import GOOGLE_2011
from borgtrace.synth.model.shapes import Mixed, maximum_scores, normal_scores, quantiles
from borgtrace.synth.write.raw_rows import csv_text


def test_a_curve_is_straight_in_the_logarithm_and_has_steps() -> None:
    curve = QuantileCurve((0.0, 0.5, 0.5, 1.0), (1.0, 10.0, 20.0, 2000.0))
    values = [curve.at(u) for u in (0, 0.25, 0.5, 0.75, 1)]
    assert values == pytest.approx([1, math.sqrt(10), 10, 200, 2000])
    shares = [curve.below(value) for value in (1, math.sqrt(10), 10, 20, 200, 2000)]
    assert shares == pytest.approx([0, 0.25, 0.5, 0.5, 0.75, 1])
    # What lies outside the curve is at its ends.
    assert curve.below(0.1) == 0
    assert curve.below(9999) == 1


def test_a_curve_goes_through_its_points() -> None:
    curve = QuantileCurve.through(
        {
            0.0: 1.0,
            0.5: 10.0,
            1.0: 100.0,
        }
    )
    assert curve == QuantileCurve((0.0, 0.5, 1.0), (1.0, 10.0, 100.0))


@pytest.mark.parametrize(
    ("u", "rank"),
    [
        (0, 1),
        (0.49, 1),
        (0.5, 2),
        (0.74, 2),
        # Of the last quarter: ranks 3, 4, … with probabilities as 1/r − 1/(r + 1), r from 1 to 3.
        (0.75, 3),
        (0.9, 3),
        (0.93, 4),
        (0.98, 5),
        (0.9999, 5),
    ],
)
def test_ranks_by_their_shares_and_then_by_a_power_law(u: float, rank: int) -> None:
    owners = RankShares(
        head=(0.5, 0.25),
        exponent=2.0,
        n_ranks=5,
        shift=0.0,
    )
    assert owners.rank_at(u) == rank


def test_a_value_by_its_share_of_the_weights() -> None:
    weights = {1: 1, 2: 3}
    picked = [pick(weights, u) for u in (0, 0.2, 0.25, 0.9, 1.0)]
    assert picked == [1, 1, 2, 2, 2]


def test_two_modes_at_a_tenth_and_at_one() -> None:
    # Hardly spread: a quarter of the way up lies the lower one.
    values = Mixed(0.05, 0.5, 0.1).at(np.array([0.25, 0.75]))
    assert values == pytest.approx([0.1, 1.0], rel=0.02)
    low = Mixed(0.05, 0.5, 0.0).at(np.array([0.25]))
    assert low[0] < 1e-4
    table = quantiles(Mixed(0.05, 0.5, 0.1))
    quarter = len(table) // 4
    assert table[quarter] < table[-1]
    assert table[-1] == table.max()


def test_normal_scores_have_unit_variance() -> None:
    # Midpoints of four equal parts are at ∓1.150 and ∓.3186, with a deviation of .8440.
    expected = [-1.3629, -0.3775, 0.3775, 1.3629]
    assert normal_scores(2) == pytest.approx(expected, abs=1e-4)


def test_scores_of_the_largest_of_one_and_of_two() -> None:
    # Φ(z) and Φ(z)² are a quarter and three quarters.
    of_one, of_two = maximum_scores(2, 2)
    assert of_one == pytest.approx([-0.6745, 0.6745], abs=1e-4)
    assert of_two == pytest.approx([0.0, 1.1078], abs=1e-4)


@pytest.mark.parametrize(
    ("code", "number"),
    [
        (0, 0),
        (1, 2**-20),
        (1023, 1023 * 2**-20),
        (1024, 2**-10),
        (1025, 513 * 2**-19),
        (1024 + 511, 1023 * 2**-19),
        (1024 + 512, 2**-9),
    ],
)
def test_numbers_of_ten_bits(code: int, number: float) -> None:
    assert ten_bit_number(code) == number


@pytest.mark.parametrize(
    ("texts", "n_words"),
    [
        (["12345678"], 1),
        (["1", "123456789"], 2),
        ([""], 0),
    ],
)
def test_texts_are_packed_into_words(texts: list[str], n_words: int) -> None:
    packed = pack(texts)
    assert packed.words.shape == (len(texts), n_words)
    assert packed.lengths.tolist() == [len(text) for text in texts]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (True, "1"),
        (False, "0"),
        (7, "7"),
        (-1, "-1"),
        (0.25, "0.25"),
        (1 / 3, "0.3333"),
        ("x", "x"),
    ],
)
def test_values_as_text(value: object, text: str) -> None:
    assert csv_text(value) == text


def test_a_likeness_says_what_carries_over_and_what_is_missing() -> None:
    carried = (
        "Distributions of the store carry over (arrivals, sizes, requests, lives, usage, machines), no series, id or "
        "name. Groups of fewer than ten jobs are merged, and at either end of a distribution ten values count as their "
        "mean."
    )
    assert Likeness(GOOGLE_2011).note == carried
    incomplete = Likeness(GOOGLE_2011, missing=("usage", "machines"))
    assert incomplete.note == f"{carried} Published figures stand in for usage, machines."
