"""Traces that live on a device: flat values and offsets, from which padded batches are gathered by index."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from borgtrace.learning.devices import import_torch
from borgtrace.learning.examples import on_device
from borgtrace.learning.shuffling import shuffled


class PaddedTraces(NamedTuple):
    """Some traces as tensors, padded to the longest of them.

    Attributes
    ----------
    rows
        Which traces, int64 (n,).
    data, mask
        Values (n, longest, features), and whether each was measured.
    lengths
        Points of each, int64 (n,).
    """

    rows: Any
    data: Any
    mask: Any
    lengths: Any


class ResidentTraces:
    """Flat values and offsets of traces on a device.

    Parameters
    ----------
    values
        Series of all traces, float32 (points, features); NaN where nothing was measured.
    offsets
        Where each trace begins, and the number of points, (traces + 1,).
    device
        Where they are kept.
    fill
        Value of padding, and where nothing was measured.

    Examples
    --------
    ::

        traces = ResidentTraces(values, offsets, torch.device("cuda"))
        for batch in traces.batches(4096, seed=0):
            train(batch.data, batch.mask)
    """

    def __init__(
        self,
        values: NDArray[np.float32],
        offsets: NDArray[Any],
        device: Any,
        fill: float = 0.0,
    ) -> None:
        torch = import_torch("traces on a device")
        self.device = device
        self._fill = fill
        # One value more, so that a gather beyond the last trace finds something.
        self._values = on_device(np.concatenate([values, np.full_like(values[:1], np.nan)]), device)
        self._offsets = on_device(np.asarray(offsets, np.int64), device)
        self._lengths = self._offsets[1:] - self._offsets[:-1]
        longest = int(self._lengths.max()) if len(self) else 0
        self._steps = torch.arange(longest, device=device)

    def __len__(self) -> int:
        return len(self._lengths)

    @staticmethod
    def size_of(n_points: int, n_features: int, n_traces: int) -> int:
        """Return the bytes that so many traces take on a device."""
        return 4 * n_points * n_features + 16 * n_traces

    def gather(self, rows: Any, longest: int) -> PaddedTraces:
        """Return some traces.

        Parameters
        ----------
        rows
            Which, int64 on the device.
        longest
            Points of the longest of them: known to who sorts them, where asking the device would wait for it.
        """
        torch = import_torch("traces on a device")
        lengths = self._lengths[rows]
        steps = self._steps[:longest]
        is_inside = steps < lengths[:, None]
        # What lies beyond a trace belongs to the next one, and is replaced below.
        places = (self._offsets[rows][:, None] + steps).clamp(max=len(self._values) - 1)
        data = self._values[places]
        mask = is_inside[:, :, None] & ~data.isnan()
        return PaddedTraces(rows, torch.where(mask, data, self._fill), mask, lengths)

    def batches(
        self,
        size: int,
        *,
        seed: int | None = None,
        epoch: int = 0,
        buffer: int = 65_536,
    ) -> Iterator[PaddedTraces]:
        """Yield each trace once, in batches of traces of similar length.

        Parameters
        ----------
        size
            Traces of a batch.
        seed
            Shuffles traces and batches; None keeps the order of the set within each length.
        epoch
            With `seed`: another epoch, another order.
        buffer
            Traces that are sorted by length together; more of them leave less padding, and less chance.
        """
        torch = import_torch("traces on a device")
        if not len(self):
            return
        # On the CPU, so that all devices see the same order.
        generator = torch.Generator()
        if seed is None:
            order = torch.arange(len(self), device=self.device)
        else:
            key = hash_of(seed, epoch)
            generator.manual_seed(key)
            order = shuffled(len(self), key, self.device)
        for rows in order.split(buffer):
            by_length = rows[self._lengths[rows].argsort(stable=True)]
            parts = by_length.split(size)
            # One question to the device for a whole buffer: sorted, the last of a batch is its longest.
            longest = self._lengths[torch.stack([part[-1] for part in parts])].tolist()
            turns = range(len(parts))
            if seed is not None:
                turns = torch.randperm(len(parts), generator=generator).tolist()
            for turn in turns:
                yield self.gather(parts[turn], longest[turn])


def hash_of(seed: int, epoch: int) -> int:
    """Return a seed of 63 bits for an epoch of a seed.

    Examples
    --------
    >>> hash_of(0, 0) == hash_of(0, 1)
    False
    """
    return int(np.random.SeedSequence([seed, epoch]).generate_state(1, np.uint64)[0] >> 1)
