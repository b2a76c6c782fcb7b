"""Hand traces to PyTorch: iterated by files, shuffled per epoch and resumable, or by number."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch.utils.data import Dataset, IterableDataset, get_worker_info
from torch.utils.data._utils.collate import default_collate_fn_map

from borgtrace.datasets.batches import Batch, batch_of, batches_of, check_size
from borgtrace.datasets.formats.arrays import buffered, concatenated
from borgtrace.datasets.metadata import DatasetFile
from borgtrace.datasets.trace_files import TraceFiles
from borgtrace.errors import UsageError


class FileShare(NamedTuple):
    """The traces of a file that one worker takes: every `step`-th from the `first` on."""

    file: DatasetFile
    first: int
    step: int

    @property
    def size(self) -> int:
        """How many traces these are."""
        return len(range(self.first, self.file.records, self.step))


class TraceDataset(IterableDataset[Batch]):
    """Batches of a set as tensors, for ``DataLoader(dataset)``: the dataset makes the batches, the loader takes them.

    Each is a :class:`~borgtrace.datasets.batches.Batch` of tensors, also by name: ``batch["data"]``.

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
        Value where nothing was measured.

    Raises
    ------
    UsageError
        `batch_size` is below 1.

    Notes
    -----
    Each worker reads every n-th file; where there are fewer files than workers, every n-th trace of all
    files.  So an epoch yields each trace once.  Call :meth:`set_epoch` before each epoch for another order
    (workers that persist between epochs do not see it).

    To go on within an epoch, keep the number of batches that you have had and call :meth:`resume` with as many
    workers as before: the same batches follow.
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
        self.traces = traces
        self.batch_size = batch_size
        self.seed = seed
        self.buffer = buffer
        self.fill = fill
        self.epoch = 0
        self.done = 0

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of the next epoch, which begins at its beginning."""
        self.epoch = epoch
        self.done = 0

    def resume(self, epoch: int, batches: int) -> None:
        """Let the next iteration go on in an epoch, after so many batches of it.

        Parameters
        ----------
        epoch
            Which.
        batches
            How many of its batches are done, from all workers together.
        """
        self.epoch = epoch
        self.done = batches

    def state_dict(self, batches: int = 0) -> dict[str, int]:
        """Return what :meth:`load_state_dict` needs, `batches` after this iteration began."""
        return {"epoch": self.epoch, "batches": self.done + batches}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Go on where :meth:`state_dict` was called."""
        self.resume(state["epoch"], state["batches"])

    def __iter__(self) -> Iterator[Batch]:
        info = get_worker_info()
        worker = info.id if info else 0
        n_workers = info.num_workers if info else 1
        buffers_of_workers = [self._buffers_of(each, n_workers) for each in range(n_workers)]
        batches_of_workers = [self._count_batches(buffers) for buffers in buffers_of_workers]
        done, next_worker = count_dealt(batches_of_workers, self.done)
        # The loader asks its first worker first: it does the work of the one whose turn it was.
        own = (worker + next_worker) % n_workers
        to_skip = done[own]
        counts = batches_of_workers[own]
        for number, (shares, n_batches) in enumerate(
            zip(buffers_of_workers[own], counts, strict=True)
        ):
            if to_skip < n_batches:
                yield from self._batches(shares, own, number, to_skip)
            to_skip = max(to_skip - n_batches, 0)

    def _count_batches(self, buffers: list[list[FileShare]]) -> list[int]:
        """Return how many batches each buffer gives."""
        counts = []
        for shares in buffers:
            n_traces = sum(share.size for share in shares)
            counts.append(-(-n_traces // self.batch_size))
        return counts

    def _batches(
        self,
        shares: list[FileShare],
        worker: int,
        number: int,
        to_skip: int,
    ) -> Iterator[Batch]:
        """Yield the batches of one buffer but the first ones."""
        parts = []
        for share in shares:
            arrays = self.traces.arrays(self.traces.path / share.file.name)
            own = np.arange(share.first, share.file.records, share.step)
            parts.append(arrays.take(own))
        rng = None
        if self.seed is not None:
            # By the number of the buffer, so that an epoch can go on at any of them.
            rng = np.random.default_rng([self.seed, self.epoch, worker, number])
        traces = buffered(concatenated(parts, self.traces.metadata.names))
        batches = batches_of(traces, self.batch_size, rng, self.fill, self.traces.width)
        for batch in batches[to_skip:]:
            yield as_tensors(batch)

    def _buffers_of(self, worker: int, n_workers: int) -> list[list[FileShare]]:
        """Return what each buffer of a worker holds, from the numbers of traces in the files alone."""
        files = [file for file in self.traces.files if file.records]
        if self.seed is not None:
            order = np.random.default_rng([self.seed, self.epoch]).permutation(len(files))
            # Files are ordered alike in all workers, else two would read the same one.
            files = [files[k] for k in order]
        if len(files) >= n_workers:
            shares = [FileShare(file, 0, 1) for file in files[worker::n_workers]]
        else:
            # With fewer files than workers some would have nothing: each takes every n-th trace.
            shares = []
            n_seen = 0
            for file in files:
                # Counted over all files, so that also files with fewer traces than workers are shared out evenly.
                first = (worker - n_seen) % n_workers
                shares.append(FileShare(file, first, n_workers))
                n_seen += file.records
        buffers: list[list[FileShare]] = [[]]
        n_buffered = 0
        for share in shares:
            buffers[-1].append(share)
            n_buffered += share.size
            if n_buffered >= self.buffer:
                buffers.append([])
                n_buffered = 0
        return [buffer for buffer in buffers if buffer]


class TraceMap(Dataset[Batch]):
    """The traces of a set by number, for ``DataLoader(traces, 64, shuffle=True)``.

    Parameters
    ----------
    traces
        The set; it is read on the first access, and stays in memory.
    fill
        Value where nothing was measured.
    """

    def __init__(self, traces: TraceFiles, fill: float = 0.0) -> None:
        self.traces = traces
        self.fill = fill

    def __len__(self) -> int:
        return len(self.traces)

    def __getitem__(self, index: int) -> Batch:
        """Return a batch of one trace."""
        return only_batch(self.__getitems__([index]))

    def __getitems__(self, indices: Sequence[int]) -> list[Batch]:
        """Return one batch of some traces, in the order given; a ``DataLoader`` asks for it where it is there."""
        traces = self.traces.loaded.take(np.asarray(indices))
        # In a list: a loader puts together what it gets as one.
        return [as_tensors(batch_of(traces, self.fill))]

    @staticmethod
    def collate(batches: list[Batch]) -> Batch:
        """Return the one batch that a loader got, for its ``collate_fn``; the loader's own does the same."""
        return only_batch(batches)


def count_dealt(batches: list[list[int]], done: int) -> tuple[list[int], int]:
    """Return how many batches each worker gave among the first `done`, and whose turn it is: they take turns.

    Parameters
    ----------
    batches
        Batches of each buffer of each worker.
    done
        How many batches all workers gave together.
    """
    remaining = [sum(of_worker) for of_worker in batches]
    dealt = [0] * len(batches)
    done = min(done, sum(remaining))
    worker = 0
    while done:
        # A worker without batches misses its turn.
        if remaining[worker]:
            remaining[worker] -= 1
            dealt[worker] += 1
            done -= 1
        worker = (worker + 1) % len(batches)
    return dealt, worker


def as_tensors(batch: Batch) -> Batch:
    """Return a batch of tensors, which share the memory of the arrays where these lie in one piece."""
    return batch.map(lambda array: torch.from_numpy(np.ascontiguousarray(array)))


def only_batch(batches: list[Batch], **_: object) -> Batch:
    """Return the batch that a ``DataLoader`` took from a dataset: there is nothing left to put together.

    Parameters
    ----------
    batches
        What the loader took.

    Raises
    ------
    UsageError
        It took several, for its own ``batch_size`` counts batches of the dataset.
    """
    if len(batches) != 1:
        raise UsageError(
            "DataLoader batch_size",
            "counts whole batches of the dataset",
            expected="none",
            got=str(len(batches)),
            way_out=f"set it on the dataset: .torch(batch_size={len(batches)})",
        )
    return batches[0]


# The documented way to tell every loader how things of a type are put together.
default_collate_fn_map[Batch] = only_batch
