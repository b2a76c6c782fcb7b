"""Noise over time: a value depends on key and window alone, whatever is remembered."""

from __future__ import annotations

import numpy as np
import pytest

from borgtrace.synth.model.cpu_process import MODEL, NOISE, begin_noise, noise_at


def _values(
    key: int,
    row: int,
    windows: list[int],
) -> list[float]:
    noise = np.empty(1, dtype=NOISE)
    begin_noise(noise[0], np.uint64(key))
    return [noise_at(MODEL, noise[0], row, window) for window in windows]


@pytest.mark.parametrize("row", [0, 1])
def test_the_order_of_windows_does_not_matter(row: int) -> None:
    windows = list(range(2, 602))
    order = np.random.default_rng(4).permutation(len(windows)).tolist()
    for key in (1, 2**40 + 17, 2**64 - 1):
        alone = [_values(key, row, [window])[0] for window in windows]
        assert _values(key, row, windows) == alone
        assert _values(key, row, windows[::-1]) == alone[::-1]
        assert _values(key, row, [windows[i] for i in order]) == [alone[i] for i in order]


def test_a_drifting_noise_changes_slowly_and_a_stationary_one_at_once() -> None:
    """Neighbours share .92 · 17/18 + .03 · 143/144 + .03 · 3/4 = .921 of the variance, or .20 · 3/4 = .15."""
    for row, shared in ((1, 0.921), (0, 0.15)):
        z = np.array([_values(key, row, list(range(2, 402))) for key in range(200)])
        assert np.corrcoef(z[:, 1:].ravel(), z[:, :-1].ravel())[0, 1] == pytest.approx(
            shared, abs=0.02
        )
