"""Put traces of similar length into batches, so that little of a batch is padding."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from itertools import islice
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from borgtrace.datasets.formats.arrays import (
    COLLECTION_ID,
    FIRST_TIME,
    INSTANCE_INDEX,
    BufferedTraces,
    TraceArrays,
)
from borgtrace.datasets.padding import PaddedRows, pad
from borgtrace.errors import UsageError
from borgtrace.kernels.arrays import Flags, Index, Values

Item = TypeVar("Item")
Result = TypeVar("Result")


KEYS = (
    "data",
    "mask",
    "lengths",
    "collection_id",
    "instance_index",
    "first_time",
    "numbers",
    "codes",
)


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Some traces, padded to the longest of them: arrays of NumPy or, from :mod:`borgtrace.datasets.pytorch`, tensors.

    Attributes
    ----------
    data
        Scaled series, float32 (n, longest, features).
    mask
        bool of the same shape: True where a value was measured.
    lengths
        Points of each trace, int64 (n,).
    identity
        Job, task, length and start, int64 (n, 4): see :data:`borgtrace.datasets.formats.arrays.IDENTITY`.
    numbers
        Static numbers, float32 (n, numbers); NaN where unknown.
    codes
        Static words, int64 (n, words), as positions in ``metadata.names.words``; −1 where unknown.
    """

    data: Values
    mask: Flags
    lengths: Index
    identity: Index
    numbers: Values
    codes: Index

    @property
    def collection_id(self) -> Index:
        """Job of each trace, int64 (n,)."""
        return self.identity[:, COLLECTION_ID]

    @property
    def instance_index(self) -> Index:
        """Task within its job, int64 (n,)."""
        return self.identity[:, INSTANCE_INDEX]

    @property
    def first_time(self) -> Index:
        """Start of the first window, µs, int64 (n,)."""
        return self.identity[:, FIRST_TIME]

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, name: str) -> Any:
        """Return an array by its name: ``batch["data"]``."""
        return getattr(self, name)

    def keys(self) -> tuple[str, ...]:
        """Names of all arrays, so that ``dict(batch)`` has them."""
        return KEYS

    def map(self, function: Callable[[Any], Any]) -> Self:
        """Return the batch with each array turned into something else."""
        arrays = {field.name: getattr(self, field.name) for field in fields(self)}
        return type(self)(**{name: function(array) for name, array in arrays.items()})

    def to(self, *arguments: Any, **options: Any) -> Self:
        """Return the batch of tensors on another device, as ``Tensor.to`` does for one."""
        return self.map(lambda tensor: tensor.to(*arguments, **options))

    def pin_memory(self) -> Self:
        """Return the batch of tensors in memory that is copied fast to a GPU; a ``DataLoader`` calls it."""
        return self.map(lambda tensor: tensor.pin_memory())


def check_size(option: str, size: int) -> None:
    """Refuse a batch without a trace."""
    if size < 1:
        raise UsageError(
            option,
            "not a batch size",
            expected="at least 1",
            got=str(size),
        )


def ahead(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    threads: int,
) -> Iterator[Result]:
    """Yield the results of a function, in order, while threads work on the next ones.

    Parameters
    ----------
    function
        What to do with each item.
    items
        In the order of the results; each is asked for when the work on it is about to begin.
    threads
        How many work at a time; below 1 the caller's own thread works.
    """
    if threads < 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        # One more than threads: a worker that ends early finds its next item while the caller uses a result.
        remaining = iter(items)
        waiting = deque(pool.submit(function, item) for item in islice(remaining, threads + 1))
        for item in remaining:
            result = waiting.popleft().result()
            waiting.append(pool.submit(function, item))
            yield result
        for future in waiting:
            yield future.result()


def batches_of(
    traces: BufferedTraces,
    size: int,
    rng: np.random.Generator | None,
    fill: float,
    features: int,
) -> list[Batch]:
    """Sort traces by length, cut them into batches, and return those in random order.

    All batches are views of arrays that are filled in one go.

    Parameters
    ----------
    traces
        What to cut, as read from one file.
    size
        Traces in a batch; the last may be smaller.
    rng
        Shuffles traces of one length, and the batches; None keeps the order of lengths.
    fill
        Value where nothing was measured.
    features
        Values of a point.
    """
    n = len(traces)
    if not n:
        return []
    # The shuffle comes before the sort by length, which is stable: traces of one length change places.
    order = np.arange(n) if rng is None else rng.permutation(n)
    padded = pad(
        traces.buffer,
        traces.position,
        traces.lengths,
        traces.identity,
        order,
        size,
        features,
        fill,
    )
    numbers = rows_of(traces.numbers, padded.rows)
    codes = rows_of(traces.codes, padded.rows)
    batches = []
    for low in range(0, n, size):
        high = min(low + size, n)
        data = series_of_batch(padded, low, high, features)
        own_rows = slice(low, high)
        batch = Batch(
            data=data.values,
            mask=data.mask,
            lengths=padded.lengths[own_rows],
            identity=padded.identity[own_rows],
            numbers=numbers[own_rows],
            codes=codes[own_rows],
        )
        batches.append(batch)
    if rng is None:
        return batches
    # Batches, too: in order of length a model would see all short traces first.
    return [batches[k] for k in rng.permutation(len(batches)).tolist()]


def rows_of(table: NDArray[Any], rows: Index) -> NDArray[Any]:
    """Return rows of a table; those of one without columns are all alike, and nothing is copied."""
    return table[rows] if table.size else table


class BatchSeries(NamedTuple):
    """Series of a batch and which of their values were measured, as of :class:`Batch`."""

    values: Values
    mask: Flags


def series_of_batch(
    padded: PaddedRows,
    low: int,
    high: int,
    features: int,
) -> BatchSeries:
    """Return views of the series of some rows, from one row to before another, as a batch has them."""
    points = slice(int(padded.first[low]), int(padded.first[high]))
    # Rows are sorted by length: the last is the longest.
    shape = (high - low, int(padded.lengths[high - 1]), features)
    return BatchSeries(padded.values[points].reshape(shape), padded.mask[points].reshape(shape))


def batch_of(traces: TraceArrays, fill: float = 0.0) -> Batch:
    """Put all of some traces into one batch, in their order.

    Parameters
    ----------
    traces
        The traces.
    fill
        Value where nothing was measured.
    """
    lengths = np.diff(traces.offsets)
    # Row by row, the points that a trace has: in this order values and masks lie side by side.
    inside = np.arange(lengths.max(initial=0)) < lengths[:, np.newaxis]
    shape = (*inside.shape, traces.values.shape[1])
    data = np.full(shape, fill, np.float32)
    mask = np.zeros(shape, np.bool_)
    mask[inside] = traces.mask
    data[inside] = np.where(traces.mask, traces.values, np.float32(fill))
    return Batch(
        data=data,
        mask=mask,
        lengths=lengths,
        identity=traces.identity,
        numbers=traces.numbers,
        codes=traces.codes,
    )
