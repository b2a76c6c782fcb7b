"""Examples that networks learn from, as arrays or as all windows of flat series: on a device where they fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from borgtrace.learning.devices import fits, import_torch
from borgtrace.learning.lstm import ExampleBatch

SMALLEST_SCALE = 1e-4
"""Added to the deviation of a past, of which changes are multiples."""


def on_device(array: NDArray[Any], device: Any) -> Any:
    """Return an array as a tensor on a device; on a CPU it shares the memory of the array where that can be written."""
    torch = import_torch("learning")
    return torch.as_tensor(array).to(device)


class ExampleArrays:
    """Examples as arrays: on the device where they fit, else brought there batch by batch.

    Parameters
    ----------
    past, changes, weights
        See :class:`~borgtrace.learning.lstm.ExampleBatch`; stored as float32.
    device
        Of training.

    Attributes
    ----------
    is_resident, place
        Whether they all lie on the device, and where they lie.
    """

    def __init__(
        self,
        past: NDArray[Any],
        changes: NDArray[Any],
        weights: NDArray[Any],
        device: Any,
    ) -> None:
        arrays = [np.asarray(values, np.float32) for values in (past, changes, weights)]
        self.device = device
        self.is_resident = fits(device, sum(array.nbytes for array in arrays))
        self.place = device if self.is_resident else "cpu"
        self._examples = ExampleBatch(*(on_device(array, self.place) for array in arrays))

    def __len__(self) -> int:
        return len(self._examples.past)

    def batch(self, rows: Any) -> ExampleBatch:
        """Return some examples on the device."""
        return ExampleBatch(*(part[rows].to(self.device) for part in self._examples))


class WindowTable:
    """All windows of series that lie one after the other: a past, and the changes that follow it.

    Only the flat values and where each window begins are kept, 4 and 4 or 8 bytes; windows overlap, so as arrays they
    would take twenty times as much.

    Parameters
    ----------
    values
        Series, one after the other, float32 (points,); NaN where nothing was measured.
    offsets
        Where each series begins, and the number of points: (series + 1,).
    past, horizons
        Points that are seen, and points that follow.
    device
        Where all of it is kept where it fits.

    Attributes
    ----------
    is_resident, place
        Whether the values lie on the device, and where they lie.
    n_bytes
        Memory of values and beginnings.
    """

    def __init__(
        self,
        values: NDArray[Any],
        offsets: NDArray[Any],
        *,
        past: int,
        horizons: int,
        device: Any,
    ) -> None:
        torch = import_torch("learning")
        self.device = device
        self._past = past
        starts = window_starts(offsets, past + horizons)
        flat = np.ascontiguousarray(values, np.float32)
        self.n_bytes = flat.nbytes + starts.nbytes
        self.is_resident = fits(device, self.n_bytes)
        self.place = device if self.is_resident else "cpu"
        self._values = on_device(flat, self.place)
        self._starts = on_device(starts, self.place)
        self._steps = torch.arange(past + horizons, device=self.place)

    def __len__(self) -> int:
        return len(self._starts)

    def batch(self, rows: Any) -> ExampleBatch:
        """Return some windows on the device: pasts relative to the newest value and in units of their deviation.

        A missing value of the past counts as the newest known mean of it; a missing target has weight 0.
        """
        torch = import_torch("learning")
        places = self._starts[rows].long()[:, None] + self._steps
        window = self._values[places].to(self.device)
        seen = window[:, : self._past]
        # A past without any value is all zeros, and its targets are no examples.
        mean = seen.nanmean(dim=1, keepdim=True).nan_to_num()
        seen = torch.where(seen.isnan(), mean, seen)
        newest = seen[:, -1:]
        scale = seen.std(dim=1, keepdim=True, correction=0) + SMALLEST_SCALE
        changes = (window[:, self._past :] - newest) / scale
        is_known = ~changes.isnan()
        return ExampleBatch((seen - newest) / scale, changes.nan_to_num(), is_known.float())


def window_starts(offsets: NDArray[Any], size: int) -> NDArray[Any]:
    """Return where each window of `size` points begins that lies within one series.

    Examples
    --------
    >>> window_starts(np.array([0, 4, 6, 9]), 3).tolist()
    [0, 1, 6]
    """
    kind = np.int32 if offsets[-1] < 1 << 31 else np.int64
    n_windows = np.maximum(np.diff(offsets) - size + 1, 0)
    within = np.arange(n_windows.sum(), dtype=kind)
    first = offsets[:-1] - (np.cumsum(n_windows) - n_windows)
    return within + np.repeat(first.astype(kind), n_windows)
