"""Bins of margins, beside a search among their edges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from borgtrace.analyses.reservations.margin_bins import N_BINS, margin_bin

PERCENT_EDGES = np.concatenate(
    [
        np.arange(129.0),
        *(128.0 * 2.0**octave * (1.0 + np.arange(1, 65) / 64.0) for octave in range(9)),
    ]
)
"""Upper edges of all bins but the last, %: whole percents to 128, then 64 to a doubling."""


@given(base=st.floats(2.0**-20, 8.0), usage=st.floats(0.0, 8.0))
@example(base=1.0, usage=1.0)
@example(base=1.0, usage=np.nextafter(1.0, 2.0))
@example(base=1.0, usage=2.28)
@example(base=1.0, usage=656.36)
@example(base=2.0**-20, usage=8.0)
def test_a_margin_lies_at_or_below_the_upper_edge_of_its_bin(base: float, usage: float) -> None:
    percent = max(0.0, (usage - base) * 100.0 / base)
    assert margin_bin(usage, base) == np.searchsorted(PERCENT_EDGES, percent)


def test_edges_belong_to_the_bins_below() -> None:
    bins = np.arange(1, len(PERCENT_EDGES))
    # Over a base of 100 the increase is the percentage, without rounding.
    increases = PERCENT_EDGES[1:]
    assert [margin_bin(100.0 + increase, 100.0) for increase in increases] == bins.tolist()
    above = increases * (1.0 + 1e-9)
    assert [margin_bin(100.0 + increase, 100.0) for increase in above] == (bins + 1).tolist()


@pytest.mark.parametrize(
    ("usage", "base", "expected"),
    [
        (0.0, 0.0, 0),
        (0.25, 0.0, N_BINS - 1),
        (0.25, 0.5, 0),
    ],
    ids=["nothing to nothing", "nothing to something", "less"],
)
def test_without_an_increase_or_a_base(usage: float, base: float, expected: int) -> None:
    assert margin_bin(usage, base) == expected
