"""Traces for PyTorch: iterated by files, shuffled per epoch and resumable, or by number."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch.utils.data import Dataset, IterableDataset, get_worker_info

from borgtrace.datasets.batches import Batch, batch_of, batches_of, check_size
from borgtrace.datasets.formats.arrays import buffered, concatenated
from borgtrace.datasets.metadata import File
from borgtrace.datasets.trace_files import TraceFiles


class _Share(NamedTuple):
    """Traces of a file that a worker takes: every `step`-th from the `first` on."""

    file: File
    first: int
    step: int

    @property
    def size(self) -> int:
        return len(range(self.first, self.file.records, self.step))


class TraceDataset(IterableDataset[Batch]):
    """Batches of a set as tensors; use it with ``DataLoader(…, batch_size=None)``.

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

    To go on within an epoch, keep the number of batches that you have had and call :meth:`resume` with as many
    workers as before: what follows is what would have followed.
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
            How many of its batches were had, from all workers together.
        """
        self.epoch = epoch
        self.done = batches

    def state_dict(self, batches: int = 0) -> dict[str, int]:
        """Return what :meth:`load_state_dict` needs; `batches` were had since this iteration began."""
        return {"epoch": self.epoch, "batches": self.done + batches}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Go on from what :meth:`state_dict` said."""
        self.resume(state["epoch"], state["batches"])

    def __iter__(self) -> Iterator[Batch]:
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        plans = [self._plan(each, workers) for each in range(workers)]
        counts = [
            [-(-sum(share.size for share in part) // self.batch_size) for part in plan]
            for plan in plans
        ]
        done, following = _dealt(counts, self.done)
        # The loader asks its first worker first: it does the work of the one whose turn it was.
        own = (worker + following) % workers
        skipped = done[own]
        for number, (part, batches) in enumerate(zip(plans[own], counts[own], strict=True)):
            if skipped < batches:
                yield from self._batches(part, own, number, skipped)
            skipped = max(skipped - batches, 0)

    def _batches(
        self,
        part: list[_Share],
        worker: int,
        number: int,
        skipped: int,
    ) -> Iterator[Batch]:
        """Yield the batches of one buffer but the first ones."""
        whole = ((self.traces.arrays(self.traces.path / share.file.name), share) for share in part)
        read = [
            arrays.take(np.arange(share.first, share.file.records, share.step))
            for arrays, share in whole
        ]
        # By the number of the buffer, so that an epoch can go on at any of them.
        rng = (
            None
            if self.seed is None
            else np.random.default_rng(
                [
                    self.seed,
                    self.epoch,
                    worker,
                    number,
                ]
            )
        )
        joined = buffered(concatenated(read, self.traces.metadata.names))
        for batch in batches_of(
            joined,
            self.batch_size,
            rng,
            self.fill,
            self.traces.width,
        )[skipped:]:
            yield _tensors(batch)

    def _plan(self, worker: int, workers: int) -> list[list[_Share]]:
        """Return what each buffer of a worker holds, from the numbers of traces in the files alone."""
        files = [file for file in self.traces.files if file.records]
        if self.seed is not None:
            order = np.random.default_rng([self.seed, self.epoch]).permutation(len(files))
            # Files are ordered alike in all workers, else two would read the same one.
            files = [files[k] for k in order]
        # By file each worker reads only its own; with fewer files than workers some would have nothing.
        is_by_file = len(files) >= workers
        plan: list[list[_Share]] = [[]]
        seen = waiting = 0
        for file in files[worker::workers] if is_by_file else files:
            # Counted over all files, so that also files with fewer traces than workers are shared out evenly.
            share = (
                _Share(file, 0, 1)
                if is_by_file
                else _Share(file, (worker - seen) % workers, workers)
            )
            plan[-1].append(share)
            seen = seen + file.records
            waiting = waiting + share.size
            if waiting >= self.buffer:
                plan.append([])
                waiting = 0
        return [part for part in plan if part]


class TraceMap(Dataset[Batch]):
    """The traces of a set by number; use it with ``DataLoader(traces, 64, shuffle=True, collate_fn=traces.collate)``.

    Parameters
    ----------
    traces
        The set; it is read on the first access, and stays in memory.
    fill
        What stands where nothing was measured.
    """

    def __init__(self, traces: TraceFiles, fill: float = 0.0) -> None:
        self.traces = traces
        self.fill = fill

    def __len__(self) -> int:
        return len(self.traces)

    def __getitem__(self, index: int) -> Batch:
        """Return a batch of one trace."""
        return self.__getitems__([index])

    def __getitems__(self, indices: Sequence[int]) -> Batch:
        """Return a batch of some traces, in the order given; a ``DataLoader`` asks for it where it is there."""
        return _tensors(batch_of(self.traces.loaded.take(np.asarray(indices)), self.fill))

    @staticmethod
    def collate(batch: Batch) -> Batch:
        """Return a batch as it is: there is nothing left to put together."""
        return batch


def _dealt(batches: list[list[int]], done: int) -> tuple[list[int], int]:
    """Return how many batches each worker gave among the first `done`, and whose turn it is: they take turns.

    Parameters
    ----------
    batches
        Batches of each buffer of each worker.
    done
        How many were had.
    """
    left = [sum(each) for each in batches]
    given = [0] * len(batches)
    done = min(done, sum(left))
    worker = 0
    while done:
        # One that has no more is passed over.
        if left[worker]:
            left[worker] -= 1
            given[worker] += 1
            done -= 1
        worker = (worker + 1) % len(batches)
    return given, worker


def _tensors(batch: Batch) -> Batch:
    return batch.map(lambda array: torch.from_numpy(np.ascontiguousarray(array)))
