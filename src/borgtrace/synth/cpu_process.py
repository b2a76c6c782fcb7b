"""The CPU process of a task: one number per second, seen through 5-minute windows.

For window w of task i, with z_i(w) a standard-normal process and G, H distributions with mean one,

    average  y = level_i · G(z_i(w))          second  x = y · H(z'),  z' ~ N(0, 1)
    maximum      y · H(largest of n seconds)  percentile p   y · H(Φ⁻¹(p) + jitter)

so the mean, the random second (column 20 of 2011), the maximum and the percentiles (2019) belong to
one process.  z_i is a sum of piecewise-constant noises of 1, 4, 18 and 144 windows with a phase of its
own per task; a part of its variance is shared by the job; services add a day wave.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from borgtrace.kernels.compiled import compiled
from borgtrace.synth.classes import tables
from borgtrace.synth.noise import SPECTRA, noise_at
from borgtrace.synth.shapes import STEPS_PER_UNIT, Z_LIMIT, maximum_scores, normal_scores

_DAY: Final = 2.0 * math.pi / 288.0
"""Radians per window: a day has 288 of them."""


class CpuModel(NamedTuple):
    """The tables of the CPU process; compiled functions take them as one argument.

    Attributes
    ----------
    between, within
        Quantile tables of the averages of windows and of the seconds inside one: float32, shape (kinds, 289).
    spectra
        :data:`borgtrace.synth.noise.SPECTRA`: float32, shape (2, 4).
    normal
        Equally likely standard-normal values: float32, shape (4096,).
    largest
        Normal scores of the largest of 1, 2, 4 … 256 seconds: float32, shape (9, 256).
    """

    between: NDArray[np.float32]
    within: NDArray[np.float32]
    spectra: NDArray[np.float32]
    normal: NDArray[np.float32]
    largest: NDArray[np.float32]


MODEL: Final = CpuModel(*tables(), SPECTRA, normal_scores(), maximum_scores())


@compiled(inline=True)
def shape_value(tables: NDArray[np.float32], kind: int, z: float) -> float:
    """Interpolate the quantile table of a class at normal score `z`."""
    # A little below the upper limit, so that there is always an entry after `index`.
    position = (min(max(z, -Z_LIMIT), Z_LIMIT - 1e-4) + Z_LIMIT) * STEPS_PER_UNIT
    index = int(position)
    fraction = position - index
    return tables[kind, index] * (1.0 - fraction) + tables[kind, index + 1] * fraction


@compiled(inline=True)
def window_average(model: CpuModel, task: Any, own: Any, job: Any, drifts: int, shared: float, window: int) -> float:
    """Return the mean CPU of one window of one task.

    Parameters
    ----------
    model
        Tables of the process.
    task
        Record with `level` (mean CPU, fraction of the largest machine), `kind` (row of the quantile tables),
        `wave` (amplitude of the day wave in z) and `phase` (radians).
    own, job
        Noise of the task and of its job.
    drifts
        1 where the level wanders over hours: a row of the spectra.
    shared
        Share of the variance that the tasks of a job have in common.
    window
        Number of the window since time 0.
    """
    z = noise_at(own, window, model.spectra, drifts, model.normal)
    if shared > 0.0:
        common = noise_at(job, window, model.spectra, 1, model.normal)
        # Mixed in normal scores with squares that add up to 1: the task keeps its own distribution.
        z = math.sqrt(1.0 - shared) * z + math.sqrt(shared) * common
    wave = task["wave"]
    if wave > 0.0:
        # A sine of amplitude a has variance a²/2: the noise gives way by as much.
        z = math.sqrt(1.0 - wave * wave / 2.0) * z + wave * math.sin(_DAY * window + task["phase"])
    return task["level"] * shape_value(model.between, task["kind"], z)


@compiled(inline=True)
def random_second(model: CpuModel, bits: np.uint64, mean: float, kind: int) -> float:
    """Return the CPU of a random second of a window with mean `mean`, chosen by 64 random bits."""
    # The upper 12 bits choose one of 4,096 values: a look-up in place of an inverse normal distribution per row.
    return mean * shape_value(model.within, kind, model.normal[bits >> np.uint64(52)])
