"""The contract of a forecaster, on tasks that are made up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from borgtrace.forecast import Examples, Forecaster, Past, UsageSeries, examples
from borgtrace.forecast.registry import (
    FORECASTER_KINDS,
    ForecasterKind,
    check_needs_no_arguments,
    is_forecaster,
    untrained,
)
from borgtrace.forecast.series import HORIZONS, SLOTS
from borgtrace.forecast.trained import LEVELS, TrainedForecaster, checked
from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.testing.panel_forecasters import check_panels, takes_panels
from borgtrace.testing.trial import Trials, check_words, same_bytes

_SLOTS = 80
_TASKS = 12
_CUT = 56
_SEED = 1
_ROUNDING = 1e-9
_FAR_FROM_USAGE = 20
"""Forecasts of so many times what tasks use are in another unit: percent, or cores."""
ORDINARY = "on a few tasks"


def check_forecaster(forecaster: ForecasterKind) -> None:
    """Check that a forecaster keeps its contract; this needs no store.

    It learns from any tasks, and forecasts finite numbers, or quantiles that ascend, of one row or many: of tasks that
    use nothing, never vary, or end.  It forecasts the same again, whatever it is asked between, and the same when it is
    trained again with its seed.  It does not look ahead, leaves its input as it is, prints nothing, and forecasts
    fractions of the largest machine.  One that takes panels forecasts every series of them, too.

    Parameters
    ----------
    forecaster
        An object that has learned nothing, or a class that needs no arguments.

    Raises
    ------
    ContractError
        An AssertionError with every failure at once, one sentence each.

    Examples
    --------
    >>> from borgtrace.forecast import FORECASTERS
    >>> check_forecaster(FORECASTERS["persistence"])
    """
    trials = Trials()
    check_words(trials, forecaster)
    _check_kind(trials, forecaster)
    if not trials.failures:
        ordinary, *others = tasks()
        trained = _check_tasks(trials, forecaster, *ordinary)
        alone = None if trained is None else forecast_first_slot(trials, trained, *ordinary)
        for where, usage in others:
            _check_tasks(trials, forecaster, where, usage)
        # Whatever is wrong of some tasks shows here, too.
        if not trials.failures and trained is not None and alone is not None:
            _check_order(trials, forecaster, trained, alone)
            _check_future(trials, trained)
        if not trials.failures and takes_panels(forecaster):
            check_panels(trials, forecaster)
    trials.raise_all(str(getattr(forecaster, "name", None) or forecaster))


def _check_kind(trials: Trials, forecaster: ForecasterKind) -> None:
    if not is_forecaster(forecaster):
        trials.add(f"it is not {FORECASTER_KINDS.wanted}")
        return
    missing = sorted(getattr(forecaster, "__abstractmethods__", ()))
    if missing:
        trials.add(f"it has no method {' and '.join(missing)}")
    elif isinstance(forecaster, type):
        trials.call("made without arguments", lambda: check_needs_no_arguments(forecaster))


def _check_tasks(
    trials: Trials, forecaster: ForecasterKind, where: str, usage: UsageSeries
) -> Forecaster | None:
    """Check what a forecaster learns and says of some tasks, and return it trained; None where that fails."""
    known, later = before_and_after(usage)
    trained = trained_on(trials, forecaster, where, known)
    if trained is None:
        return None
    rows = np.arange(len(later))
    for chosen in (rows[:1], rows[later.slot == later.slot[0]]):
        past = later.past_of(chosen)
        forecasts = forecast(trials, trained, where, past)
        again = forecast(trials, trained, where, past)
        if forecasts is None or again is None:
            return None
        if not same_bytes(forecasts, again):
            trials.add("it forecasts something else when it is asked again: use self.seed", where)
            return None
        if where == ORDINARY:
            _check_unit(trials, forecasts, past)
    return trained


def _check_unit(trials: Trials, forecasts: Numbers, past: Past) -> None:
    ratio = float(np.median(forecasts)) / float(np.median(past.usage))
    if not 1 / _FAR_FROM_USAGE < ratio < _FAR_FROM_USAGE:
        trials.add(
            f"it forecasts {ratio:.3g} times what tasks use: forecasts are fractions of the largest "
            "machine, as usage is"
        )


def _check_order(
    trials: Trials, forecaster: ForecasterKind, trained: Forecaster, alone: Numbers
) -> None:
    """Check that forecasts do not depend on what was asked or learned since, but on the seed."""
    ordinary, others, *_ = tasks()
    forecast_first_slot(trials, trained, *others)
    after_others = forecast_first_slot(trials, trained, *ordinary)
    if after_others is None:
        return
    if not same_bytes(alone, after_others):
        trials.add("what it forecasts depends on what it was asked before: keep no state")
        return
    # Meanwhile others of its class have learned from other tasks.
    where, usage = ordinary
    known, _ = before_and_after(usage)
    trained_again = trained_on(trials, forecaster, where, known)
    if trained_again is None:
        return
    retrained = forecast_first_slot(trials, trained_again, where, usage)
    if retrained is not None and not same_bytes(alone, retrained):
        trials.add(
            "trained again on the same tasks, it forecasts something else: use self.seed, and keep "
            "no state outside self"
        )


def _check_future(trials: Trials, trained: Forecaster) -> None:
    """Check that what comes later, in whatever row, changes no forecast."""
    (where, usage), *_ = tasks()
    _, later = before_and_after(usage)
    judged = TrainedForecaster(trained, np.ones(HORIZONS), 0.0)
    is_early = later.slot < _CUT + 3
    # Other tasks, with another level, take the place of what comes.
    shuffled = np.random.default_rng(0).permutation(np.flatnonzero(~is_early))
    altered = later.usage.copy()
    altered[~is_early] = 0.5 + 0.1 * later.usage[shuffled]
    other_future = replace(later, usage=altered)
    first: Numbers | None = trials.call(where, lambda: judged.forecast(later).mean)
    second: Numbers | None = trials.call(where, lambda: judged.forecast(other_future).mean)
    if first is None or second is None:
        return
    if not np.allclose(first[is_early], second[is_early], _ROUNDING, _ROUNDING):
        trials.add("it looks ahead: forecasts change with what comes later")


def trained_on(
    trials: Trials, forecaster: ForecasterKind, where: str, known: Examples
) -> Forecaster | None:
    """Return a new forecaster that learned from examples; None where that fails."""
    train = known.take(np.arange(len(known)))

    def fit() -> Forecaster:
        new = untrained(forecaster)
        object.__setattr__(new, "seed", _SEED)
        new.fit(train)
        return new

    inputs = [train.key, train.usage, train.day_before, train.target]
    trained: Forecaster | None = trials.call(where, fit, inputs)
    return trained


def forecast(trials: Trials, trained: Forecaster, where: str, past: Past) -> Numbers | None:
    """Return what a forecaster says of rows; None where that fails."""
    copied = past.copied()
    forecasts: Numbers | None = trials.call(
        where,
        lambda: checked(trained, trained.predict(copied, HORIZONS, LEVELS), len(copied)),
        [copied.key, copied.usage, copied.day_before],
    )
    return forecasts


def before_and_after(usage: UsageSeries) -> tuple[Examples, Examples]:
    """Return the examples before a cut, and those after it."""
    return (
        examples(usage, 0, _CUT, limit=10_000, seed=0),
        examples(usage, _CUT - 1, _SLOTS, limit=10_000, seed=0),
    )


def forecast_first_slot(
    trials: Trials, trained: Forecaster, where: str, usage: UsageSeries
) -> Numbers | None:
    """Return what a forecaster says at the end of the first slot after the cut; None where that fails."""
    _, later = before_and_after(usage)
    past = later.past_of(np.flatnonzero(later.slot == later.slot.min()))
    return forecast(trials, trained, where, past)


def tasks() -> Iterator[tuple[str, UsageSeries]]:
    """Yield usage of tasks, each with where a sentence says that something went wrong."""
    rng = np.random.default_rng(0)
    level = rng.uniform(0.02, 0.1, _TASKS)
    rhythm = 1 + 0.3 * np.sin(np.arange(_SLOTS) / 5)
    usage = level[:, None] * rhythm * rng.uniform(0.5, 1.5, (_TASKS, _SLOTS))
    yield ORDINARY, series_of(usage)
    yield "on tasks that use the whole machine", series_of(np.minimum(usage * 20, 1.0))
    yield "on tasks that never vary", series_of(np.repeat(level[:, None], _SLOTS, axis=1))
    yield "on tasks that use nothing", series_of(0 * usage)
    is_there = np.ones(usage.shape, bool)
    is_there[::2, 40:48] = False
    yield "on tasks of which some end", series_of(usage, is_there)
    yield "on a single task", series_of(usage[:1])


def series_of(usage: Numbers, is_there: Numbers | None = None) -> UsageSeries:
    """Return usage by task and slot as a series."""
    shown = np.ones(usage.shape, bool) if is_there is None else is_there
    task, slot = np.nonzero(shown)
    key: Index = task.astype(np.int64) * SLOTS + slot
    return UsageSeries(key, usage[task, slot])
