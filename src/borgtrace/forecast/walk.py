"""Forecast along a trace, at the end of every slot: each forecast learns from what came before alone.

A forecaster that learns quickly is trained on each machine by itself, and again whenever the known hours have doubled:
first at two hours, then at four and so on.  None sees what comes after it; a month costs nine trainings.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

import numpy as np

from borgtrace.forecast.backtest import MIN_TARGETS
from borgtrace.forecast.forecasters import Autoregression, Persistence, Seasonal
from borgtrace.forecast.registry import FORECASTER_KINDS, ForecasterKind, untrained
from borgtrace.forecast.saved import SavedForecasters, load
from borgtrace.forecast.series import HORIZONS, PAST, SLOTS, UsageSeries, examples
from borgtrace.forecast.trained import TrainedForecaster, train
from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.store import Store

QUICK = (Persistence, Seasonal, Autoregression)
"""Ours that are trained along the way; the others of ours come from a file."""
MAX_EXAMPLES = 5_000
"""At most so many are learned from."""


class ForecastSpan(NamedTuple):
    """A forecaster, the first slot that it may forecast, and the slot after the last one."""

    begin: int
    end: int
    forecaster: TrainedForecaster


@dataclass(frozen=True)
class Walk:
    """A forecaster along the slots of a machine.

    Attributes
    ----------
    by
        A kind of forecaster, or the name of one that a package offers, which are trained along the way, or one that was
        trained before.
    begin
        Slot before which the latter forecasts nothing, for it was trained on what was there.

    Examples
    --------
    >>> task, slot = np.repeat(np.arange(5), 60), np.tile(np.arange(60), 5)
    >>> mean, deviation = Walk(Persistence)(task, slot, 0.1 * task)
    >>> mean.shape, int(np.isnan(mean[:60, 0]).sum()), float(mean[-1, -1])
    ((300, 12), 47, 0.4)
    """

    by: ForecasterKind | TrainedForecaster | str
    begin: int = 0

    def __call__(
        self,
        task: Index,
        slot: Index,
        usage: Numbers,
    ) -> tuple[Numbers, Numbers]:
        """Return means and deviations of the next slots after each sample: (n, HORIZONS), NaN without a forecast.

        Parameters
        ----------
        task, slot, usage
            Samples, sorted by task and slot.
        """
        series = UsageSeries(task * SLOTS + slot, usage)
        all_examples = examples(series, 0, series.end + HORIZONS, len(task), 0)
        place = np.searchsorted(series.key, all_examples.key)
        mean = np.full((len(task), HORIZONS), np.nan)
        deviation = np.full((len(task), HORIZONS), np.nan)
        for begin, end, forecaster in self.spans(series):
            is_inside = (all_examples.slot >= begin - 1) & (all_examples.slot < end - 1)
            inside = np.flatnonzero(is_inside)
            seen = all_examples.take(inside)
            forecasts = forecaster.forecast(seen)
            mean[place[inside]] = forecasts.mean
            deviation[place[inside]] = forecasts.deviation
        return mean, deviation

    def spans(self, series: UsageSeries) -> Iterator[ForecastSpan]:
        """Yield forecasters, each with the slots that it forecasts."""
        if isinstance(self.by, TrainedForecaster):
            yield ForecastSpan(self.begin, series.end + 1, self.by)
            return
        kind = FORECASTER_KINDS[self.by] if isinstance(self.by, str) else self.by
        for doublings in count():
            cut = 2**doublings * (PAST + HORIZONS)
            if cut > series.end:
                return
            known = examples(series, 0, cut, MAX_EXAMPLES, 0)
            if known.n_targets >= MIN_TARGETS:
                trained = train(untrained(kind), known)
                yield ForecastSpan(cut, 2 * cut, trained)


def walks(
    store: Store,
    resource: str,
    model: str,
) -> dict[str, Walk]:
    """Return the forecasters that can follow a trace, by name.

    Parameters
    ----------
    store
        What they will follow.
    resource
        ``"cpu"`` or ``"memory"``.
    model
        File of trained forecasters, which replace those of the same name; empty for none.
    """
    if not model:
        return walks_of(SavedForecasters(0, {}))
    return walks_of(load(model, store.digest, resource))


def walks_of(saved: SavedForecasters) -> dict[str, Walk]:
    """Return the forecasters that are trained along the way, and saved ones, by name."""
    followers = {kind.name: Walk(kind) for kind in QUICK}
    for name in FORECASTER_KINDS:
        if name in FORECASTER_KINDS.own:
            continue
        # What a package offers is imported when it is asked; a worker has not seen the user's files.
        is_of_file = name in FORECASTER_KINDS.named
        followers[name] = Walk(FORECASTER_KINDS[name] if is_of_file else name)
    for name, forecaster in saved.forecasters.items():
        followers[name] = Walk(forecaster, saved.begin)
    return followers
