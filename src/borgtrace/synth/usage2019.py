"""instance_usage rows of 2019: JSON lines as BigQuery exports them, or columns for Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import special

from borgtrace.kernels.compiled import compiled
from borgtrace.schema.time import SECOND
from borgtrace.synth.fault_rates import FaultRates
from borgtrace.synth.hashing import mix, unit
from borgtrace.synth.measurement import (
    ASSIGNED,
    AVERAGE,
    CACHE,
    CPI,
    MAI,
    MAXIMUM,
    MEMORY,
    MEMORY_MAXIMUM,
    SAMPLED,
    count,
    measure,
    plant,
    traits_of,
)
from borgtrace.synth.noise import SPECTRA
from borgtrace.synth.number_text import number_code, pack, put_byte, put_integer, put_long, put_words, texts
from borgtrace.synth.process import model_tables, shape_value
from borgtrace.synth.usage import Windows

CHUNK: Final = 1_000
"""Rows per block and shard: the text stays in the processor's cache until it is compressed."""
ROW_LIMIT: Final = 1400
_ID_LIMIT: Final = 320
PERCENTILES: Final = special.ndtri(
    np.array([0.0035, *np.arange(10, 100, 10) / 100.0, 0.9985, *np.arange(91, 100) / 100.0])
)
"""Normal scores of 0, 10 … 100 % and of 91 … 99 %; the ends stand for one second in 300."""


@compiled(makes_arrays=False)
def _values(  # type: ignore[no-untyped-def]
    runs,
    keys,
    noises,
    factors,
    run,
    start,
    end,
    between,
    within,
    spectra,
    normal,
    largest,
    scores,
    rates,
    line,
    codes,
    keep,
    faults,
):
    """Fill `codes` (rows × 34): 13 measured columns, 20 percentiles, the sample rate, as ten-bit numbers.

    `line` is scratch: a kernel that makes no arrays need not count references to them in every row.
    """
    for row in range(len(run)):
        i = run[row]
        own = mix(keys[i, 1], np.uint64(start[row]))
        keep[row] = unit(own) >= rates[0]
        if not keep[row]:
            faults[0] += 1
            continue
        measure(runs, keys, noises, factors, i, start[row], end[row], between, within, spectra, normal, largest, line)
        plant(own, rates[1], rates[2], factors[i, 7], line, faults)
        _percentiles(line, own, within, runs[i]["kind"], normal, scores)
        line[33] = 0.99609375 if mix(own, np.uint64(6)) & np.uint64(15) == np.uint64(0) else 1.0
        for column in range(34):
            codes[row, column] = -1 if line[column] < 0.0 else number_code(line[column])


@compiled(makes_arrays=False)
def _percentiles(line, own, within, kind, normal, scores):  # type: ignore[no-untyped-def]
    """Percentiles of the second in the window: between the sample's lower bound and the maximum."""
    wobble = 0.08 * normal[mix(own, np.uint64(7)) >> np.uint64(52)]
    mean, top = min(line[AVERAGE], 1.0), line[MAXIMUM]
    for i in range(20):
        line[13 + i] = min(mean * shape_value(within, kind, scores[i] + wobble), top)
    line[13] = min(line[13], line[SAMPLED])
    line[23] = max(top * (1.0 - 0.01 * _unit_of(own)), line[32], line[SAMPLED])


@compiled(inline=True)
def _unit_of(own):  # type: ignore[no-untyped-def]
    return unit(mix(own, np.uint64(8)))


@compiled(inline=True)
def _literal(buffer, at, t, which):  # type: ignore[no-untyped-def]
    return put_words(buffer, at, t[0], which, t[1])


_LITERALS: Final = (
    '{"start_time":"',
    '","end_time":"',
    '","collection_id":"',
    '","instance_index":"',
    '","machine_id":"',
    '","alloc_collection_id":"',
    '","alloc_instance_index":"',
    '","collection_type":"',
    '","average_usage":{"cpus":',
    ',"memory":',
    '},"maximum_usage":{"cpus":',
    ',"memory":',
    '},"random_sample_usage":{"cpus":',
    '},"assigned_memory":',
    ',"page_cache_memory":',
    ',"cycles_per_instruction":',
    ',"memory_accesses_per_instruction":',
    ',"sample_rate":',
    ',"cpu_usage_distribution":[',
    '],"tail_cpu_usage_distribution":[',
    "]}\n",
)
_T: Final = (np.stack(pack(_LITERALS)), np.array([len(text) for text in _LITERALS]))
"""The literals as words, and their lengths."""
_FIELDS: Final = np.array([AVERAGE, MEMORY, MAXIMUM, MEMORY_MAXIMUM, SAMPLED, ASSIGNED, CACHE])


@compiled()
def _identify(runs, t):  # type: ignore[no-untyped-def]
    """Return the id fields of every run as text: they are the same in all of its rows."""
    text = np.empty((len(runs), _ID_LIMIT), dtype=np.uint8)
    length = np.empty(len(runs), dtype=np.int64)
    for i in range(len(runs)):
        r = runs[i]
        at = put_integer(text[i], _literal(text[i], 0, t, 2), r["job"])
        at = put_integer(text[i], _literal(text[i], at, t, 3), r["index"])
        at = put_integer(text[i], _literal(text[i], at, t, 4), r["machine"])
        at = put_integer(text[i], _literal(text[i], at, t, 5), r["alloc"])
        at = put_integer(text[i], _literal(text[i], at, t, 6), r["alloc_index"])
        at = put_integer(text[i], _literal(text[i], at, t, 7), r["is_alloc_set"])
        length[i] = at
    return text.view(np.uint64), length


@compiled(makes_arrays=False)
def _format(ids, id_length, run, start, end, codes, keep, rows, t, fields, text, length, buffer):  # type: ignore[no-untyped-def]
    at = 0
    for row in rows:
        if not keep[row]:
            continue
        i, v = run[row], codes[row]
        at = put_integer(buffer, _literal(buffer, at, t, 0), start[row] * SECOND)
        at = put_integer(buffer, _literal(buffer, at, t, 1), end[row] * SECOND)
        at = put_words(buffer, at, ids, i, id_length)
        for number in range(len(fields)):
            at = _literal(buffer, at, t, 8 + number)
            at = put_long(buffer, at, text, v[fields[number]], length)
        if v[CPI] >= 0:
            at = put_long(buffer, _literal(buffer, at, t, 15), text, v[CPI], length)
            at = put_long(buffer, _literal(buffer, at, t, 16), text, v[MAI], length)
        at = put_long(buffer, _literal(buffer, at, t, 17), text, v[33], length)
        at = _literal(buffer, at, t, 18)
        for i in range(13, 33):
            if i == 24:
                at = _literal(buffer, at, t, 19)
            elif i > 13:
                put_byte(buffer, at, 44)
                at += 1
            at = put_long(buffer, at, text, v[i], length)
        at = _literal(buffer, at, t, 20)
    return at


@compiled()
def _tally(run, codes, keep, number, tally):  # type: ignore[no-untyped-def]
    for row in range(len(run)):
        if keep[row]:
            v = codes[row]
            count(tally, run[row], number[v[AVERAGE]], number[v[SAMPLED]], number[v[MEMORY]])


@compiled()
def _shards(keys, run, start, shards):  # type: ignore[no-untyped-def]
    """Return the shard of every window and a hash that gives the order inside it."""
    shard = np.empty(len(run), dtype=np.int64)
    order = np.empty(len(run), dtype=np.uint64)
    for row in range(len(run)):
        order[row] = mix(mix(keys[run[row], 1], np.uint64(4)), np.uint64(start[row]))
        shard[row] = np.int64((order[row] >> np.uint64(32)) % np.uint64(shards))
    return shard, order


class Measured:
    """Windows of one segment, measured in blocks and dealt out to shards.

    Parameters
    ----------
    windows
        Windows of the segment.
    seed
        Seed of the draws.
    shards
        Number of files.
    anomalies
        Rates of faults.
    tally, faults
        Are added to; see :data:`borgtrace.synth.measurement.TALLY` and ``FAULTS``.
    """

    def __init__(
        self,
        windows: Windows,
        seed: int,
        shards: int,
        anomalies: FaultRates,
        tally: NDArray[np.float64],
        faults: NDArray[np.int64],
    ) -> None:
        self.windows, self.shards, self.tally, self.faults = windows, shards, tally, faults
        self.tables = model_tables()
        self.traits = traits_of(windows.runs, seed, anomalies, self.tables[2])
        self.rates = np.array([anomalies.missing_usage, anomalies.bad_counters, anomalies.above_one])
        self.words = texts("2019")

    def blocks(self) -> Iterator[tuple[slice, int, NDArray[np.int64], NDArray[np.int32], NDArray[np.bool_]]]:
        """Yield (block, shard, its rows in the block, codes and presence of the block's rows)."""
        windows, keys = self.windows, self.traits.keys
        shard, order = _shards(keys, windows.run, windows.start, self.shards)
        size = CHUNK * max(self.shards, 4)
        for first in range(0, len(windows), size):
            part = slice(first, first + size)
            codes, keep = self._measure(part)
            for number in range(self.shards):
                rows = np.flatnonzero(shard[part] == number)
                yield part, number, rows[np.argsort(order[part][rows], kind="stable")], codes, keep

    def _measure(self, part: slice) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        between, within, normal, largest = self.tables
        w, traits = self.windows, self.traits
        run = w.run[part]
        codes, keep = np.zeros((len(run), 34), dtype=np.int32), np.zeros(len(run), dtype=bool)
        _values(
            w.runs,
            traits.keys,
            traits.noises,
            traits.factors,
            run,
            w.start[part],
            w.end[part],
            between,
            within,
            SPECTRA,
            normal,
            largest,
            PERCENTILES,
            self.rates,
            np.empty(34),
            codes,
            keep,
            self.faults,
        )
        _tally(run, codes, keep, self.words.value, self.tally)
        return codes, keep


def usage_json(measured: Measured) -> Iterator[tuple[int, NDArray[np.uint8]]]:
    """Yield (shard, lines) in blocks; rows are spread over shards by hash and unordered inside."""
    w, words = measured.windows, measured.words
    ids, id_length = _identify(w.runs, _T)
    buffer = np.empty(2 * CHUNK * max(measured.shards, 4) * ROW_LIMIT // measured.shards, dtype=np.uint8)
    for part, number, rows, codes, keep in measured.blocks():
        size = _format(
            ids,
            id_length,
            w.run[part],
            w.start[part],
            w.end[part],
            codes,
            keep,
            rows,
            _T,
            _FIELDS,
            words.words,
            words.length,
            buffer,
        )
        yield number, buffer[:size]


def usage_columns(measured: Measured) -> Iterator[tuple[int, pa.Table]]:
    """Yield (shard, rows) in blocks, as Arrow tables in proto order."""
    for part, number, rows, codes, keep in measured.blocks():
        present = rows[keep[rows]]
        values = np.where(codes[present] < 0, -1.0, measured.words.value[codes[present]])
        yield number, _table(measured.windows, part.start + present, values)


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
        "start_time": pa.array(windows.start[rows] * SECOND),
        "end_time": pa.array(windows.end[rows] * SECOND),
        "collection_id": pa.array(runs["job"]),
        "instance_index": pa.array(runs["index"]),
        "machine_id": pa.array(runs["machine"]),
        "alloc_collection_id": pa.array(runs["alloc"]),
        "alloc_instance_index": pa.array(runs["alloc_index"]),
        "collection_type": pa.array(runs["is_alloc_set"].astype(np.int64)),
        "average_usage": record(cpus=number(AVERAGE), memory=number(MEMORY)),
        "maximum_usage": record(cpus=number(MAXIMUM), memory=number(MEMORY_MAXIMUM)),
        "random_sample_usage": record(cpus=number(SAMPLED), memory=pa.nulls(len(rows), pa.float32())),
        "assigned_memory": number(ASSIGNED),
        "page_cache_memory": number(CACHE),
        "cycles_per_instruction": counter(CPI),
        "memory_accesses_per_instruction": counter(MAI),
        "sample_rate": number(33),
        "cpu_usage_distribution": distribution(13, 24),
        "tail_cpu_usage_distribution": distribution(24, 33),
    }
    return pa.table(columns)
