"""Batches of a set on a device: its traces live there and are gathered by index, or stream where they do not fit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from torch.utils.data import IterableDataset

from borgtrace.datasets.batches import Batch, check_size
from borgtrace.datasets.pytorch import TraceDataset
from borgtrace.datasets.trace_files import TraceFiles
from borgtrace.learning.devices import device_of, fits
from borgtrace.learning.examples import on_device
from borgtrace.learning.resident_traces import ResidentTraces


class DeviceTraces(IterableDataset[Batch]):
    """Batches of a set as tensors on a device: ``for batch in training.torch(device="cuda", seed=0)``.

    Parameters
    ----------
    traces
        The set; where it fits on the device it is read on the first iteration, once.
    batch_size
        Traces in a batch.
    device
        ``"cuda"``, ``"cuda:1"``, ``"mps"``, ``"cpu"``, or ``"auto"``, the fastest that there is.
    seed
        Shuffle traces and batches; None keeps the order of the files.
    buffer
        Traces that are bucketed by length together.
    fill
        Value where nothing was measured.

    Raises
    ------
    UsageError
        `batch_size` is below 1, or there is no such device.

    Notes
    -----
    Every trace comes once in an epoch; call :meth:`set_epoch` before each for another order.  Use it without workers
    of a ``DataLoader``: there is nothing to read ahead.
    """

    def __init__(
        self,
        traces: TraceFiles,
        batch_size: int = 256,
        *,
        device: str,
        seed: int | None = None,
        buffer: int = 65_536,
        fill: float = 0.0,
    ) -> None:
        check_size("batch_size", batch_size)
        self.device = device_of(device, "device")
        self.batch_size = batch_size
        self.seed = seed
        self.buffer = buffer
        self.epoch = 0
        self._traces = traces
        self._fill = fill
        self._resident: ResidentBatches | None = None
        self._is_streaming = not fits(self.device, expected_bytes(traces))

    @property
    def is_resident(self) -> bool:
        """Whether the traces live on the device; where not, each batch is read and brought there."""
        self._load()
        return self._resident is not None

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of the next epoch."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[Batch]:
        self._load()
        if self._resident is None:
            yield from self._streamed()
            return
        series, statics = self._resident
        for padded in series.batches(
            self.batch_size,
            seed=self.seed,
            epoch=self.epoch,
            buffer=self.buffer,
        ):
            yield Batch(
                data=padded.data,
                mask=padded.mask,
                lengths=padded.lengths,
                identity=statics.identity[padded.rows],
                numbers=statics.numbers[padded.rows],
                codes=statics.codes[padded.rows],
            )

    def _load(self) -> None:
        """Bring the traces to the device, once, if they turn out to fit."""
        if self._is_streaming or self._resident is not None:
            return
        arrays = self._traces.load()
        statics = (arrays.identity, arrays.numbers, arrays.codes)
        n_bytes = (
            arrays.values.nbytes + arrays.offsets.nbytes + sum(part.nbytes for part in statics)
        )
        if not fits(self.device, n_bytes):
            self._is_streaming = True
            return
        series = ResidentTraces(arrays.values, arrays.offsets, self.device, self._fill)
        on_this = (on_device(part, self.device) for part in statics)
        self._resident = ResidentBatches(series, TraceStatics(*on_this))

    def _streamed(self) -> Iterator[Batch]:
        """Yield the batches of files, each brought to the device."""
        batches = TraceDataset(
            self._traces,
            self.batch_size,
            seed=self.seed,
            buffer=self.buffer,
            fill=self._fill,
        )
        batches.set_epoch(self.epoch)
        for batch in batches:
            yield batch.to(self.device)


class TraceStatics(NamedTuple):
    """What is known of each trace beside its series, as tensors: see :class:`~borgtrace.datasets.batches.Batch`."""

    identity: Any
    numbers: Any
    codes: Any


class ResidentBatches(NamedTuple):
    """All that lives on the device."""

    series: ResidentTraces
    statics: TraceStatics


def expected_bytes(traces: TraceFiles) -> int:
    """Return the bytes of the series of a set, about, without reading it: its share of the dataset's windows."""
    about = traces.metadata
    n_all = sum(about.counts.values())
    n_points = about.windows * len(traces) // max(n_all, 1)
    return ResidentTraces.size_of(n_points, traces.width, len(traces))
