"""What a measurement window says: CPU, memory, disk and cycles of one run in one window."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from borgtrace.kernels.compiled import compiled
from borgtrace.synth.classes import EVERY_CLASS
from borgtrace.synth.fault_rates import FaultRates
from borgtrace.synth.hashing import key, mix, unit
from borgtrace.synth.noise import NOISE, begin_noise, noise_at
from borgtrace.synth.process import average, second, shape_value

COLUMNS: Final = (
    "average_cpu",
    "sampled_cpu",
    "maximum_cpu",
    "average_memory",
    "assigned_memory",
    "unmapped_page_cache",
    "page_cache",
    "maximum_memory",
    "disk_io",
    "maximum_disk_io",
    "disk_space",
    "cpi",
    "mai",
)
(
    AVERAGE,
    SAMPLED,
    MAXIMUM,
    MEMORY,
    ASSIGNED,
    UNMAPPED,
    CACHE,
    MEMORY_MAXIMUM,
    DISK_IO,
    DISK_IO_MAXIMUM,
    DISK_SPACE,
    CPI,
    MAI,
) = range(13)
WORK: Final = 4
"""Seconds of a window are this much alike: its maximum is the largest of a quarter of them."""
FAULTS: Final = ("missing_usage", "above_one", "bad_counters")
TALLY: Final = ("n", "sum_average", "sum2_average", "sum_sampled", "sum2_sampled", "sum_memory")
_DRIFTING: Final = np.array([c.drifting for c in EVERY_CLASS])


@dataclass(frozen=True, slots=True)
class Traits:
    """What does not change within a run, drawn once: keys (runs × 2), noises (runs × 3), factors (runs × 8).

    Keys: the seconds, the faults.  Noises: the task's own, its job's, that of its memory.  Factors: drifts,
    page cache, assigned memory, disk I/O, disk space, CPI, MAI, whether the counters are missing.
    """

    keys: NDArray[np.uint64]
    noises: NDArray[np.void]
    factors: NDArray[np.float64]


def traits_of(runs: NDArray[np.void], seed: int, anomalies: FaultRates, normal: NDArray[np.float32]) -> Traits:
    """Draw the traits of runs; they depend on seed and task only."""
    keys = np.empty((len(runs), 2), dtype=np.uint64)
    noises = np.empty((len(runs), 3), dtype=NOISE)
    factors = np.empty((len(runs), 8))
    process, faults = np.uint64(key(seed, "process")), np.uint64(key(seed, "faults"))
    _draw_traits(process, faults, runs, anomalies.no_counters, _DRIFTING, normal, keys, noises, factors)
    return Traits(keys, noises, factors)


@compiled()
def _draw_traits(  # type: ignore[no-untyped-def]
    process, faults, runs, no_counters, drifting, normal, keys, noises, factors
):
    for i in range(len(runs)):
        run = runs[i]
        job = mix(process, np.uint64(run["twin_job"]))
        own = mix(job, np.uint64(run["twin_index"] + 1))
        fault = mix(mix(faults, np.uint64(run["job"])), np.uint64(run["index"] + 1))
        keys[i, 0], keys[i, 1] = mix(own, np.uint64(7)), fault
        begin_noise(noises[i, 0], own)
        begin_noise(noises[i, 1], job)
        begin_noise(noises[i, 2], mix(own, np.uint64(9)))
        line = factors[i]
        line[0] = 1.0 if unit(mix(own, np.uint64(101))) < drifting[run["kind"]] else 0.0
        line[1] = 0.35 * unit(mix(own, np.uint64(102))) ** 1.5
        line[2] = 1.2 + 0.3 * unit(mix(own, np.uint64(103)))
        line[3] = -2.3e-4 * math.log(unit(mix(own, np.uint64(104))))
        line[4] = 3e-4 * unit(mix(own, np.uint64(105)))
        line[5] = 4.2 * math.exp(0.42 * normal[mix(own, np.uint64(106)) >> np.uint64(52)])
        line[6] = 0.0145 * math.exp(0.5 * normal[mix(own, np.uint64(107)) >> np.uint64(52)])
        line[7] = 1.0 if unit(mix(fault, np.uint64(5))) < no_counters else 0.0


@compiled(inline=True)
def _share(bits: np.uint64, which: int) -> float:
    """Return one of four numbers in [0, 1) that 64 random bits hold."""
    return float((bits >> np.uint64(16 * which)) & np.uint64(0xFFFF)) * (1.0 / 65536.0)


@compiled(makes_arrays=False)
def measure(
    runs: NDArray[np.void],
    keys: NDArray[np.uint64],
    noises: NDArray[np.void],
    factors: NDArray[np.float64],
    i: int,
    start: int,
    end: int,
    between: NDArray[np.float32],
    within: NDArray[np.float32],
    spectra: NDArray[np.float32],
    normal: NDArray[np.float32],
    largest: NDArray[np.float32],
    out: NDArray[np.float64],
) -> None:
    """Fill `out` with the 13 :data:`COLUMNS` of one window, as exact numbers before rounding."""
    kind, window = runs[i]["kind"], start // 300
    drifts = int(factors[i, 0])
    wave, phase = runs[i]["wave"], runs[i]["phase"]
    y = average(
        noises[i, 0],
        noises[i, 1],
        runs[i]["level"],
        drifts,
        0.3 * factors[i, 0],
        wave,
        phase,
        window,
        between,
        kind,
        spectra,
        normal,
    )
    y = min(y, 1.0)
    bits = mix(keys[i, 0], np.uint64(start))
    x = min(second(bits, y, within, kind, normal), 1.0)
    bits = mix(bits, np.uint64(8))
    level, seconds = 0, (end - start) // WORK
    while seconds > 1 and level < len(largest) - 1:
        seconds >>= 1
        level += 1
    peak = y * shape_value(within, kind, largest[level, bits >> np.uint64(56)])
    out[AVERAGE], out[SAMPLED], out[MAXIMUM] = y, x, min(max(peak, x, y), 1.0)

    deviation = min(max(y / max(runs[i]["level"], 1e-9) - 1.0, -1.0), 2.0)
    slow = noise_at(noises[i, 2], window, spectra, 1, normal)
    memory = runs[i]["memory"] * max(1.0 + 0.05 * slow + 0.04 * deviation, 0.05)
    bits = mix(bits, np.uint64(10))
    out[MEMORY], out[MEMORY_MAXIMUM] = memory, memory * (1.0 + 0.02 * _share(bits, 0))
    out[ASSIGNED], out[CACHE] = memory * factors[i, 2], memory * factors[i, 1]
    out[UNMAPPED] = out[CACHE] * (0.85 + 0.14 * _share(bits, 1))
    out[DISK_IO] = factors[i, 3] * (0.5 + _share(bits, 2))
    out[DISK_IO_MAXIMUM] = min(out[DISK_IO] * (27.0 + 40.0 * _share(bits, 3)), 1.0)
    out[DISK_SPACE] = factors[i, 4]
    wobble = 1.0 + 0.06 * normal[mix(bits, np.uint64(11)) >> np.uint64(52)]
    out[CPI], out[MAI] = factors[i, 5] * wobble, factors[i, 6] * wobble


@compiled(inline=True)
def plant(
    own: np.uint64,
    bad_counters: float,
    above_one: float,
    no_counters: float,
    out: NDArray[np.float64],
    faults: NDArray[np.int64],
) -> None:
    """Plant faults in a measured window; missing counters become −1."""
    u = unit(own)
    if above_one > 0.0 and unit(mix(own, np.uint64(1))) < above_one:
        faults[1] += 1
        out[AVERAGE] = 1.001 + 5.6 * u
        out[MAXIMUM] = max(out[MAXIMUM], out[AVERAGE])
    if bad_counters > 0.0 and unit(mix(own, np.uint64(3))) < bad_counters:
        faults[2] += 1
        out[CPI], out[MAI] = 30.0 + 400.0 * u, 3.0
    elif no_counters > 0.0:
        out[CPI] = out[MAI] = -1.0


@compiled(inline=True)
def count(tally: NDArray[np.float64], i: int, average: float, sampled: float, memory: float) -> None:
    """Add one printed window to the :data:`TALLY` of its run."""
    tally[i, 0] += 1.0
    tally[i, 1] += average
    tally[i, 2] += average * average
    tally[i, 3] += sampled
    tally[i, 4] += sampled * sampled
    tally[i, 5] += memory
