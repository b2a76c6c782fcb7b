"""Standard-normal noise over time: a sum of piecewise-constant noises of 1, 4, 18 and 144 windows.

Every value depends on key and window alone.  The two slow parts are remembered, because windows mostly
come in order and most of them are like the one before.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from borgtrace.kernels.compiled import compiled
from borgtrace.synth.hashing import mix

PERIODS: Final = (1, 4, 18, 144)
"""Lengths of the constant intervals, in windows of 300 s: 5 min, 20 min, 90 min, 12 h."""
# Each row adds up to 1 before the root, so that the sum is standard normal. A drifting task has most of its variance
# in 90 minutes, which an hourly Kolmogorov–Smirnov test notices (30 % of real long tasks).
SPECTRA: Final = np.sqrt(np.array([[0.80, 0.20, 0.0, 0.0], [0.02, 0.03, 0.92, 0.03]], dtype=np.float32))
"""Amplitude of each interval for stationary (row 0) and drifting (row 1) tasks."""
NOISE: Final = np.dtype(
    [
        ("shortest", "u8"),
        ("short", "u8"),
        ("long", "u8"),
        ("longest", "u8"),
        ("since", "i8"),
        ("until", "i8"),
        ("slow", "f4"),
        ("slowest", "f4"),
    ]
)
"""One noise: keys of its four parts; the windows [since, until) for which the last two are remembered."""


@compiled(makes_arrays=False)
def begin_noise(noise: Any, key: np.uint64) -> None:
    """Make a record with :data:`NOISE` the noise of one key."""
    noise["shortest"], noise["short"] = mix(key, np.uint64(1)), mix(key, np.uint64(2))
    noise["long"], noise["longest"] = mix(key, np.uint64(3)), mix(key, np.uint64(4))
    # An empty range: nothing is remembered yet.
    noise["since"] = noise["until"] = 0


@compiled(inline=True)
def _interval(key: np.uint64, window: int, period: int) -> np.uint64:
    """Return the number of the interval that holds a window; each key has a phase of its own."""
    return (np.uint64(window) + key % np.uint64(period)) // np.uint64(period)


@compiled(inline=True)
def _limit(key: np.uint64, interval: np.uint64, period: int) -> int:
    """Return the first window of an interval."""
    return int(np.int64(interval) * period - np.int64(key % np.uint64(period)))


@compiled(makes_arrays=False)
def _remember(noise: Any, window: int, spectra: NDArray[np.float32], row: int, normal: NDArray[np.float32]) -> None:
    """Draw the slow parts of a noise anew."""
    slow = _interval(noise["long"], window, PERIODS[2])
    slowest = _interval(noise["longest"], window, PERIODS[3])
    noise["slow"] = spectra[row, 2] * normal[mix(noise["long"], slow) >> np.uint64(52)]
    noise["slowest"] = spectra[row, 3] * normal[mix(noise["longest"], slowest) >> np.uint64(52)]
    noise["since"] = max(_limit(noise["long"], slow, PERIODS[2]), _limit(noise["longest"], slowest, PERIODS[3]))
    noise["until"] = min(
        _limit(noise["long"], slow + np.uint64(1), PERIODS[2]),
        _limit(noise["longest"], slowest + np.uint64(1), PERIODS[3]),
    )


# Reading a noise changes what it remembers, so a record belongs to one thread.
@compiled(inline=True)
def noise_at(noise: Any, window: int, spectra: NDArray[np.float32], row: int, normal: NDArray[np.float32]) -> float:
    """Return the value of one noise, always of the same row of :data:`SPECTRA`, in one window.

    Parameters
    ----------
    noise
        Record with :data:`NOISE`; the slow parts that it remembers are renewed.
    window
        Number of the window since time 0.
    spectra, row
        :data:`SPECTRA`, and which row of it.
    normal
        Equally likely standard-normal values, shape (4096,).
    """
    short = _interval(noise["short"], window, PERIODS[1])
    z = spectra[row, 0] * normal[mix(noise["shortest"], np.uint64(window)) >> np.uint64(52)]
    z += spectra[row, 1] * normal[mix(noise["short"], short) >> np.uint64(52)]
    # Stationary tasks have no slow parts: two hashes and two look-ups less for most windows.
    if row > 0:
        if window >= noise["until"] or window < noise["since"]:
            _remember(noise, window, spectra, row, normal)
        z += noise["slow"]
        z += noise["slowest"]
    return z
