"""task_usage rows of 2011 as bytes: 20 columns, ten-bit resources, printed with ``%.4g``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numba import njit
from numpy.typing import NDArray

from borgtrace.schema.time import SECOND
from borgtrace.synth.anomalies import Anomalies
from borgtrace.synth.hashing import key, mix, unit
from borgtrace.synth.measure import (
    ASSIGNED, AVERAGE, CACHE, CPI, DISK_IO, DISK_IO_MAXIMUM, DISK_SPACE, MAI, MAXIMUM, MEMORY,
    MEMORY_MAXIMUM, SAMPLED, UNMAPPED, measure, task_key,
)  # fmt: skip
from borgtrace.synth.process import SPECTRA, model_tables
from borgtrace.synth.text import printed_value, put_float, put_integer, ten_bits
from borgtrace.synth.usage import Windows

CHUNK: Final = 100_000
"""Rows per block: about 14 MB of text."""
ROW_LIMIT: Final = 280
TALLY: Final = ("n", "sum_average", "sum2_average", "sum_sampled", "sum2_sampled", "sum_memory")
FAULTS: Final = ("missing_usage", "above_one", "bad_counters")
_ORDER: Final = np.array([
    AVERAGE, MEMORY, ASSIGNED, UNMAPPED, CACHE, MEMORY_MAXIMUM, DISK_IO, DISK_SPACE, MAXIMUM,
    DISK_IO_MAXIMUM, CPI, MAI,
])  # fmt: skip
"""Columns 6 to 17."""


@njit(cache=True, nogil=True)
def _format(
    base, fault_base, runs, run, start, end, between, within, spectra, normal, largest, rates,
    disk_io_until, buffer, tally, faults,
):  # type: ignore[no-untyped-def]  # fmt: skip
    at = 0
    values = np.empty(13)
    for row in range(len(run)):
        r = runs[run[row]]
        own = mix(task_key(fault_base, r["job"], r["index"]), np.uint64(start[row]))
        if unit(own) < rates[0]:
            faults[0] += 1
            continue
        measure(base, r, start[row], end[row], between, within, spectra, normal, largest, values)
        if unit(mix(own, np.uint64(1))) < rates[2]:
            faults[1] += 1
            values[AVERAGE] = 1.001 + 5.6 * unit(mix(own, np.uint64(2)))
            values[MAXIMUM] = max(values[MAXIMUM], values[AVERAGE])
        is_bad = unit(mix(own, np.uint64(3))) < rates[1]
        if is_bad:
            faults[2] += 1
            values[CPI], values[MAI] = 30.0 + 400.0 * unit(mix(own, np.uint64(4))), 3.0
        no_counters = unit(mix(task_key(fault_base, r["job"], r["index"]), np.uint64(5))) < rates[3]
        at = put_integer(buffer, at, start[row] * SECOND)
        buffer[at] = 44
        at = put_integer(buffer, at + 1, end[row] * SECOND)
        buffer[at] = 44
        at = put_integer(buffer, at + 1, r["job"])
        buffer[at] = 44
        at = put_integer(buffer, at + 1, r["index"])
        buffer[at] = 44
        at = put_integer(buffer, at + 1, r["machine"])
        for column in _ORDER:
            buffer[at] = 44
            at += 1
            if (column == CPI or column == MAI) and no_counters and not is_bad:
                continue
            if (column == DISK_IO or column == DISK_IO_MAXIMUM) and start[row] >= disk_io_until:
                continue
            at = put_float(buffer, at, ten_bits(values[column]))
        buffer[at] = 44
        buffer[at + 1] = 48
        buffer[at + 2] = 44
        buffer[at + 3] = 48 + (r["job"] & 1)
        buffer[at + 4] = 44
        x = ten_bits(values[SAMPLED])
        at = put_float(buffer, at + 5, x)
        buffer[at] = 10
        at += 1
        y, x = printed_value(ten_bits(values[AVERAGE])), printed_value(x)
        line = tally[run[row]]
        line[0] += 1.0
        line[1] += y
        line[2] += y * y
        line[3] += x
        line[4] += x * x
        line[5] += printed_value(ten_bits(values[MEMORY]))
    return at


def usage_text(
    windows: Windows, seed: int, anomalies: Anomalies, tally: NDArray[np.float64], faults: NDArray[np.int64]
) -> Iterator[NDArray[np.uint8]]:
    """Yield the rows of one part as blocks of bytes; add to `tally` and `faults` what was written.

    Parameters
    ----------
    windows
        Windows of the part, in file order.
    seed
        Seed of the trace.
    anomalies
        Rates of faults.
    tally
        float64, shape (runs, len(TALLY)): sums over the printed values per run.
    faults
        int64, shape (len(FAULTS),).
    """
    between, within, normal, largest = model_tables()
    rates = np.array(
        [anomalies.missing_usage, anomalies.bad_counters, anomalies.above_one, anomalies.no_counters]
    )
    buffer = np.empty(min(CHUNK, max(len(windows), 1)) * ROW_LIMIT, dtype=np.uint8)
    for first in range(0, len(windows), CHUNK):
        part = slice(first, first + CHUNK)
        size = _format(
            np.uint64(key(seed, "process")), np.uint64(key(seed, "faults")), windows.runs, windows.run[part],
            windows.start[part], windows.end[part], between, within, SPECTRA, normal, largest, rates,
            anomalies.disk_io_until // SECOND, buffer, tally, faults,
        )  # fmt: skip
        yield buffer[:size]
