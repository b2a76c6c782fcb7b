"""Noise over time: a value depends on key and window alone, whatever is cached."""

from __future__ import annotations

import numpy as np
import pytest

from borgtrace.synth.model.cpu_process import NOISE, begin_noise, model_of_2011, noise_at


def values_of(
    key: int,
    row: int,
    windows: list[int],
) -> list[float]:
    (noise,) = np.empty(1, dtype=NOISE)
    begin_noise(noise, np.uint64(key))
    return [noise_at(model_of_2011(), noise, row, window) for window in windows]


@pytest.mark.parametrize("key", [1, 2**40 + 17, 2**64 - 1])
@pytest.mark.parametrize("row", [0, 1, 2])
def test_the_order_of_windows_does_not_matter(row: int, key: int) -> None:
    windows = list(range(2, 602))
    alone = {window: values_of(key, row, [window])[0] for window in windows}
    shuffled = np.random.default_rng(4).permutation(windows).tolist()
    for order in (windows, windows[::-1], shuffled):
        assert values_of(key, row, order) == [alone[window] for window in order]


@pytest.mark.parametrize(("row", "shared"), [(2, 0.918), (1, 0.925), (0, 0.15)])
def test_a_drifting_noise_changes_slowly_and_a_stationary_one_at_once(
    row: int, shared: float
) -> None:
    """Neighbours share .98 · 13/14 + .02 · 3/4 = .925 of the variance, or .20 · 3/4 = .15.

    Of steady tasks it is .20 · 13/14 + .70 · 143/144 + .05 · 3/4 = .918.
    """
    windows = list(range(2, 402))
    z = np.array([values_of(key, row, windows) for key in range(200)])
    before = z[:, :-1].ravel()
    after = z[:, 1:].ravel()
    correlation = np.corrcoef(before, after)[0, 1]
    assert correlation == pytest.approx(shared, abs=0.02)
