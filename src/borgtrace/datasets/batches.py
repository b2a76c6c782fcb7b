"""Batches of traces of like length, so that little of a batch is padding."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from borgtrace.datasets.formats import Part
from borgtrace.errors import UsageError
from borgtrace.kernels.series import pad

if TYPE_CHECKING:
    from borgtrace.datasets.dataset import TraceSet

Index = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Some traces, padded to the longest of them.

    Attributes
    ----------
    data
        Scaled series, float32 (n, longest, features).
    mask
        bool of the same shape: True where a value was measured.
    lengths
        Points of each trace, int64 (n,).
    collection_id, instance_index, first_time
        Who and when, int64 (n,).
    numbers
        Static numbers, float32 (n, numbers); NaN where unknown.
    codes
        Static words, int64 (n, words), as positions in ``meta.names.words``; −1 where unknown.
    """

    data: NDArray[np.float32]
    mask: NDArray[np.bool_]
    lengths: Index
    collection_id: Index
    instance_index: Index
    first_time: Index
    numbers: NDArray[np.float32]
    codes: Index

    def __len__(self) -> int:
        return len(self.lengths)


def batches(
    traces: TraceSet, size: int, *, seed: int | None = None, epoch: int = 0, fill: float = 0.0,
    threads: int = 2, is_verified: bool = False,
) -> Iterator[Batch]:  # fmt: skip
    """Yield batches; see :meth:`borgtrace.datasets.dataset.TraceSet.batches`."""
    if size < 1:
        raise UsageError("size", "not a batch size", expected="at least 1", got=str(size))
    rng = None if seed is None else np.random.default_rng([seed, epoch])
    for part in read_ahead(traces, file_order(traces.paths, rng), threads, is_verified=is_verified):
        yield from batches_of(part, size, rng, fill)


def file_order(paths: Sequence[Path], rng: np.random.Generator | None) -> list[Path]:
    """Return the files in the order of an epoch."""
    return list(paths) if rng is None else [paths[i] for i in rng.permutation(len(paths))]


def read_ahead(traces: TraceSet, paths: Sequence[Path], threads: int, *, is_verified: bool) -> Iterator[Part]:
    """Yield the parts of files, in order, the next ones being read meanwhile."""
    if threads < 1:
        yield from (traces.part(path, is_verified=is_verified) for path in paths)
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting = deque(pool.submit(traces.part, path, is_verified=is_verified) for path in paths[:threads])
        for path in [*paths[threads:], *[None] * len(waiting)]:
            part = waiting.popleft().result()
            if path is not None:
                waiting.append(pool.submit(traces.part, path, is_verified=is_verified))
            yield part


def batches_of(part: Part, size: int, rng: np.random.Generator | None, fill: float) -> Iterator[Batch]:
    """Sort the traces of a part by length, cut them into batches, and yield those in random order."""
    lengths = np.diff(part.offsets)
    order = np.arange(len(part)) if rng is None else rng.permutation(len(part))
    order = order[np.argsort(lengths[order], kind="stable")]
    starts = np.arange(0, len(order), size)
    for start in starts if rng is None else rng.permutation(starts):
        yield batch_of(part, order[start : start + size], fill)


def batch_of(part: Part, index: Index, fill: float = 0.0) -> Batch:
    """Pad the traces at `index` of a part to the longest of them."""
    lengths = part.offsets[index + 1] - part.offsets[index]
    shape = (len(index), int(lengths.max(initial=0)), part.values.shape[1])
    data, mask = np.empty(shape, np.float32), np.empty(shape, np.bool_)
    pad(part.values, part.offsets, index, fill, data, mask)
    identity = part.identity[index]
    return Batch(
        data,
        mask,
        lengths,
        identity[:, 0],
        identity[:, 1],
        identity[:, 3],
        part.numbers[index],
        part.codes[index],
    )
