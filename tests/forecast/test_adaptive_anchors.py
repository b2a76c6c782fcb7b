"""Anchors that lean to what was right in past windows: a gradient by hand, and series whose truth is planted."""

from __future__ import annotations

import numpy as np
import pytest

from borgtrace.forecast.adaptive_anchors import (
    GROUPS,
    AdaptiveAnchors,
    PastWindow,
    adapted,
    add_gradient,
)
from borgtrace.forecast.anchors import Anchors, prior
from borgtrace.forecast.board.protocol import HORIZON, QUANTILES
from borgtrace.forecast.panel import Panel, unpaired
from borgtrace.kernels.arrays import Numbers, Values
from borgtrace.testing import check_forecaster

N_BINS, CUT = 1100, 620
N_SERIES = 8


def rising_and_noisy() -> Panel:
    """Half rise without end, so that only the newest value is near what comes; half are noise around a level."""
    rng = np.random.default_rng(0)
    rising = np.arange(N_BINS) * rng.uniform(0.5, 2, (N_SERIES // 2, 1))
    noise = 50 + 10 * rng.standard_normal((N_SERIES // 2, N_BINS))
    return unpaired(np.concatenate([rising, noise]).astype(np.float32))


def in_order(kind: type[Anchors], panel: Panel, *, n_windows: int) -> list[Numbers]:
    """Return what a forecaster says of each window, asked in turn; it learned from nothing that changes."""
    forecaster = kind()
    nothing = unpaired(np.ones((panel.n_series, CUT), np.float32))
    forecaster.fit_panel(nothing, HORIZON, QUANTILES)
    said = []
    for window in range(n_windows):
        known = panel.before(CUT + window * HORIZON)
        said.append(forecaster.predict_panel(known, HORIZON, QUANTILES))
    return said


def losses(panel: Panel, said: list[Numbers]) -> Numbers:
    """Return the mean quantile loss of each window and series."""
    of_windows = []
    for window, forecasts in enumerate(said):
        begin = CUT + window * HORIZON
        error = panel.values[:, begin : begin + HORIZON, None] - forecasts
        levels = np.array(QUANTILES)
        of_windows.append(np.maximum(levels * error, (levels - 1) * error).mean(axis=(1, 2)))
    return np.stack(of_windows)


@pytest.mark.wide
def test_it_keeps_the_contract_of_forecasters() -> None:
    check_forecaster(AdaptiveAnchors)


def test_each_anchor_has_a_group() -> None:
    assert len(GROUPS) == len(prior())
    assert np.bincount(GROUPS).tolist() == [1, 5, 7, 9, 9, 11, 11, 3]


@pytest.mark.parametrize(("came", "expected"), [(0, -2.5), (10, 2.5), (5, 0), (np.nan, 0)])
def test_the_gradient_of_two_anchors(came: float, expected: float) -> None:
    """0 and 10 with a half each: the CRPS at 0 is 10·(1 − s)², s the share of 0, and ds is s·(1 − s) = 1/4."""
    anchors = np.array([[[0, 10]]], np.float32)
    probability = np.array([[[0.5, 0.5]]], np.float32)
    group = np.array([[[0, 1]]], np.int8)
    labels = np.array([[came]], np.float32)
    gradient = np.zeros((1, 2))
    weight = np.ones(1, np.float32)
    add_gradient(anchors, probability, group, labels, weight, np.zeros((1, 2)), gradient)
    assert gradient[0].tolist() == pytest.approx([expected, -expected])


def test_leanings_go_to_what_came_and_are_pulled_to_0() -> None:
    """Where 0 came again and again its group gains; an error that costs nothing moves nothing; nor does the future."""

    def window(first: int) -> PastWindow:
        anchors = np.broadcast_to(np.array([0, 10], np.float32), (3, 2, 2)).copy()
        group = np.broadcast_to(np.array([0, 1], np.int8), (3, 2, 2)).copy()
        return PastWindow(np.array([first, first + 1]), anchors, np.full_like(anchors, 0.5), group)

    values = np.zeros((3, 10), np.float32)
    weight = np.array([1, 0.1, 0], np.float32)
    leaning = adapted(np.zeros((3, 2)), [window(0), window(4)], values, weight)
    assert leaning[0, 0] > leaning[1, 0] > 0 > leaning[1, 1] > leaning[0, 1]
    assert (leaning[2] == 0).all()
    later = adapted(np.zeros((3, 2)), [window(10)], values, weight)
    assert (later == 0).all()


def test_the_first_window_is_that_of_anchors_which_are_frozen() -> None:
    panel = rising_and_noisy()
    (adaptive,) = in_order(AdaptiveAnchors, panel, n_windows=1)
    (frozen,) = in_order(Anchors, panel, n_windows=1)
    assert adaptive.tobytes() == frozen.tobytes()


def gain(panel: Panel) -> float:
    """Return the loss from the fourth window on, as a share of that of anchors that are frozen."""
    adaptive = losses(panel, in_order(AdaptiveAnchors, panel, n_windows=8))
    frozen = losses(panel, in_order(Anchors, panel, n_windows=8))
    return float(adaptive[3:].mean() / frozen[3:].mean())


def test_what_anchors_know_nothing_of_is_forecast_better_in_later_windows() -> None:
    """Analogs of a rise lie below it: after three windows forecasts lean to the newest value; noise stays noise."""
    values = rising_and_noisy().values
    assert gain(unpaired(values[: N_SERIES // 2])) < 0.7
    assert gain(unpaired(values[N_SERIES // 2 :])) == pytest.approx(1, abs=0.02)


def test_what_comes_later_changes_no_forecast() -> None:
    panel = rising_and_noisy()
    before = in_order(AdaptiveAnchors, panel, n_windows=3)
    panel.values[:, CUT + 2 * HORIZON :] = -1e6
    after = in_order(AdaptiveAnchors, panel, n_windows=3)
    assert [one.tobytes() for one in before] == [one.tobytes() for one in after]


def test_leanings_have_no_unit() -> None:
    """Values of 1,024 times the size are forecast so: a power of two, so that nothing is rounded otherwise."""
    panel = rising_and_noisy()
    larger: Values = panel.values * 1024
    said = in_order(AdaptiveAnchors, panel, n_windows=3)[-1]
    of_larger = in_order(AdaptiveAnchors, unpaired(larger), n_windows=3)[-1]
    assert of_larger == pytest.approx(said * 1024, rel=1e-4)


def test_the_same_panel_can_be_asked_of_again() -> None:
    panel = rising_and_noisy()
    forecaster = AdaptiveAnchors()
    forecaster.fit_panel(panel.before(CUT), HORIZON, QUANTILES)
    once = forecaster.predict_panel(panel.before(CUT), HORIZON, QUANTILES)
    again = forecaster.predict_panel(panel.before(CUT), HORIZON, QUANTILES)
    assert once.tobytes() == again.tobytes()
