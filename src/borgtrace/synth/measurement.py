"""What a measurement window says: CPU, memory, disk and cycles of one execution in one window."""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from borgtrace.kernels.compiled import compiled
from borgtrace.synth.classes import EVERY_CLASS
from borgtrace.synth.cpu_process import CpuModel, random_second, shape_value, window_average
from borgtrace.synth.fault_rates import FaultRates
from borgtrace.synth.hashing import key, mix, unit
from borgtrace.synth.noise import NOISE, begin_noise, noise_at

SCALARS: Final = (
    *("average_cpu", "sampled_cpu", "maximum_cpu", "average_memory", "assigned_memory"),
    *("unmapped_page_cache_memory", "page_cache_memory", "maximum_memory", "mean_disk_io_time"),
    *("maximum_disk_io_time", "mean_disk_space", "cycles_per_instruction", "memory_accesses_per_instruction"),
    *("sample_portion", "aggregation_type", "sample_rate"),
)
"""Measured columns of ``instance_usage`` with one number per window."""
# Compiled code takes numbers by place, not by name; the places are those of SCALARS.
AVERAGE, SAMPLED, MAXIMUM, MEMORY, ASSIGNED, UNMAPPED, CACHE, MEMORY_MAXIMUM = range(8)
DISK_IO, DISK_IO_MAXIMUM, DISK_SPACE, CPI, MAI, SAMPLE_PORTION, AGGREGATION, SAMPLE_RATE = range(8, 16)
LISTS: Final = {"cpu_usage_distribution": (16, 27), "tail_cpu_usage_distribution": (27, 36)}
"""Measured columns with several numbers per window: where they stand behind the scalars."""
WIDTH: Final = 36
"""Numbers per window."""
_PERCENTILE, _LAST_TEN = 16, 26
PERCENTILES: Final = special.ndtri(
    np.array([0.0035, *np.arange(10, 100, 10) / 100.0, 0.9985, *np.arange(91, 100) / 100.0])
)
"""Normal scores of 0, 10 … 100 % and of 91 … 99 %; the ends stand for one second in 300."""
WORK: Final = 4
"""Seconds of a window are this much alike: its maximum is the largest of a quarter of them (calibrated to the ratios
of maximum to average of 2019, 2.05 to 10.5)."""
FAULTS: Final = ("missing_usage", "above_one", "bad_counters")
"""Faults of usage records, in the order in which they are counted."""
_DRIFTING: Final = np.array([c.drifting for c in EVERY_CLASS])


class Traits(NamedTuple):
    """What does not change within an execution, drawn once.

    Attributes
    ----------
    keys
        Keys of its seconds and of its faults: shape (n, 2).
    noises
        Noise of the task, of its job, of its memory: shape (n, 3).
    factors
        Drifts, page cache, assigned memory, disk I/O, disk space, CPI, MAI, whether the counters are missing:
        shape (n, 8).
    """

    keys: NDArray[np.uint64]
    noises: NDArray[np.void]
    factors: NDArray[np.float64]


class UsageFaults(NamedTuple):
    """Rates of faults in usage records, see :class:`~borgtrace.synth.fault_rates.FaultRates`; time in s."""

    missing: float
    bad_counters: float
    above_one: float
    disk_io_until: int


def traits_of(executions: NDArray[np.void], seed: int, rates: FaultRates, model: CpuModel) -> Traits:
    """Draw the traits of executions; they depend on seed and task only.

    Parameters
    ----------
    executions
        Structured array with :data:`~borgtrace.synth.usage_windows.FIELDS`, shape (n,).
    seed
        Of the trace.
    rates
        Says how many executions have no counters.
    model
        Tables of the CPU process.
    """
    keys = np.empty((len(executions), 2), dtype=np.uint64)
    noises = np.empty((len(executions), 3), dtype=NOISE)
    traits = Traits(keys, noises, np.empty((len(executions), 8)))
    # Two keys: whether faults are injected must not change what is measured.
    process, faults = np.uint64(key(seed, "process")), np.uint64(key(seed, "faults"))
    _draw_traits(process, faults, executions, rates.no_counters, _DRIFTING, model.normal, traits)
    return traits


@compiled()
def _draw_traits(
    process: np.uint64,
    faults: np.uint64,
    executions: NDArray[np.void],
    no_counters: float,
    drifting: NDArray[np.float64],
    normal: NDArray[np.float32],
    traits: Traits,
) -> None:
    keys, noises, factors = traits
    for i in range(len(executions)):
        execution = executions[i]
        # The process follows the task (of an alloc instance: the task inside it), so that a task keeps its level and
        # its phase over all of its runs and parts.
        job = mix(process, np.uint64(execution["process_job"]))
        own = mix(job, np.uint64(execution["process_index"] + 1))
        fault = mix(mix(faults, np.uint64(execution["collection_id"])), np.uint64(execution["instance_index"] + 1))
        keys[i, 0], keys[i, 1] = mix(own, np.uint64(7)), fault
        begin_noise(noises[i, 0], own)
        begin_noise(noises[i, 1], job)
        begin_noise(noises[i, 2], mix(own, np.uint64(9)))
        line = factors[i]
        line[0] = 1.0 if unit(mix(own, np.uint64(101))) < drifting[execution["kind"]] else 0.0
        line[1] = 0.35 * unit(mix(own, np.uint64(102))) ** 1.5
        line[2] = 1.2 + 0.3 * unit(mix(own, np.uint64(103)))
        line[3] = -2.3e-4 * math.log(unit(mix(own, np.uint64(104))))
        line[4] = 3e-4 * unit(mix(own, np.uint64(105)))
        # The few published rows have a CPI of 2.1 to 5.6 and a MAI of .005 to .02.
        line[5] = 4.2 * math.exp(0.42 * normal[mix(own, np.uint64(106)) >> np.uint64(52)])
        line[6] = 0.0145 * math.exp(0.5 * normal[mix(own, np.uint64(107)) >> np.uint64(52)])
        line[7] = 1.0 if unit(mix(fault, np.uint64(5))) < no_counters else 0.0


@compiled(inline=True)
def _share(bits: np.uint64, which: int) -> float:
    """Return one of four numbers in [0, 1) that 64 random bits hold."""
    return float((bits >> np.uint64(16 * which)) & np.uint64(0xFFFF)) * (1.0 / 65536.0)


# Inlined, because passing so many arrays costs as much as measuring.
@compiled(inline=True)
def measure(
    model: CpuModel,
    executions: NDArray[np.void],
    traits: Traits,
    i: int,
    start: int,
    end: int,
    out: NDArray[np.float64],
) -> None:
    """Fill `out` with the :data:`SCALARS` of one window, as exact numbers before rounding.

    Parameters
    ----------
    model
        Tables of the CPU process.
    executions, traits
        Executions, and what was drawn for them; `i` is the one measured.
    start, end
        Limits of the window, s.
    out
        Shape (:data:`WIDTH`,).
    """
    keys, noises, factors = traits
    execution = executions[i]
    kind, window = execution["kind"], start // 300
    drifts = int(factors[i, 0])
    y = window_average(model, execution, noises[i, 0], noises[i, 1], drifts, 0.3 * factors[i, 0], window)
    # Above 1 is a fault (13 records of the real trace): only the injector makes it, and counts it.
    y = min(y, 1.0)
    # By the start of the window, not by its number in the run: parts of a run are measured apart.
    bits = mix(keys[i, 0], np.uint64(start))
    x = min(random_second(model, bits, y, kind), 1.0)
    bits = mix(bits, np.uint64(8))
    # The largest of n seconds is looked up for the power of two below n.
    level, seconds = 0, (end - start) // WORK
    while seconds > 1 and level < len(model.largest) - 1:
        seconds >>= 1
        level += 1
    peak = y * shape_value(model.within, kind, model.largest[level, bits >> np.uint64(56)])
    # A maximum below the sample or the mean would be counted as a fault at ingest.
    out[AVERAGE], out[SAMPLED], out[MAXIMUM] = y, x, min(max(peak, x, y), 1.0)

    # Memory has a slow noise of its own and follows CPU a little: the real series correlate with a median of .54.
    deviation = min(max(y / max(execution["level"], 1e-9) - 1.0, -1.0), 2.0)
    slow = noise_at(noises[i, 2], window, model.spectra, 1, model.normal)
    memory = execution["memory"] * max(1.0 + 0.05 * slow + 0.04 * deviation, 0.05)
    bits = mix(bits, np.uint64(10))
    out[MEMORY], out[MEMORY_MAXIMUM] = memory, memory * (1.0 + 0.02 * _share(bits, 0))
    out[ASSIGNED], out[CACHE] = memory * factors[i, 2], memory * factors[i, 1]
    out[UNMAPPED] = out[CACHE] * (0.85 + 0.14 * _share(bits, 1))
    out[DISK_IO] = factors[i, 3] * (0.5 + _share(bits, 2))
    out[DISK_IO_MAXIMUM] = min(out[DISK_IO] * (27.0 + 40.0 * _share(bits, 3)), 1.0)
    out[DISK_SPACE] = factors[i, 4]
    wobble = 1.0 + 0.06 * model.normal[mix(bits, np.uint64(11)) >> np.uint64(52)]
    out[CPI], out[MAI] = factors[i, 5] * wobble, factors[i, 6] * wobble
    out[SAMPLE_PORTION], out[AGGREGATION] = 0.0, float(execution["collection_id"] & 1)


@compiled(inline=True)
def inject_faults(
    own: np.uint64, rates: UsageFaults, has_counters: bool, start: int, out: Any, faults: NDArray[np.int64]
) -> None:
    """Put faults into a measured window, by the hash `own`, and count them; what is missing becomes −1.

    Parameters
    ----------
    own
        Hash of the window.
    rates
        Rates of the faults.
    has_counters
        Whether the execution has CPI and MAI.
    start
        Start of the window, s.
    out
        What was measured, shape (:data:`WIDTH`,); changed.
    faults
        Counts by kind, shape (len(:data:`FAULTS`),); changed.
    """
    u = unit(own)
    if rates.above_one > 0.0 and unit(mix(own, np.uint64(1))) < rates.above_one:
        faults[1] += 1
        # Up to 6.6, as in the real trace (6.633 in part 0).
        out[AVERAGE] = 1.001 + 5.6 * u
        # Else the record would have a second fault that nobody planted: a mean above its maximum.
        out[MAXIMUM] = max(out[MAXIMUM], out[AVERAGE])
    if rates.bad_counters > 0.0 and unit(mix(own, np.uint64(3))) < rates.bad_counters:
        faults[2] += 1
        out[CPI], out[MAI] = 30.0 + 400.0 * u, 3.0
    elif not has_counters:
        out[CPI] = out[MAI] = -1.0
    if start >= rates.disk_io_until:
        out[DISK_IO] = out[DISK_IO_MAXIMUM] = -1.0


@compiled(makes_arrays=False)
def sample_percentiles(model: CpuModel, own: np.uint64, kind: int, scores: NDArray[np.float64], out: Any) -> None:
    """Fill in the percentiles of a second in the window, from at most the sample to the maximum, and the rate.

    Parameters
    ----------
    model
        Tables of the CPU process.
    own
        Hash of the window.
    kind
        Class of the task.
    scores
        Normal scores of the percentiles, shape (20,).
    out
        What was measured, shape (:data:`WIDTH`,); the percentiles and the rate are filled in.
    """
    wobble = 0.08 * model.normal[mix(own, np.uint64(7)) >> np.uint64(52)]
    # A planted average above 1 must not move the percentiles.
    mean, top = min(out[AVERAGE], 1.0), out[MAXIMUM]
    for i in range(len(scores)):
        out[_PERCENTILE + i] = min(mean * shape_value(model.within, kind, scores[i] + wobble), top)
    # The sample is one of the seconds: it lies between the smallest and the largest percentile.
    out[_PERCENTILE] = min(out[_PERCENTILE], out[SAMPLED])
    out[_LAST_TEN] = max(top * (1.0 - 0.01 * unit(mix(own, np.uint64(8)))), out[WIDTH - 1], out[SAMPLED])
    out[SAMPLE_RATE] = 0.99609375 if mix(own, np.uint64(6)) & np.uint64(15) == np.uint64(0) else 1.0
