"""Batches of traces of like length, so that little of a batch is padding."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from borgtrace.datasets.formats import Runs
from borgtrace.errors import UsageError
from borgtrace.kernels.series import pad

if TYPE_CHECKING:
    from borgtrace.datasets.dataset import TraceSet

Item = TypeVar("Item")
Result = TypeVar("Result")
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
    identity
        Who, how long and when, int64 (n, 4): see :data:`borgtrace.datasets.formats.IDENTITY`.
    numbers
        Static numbers, float32 (n, numbers); NaN where unknown.
    codes
        Static words, int64 (n, words), as positions in ``meta.names.words``; −1 where unknown.
    """

    data: NDArray[np.float32]
    mask: NDArray[np.bool_]
    lengths: Index
    identity: Index
    numbers: NDArray[np.float32]
    codes: Index

    @property
    def collection_id(self) -> Index:
        """Job of each trace, int64 (n,)."""
        return self.identity[:, 0]

    @property
    def instance_index(self) -> Index:
        """Task within its job, int64 (n,)."""
        return self.identity[:, 1]

    @property
    def first_time(self) -> Index:
        """Start of the first window, µs, int64 (n,)."""
        return self.identity[:, 3]

    def __len__(self) -> int:
        return len(self.lengths)


def batches(
    traces: TraceSet, size: int, *, seed: int | None = None, epoch: int = 0, fill: float = 0.0,
    threads: int = 2, is_verified: bool = False,
) -> Iterator[Batch]:  # fmt: skip
    """Yield batches; see :meth:`borgtrace.datasets.dataset.TraceSet.batches`."""
    if size < 1:
        raise UsageError("size", "not a batch size", expected="at least 1", got=str(size))

    def load(numbered: tuple[int, Path]) -> list[Batch]:
        rng = None if seed is None else np.random.default_rng([seed, epoch, numbered[0]])
        return batches_of(traces.runs(numbered[1], is_verified=is_verified), size, rng, fill, traces.width)

    paths = traces.paths
    files = np.arange(len(paths))
    if seed is not None:
        files = np.random.default_rng([seed, epoch]).permutation(files)
    for loaded in ahead(load, [(int(k), paths[k]) for k in files], threads):
        yield from loaded


def ahead(function: Callable[[Item], Result], items: Sequence[Item], threads: int) -> Iterator[Result]:
    """Yield the results of a function, in order, the next ones being worked on meanwhile."""
    if threads < 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting = deque(pool.submit(function, item) for item in items[: threads + 1])
        for item in items[threads + 1 :]:
            result = waiting.popleft().result()
            waiting.append(pool.submit(function, item))
            yield result
        for future in waiting:
            yield future.result()


def batches_of(
    runs: Runs, size: int, rng: np.random.Generator | None, fill: float, features: int
) -> list[Batch]:
    """Sort traces by length, cut them into batches, and return those in random order.

    All batches are views of arrays that are filled in one go.
    """
    order = np.arange(len(runs)) if rng is None else rng.permutation(len(runs))
    order = order[np.argsort(_narrow(runs.lengths)[order], kind="stable")]
    if not len(order):
        return []
    starts = np.arange(0, len(order), size)
    counts = np.diff(starts, append=len(order))
    longest = runs.lengths[order[starts + counts - 1]]
    width = np.repeat(longest * features, counts)
    first = np.cumsum(width) - width
    data = np.empty(int(first[-1] + width[-1]), np.float32)
    mask = np.empty(len(data), np.bool_)
    pad(runs.buffer, runs.position, runs.lengths * features, order, first, width, fill, data, mask)
    lengths, identity = runs.lengths[order], runs.identity[order]
    numbers, codes = runs.numbers[order], runs.codes[order]
    turns = range(len(starts)) if rng is None else rng.permutation(len(starts)).tolist()
    batches = []
    for k in turns:
        rows = slice(int(starts[k]), int(starts[k] + counts[k]))
        points = slice(int(first[starts[k]]), int(first[starts[k]] + counts[k] * longest[k] * features))
        shape = (int(counts[k]), int(longest[k]), features)
        batches.append(Batch(data[points].reshape(shape), mask[points].reshape(shape), lengths[rows],
                             identity[rows], numbers[rows], codes[rows]))  # fmt: skip
    return batches


def _narrow(lengths: Index) -> NDArray[Any]:
    """Return lengths in the type that sorts fastest (NumPy sorts 16 bits by counting)."""
    return lengths.astype(np.uint16) if lengths.max(initial=0) < 1 << 16 else lengths
