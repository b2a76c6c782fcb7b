"""Traces for PyTorch: an iterable dataset that splits files among workers and shuffles per epoch."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import IterableDataset, get_worker_info

from borgtrace.datasets.batches import Batch, batches_of, check_size
from borgtrace.datasets.formats.arrays import TraceArrays, buffered, concatenated
from borgtrace.datasets.trace_files import TraceFiles

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

    Raises
    ------
    UsageError
        `batch_size` is below 1.

    Notes
    -----
    Each worker reads every n-th file; where there are fewer files than workers, every n-th trace of all
    files.  So an epoch yields each trace once.  Call :meth:`set_epoch` before each epoch for another order
    (workers that persist between epochs do not see it).
    """

    def __init__(
        self,
        traces: TraceFiles,
        batch_size: int = 256,
        *,
        seed: int | None = None,
        buffer: int = 65_536,
        fill: float = 0.0,
    ) -> None:
        check_size("batch_size", batch_size)
        super().__init__()
        self.traces, self.batch_size, self.seed = traces, batch_size, seed
        self.buffer, self.fill, self.epoch = buffer, fill, 0

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of the next epoch."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[Item]:
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        paths = self.traces.paths
        order = list(range(len(paths)))
        if self.seed is not None:
            order = np.random.default_rng([self.seed, self.epoch]).permutation(len(paths)).tolist()
        # Files are ordered alike in all workers, else two would read the same one; what is shuffled inside differs.
        rng = None if self.seed is None else np.random.default_rng([self.seed, self.epoch, worker])
        for arrays in self._buffers([paths[k] for k in order], worker, workers):
            for batch in batches_of(buffered(arrays), self.batch_size, rng, self.fill, self.traces.width):
                yield _item(batch)

    def _buffers(self, paths: list[Path], worker: int, workers: int) -> Iterator[TraceArrays]:
        """Yield this worker's traces, a buffer at a time."""
        # By file each worker reads only its own; with fewer files than workers some would have nothing.
        is_by_file = len(paths) >= workers
        waiting: list[TraceArrays] = []
        seen = 0
        for arrays in map(self.traces.arrays, paths[worker::workers] if is_by_file else paths):
            own = np.arange(len(arrays))
            # Counted over all files, so that also files with fewer traces than workers are shared out evenly.
            waiting.append(arrays if is_by_file else arrays.take(own[(own + seen) % workers == worker]))
            seen += len(arrays)
            if sum(map(len, waiting)) >= self.buffer:
                yield concatenated(waiting, self.traces.metadata.names)
                waiting = []
        if waiting:
            yield concatenated(waiting, self.traces.metadata.names)


def _item(batch: Batch) -> Item:
    return {
        name: torch.from_numpy(np.ascontiguousarray(getattr(batch, name)))
        for name in ("data", "mask", "lengths", "collection_id", "instance_index", "first_time", "numbers", "codes")
    }
