"""Open a dataset on disk: its sets, its parameters, and the conversion back to the units of the trace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from borgtrace.datasets import scaling
from borgtrace.datasets.batches import Batch, ahead, batch_of, batches_of, check_size
from borgtrace.datasets.metadata import Metadata, read
from borgtrace.datasets.trace_files import TraceFiles
from borgtrace.engine.frames import import_pandas
from borgtrace.errors import BorgtraceError, UsageError, did_you_mean
from borgtrace.kernels.runs import spans
from borgtrace.storage import OpenedFile, as_local_path, regular_files_in

if TYPE_CHECKING:
    import pandas as pd
    import tensorflow as tf

    from borgtrace.datasets.device_traces import DeviceTraces
    from borgtrace.datasets.pytorch import TraceDataset, TraceMap


RUN_BYTES = 4_000_000
"""Files that a thread reads before it hands on batches: to wake the caller for each took a tenth of an epoch."""


class _OpenedRun(NamedTuple):
    """Files that a thread reads one after the other.

    Attributes
    ----------
    numbers
        Of the files in their set.
    files
        Those that are open.
    closing
        Closes them.
    """

    numbers: Sequence[int]
    files: Sequence[OpenedFile | None]
    closing: ExitStack


class UnknownSetError(UsageError, KeyError):
    """A dataset has no set of this name; also a KeyError, as mappings raise it."""

    __str__ = BorgtraceError.__str__


@dataclass(frozen=True, slots=True)
class Dataset(Mapping[str, "TraceSet"]):
    """A dataset: a mapping from the names of its sets, such as ``"training"`` and ``"testing"``, to sets.

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
        if name not in self.metadata.files:
            raise UnknownSetError(
                str(self.path),
                "no such set",
                expected=" or ".join(self),
                got=name,
                way_out=did_you_mean(name, self),
            )
        return TraceSet(self.path / name, self.metadata, self.metadata.files[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self.metadata.files)

    def __len__(self) -> int:
        return len(self.metadata.files)

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the series, in the order of the last axis."""
        return self.metadata.names.series

    def datacite(self, *, creators: Sequence[str], publisher: str, year: int) -> dict[str, Any]:
        """Return what DataCite asks for when a dataset gets a DOI, in the terms of its metadata schema 4.

        Parameters
        ----------
        creators
            Who made it, as ``"Family, Given"``.
        publisher
            Who publishes it, such as ``"Zenodo"``.
        year
            When it is published.
        """
        from borgtrace.datasets.citation import datacite
        from borgtrace.schema.dialects import dialect

        trace_format = dialect(self.metadata.raw["store"]["generation"])
        return datacite(
            self.metadata, trace_format, creators=creators, publisher=publisher, year=year
        )

    def inverse_transform(self, values: ArrayLike) -> NDArray[np.float64]:
        """Bring scaled values (last axis: features) back to the unit of the trace."""
        return scaling.inverse_transform(values, self.metadata.scalings)


class TraceSet(TraceFiles):
    """One set of a dataset: its traces by number, and in batches for NumPy, PyTorch and TensorFlow.

    Examples
    --------
    ::

        training = datasets.open("traces")["training"]
        training[7].data[0]             # the points of one trace, (length, features)
        training[[3, 5, 8]]             # a batch of three, in this order
        training.to_numpy().data        # all traces, padded to the longest
        training.to_pandas()            # a row per point
    """

    def __getitem__(self, index: Any) -> Batch:
        """Return traces by number, as a batch in the order of `index`.

        The set is read on the first call, and stays in memory.

        Parameters
        ----------
        index
            A number, a slice, or an array of numbers; traces are numbered in the order of the files.

        Raises
        ------
        IndexError
            The set has no trace of this number.
        """
        numbers = np.atleast_1d(np.arange(len(self))[index])
        return batch_of(self.loaded.take(numbers))

    def to_numpy(self, *, fill: float = 0.0) -> Batch:
        """Return all traces as one batch, padded to the longest; see :meth:`load` for them without padding."""
        return batch_of(self.loaded, fill)

    def to_pandas(self) -> pd.DataFrame:
        """Return a frame with a row per point: job, task, number of the point, series, static features.

        Series are scaled as in the files, NaN where nothing was measured.
        """
        pandas = import_pandas()
        arrays = self.loaded
        names = self.metadata.names
        lengths = np.diff(arrays.offsets)
        columns: dict[str, Any] = arrays.columns(names)
        for (name, words), codes in zip(names.words.items(), arrays.codes.T, strict=True):
            # −1, an unknown word, takes the last entry.
            words_or_none = np.array((*words, None), object)
            columns[name] = words_or_none[codes]
        frame = pandas.DataFrame(
            {name: np.repeat(values, lengths) for name, values in columns.items()}
        )
        step = np.arange(arrays.offsets[-1]) - np.repeat(arrays.offsets[:-1], lengths)
        series = dict(zip(names.series, arrays.values.T, strict=True))
        return frame.assign(step=step, **series)

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
            Value where nothing was measured (padding and missing values).
        threads
            How many read files ahead, which pays where the caller works between batches; 0: the caller reads.
        is_verified
            Whether to verify the check sums of files (their sizes are checked on opening).

        Raises
        ------
        UsageError
            `size` is below 1.
        """
        # Here and not in a generator, so that it is refused at the call and not at the first batch.
        check_size("size", size)
        # Once: building the paths again for each file took three quarters of an epoch of 352 files.
        paths = self.paths
        regular_names = regular_files_in(self.path)

        def open_run(numbers: Sequence[int]) -> _OpenedRun:
            with ExitStack() as opened:
                files = []
                for number in numbers:
                    path = paths[number]
                    file = self.open_ahead(path, was_regular=path.name in regular_names)
                    files.append(opened.enter_context(file) if file else None)
                return _OpenedRun(numbers, files, opened.pop_all())

        def load(run: _OpenedRun) -> list[Batch]:
            batches: list[Batch] = []
            with run.closing:
                for number, file in zip(run.numbers, run.files, strict=True):
                    # By the number of the file: its shuffle is the same whichever thread reads it, and when.
                    rng = None if seed is None else np.random.default_rng([seed, epoch, number])
                    path = paths[number]
                    traces = self.buffered(path, is_verified=is_verified, opened=file)
                    batches += batches_of(traces, size, rng, fill, self.width)
            return batches

        order = np.arange(len(paths))
        if seed is not None:
            order = np.random.default_rng([seed, epoch]).permutation(order)
        sizes = np.array([file.size for file in self.files if file.records], np.int64)
        # One file at a time where nobody is woken: memory that is used again at once is still in the caches.
        most = RUN_BYTES if threads > 0 else 0
        runs = [order[first:last].tolist() for first, last in spans(sizes[order], most)]
        # By the caller, who mostly waits: threads that read meet at Python's lock with each call of the system.
        return chain.from_iterable(ahead(load, map(open_run, runs), threads))

    @overload
    def torch(self, *, device: None = None, **options: Any) -> TraceDataset: ...

    @overload
    def torch(self, *, device: str, **options: Any) -> DeviceTraces: ...

    def torch(self, *, device: str | None = None, **options: Any) -> TraceDataset | DeviceTraces:
        """Return a :class:`torch.utils.data.IterableDataset` of batches.

        Parameters
        ----------
        device
            ``"cuda"``, ``"mps"``, ``"cpu"`` or ``"auto"``: the traces live there and batches are gathered there, see
            :mod:`borgtrace.datasets.device_traces`.  None: they are read from the files, see
            :mod:`borgtrace.datasets.pytorch`.
        options
            Of the class that is returned.
        """
        # Imported here, because PyTorch and TensorFlow take seconds, and neither is a dependency.
        if device is not None:
            from borgtrace.datasets.device_traces import DeviceTraces

            return DeviceTraces(self, device=device, **options)
        from borgtrace.datasets.pytorch import TraceDataset

        return TraceDataset(self, **options)

    def torch_map(self, *, fill: float = 0.0) -> TraceMap:
        """Return a :class:`torch.utils.data.Dataset` by number; see :mod:`borgtrace.datasets.pytorch`."""
        from borgtrace.datasets.pytorch import TraceMap

        return TraceMap(self, fill)

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
    return Dataset(Path(path), read(as_local_path(path)))
