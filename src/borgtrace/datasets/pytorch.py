"""Traces for PyTorch: an iterable dataset that splits files among workers and shuffles per epoch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.utils.data import IterableDataset, get_worker_info

from borgtrace.datasets.batches import Batch, batch_of, file_order, read_ahead
from borgtrace.datasets.formats import Part, joined

if TYPE_CHECKING:
    from borgtrace.datasets.dataset import TraceSet

Item = dict[str, torch.Tensor]


class TraceDataset(IterableDataset[Item]):
    """Batches of a set as dictionaries of tensors; use it with ``DataLoader(…, batch_size=None)``.

    Keys: ``data``, ``mask`` (n, longest, features), ``lengths``, ``collection_id``, ``instance_index``,
    ``first_time`` (n,), ``numbers`` (n, static numbers), ``codes`` (n, static words).

    Parameters
    ----------
    traces
        The set.
    batch_size
        Traces in a batch.
    seed
        Shuffle files and, within a buffer, traces; None keeps the order of the files.
    buffer
        Traces that are shuffled, and then bucketed by length, together.
    fill
        What stands where nothing was measured.

    Notes
    -----
    Each worker reads every n-th file; where there are fewer files than workers, every n-th trace of all
    files.  So an epoch yields each trace once.  Call :meth:`set_epoch` before each epoch for another order
    (workers that persist between epochs do not see it).
    """

    def __init__(
        self, traces: TraceSet, batch_size: int = 256, *, seed: int | None = None, buffer: int = 65_536,
        fill: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__()
        self.traces, self.batch_size, self.seed = traces, batch_size, seed
        self.buffer, self.fill, self.epoch = buffer, fill, 0

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of the next epoch."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[Item]:
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        files = None if self.seed is None else np.random.default_rng([self.seed, self.epoch])
        rng = None if self.seed is None else np.random.default_rng([self.seed, self.epoch, worker])
        for part, own in self._buffers(file_order(self.traces.paths, files), worker, workers):
            order = own if rng is None else rng.permutation(own)
            lengths = np.diff(part.offsets)[order]
            order = order[np.argsort(lengths, kind="stable")]
            starts = np.arange(0, len(order), self.batch_size)
            for start in starts if rng is None else rng.permutation(starts):
                yield _item(batch_of(part, order[start : start + self.batch_size], self.fill))

    def _buffers(self, paths: list[Any], worker: int, workers: int) -> Iterator[tuple[Part, Any]]:
        """Yield buffers of traces and which of them are this worker's."""
        is_by_file = len(paths) >= workers
        own = paths[worker::workers] if is_by_file else paths
        waiting: list[Part] = []
        seen = 0
        for part in read_ahead(self.traces, own, 1, is_verified=False):
            waiting.append(part)
            if sum(map(len, waiting)) >= self.buffer:
                yield self._buffer(waiting, worker, workers, seen, is_by_file)
                seen += sum(map(len, waiting))
                waiting = []
        if waiting:
            yield self._buffer(waiting, worker, workers, seen, is_by_file)

    def _buffer(
        self, parts: list[Part], worker: int, workers: int, seen: int, is_by_file: bool
    ) -> tuple[Part, Any]:
        part = joined(parts, self.traces.meta.names)
        traces = np.arange(len(part))
        return part, traces if is_by_file else traces[(traces + seen) % workers == worker]


def _item(batch: Batch) -> Item:
    return {
        name: torch.from_numpy(np.ascontiguousarray(getattr(batch, name)))
        for name in (
            "data", "mask", "lengths", "collection_id", "instance_index", "first_time", "numbers", "codes",
        )
    }  # fmt: skip
