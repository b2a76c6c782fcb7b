"""A dataset on disk, opened: its sets, its parameters, the way back to the units of the trace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from borgtrace.datasets import scaling
from borgtrace.datasets.batches import Batch, ahead, batches_of, check_size
from borgtrace.datasets.metadata import Metadata, read
from borgtrace.datasets.trace_files import TraceFiles
from borgtrace.storage import local

if TYPE_CHECKING:
    import tensorflow as tf

    from borgtrace.datasets.pytorch import TraceDataset


@dataclass(frozen=True, slots=True)
class Dataset(Mapping[str, "TraceSet"]):
    """A dataset: a mapping from ``"training"``, ``"validation"``, ``"testing"`` to sets.

    Attributes
    ----------
    path
        Its folder.
    metadata
        What ``meta.json`` says.
    """

    path: Path
    metadata: Metadata

    def __getitem__(self, name: str) -> TraceSet:
        return TraceSet(self.path / name, self.metadata, self.metadata.files[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self.metadata.files)

    def __len__(self) -> int:
        return len(self.metadata.files)

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the series, in the order of the last axis."""
        return self.metadata.names.series

    def inverse_transform(self, values: ArrayLike) -> NDArray[np.float64]:
        """Bring scaled values (last axis: features) back to the unit of the trace."""
        return scaling.inverse_transform(values, self.metadata.scalings)


class TraceSet(TraceFiles):
    """One set of a dataset: batches of its traces for NumPy, PyTorch and TensorFlow."""

    __slots__ = ()

    def batches(
        self,
        size: int = 256,
        *,
        seed: int | None = None,
        epoch: int = 0,
        fill: float = 0.0,
        threads: int = 2,
        is_verified: bool = False,
    ) -> Iterator[Batch]:
        """Yield length-bucketed batches: every trace once.

        Parameters
        ----------
        size
            Traces in a batch; the last of a file may be smaller.
        seed
            Shuffle files, traces within files and batches; None keeps the order of the files.
        epoch
            With `seed`: another epoch, another order.
        fill
            What stands where nothing was measured (padding and missing values).
        threads
            Files that are read ahead.
        is_verified
            Check the check sums of what is read (sizes are checked on opening).

        Raises
        ------
        UsageError
            `size` is below 1.
        """
        # Here and not in a generator, so that it is refused at the call and not at the first batch.
        check_size("size", size)

        def load(number: int) -> list[Batch]:
            # By the number of the file: its shuffle is the same whichever thread reads it, and when.
            rng = None if seed is None else np.random.default_rng([seed, epoch, number])
            read = self.buffered(self.paths[number], is_verified=is_verified)
            return batches_of(read, size, rng, fill, self.width)

        order = np.arange(len(self.paths))
        if seed is not None:
            order = np.random.default_rng([seed, epoch]).permutation(order)
        return chain.from_iterable(ahead(load, order.tolist(), threads))

    def torch(self, **options: Any) -> TraceDataset:
        """Return a :class:`torch.utils.data.IterableDataset`; see :mod:`borgtrace.datasets.pytorch`."""
        # Inside, because importing PyTorch or TensorFlow takes seconds, and neither is a dependency.
        from borgtrace.datasets.pytorch import TraceDataset

        return TraceDataset(self, **options)

    def tensorflow(self, **options: Any) -> tf.data.Dataset:
        """Return a :class:`tf.data.Dataset`; see :mod:`borgtrace.datasets.tensorflow`."""
        from borgtrace.datasets.tensorflow import dataset_of

        return dataset_of(self, **options)


def open(path: Path | str) -> Dataset:
    """Open a dataset that :func:`~borgtrace.datasets.build` has built.

    Raises
    ------
    StoreError
        There is none, or it is damaged or of another format version.
    """
    return Dataset(Path(path), read(local(path)))
