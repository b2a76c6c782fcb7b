"""A small LSTM, for those who have torch."""

from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from borgtrace.errors import EngineError
from borgtrace.forecast.forecasters import Forecaster
from borgtrace.forecast.series import HORIZONS, Examples
from borgtrace.kernels.arrays import Numbers

_UNITS, _EPOCHS, _BATCH = 32, 5, 512


class Recurrent(Forecaster):
    """An LSTM of 32 units over the last hour, which tells changes from the newest value in units of the deviation."""

    name = "lstm"
    about = "an LSTM of 32 units over the last hour"
    extra = "forecast"

    def fit(self, known: Examples, seed: int) -> None:
        """Minimize the squared error of what is known, with Adam."""
        torch = _torch()
        past, scale = _scaled(known)
        there = ~np.isnan(known.target)
        change = np.where(there, known.target - known.past[:, -1:], 0.0) / scale
        tensors = [torch.as_tensor(values, dtype=torch.float32) for values in (past, change, there)]
        # The program's own generator stays as it was.
        with threadpool_limits(1), torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.layers = torch.nn.ModuleList(
                [torch.nn.LSTM(1, _UNITS, batch_first=True), torch.nn.Linear(_UNITS, HORIZONS)]
            )
            optimizer = torch.optim.Adam(self.layers.parameters(), 3e-3)
            for _ in range(_EPOCHS):
                for rows in torch.randperm(len(known)).split(_BATCH):
                    x, y, use = (values[rows] for values in tensors)
                    loss = ((self._changes(x) - y) ** 2 * use).sum() / use.sum().clamp(min=1)
                    optimizer.zero_grad()
                    loss.backward()
                    torch.nn.utils.clip_grad_norm_(self.layers.parameters(), 1.0)
                    optimizer.step()

    def mean(self, seen: Examples) -> Numbers:
        """Add the change that the network tells."""
        torch = _torch()
        past, scale = _scaled(seen)
        with threadpool_limits(1), torch.no_grad():
            parts = [self._changes(x) for x in torch.as_tensor(past, dtype=torch.float32).split(_BATCH * 64)]
        changes = torch.cat(parts).numpy().astype(np.float64)
        return np.maximum(seen.past[:, -1:] + changes * scale, 0.0)

    def _changes(self, past: Any) -> Any:
        recurrent, head = self.layers
        return head(recurrent(past[:, :, None])[0][:, -1])


def _scaled(seen: Examples) -> tuple[Numbers, Numbers]:
    """Return the last hour, relative to the newest value and the deviation, and that deviation: (n, 1)."""
    scale = seen.past.std(axis=1, keepdims=True) + 1e-4
    return (seen.past - seen.past[:, -1:]) / scale, scale


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        raise EngineError("forecaster lstm", "needs torch", way_out="pip install 'borgtrace[forecast]'") from None
    return torch
