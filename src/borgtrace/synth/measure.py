"""What a measurement window says: CPU, memory, disk and cycles of one run in one window."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numba import njit
from numpy.typing import NDArray

from borgtrace.synth.classes import CLASSES
from borgtrace.synth.hashing import mix, unit
from borgtrace.synth.process import average, noise, second, shape_value

COLUMNS: Final = (
    "average_cpu", "sampled_cpu", "maximum_cpu", "average_memory", "assigned_memory", "unmapped_page_cache",
    "page_cache", "maximum_memory", "disk_io", "maximum_disk_io", "disk_space", "cpi", "mai",
)  # fmt: skip
(AVERAGE, SAMPLED, MAXIMUM, MEMORY, ASSIGNED, UNMAPPED, CACHE, MEMORY_MAXIMUM, DISK_IO, DISK_IO_MAXIMUM,
 DISK_SPACE, CPI, MAI) = range(13)  # fmt: skip
DRIFTING: Final = np.array([c.drifting for c in CLASSES])
_WORDS: Final = np.arange(101, 121).astype(np.uint64)


@njit(cache=True, nogil=True, inline="always")
def task_key(base: np.uint64, job: int, index: int) -> np.uint64:
    """Return the key of a task's noise."""
    return mix(mix(base, np.uint64(job)), np.uint64(index + 1))


@njit(cache=True, nogil=True)
def measure(
    base: np.uint64, run: np.void, start: int, end: int, between: NDArray[np.float32],
    within: NDArray[np.float32], spectra: NDArray[np.float32], normal: NDArray[np.float32],
    largest: NDArray[np.float32], out: NDArray[np.float64],
) -> None:  # fmt: skip
    """Fill `out` with the 13 :data:`COLUMNS` of one window, as exact numbers before rounding."""
    job_key = mix(base, np.uint64(run["twin_job"]))
    key = task_key(base, run["twin_job"], run["twin_index"])
    kind, window = run["kind"], start // 300
    drifts = 1 if unit(mix(key, _WORDS[0])) < DRIFTING[kind] else 0
    shared = 0.3 if drifts == 1 else 0.0
    y = average(key, job_key, run["level"], drifts, shared, run["wave"], run["phase"], window,
                between[kind], spectra, normal)  # fmt: skip
    y = min(y, 1.0)
    bits = mix(mix(key, _WORDS[1]), np.uint64(start))
    level = 0
    seconds = end - start
    while seconds > 1 and level < len(largest) - 1:
        seconds >>= 1
        level += 1
    x = min(second(bits, y, within[kind], normal), 1.0)
    bits = mix(bits, _WORDS[2])
    peak = y * shape_value(within[kind], largest[level, bits >> np.uint64(56)])
    out[AVERAGE], out[SAMPLED] = y, x
    out[MAXIMUM] = min(max(peak, max(x, y)), 1.0)

    deviation = min(max(y / max(run["level"], 1e-9) - 1.0, -1.0), 2.0)
    slow = noise(mix(key, _WORDS[3]), window, spectra[1], normal)
    memory = run["memory"] * max(1.0 + 0.05 * slow + 0.04 * deviation, 0.05)
    cache = memory * 0.35 * unit(mix(key, _WORDS[4])) ** 1.5
    out[MEMORY] = memory
    out[MEMORY_MAXIMUM] = memory * (1.0 + 0.02 * unit(mix(bits, _WORDS[5])))
    out[ASSIGNED] = memory * (1.2 + 0.3 * unit(mix(key, _WORDS[6])))
    out[CACHE] = cache
    out[UNMAPPED] = cache * (0.85 + 0.14 * unit(mix(bits, _WORDS[7])))
    io = -2.3e-4 * math.log(unit(mix(key, _WORDS[8]))) * (0.5 + unit(mix(bits, _WORDS[9])))
    out[DISK_IO] = io
    out[DISK_IO_MAXIMUM] = min(io * (27.0 + 40.0 * unit(mix(bits, _WORDS[10]))), 1.0)
    out[DISK_SPACE] = 3e-4 * unit(mix(key, _WORDS[11]))
    wobble = 1.0 + 0.06 * normal[mix(bits, _WORDS[12]) >> np.uint64(52)]
    out[CPI] = 4.2 * math.exp(0.42 * normal[mix(key, _WORDS[13]) >> np.uint64(52)]) * wobble
    out[MAI] = 0.0145 * math.exp(0.5 * normal[mix(key, _WORDS[14]) >> np.uint64(52)]) * wobble
