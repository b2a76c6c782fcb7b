"""Forecast by anchors: values that a series has had before, each with a probability that a network gives it.

*Anchors* of a series are its newest value, quantiles of its last hour, four hours, day and eight days, the same time of
earlier days, and its *analogs*: what followed the moments of its past that looked most like now, of which patterns of
three lengths are compared.  A pattern that repeats is so forecast from its repetition, whatever its period.

A small *network* sees the last four hours and the anchors, relative to the newest value, and gives each anchor a
probability for each bin ahead; the forecast is the mixture.  It has no unit, never leaves what a series has been
through, and puts exact atoms on 0 and on a level that stays.  The network minimizes the CRPS, each series in units of
its own changes: in units of the measure, a few large machines that switch together decide, and what is learned of them
is a dozen events that do not come again.  For the same reason its logits are pulled to those of no network: half of the
probability on analogs, half on all anchors alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from borgtrace.forecast.analogs import AnalogPattern, analogs, history_of
from borgtrace.forecast.forecasters import OwnForecaster, array_of_shape
from borgtrace.forecast.panel import AMOUNT, Panel, weights_of_series
from borgtrace.forecast.panel_forecaster import PanelForecaster
from borgtrace.forecast.series import DAY, HORIZONS
from borgtrace.kernels.arrays import Index, Numbers, Values
from borgtrace.learning.devices import import_torch, one_thread
from borgtrace.learning.mixture import (
    MixtureExamples,
    interpolation,
    knots,
    parameters_of,
    quantiles_of,
    restored_network,
    softmax,
    train,
)

PATTERNS = (
    (AnalogPattern(32, 1, fade=0.88, kept=32),),
    (AnalogPattern(32, 3, fade=0.93, kept=16), AnalogPattern(48, 6, fade=0.96, kept=16)),
)
"""In two groups, each of which gives `FROM_ANALOGS` anchors."""
RECENT = ((12, 5), (48, 7), (DAY, 9))
"""Last bins, and how many of their values, evenly spaced by size, are anchors."""
LONG = 8 * DAY
FROM_LONG, FROM_ANALOGS, SAME_TIME = 9, 11, 3
"""Anchors from eight days, from each group of analogs, and from the same time of earlier days."""
GROUP_SIZES = (
    1,
    *(size for _, size in RECENT),
    FROM_LONG,
    *[FROM_ANALOGS] * len(PATTERNS),
    SAME_TIME,
)
"""How many anchors are the newest value, of each recent time, of eight days, of each group of analogs, and of days."""
MEMBERS = 3
"""Networks, whose probabilities are averaged."""
EXAMPLES, MOMENTS = 90_000, 180
"""Learned from: series and moments drawn at random."""
ROWS = 2048
"""Series that are looked at a time: bounds the memory."""


def spaced(values: Values, number: int) -> Values:
    """Return values evenly spaced by size along the last axis, the least and the greatest among them."""
    places = np.linspace(0, values.shape[-1] - 1, number).round().astype(int)
    return np.sort(values, axis=-1)[..., places]


def anchors_ahead(history: Values, ends: Sequence[Index], steps: Index) -> Values:
    """Return the anchors that depend on the bin ahead: (series, steps, number)."""
    now = history.shape[1]
    rows = np.arange(len(history))[:, None, None]
    anchors = []
    for group in ends:
        # An analog that is nearer than the forecast reaches is continued with its period.
        period = (now - group)[:, None, :]
        later = group[:, None, :] + (steps[:, None] - 1) % period
        anchors.append(spaced(history[rows, later], FROM_ANALOGS))
    days = now - 1 + steps[:, None] - DAY * np.array([1, 2, 3, 7])
    days = np.maximum(np.where(days >= now, days - DAY, days), 0)
    same_time = history[:, days]
    anchors += [
        same_time[:, :, :1],
        same_time[:, :, :3].mean(axis=2, keepdims=True),
        same_time[:, :, 3:],
    ]
    return np.concatenate(anchors, axis=2)


def anchors_of_now(history: Values) -> Values:
    """Return the anchors that do not: the newest value, and quantiles of recent times; (series, number)."""
    anchors = [history[:, -1:]]
    for n_bins, number in RECENT:
        anchors.append(spaced(history[:, -n_bins:], number))
    every_eighth = history[:, ::-1][:, :LONG:8]
    return np.concatenate([*anchors, spaced(every_eighth, FROM_LONG)], axis=1)


def look(history: Values, steps: Index, horizon: int) -> tuple[Values, Values]:
    """Return what the network sees of series, and their anchors.

    Parameters
    ----------
    history
        float32 (series, bins), without gaps.
    steps
        Bins ahead whose anchors are returned, from 1 on.
    horizon
        How many bins are forecast.

    Returns
    -------
    float32 (series, inputs) and (series, steps, number)
        Inputs have no unit.
    """
    newest, least = history[:, -1:], history.min(axis=1, keepdims=True)
    reach = np.ptp(history, axis=1, keepdims=True) + np.float32(1e-9)
    day, recent = history[:, -DAY:], history[:, -48:]
    change = np.abs(np.diff(day, axis=1)).mean(axis=1, keepdims=True) + np.float32(2e-3) * reach
    ends, distances = [], []
    for group in PATTERNS:
        found = [analogs(history, pattern) for pattern in group]
        ends.append(np.concatenate([end for end, _ in found], axis=1))
        distances += [distance for _, distance in found]
    still = anchors_of_now(history)
    at_knots = anchors_ahead(history, ends, knots(horizon)).reshape(len(history), -1)
    half_hours = day.reshape(len(history), -1, 6)
    inputs = []
    for values in (recent, still, at_knots, half_hours.mean(axis=2)):
        inputs.append((values - newest) / reach)
        inputs.append(np.arcsinh((values - newest) / change))
    spreads = [
        np.ptp(half_hours, axis=2),
        recent.std(axis=1, keepdims=True),
        day.std(axis=1, keepdims=True),
    ]
    inputs += [spread / reach for spread in spreads]
    inputs += [(newest - least) / reach, (day == newest).mean(axis=1, keepdims=True)]
    for ratio in [change, *(distance.mean(axis=1, keepdims=True) for distance in distances)]:
        inputs.append(np.log(ratio / reach + 1e-6) / 3)
    moving = anchors_ahead(history, ends, steps)
    fixed = np.repeat(still[:, None], len(steps), axis=1)
    seen = np.concatenate(inputs, axis=1).clip(-8, 8)
    return seen.astype(np.float32), np.concatenate([fixed, moving], axis=2)


class Anchors(PanelForecaster, OwnForecaster):
    """A mixture of anchors, whose probabilities a small network gives."""

    name = "anchors"
    about = "values that the series has had, with probabilities by a network"
    needs = "torch"

    def fit_panel(self, panel: Panel, horizon: int, quantiles: Sequence[float]) -> None:
        """Train the members of the network, each from its own seed, on moments drawn at random."""
        examples = draw_examples(panel, horizon, np.random.default_rng(self.seed))
        seeds = range(self.seed, self.seed + MEMBERS)
        self.members = (
            []
            if examples is None
            else [train(examples, prior(), seed, self.device) for seed in seeds]
        )

    def predict_panel(self, panel: Panel, horizon: int, quantiles: Sequence[float]) -> Numbers:
        """Mix the anchors."""
        history = history_of(panel.values)
        forecast = np.empty((panel.n_series, horizon, len(quantiles)))
        for first in range(0, panel.n_series, ROWS):
            rows = slice(first, first + ROWS)
            seen, anchors = look(history[rows], np.arange(1, horizon + 1), horizon)
            learned = self.probabilities(seen, horizon)
            forecast[rows] = self.mix(rows, anchors, learned, quantiles)
        return forecast

    def mix(self, rows: slice, anchors: Values, learned: Values, levels: Sequence[float]) -> Values:
        """Return the quantiles of some rows, of whose anchors the members give the probabilities."""
        return quantiles_of(anchors, learned, levels)

    def probabilities(self, seen: Values, horizon: int) -> Values:
        """Return what the members give the anchors on average: (series, horizon, number)."""
        torch = import_torch("forecaster anchors")
        parts = torch.from_numpy(interpolation(np.arange(1, horizon + 1), horizon))
        total = np.zeros((len(seen), horizon, len(prior())), np.float32)
        with one_thread(), torch.no_grad():
            for member in self.members:
                total += softmax(member, prior(), torch.from_numpy(seen), parts)[0].numpy()
        return total / np.float32(len(self.members)) if self.members else total + prior()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the parameters of the members."""
        return {"members": np.array(len(self.members)), **parameters_of(self.members)}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over the parameters of the members, for the horizon of a back-test."""
        number = int(array_of_shape(arrays["members"], ()))
        if number not in (0, MEMBERS):
            raise ValueError(f"{number} networks in place of {MEMBERS}")
        seen, anchors = look(history_of(np.zeros((1, 1), np.float32)), knots(HORIZONS), HORIZONS)
        shape = seen.shape[1], anchors.shape[1] * anchors.shape[2]
        self.members = [restored_network(arrays, place, *shape) for place in range(number)]


def draw_examples(panel: Panel, horizon: int, rng: np.random.Generator) -> MixtureExamples | None:
    """Return moments of series, and a few of the bins that followed each; None where no series ever changes."""
    # Percent of a capacity moves as the amount does.
    teaches = (panel.measure == AMOUNT) | (panel.partner < 0)
    weight = np.zeros(panel.n_series, np.float32)
    weight[teaches] = weights_of_series(panel.values[teaches], horizon)
    last = panel.n_bins - horizon
    changing = np.flatnonzero(weight)
    if last < 1 or not len(changing):
        return None
    earliest = min(max(panel.first_origin, 4 * DAY), last)
    moments = np.unique(rng.integers(earliest, last, MOMENTS, endpoint=True))
    stride = max(1, horizon // 8)
    drawn = []
    for now in moments:
        chosen = rng.permutation(changing)[: EXAMPLES // len(moments)]
        steps = np.arange(1 + rng.integers(stride), horizon + 1, stride)
        for rows in np.split(chosen, range(ROWS, len(chosen), ROWS)):
            seen, anchors = look(history_of(panel.values[rows, :now]), steps, horizon)
            parts = np.repeat(interpolation(steps, horizon)[None], len(rows), axis=0)
            came = panel.values[rows][:, now + steps - 1]
            drawn.append((seen, anchors, parts, came, weight[rows]))
    return MixtureExamples(*(np.concatenate(column) for column in zip(*drawn, strict=True)))


def prior() -> Values:
    """Return what the network begins with: half the probability on analogs, the other half on all anchors."""
    analogs_alone = only_analogs()
    return 0.5 * analogs_alone + np.float32(0.5 / len(analogs_alone))


def only_analogs() -> Values:
    """Return equal probabilities of all analogs: (number,)."""
    n_now, n_analogs = sum(GROUP_SIZES[: len(RECENT) + 2]), len(PATTERNS) * FROM_ANALOGS
    probability = np.zeros(sum(GROUP_SIZES), np.float32)
    probability[n_now : n_now + n_analogs] = 1 / n_analogs
    return probability
