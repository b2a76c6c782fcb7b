"""Forecasts along a trace, for those who predict at the end of every slot: each learns from what came before alone.

A forecaster that learns quickly is trained on each machine for itself, and anew whenever the hours that are known have
doubled: first at two hours, then at four and so on.  None sees what comes after it; a month costs nine trainings.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import numpy as np

from borgtrace.forecast.backtest import LEAST, load
from borgtrace.forecast.forecasters import Autoregression, Forecaster, Persistence, Seasonal
from borgtrace.forecast.series import HORIZONS, PAST, SLOTS, Series, examples
from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.store import Store

QUICK = (Persistence, Seasonal, Autoregression)
"""Forecasters that are trained along the way; others come from a file."""
_EXAMPLES = 5_000
"""At most so many are learned from."""


@dataclass(frozen=True)
class Walk:
    """A forecaster along the slots of a machine.

    Attributes
    ----------
    by
        A kind of forecaster, which is trained along the way, or one that was trained before.
    begin
        Slot before which that one tells nothing, for it was trained on what was there.

    Examples
    --------
    >>> task, slot = np.repeat(np.arange(5), 60), np.tile(np.arange(60), 5)
    >>> mean, deviation = Walk(Persistence)(task, slot, 0.1 * task)
    >>> mean.shape, int(np.isnan(mean[:60, 0]).sum()), float(mean[-1, -1])
    ((300, 12), 47, 0.4)
    """

    by: type[Forecaster] | Forecaster
    begin: int = 0

    def __call__(
        self,
        task: Index,
        slot: Index,
        usage: Numbers,
    ) -> tuple[Numbers, Numbers]:
        """Return means and deviations of the next slots after each sample: (n, HORIZONS), NaN where nothing is told.

        Parameters
        ----------
        task, slot, usage
            Samples, sorted by task and slot.
        """
        series = Series(task * SLOTS + slot, usage)
        every = examples(
            series,
            0,
            series.end + HORIZONS,
            len(task),
            0,
        )
        place = np.searchsorted(series.key, every.key)
        told = np.full((2, len(task), HORIZONS), np.nan)
        for begin, end, forecaster in self._trained(series):
            now = np.flatnonzero((every.slot >= begin - 1) & (every.slot < end - 1))
            seen = every.take(now)
            told[:, place[now]] = forecaster.mean(seen), forecaster.deviation(seen)
        return told[0], told[1]

    def _trained(self, series: Series) -> Iterator[tuple[int, int, Forecaster]]:
        """Yield from which slot on, and before which, a forecaster tells what comes, and that forecaster."""
        if isinstance(self.by, Forecaster):
            yield self.begin, series.end + 1, self.by
            return
        for cut in (2**k * (PAST + HORIZONS) for k in count()):
            if cut > series.end:
                return
            known = examples(series, 0, cut, _EXAMPLES, 0)
            if known.n_targets >= LEAST:
                forecaster = self.by()
                forecaster.train(known, 0)
                yield cut, 2 * cut, forecaster


def walks(store: Store, resource: str, model: str) -> dict[str, Walk]:
    """Return the forecasters that can follow a trace, by name.

    Parameters
    ----------
    store
        What they will follow.
    resource
        ``"cpu"`` or ``"memory"``.
    model
        File of trained forecasters, which stand for those of the same name; empty for none.
    """
    begin, trained = load(model, store, resource) if model else (0, {})
    quick = {kind.name: Walk(kind) for kind in QUICK}
    return quick | {name: Walk(each, begin) for name, each in trained.items()}
