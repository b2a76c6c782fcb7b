"""The CPU process of a task: one number per second, seen through 5-minute windows.

For window w of task i, with z_i(w) a standard-normal process and G, H distributions with mean one,

    average  y = level_i · G(z_i(w))          second  x = y · H(z'),  z' ~ N(0, 1)
    maximum      y · H(largest of n seconds)  percentile p   y · H(Φ⁻¹(p) + jitter)

so the mean, the random second (column 20 of 2011), the maximum and the percentiles (2019) belong to
one process.  z_i is a sum of piecewise-constant noises of 1, 4, 14 and 144 windows, whose phases differ from
task to task; a part of its variance is shared by the job; services add a day wave.

A task has one of three courses.  It is stationary, or its level drifts over hours: G is then that of its class.  Or it
is steady: G is the same narrow distribution for all classes, and most of its variance lasts for hours.  Steady
are tasks that fail, on which much of the time of a cell is spent, and some of those that run for days; the long tasks
of Janus & Rzadca (SoCC'17), most of which end well within a day, vary far more.  A cell may have a shared factor F,

    z_i ← √(1 − f) · z_i + √f · F(w),   F ~ N(0, 1) the same for all tasks,

so that the normal scores of tasks of different jobs have correlation f, and no task changes its distribution.

Every value of a noise depends on its key and the window alone.  Its two slow parts are cached, because windows mostly
come in order and most of them have the same slow parts as the one before.
"""

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from borgtrace.kernels.compiled import compiled
from borgtrace.synth.model.classes import CLASSES, TaskClasses
from borgtrace.synth.model.hashing import mix
from borgtrace.synth.model.shapes import (
    STEPS_PER_UNIT,
    Z_LIMIT,
    Gamma,
    maximum_scores,
    normal_scores,
    quantiles,
)

_DAY = 2.0 * math.pi / 288.0
"""Radians per window: a day has 288 of them."""

# The four parts of a noise, and the columns of their tables.
_SHORTEST = 0
_SHORT = 1
_LONG = 2
_LONGEST = 3
PERIODS = (1, 4, 14, 144)
"""Lengths of the constant intervals, in windows of 300 s: 5 min, 20 min, 70 min, 12 h."""
STATIONARY = 0
DRIFTING = 1
STEADY = 2
# Each row adds up to 1 before the root, so that the sum is standard normal. A drifting task has nearly all of its
# variance in little more than an hour. Two windows of one hour then differ for about as many tasks as two of three
# hours, as published (30 % of long tasks for 12, 24 and 36 samples: Janus & Rzadca, §3.4): in blocks of 90 minutes,
# three hours hold only two of them, and so differ far more often than hours do. What a steady task has in 12 hours
# makes neighboring hours alike (Reiss et al.: 60 % of tasks, by duration, change by less than 15 %; 1,600 series of
# jobs over a day have an autocorrelation of .49).
SPECTRA = np.sqrt(
    np.array(
        [
            [0.80, 0.20, 0.0, 0.0],
            [0.0, 0.02, 0.98, 0.0],
            [0.05, 0.05, 0.20, 0.70],
        ],
        dtype=np.float32,
    )
)
"""Amplitude of each interval, by course."""
STEADY_SHAPE = Gamma(0.25)
"""How the averages of windows of a steady task are distributed."""

NOISE = np.dtype(
    [
        # The keys of the four parts.
        ("shortest", "u8"),
        ("short", "u8"),
        ("long", "u8"),
        ("longest", "u8"),
        # The windows [since, until) for which the two slow parts are cached, and their values.
        ("since", "i8"),
        ("until", "i8"),
        ("slow", "f4"),
        ("slowest", "f4"),
    ]
)
"""One noise, with its cache."""


class CpuModel(NamedTuple):
    """The tables of the CPU process; compiled functions take them as one argument.

    Attributes
    ----------
    between, within
        Quantile tables of the averages of windows and of the seconds inside one: float32, shape (kinds, 289); the
        averages have one more row, that of steady tasks.
    spectra
        :data:`SPECTRA`: float32, shape (3, 4).
    normal
        Equally likely standard-normal values: float32, shape (4096,).
    largest
        Normal scores of the largest of 1, 2, 4 … 256 seconds: float32, shape (9, 256).
    shared_factor
        Share of the variance of z that all tasks of the cell have in common, at least 0 and below 1.
    """

    between: NDArray[np.float32]
    within: NDArray[np.float32]
    spectra: NDArray[np.float32]
    normal: NDArray[np.float32]
    largest: NDArray[np.float32]
    shared_factor: float = 0.0


_NORMAL_SCORES = normal_scores()
_MAXIMUM_SCORES = maximum_scores()


def model_of(classes: TaskClasses, shared_factor: float = 0.0) -> CpuModel:
    """Return the tables of a cell with some classes and a shared factor."""
    tables = classes.tables()
    return CpuModel(
        between=np.vstack([tables.between, quantiles(STEADY_SHAPE)]),
        within=tables.within,
        spectra=SPECTRA,
        normal=_NORMAL_SCORES,
        largest=_MAXIMUM_SCORES,
        shared_factor=shared_factor,
    )


@cache
def model_of_2011() -> CpuModel:
    """Return the model with the classes of 2011: 0.15 s, which who imports this module need not wait for."""
    return model_of(CLASSES)


@compiled(makes_arrays=False)
def begin_noise(noise: Any, key: np.uint64) -> None:
    """Turn a record with :data:`NOISE` into the noise of one key."""
    noise["shortest"] = mix(key, np.uint64(1))
    noise["short"] = mix(key, np.uint64(2))
    noise["long"] = mix(key, np.uint64(3))
    noise["longest"] = mix(key, np.uint64(4))
    # An empty range: nothing is cached yet.
    noise["since"] = 0
    noise["until"] = 0


@compiled(inline=True)
def _interval(
    key: np.uint64,
    window: int,
    period: int,
) -> np.uint64:
    """Return the number of the interval that contains a window; each key has its own phase."""
    phase = key % np.uint64(period)
    return (np.uint64(window) + phase) // np.uint64(period)


@compiled(inline=True)
def _first_window(
    key: np.uint64,
    interval: np.uint64,
    period: int,
) -> int:
    """Return the first window of an interval."""
    phase = np.int64(key % np.uint64(period))
    return int(np.int64(interval) * period - phase)


@compiled(inline=True)
def normal_value(model: CpuModel, bits: np.uint64) -> float:
    """Return the standard-normal value that 64 random bits stand for."""
    # The upper 12 bits choose one of 4,096 values: a look-up instead of an inverse normal distribution.
    return model.normal[bits >> np.uint64(52)]


@compiled(makes_arrays=False)
def _renew_slow_parts(
    model: CpuModel,
    noise: Any,
    row: int,
    window: int,
) -> None:
    """Draw the slow parts of a noise for one window, and note for which windows they hold."""
    long_key = noise["long"]
    longest_key = noise["longest"]
    slow = _interval(long_key, window, PERIODS[_LONG])
    slowest = _interval(longest_key, window, PERIODS[_LONGEST])
    slow_value = normal_value(model, mix(long_key, slow))
    slowest_value = normal_value(model, mix(longest_key, slowest))
    noise["slow"] = model.spectra[row, _LONG] * slow_value
    noise["slowest"] = model.spectra[row, _LONGEST] * slowest_value
    noise["since"] = max(
        _first_window(long_key, slow, PERIODS[_LONG]),
        _first_window(longest_key, slowest, PERIODS[_LONGEST]),
    )
    noise["until"] = min(
        _first_window(long_key, slow + np.uint64(1), PERIODS[_LONG]),
        _first_window(longest_key, slowest + np.uint64(1), PERIODS[_LONGEST]),
    )


# Reading a noise changes its cache, so a record belongs to one thread.
@compiled(inline=True)
def noise_at(
    model: CpuModel,
    noise: Any,
    row: int,
    window: int,
) -> float:
    """Return the value of one noise in one window.

    Parameters
    ----------
    model
        Tables of the process.
    noise
        Record with :data:`NOISE`; its cached slow parts are renewed.
    row
        Row of :data:`SPECTRA`, always the same for one record.
    window
        Number of the window since time 0.
    """
    shortest = mix(noise["shortest"], np.uint64(window))
    short_interval = _interval(noise["short"], window, PERIODS[_SHORT])
    short = mix(noise["short"], short_interval)
    z = model.spectra[row, _SHORTEST] * normal_value(model, shortest)
    z += model.spectra[row, _SHORT] * normal_value(model, short)
    # Stationary tasks have no slow parts, which saves two hashes and two look-ups for most windows.
    if row > 0:
        if window >= noise["until"] or window < noise["since"]:
            _renew_slow_parts(model, noise, row, window)
        z += noise["slow"]
        z += noise["slowest"]
    return z


@compiled(inline=True)
def shape_value(
    tables: NDArray[np.float32],
    kind: int,
    z: float,
) -> float:
    """Interpolate the quantile table of a class at normal score `z`."""
    # A little below the upper limit, so that there is always an entry after `index`.
    clipped = min(max(z, -Z_LIMIT), Z_LIMIT - 1e-4)
    position = (clipped + Z_LIMIT) * STEPS_PER_UNIT
    index = int(position)
    fraction = position - index
    below = tables[kind, index]
    above = tables[kind, index + 1]
    return below * (1.0 - fraction) + above * fraction


@compiled(inline=True)
def window_average(
    model: CpuModel,
    task: Any,
    own: Any,
    job: Any,
    cell: Any,
    course: int,
    shared: float,
    window: int,
) -> float:
    """Return the mean CPU of one window of one task.

    Parameters
    ----------
    model
        Tables of the process.
    task
        Record with `level` (mean CPU, fraction of the largest machine), `kind` (row of the quantile tables),
        `wave` (amplitude of the day wave in z) and `phase` (radians).
    own, job, cell
        Noise of the task, of its job, and of all tasks.
    course
        :data:`STATIONARY`, :data:`DRIFTING` or :data:`STEADY`.
    shared
        Share of the variance that the tasks of a job have in common.
    window
        Number of the window since time 0.
    """
    z = noise_at(model, own, course, window)
    if shared > 0.0:
        of_job = noise_at(model, job, 1, window)
        # Mixed in normal scores with squares that add up to 1: the task keeps its own distribution.
        own_weight = math.sqrt(1.0 - shared)
        z = own_weight * z + math.sqrt(shared) * of_job
    wave = task["wave"]
    if wave > 0.0:
        # A sine of amplitude a has variance a²/2: the variance of the noise shrinks by as much.
        own_weight = math.sqrt(1.0 - wave * wave / 2.0)
        angle = _DAY * window + task["phase"]
        z = own_weight * z + wave * math.sin(angle)
    if model.shared_factor > 0.0:
        # Last, so that it is the correlation of any two tasks of different jobs, whatever their jobs share.  It is as
        # slow as what jobs share: most of it lasts for 70 minutes.
        of_cell = noise_at(model, cell, 1, window)
        own_weight = math.sqrt(1.0 - model.shared_factor)
        z = own_weight * z + math.sqrt(model.shared_factor) * of_cell
    row = len(model.between) - 1 if course == STEADY else task["kind"]
    return task["level"] * shape_value(model.between, row, z)


@compiled(inline=True)
def random_second(
    model: CpuModel,
    bits: np.uint64,
    mean: float,
    kind: int,
) -> float:
    """Return the CPU of a random second of a window with mean `mean`, chosen by 64 random bits."""
    return mean * shape_value(model.within, kind, normal_value(model, bits))
