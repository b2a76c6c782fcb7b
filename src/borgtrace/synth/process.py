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
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from borgtrace.kernels.compiled import compiled
from borgtrace.synth.classes import tables
from borgtrace.synth.hashing import mix
from borgtrace.synth.noise import NOISE, SPECTRA, begin_noise, noise_at
from borgtrace.synth.shapes import STEPS_PER_UNIT, Z_LIMIT, maximum_scores, normal_scores

_N: Final = normal_scores()
_MAX: Final = maximum_scores()
_BETWEEN, _WITHIN = tables()
_DAY: Final = 2.0 * math.pi / 288.0


@dataclass(frozen=True, slots=True)
class Processes:
    """Parameters of the processes of n tasks; every array has shape (n,).

    Parameters
    ----------
    key, job_key
        64-bit keys of the task's own and of the job's noise.
    level
        Mean CPU, fraction of the largest machine.
    kind
        Row of :data:`borgtrace.synth.classes.CLASSES`.
    drifts
        1 where the level wanders over hours (row of :data:`~borgtrace.synth.noise.SPECTRA`).
    shared
        Share of the variance that the tasks of a job have in common.
    wave, phase
        Amplitude of the day wave in z, and its phase in radians.
    """

    key: NDArray[np.uint64]
    job_key: NDArray[np.uint64]
    level: NDArray[np.float32]
    kind: NDArray[np.int8]
    drifts: NDArray[np.int8]
    shared: NDArray[np.float32]
    wave: NDArray[np.float32]
    phase: NDArray[np.float32]


@compiled(inline=True)
def shape_value(tables: NDArray[np.float32], kind: int, z: float) -> float:
    """Interpolate the quantile table of a class at normal score `z`."""
    position = (min(max(z, -Z_LIMIT), Z_LIMIT - 1e-4) + Z_LIMIT) * STEPS_PER_UNIT
    index = int(position)
    fraction = position - index
    return tables[kind, index] * (1.0 - fraction) + tables[kind, index + 1] * fraction


@compiled(makes_arrays=False)
def average(
    own: Any,
    job: Any,
    level: float,
    drifts: int,
    shared: float,
    wave: float,
    phase: float,
    window: int,
    between: NDArray[np.float32],
    kind: int,
    spectra: NDArray[np.float32],
    normal: NDArray[np.float32],
) -> float:
    """Return the mean CPU of one window of one task, given its own and its job's noise."""
    z = noise_at(own, window, spectra, drifts, normal)
    if shared > 0.0:
        z = math.sqrt(1.0 - shared) * z + math.sqrt(shared) * noise_at(job, window, spectra, 1, normal)
    if wave > 0.0:
        z = math.sqrt(1.0 - wave * wave / 2.0) * z + wave * math.sin(_DAY * window + phase)
    return level * shape_value(between, kind, z)


@compiled(inline=True)
def second(bits: np.uint64, mean: float, within: NDArray[np.float32], kind: int, normal: NDArray[np.float32]) -> float:
    """Return the CPU of a random second of a window with mean `mean`."""
    return mean * shape_value(within, kind, normal[bits >> np.uint64(52)])


@compiled()
def _fill(  # type: ignore[no-untyped-def]
    key, job_key, level, kind, drifts, shared, wave, phase, first, offsets, inst, avg, between, within, spectra, normal
):
    noises = np.empty(2, dtype=NOISE)
    for i in range(len(key)):
        begin_noise(noises[0], key[i])
        begin_noise(noises[1], job_key[i])
        for row in range(offsets[i], offsets[i + 1]):
            window = first[i] + row - offsets[i]
            y = average(
                noises[0],
                noises[1],
                level[i],
                drifts[i],
                shared[i],
                wave[i],
                phase[i],
                window,
                between,
                kind[i],
                spectra,
                normal,
            )
            bits = mix(mix(key[i], np.uint64(7)), np.uint64(window))
            avg[row] = min(y, 1.0)
            inst[row] = min(second(bits, y, within, kind[i], normal), 1.0)


def model_tables() -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """Return the tables the kernels need: shapes between and within, normal scores, maxima."""
    return _BETWEEN, _WITHIN, _N, _MAX


def windows(
    processes: Processes, first: NDArray[np.int64], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return random seconds and averages of consecutive windows of every task.

    Parameters
    ----------
    processes
        n tasks.
    first
        Number of the first window of each task: shape (n,).
    offsets
        Where each task's windows start in the result: shape (n + 1,).

    Returns
    -------
    inst, avg : float32 arrays of shape (offsets[-1],)
    """
    inst = np.empty(offsets[-1], dtype=np.float32)
    avg = np.empty(offsets[-1], dtype=np.float32)
    p = processes
    _fill(
        p.key,
        p.job_key,
        p.level,
        p.kind,
        p.drifts,
        p.shared,
        p.wave,
        p.phase,
        first,
        offsets,
        inst,
        avg,
        _BETWEEN,
        _WITHIN,
        SPECTRA,
        _N,
    )
    return inst, avg
