"""A dataset on disk, opened: its sets, its parameters, the way back to the units of the trace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from borgtrace.datasets import scaling
from borgtrace.datasets.batches import Batch, batches, check_size
from borgtrace.datasets.formats import FORMATS, Part, Runs, joined
from borgtrace.datasets.meta import File, Meta, read

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
    meta
        What ``meta.json`` says.
    """

    path: Path
    meta: Meta

    def __getitem__(self, name: str) -> TraceSet:
        return TraceSet(self.path / name, self.meta, self.meta.files[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self.meta.files)

    def __len__(self) -> int:
        return len(self.meta.files)

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the series, in the order of the last axis."""
        return self.meta.names.features

    def inverse_transform(self, values: ArrayLike) -> NDArray[np.float64]:
        """Bring scaled values (last axis: features) back to the unit of the trace."""
        return scaling.inverse_transform(values, self.meta.scalings)


@dataclass(frozen=True, slots=True)
class TraceSet:
    """One set of a dataset.

    Attributes
    ----------
    path
        Folder of its files.
    meta
        What is known of the dataset.
    files
        The files, in order.
    """

    path: Path
    meta: Meta
    files: tuple[File, ...]

    def __len__(self) -> int:
        return sum(file.records for file in self.files)

    @property
    def paths(self) -> tuple[Path, ...]:
        """Paths of the files that hold traces."""
        return tuple(self.path / file.name for file in self.files if file.records)

    @property
    def width(self) -> int:
        """Number of series features."""
        return len(self.meta.names.features)

    def runs(self, path: Path, *, is_verified: bool = True) -> Runs:
        """Read one file for batches; what it returns is valid until this thread reads its next file."""
        return FORMATS[self.meta.format].read_runs(path, self.meta.names, is_verified=is_verified)

    def part(self, path: Path, *, is_verified: bool = True) -> Part:
        """Read (or map) one file."""
        return FORMATS[self.meta.format].read(path, self.meta.names, is_verified=is_verified)

    def load(self) -> Part:
        """Read all files into one part: flat values and offsets."""
        return joined([self.part(path) for path in self.paths], self.meta.names)

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
        check_size("size", size)
        return batches(self, size, seed=seed, epoch=epoch, fill=fill, threads=threads, is_verified=is_verified)

    def torch(self, **options: Any) -> TraceDataset:
        """Return a :class:`torch.utils.data.IterableDataset`; see :mod:`borgtrace.datasets.pytorch`."""
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
    return Dataset(Path(path), read(Path(path)))
