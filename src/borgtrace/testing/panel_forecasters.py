"""The contract of a forecaster that takes whole panels, on series that are made up."""

from __future__ import annotations

import copy

import numpy as np

from borgtrace.forecast import Panel, PanelForecaster
from borgtrace.forecast.board.protocol import HORIZON, QUANTILES, checked
from borgtrace.forecast.panel import AMOUNT, PERCENT
from borgtrace.forecast.registry import ForecasterKind, untrained
from borgtrace.kernels.arrays import Numbers
from borgtrace.testing.trial import Trials, same_bytes

_VMS = 6
_BINS = 700
_CUT = 604
_SEED = 1
_PANEL = "on a panel of a few series"


def takes_panels(forecaster: ForecasterKind) -> bool:
    """Return whether a forecaster, a class or an object, takes panels."""
    kind = forecaster if isinstance(forecaster, type) else type(forecaster)
    return issubclass(kind, PanelForecaster)


def check_panels(trials: Trials, forecaster: ForecasterKind) -> None:
    """Check what a forecaster says of panels: numbers, of every series, and the same ones again.

    Parameters
    ----------
    trials
        Gets what is wrong.
    forecaster
        A class, or an object that has learned nothing.
    """
    panel = made_panel()
    forecasts = _trained_and_asked(trials, forecaster, panel)
    again = _trained_and_asked(trials, forecaster, panel)
    if forecasts is None or again is None:
        return
    if not same_bytes(forecasts, again):
        trials.add("trained again on the same panel, it forecasts something else: use self.seed")


def _trained_and_asked(trials: Trials, forecaster: ForecasterKind, panel: Panel) -> Numbers | None:
    """Return what a new forecaster says of the window after a cut; None where it fails."""

    def answer() -> Numbers:
        new = untrained(forecaster)
        assert isinstance(new, PanelForecaster)
        object.__setattr__(new, "seed", _SEED)
        new.fit_panel(panel.before(_CUT), HORIZON, QUANTILES)
        # As a board asks what is frozen.
        asked = copy.deepcopy(new)
        forecasts = asked.predict_panel(panel.before(_CUT + HORIZON), HORIZON, QUANTILES)
        return checked(new.name, forecasts, panel.n_series)

    forecasts: Numbers | None = trials.call(_PANEL, answer)
    return forecasts


def made_panel() -> Panel:
    """Return series with a rhythm, gaps, zeros, a late start, an early end, and one without any value."""
    rng = np.random.default_rng(0)
    rhythm = 1 + 0.5 * np.sin(np.arange(_BINS) * 2 * np.pi / 288)
    percent = 30 * rhythm * rng.uniform(0.5, 1.5, (_VMS, _BINS))
    percent[0] = 0
    percent[1] = 7
    percent[2, :400] = np.nan
    percent[3, 500:] = np.nan
    percent[4] = np.nan
    percent[5, 100:150] = np.nan
    capacity = np.array([2400, 4800, 9600, 2400, 2400, 20_000])[:, None]
    values = np.stack([percent / 100 * capacity, percent], axis=1).reshape(2 * _VMS, _BINS)
    return Panel(
        values=values.astype(np.float32),
        partner=np.arange(2 * _VMS) ^ 1,
        measure=np.tile(np.array([AMOUNT, PERCENT], np.int8), _VMS),
        begin=1_376_314_800,
    )
