"""task_usage rows of 2011 as bytes: 20 columns, ten-bit resources, printed with ``%.4g``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from borgtrace.kernels.compiled import compiled
from borgtrace.schema.time import SECOND
from borgtrace.synth.fault_rates import FaultRates
from borgtrace.synth.hashing import mix, unit
from borgtrace.synth.measurement import (
    ASSIGNED,
    AVERAGE,
    CACHE,
    COLUMNS,
    CPI,
    DISK_IO,
    DISK_IO_MAXIMUM,
    DISK_SPACE,
    MAI,
    MAXIMUM,
    MEMORY,
    MEMORY_MAXIMUM,
    SAMPLED,
    UNMAPPED,
    count,
    measure,
    plant,
    traits_of,
)
from borgtrace.synth.noise import SPECTRA
from borgtrace.synth.number_text import number_code, put_byte, put_integer, put_short, put_words, texts
from borgtrace.synth.process import model_tables
from borgtrace.synth.usage import Windows

CHUNK: Final = 4_000
"""Rows per block: its text stays in the processor's cache until it is compressed."""
ROW_LIMIT: Final = 280
_ID_LIMIT: Final = 64
_ORDER: Final = np.array(
    [
        AVERAGE,
        MEMORY,
        ASSIGNED,
        UNMAPPED,
        CACHE,
        MEMORY_MAXIMUM,
        DISK_IO,
        DISK_SPACE,
        MAXIMUM,
        DISK_IO_MAXIMUM,
        CPI,
        MAI,
    ]
)
"""Columns 6 to 17."""


@compiled()
def _identify(runs):  # type: ignore[no-untyped-def]
    """Return columns 3 to 5 of every run as text: it is the same in all of its rows."""
    text = np.empty((len(runs), _ID_LIMIT), dtype=np.uint8)
    length = np.empty(len(runs), dtype=np.int64)
    for i in range(len(runs)):
        at = put_integer(text[i], 0, runs[i]["job"])
        text[i, at] = 44
        at = put_integer(text[i], at + 1, runs[i]["index"])
        text[i, at] = 44
        length[i] = put_integer(text[i], at + 1, runs[i]["machine"])
    return text.view(np.uint64), length


@compiled(inline=True)
def _put_times(buffer, at, start, end):  # type: ignore[no-untyped-def]
    at = put_integer(buffer, at, start * SECOND)
    buffer[at] = 44
    at = put_integer(buffer, at + 1, end * SECOND)
    buffer[at] = 44
    return at + 1


@compiled(inline=True)
def _put_floats(buffer, at, values, order, text, length):  # type: ignore[no-untyped-def]
    for i in range(len(order)):
        column = order[i]
        put_byte(buffer, at, 44)
        at += 1
        if values[column] < 0.0:
            continue
        at = put_short(buffer, at, text, number_code(values[column]), length)
    return at


@compiled(makes_arrays=False)
def _format(  # type: ignore[no-untyped-def]
    runs,
    keys,
    noises,
    factors,
    ids,
    id_length,
    run,
    start,
    end,
    between,
    within,
    spectra,
    normal,
    largest,
    rates,
    disk_io_until,
    order,
    text,
    length,
    number,
    buffer,
    times,
    times_words,
    times_length,
    values,
    tally,
    faults,
):
    """Print rows into `buffer`; return how many bytes.

    `times` (with `times_words`, the same memory) and `values` are scratch: a kernel that makes no arrays
    need not count references to them, which would cost as much in every row as measuring it.
    """
    at, times_length[0] = 0, 0
    for row in range(len(run)):
        i = run[row]
        own = mix(keys[i, 1], np.uint64(start[row]))
        if unit(own) < rates[0]:
            faults[0] += 1
            continue
        measure(runs, keys, noises, factors, i, start[row], end[row], between, within, spectra, normal, largest, values)
        plant(own, rates[1], rates[2], factors[i, 7], values, faults)
        if start[row] >= disk_io_until:
            values[DISK_IO] = values[DISK_IO_MAXIMUM] = -1.0
        if row == 0 or start[row] != start[row - 1] or end[row] != end[row - 1] or times_length[0] == 0:
            times_length[0] = _put_times(times, 0, start[row], end[row])
        at = put_words(buffer, at, times_words, 0, times_length)
        at = put_words(buffer, at, ids, i, id_length)
        at = _put_floats(buffer, at, values, order, text, length)
        put_byte(buffer, at, 44)
        put_byte(buffer, at + 1, 48)
        put_byte(buffer, at + 2, 44)
        put_byte(buffer, at + 3, 48 + (runs[i]["job"] & 1))
        put_byte(buffer, at + 4, 44)
        code = number_code(values[SAMPLED])
        at = put_short(buffer, at + 5, text, code, length)
        put_byte(buffer, at, 10)
        at += 1
        average, memory = number[number_code(values[AVERAGE])], number[number_code(values[MEMORY])]
        count(tally, i, average, number[code], memory)
    return at


def usage_text(
    windows: Windows, seed: int, anomalies: FaultRates, tally: NDArray[np.float64], faults: NDArray[np.int64]
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
    rates = np.array([anomalies.missing_usage, anomalies.bad_counters, anomalies.above_one])
    traits = traits_of(windows.runs, seed, anomalies, normal)
    ids, id_length = _identify(windows.runs)
    words, values = texts("2011"), np.empty(len(COLUMNS))
    times, times_length = np.empty(_ID_LIMIT, dtype=np.uint8), np.zeros(1, dtype=np.int64)
    times_words = times.view(np.uint64).reshape(1, -1)
    buffer = np.empty(min(CHUNK, max(len(windows), 1)) * ROW_LIMIT, dtype=np.uint8)
    for first in range(0, len(windows), CHUNK):
        part = slice(first, first + CHUNK)
        size = _format(
            windows.runs,
            traits.keys,
            traits.noises,
            traits.factors,
            ids,
            id_length,
            windows.run[part],
            windows.start[part],
            windows.end[part],
            between,
            within,
            SPECTRA,
            normal,
            largest,
            rates,
            anomalies.disk_io_until // SECOND,
            _ORDER,
            words.words,
            words.length,
            words.value,
            buffer,
            times,
            times_words,
            times_length,
            values,
            tally,
            faults,
        )
        yield buffer[:size]
