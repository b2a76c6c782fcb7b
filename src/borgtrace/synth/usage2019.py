"""instance_usage rows of 2019: JSON lines as BigQuery exports them, or columns for Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numba import njit
from numpy.typing import NDArray
from scipy import special

from borgtrace.schema.time import SECOND
from borgtrace.synth.anomalies import Anomalies
from borgtrace.synth.hashing import key, mix, unit
from borgtrace.synth.measure import (
    ASSIGNED, AVERAGE, CACHE, CPI, MAI, MAXIMUM, MEMORY, MEMORY_MAXIMUM, SAMPLED, measure, task_key,
)  # fmt: skip
from borgtrace.synth.process import SPECTRA, model_tables, shape_value
from borgtrace.synth.text import put_exact, put_integer, ten_bits
from borgtrace.synth.usage import Windows

CHUNK: Final = 20_000
ROW_LIMIT: Final = 1400
PERCENTILES: Final = special.ndtri(
    np.array([0.0035, *np.arange(10, 100, 10) / 100.0, 0.9985, *np.arange(91, 100) / 100.0])
)
"""Normal scores of 0, 10 … 100 % and of 91 … 99 %; the ends stand for one second in 300."""
SAMPLE_RATES: Final = (1.0, 0.99609375)
"""Samples per second: all, or one lost now and then."""


@njit(cache=True, nogil=True)
def _values(
    base, fault_base, runs, run, start, end, between, within, spectra, normal, largest, scores, rates, out,
    keep, faults,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """Fill `out` (rows × 34): the measured columns, 20 percentiles and the sample rate, as ten-bit numbers."""
    for row in range(len(run)):
        r = runs[run[row]]
        own = mix(task_key(fault_base, r["job"], r["index"]), np.uint64(start[row]))
        keep[row] = unit(own) >= rates[0]
        if not keep[row]:
            faults[0] += 1
            continue
        line = out[row]
        measure(base, r, start[row], end[row], between, within, spectra, normal, largest, line[:13])
        if unit(mix(own, np.uint64(1))) < rates[2]:
            faults[1] += 1
            line[AVERAGE] = 1.001 + 5.6 * unit(mix(own, np.uint64(2)))
            line[MAXIMUM] = max(line[MAXIMUM], line[AVERAGE])
        no_counters = unit(mix(task_key(fault_base, r["job"], r["index"]), np.uint64(5))) < rates[3]
        if unit(mix(own, np.uint64(3))) < rates[1]:
            faults[2] += 1
            line[CPI], line[MAI] = 30.0 + 400.0 * unit(mix(own, np.uint64(4))), 3.0
        elif no_counters:
            line[CPI] = line[MAI] = -1.0
        _percentiles(line, own, within[r["kind"]], normal, scores)
        line[33] = 0.99609375 if mix(own, np.uint64(6)) & np.uint64(15) == np.uint64(0) else 1.0
        for column in range(34):
            if line[column] > 0.0:
                line[column] = ten_bits(line[column])


@njit(cache=True, nogil=True)
def _percentiles(line, own, shape, normal, scores):  # type: ignore[no-untyped-def]
    """Percentiles of the second in the window: between the sample's lower bound and the maximum."""
    wobble = 0.08 * normal[mix(own, np.uint64(7)) >> np.uint64(52)]
    mean, top = min(line[AVERAGE], 1.0), line[MAXIMUM]
    for i in range(20):
        line[13 + i] = min(mean * shape_value(shape, scores[i] + wobble), top)
    line[13] = min(line[13], line[SAMPLED])
    line[23] = max(top * (1.0 - 0.01 * unit(mix(own, np.uint64(8)))), max(line[32], line[SAMPLED]))


@njit(cache=True, nogil=True, inline="always")
def _put(buffer, at, text):  # type: ignore[no-untyped-def]
    for i in range(len(text)):
        buffer[at + i] = text[i]
    return at + len(text)


def _bytes(text: str) -> NDArray[np.uint8]:
    return np.frombuffer(text.encode(), dtype=np.uint8)


_T: Final = tuple(
    _bytes(text)
    for text in (
        '{"start_time":"', '","end_time":"', '","collection_id":"', '","instance_index":"', '","machine_id":"',
        '","alloc_collection_id":"', '","alloc_instance_index":"', '","collection_type":"',
        '","average_usage":{"cpus":', ',"memory":', '},"maximum_usage":{"cpus":', ',"memory":',
        '},"random_sample_usage":{"cpus":', '},"assigned_memory":', ',"page_cache_memory":',
        ',"cycles_per_instruction":', ',"memory_accesses_per_instruction":', ',"sample_rate":',
        ',"cpu_usage_distribution":[', '],"tail_cpu_usage_distribution":[', "]}\n",
    )
)  # fmt: skip


@njit(cache=True, nogil=True)
def _format(runs, run, start, end, values, keep, rows, t, buffer):  # type: ignore[no-untyped-def]
    at = 0
    for row in rows:
        if not keep[row]:
            continue
        r, v = runs[run[row]], values[row]
        at = put_integer(buffer, _put(buffer, at, t[0]), start[row] * SECOND)
        at = put_integer(buffer, _put(buffer, at, t[1]), end[row] * SECOND)
        at = put_integer(buffer, _put(buffer, at, t[2]), r["job"])
        at = put_integer(buffer, _put(buffer, at, t[3]), r["index"])
        at = put_integer(buffer, _put(buffer, at, t[4]), r["machine"])
        at = put_integer(buffer, _put(buffer, at, t[5]), r["alloc"])
        at = put_integer(buffer, _put(buffer, at, t[6]), r["alloc_index"])
        at = put_integer(buffer, _put(buffer, at, t[7]), r["is_alloc_set"])
        at = put_exact(buffer, _put(buffer, at, t[8]), v[AVERAGE])
        at = put_exact(buffer, _put(buffer, at, t[9]), v[MEMORY])
        at = put_exact(buffer, _put(buffer, at, t[10]), v[MAXIMUM])
        at = put_exact(buffer, _put(buffer, at, t[11]), v[MEMORY_MAXIMUM])
        at = put_exact(buffer, _put(buffer, at, t[12]), v[SAMPLED])
        at = put_exact(buffer, _put(buffer, at, t[13]), v[ASSIGNED])
        at = put_exact(buffer, _put(buffer, at, t[14]), v[CACHE])
        if v[CPI] >= 0.0:
            at = put_exact(buffer, _put(buffer, at, t[15]), v[CPI])
            at = put_exact(buffer, _put(buffer, at, t[16]), v[MAI])
        at = put_exact(buffer, _put(buffer, at, t[17]), v[33])
        at = _put(buffer, at, t[18])
        for i in range(13, 33):
            if i == 24:
                at = _put(buffer, at, t[19])
            elif i > 13:
                buffer[at] = 44
                at += 1
            at = put_exact(buffer, at, v[i])
        at = _put(buffer, at, t[20])
    return at


@njit(cache=True, nogil=True)
def _tally(run, values, keep, tally):  # type: ignore[no-untyped-def]
    for row in range(len(run)):
        if keep[row]:
            y, x, line = values[row, AVERAGE], values[row, SAMPLED], tally[run[row]]
            line[0] += 1.0
            line[1] += y
            line[2] += y * y
            line[3] += x
            line[4] += x * x
            line[5] += values[row, MEMORY]


@njit(cache=True, nogil=True)
def _shards(runs, run, start, base, shards):  # type: ignore[no-untyped-def]
    """Return the shard of every window and a hash that gives the order inside it."""
    shard = np.empty(len(run), dtype=np.int64)
    order = np.empty(len(run), dtype=np.uint64)
    for row in range(len(run)):
        r = runs[run[row]]
        order[row] = mix(task_key(base, r["job"], r["index"]), np.uint64(start[row]))
        shard[row] = np.int64((order[row] >> np.uint64(32)) % np.uint64(shards))
    return shard, order


def measured(
    windows: Windows, part: slice, seed: int, anomalies: Anomalies, tally: NDArray[np.float64],
    faults: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:  # fmt: skip
    """Return the numbers of some windows, shape (rows, 34), and which rows exist."""
    between, within, normal, largest = model_tables()
    run, start, end = windows.run[part], windows.start[part], windows.end[part]
    values, keep = np.zeros((len(run), 34)), np.zeros(len(run), dtype=bool)
    rates = np.array(
        [anomalies.missing_usage, anomalies.bad_counters, anomalies.above_one, anomalies.no_counters]
    )
    _values(
        np.uint64(key(seed, "process")), np.uint64(key(seed, "faults")), windows.runs, run, start, end, between,
        within, SPECTRA, normal, largest, PERCENTILES, rates, values, keep, faults,
    )  # fmt: skip
    _tally(run, values, keep, tally)
    return values, keep


def usage_json(
    windows: Windows, seed: int, shards: int, anomalies: Anomalies, tally: NDArray[np.float64],
    faults: NDArray[np.int64],
) -> Iterator[tuple[int, NDArray[np.uint8]]]:  # fmt: skip
    """Yield (shard, lines) in blocks; rows are spread over shards by hash and unordered inside."""
    shard, order = _shards(windows.runs, windows.run, windows.start, np.uint64(key(seed, "shards")), shards)
    buffer = np.empty(CHUNK * ROW_LIMIT, dtype=np.uint8)
    for first in range(0, len(windows), CHUNK):
        part = slice(first, first + CHUNK)
        values, keep = measured(windows, part, seed, anomalies, tally, faults)
        for number in range(shards):
            rows = np.flatnonzero(shard[part] == number)
            rows = rows[np.argsort(order[part][rows], kind="stable")]
            size = _format(
                windows.runs, windows.run[part], windows.start[part], windows.end[part], values, keep, rows, _T,
                buffer,
            )  # fmt: skip
            yield number, buffer[:size].copy()


def usage_columns(
    windows: Windows, seed: int, shards: int, anomalies: Anomalies, tally: NDArray[np.float64],
    faults: NDArray[np.int64],
) -> Iterator[tuple[int, pa.Table]]:  # fmt: skip
    """Yield (shard, rows) in blocks, as Arrow tables in proto order."""
    shard, order = _shards(windows.runs, windows.run, windows.start, np.uint64(key(seed, "shards")), shards)
    for first in range(0, len(windows), CHUNK):
        part = slice(first, first + CHUNK)
        values, keep = measured(windows, part, seed, anomalies, tally, faults)
        for number in range(shards):
            rows = np.flatnonzero((shard[part] == number) & keep)
            rows = rows[np.argsort(order[part][rows], kind="stable")]
            yield number, _table(windows, first + rows, values[rows])


def _table(windows: Windows, rows: NDArray[np.int64], values: NDArray[np.float64]) -> pa.Table:
    runs = windows.runs[windows.run[rows]]

    def number(column: int) -> pa.Array:
        return pa.array(values[:, column].astype(np.float32))

    def counter(column: int) -> pa.Array:
        return pa.array(values[:, column].astype(np.float32), mask=values[:, column] < 0.0)

    def record(**fields: pa.Array) -> pa.Array:
        return pa.StructArray.from_arrays(list(fields.values()), names=list(fields))

    def distribution(first: int, last: int) -> pa.Array:
        flat = pa.array(values[:, first:last].astype(np.float32).ravel())
        offsets = pa.array(np.arange(len(values) + 1, dtype=np.int32) * (last - first))
        return pa.ListArray.from_arrays(offsets, flat)

    columns: dict[str, Any] = {
        "start_time": pa.array(windows.start[rows] * SECOND), "end_time": pa.array(windows.end[rows] * SECOND),
        "collection_id": pa.array(runs["job"]), "instance_index": pa.array(runs["index"]),
        "machine_id": pa.array(runs["machine"]), "alloc_collection_id": pa.array(runs["alloc"]),
        "alloc_instance_index": pa.array(runs["alloc_index"]),
        "collection_type": pa.array(runs["is_alloc_set"].astype(np.int64)),
        "average_usage": record(cpus=number(AVERAGE), memory=number(MEMORY)),
        "maximum_usage": record(cpus=number(MAXIMUM), memory=number(MEMORY_MAXIMUM)),
        "random_sample_usage": record(cpus=number(SAMPLED), memory=pa.nulls(len(rows), pa.float32())),
        "assigned_memory": number(ASSIGNED), "page_cache_memory": number(CACHE),
        "cycles_per_instruction": counter(CPI), "memory_accesses_per_instruction": counter(MAI),
        "sample_rate": number(33), "cpu_usage_distribution": distribution(13, 24),
        "tail_cpu_usage_distribution": distribution(24, 33),
    }  # fmt: skip
    return pa.table(columns)


