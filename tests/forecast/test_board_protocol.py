"""The protocol of a board: its grid, its windows, and that no forecaster ever holds what came later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from borgtrace.errors import SourceError, UsageError
from borgtrace.forecast import BOARD, Panel, PanelForecaster
from borgtrace.forecast.adapters import from_function
from borgtrace.forecast.board.boards import BOARDS, FAST_STORAGE
from borgtrace.forecast.board.by_examples import ByExamples
from borgtrace.forecast.board.file_set import VmReadings
from borgtrace.forecast.board.protocol import (
    HORIZON,
    QUANTILES,
    BoardData,
    board_data,
    judge,
    number_of_windows,
)
from borgtrace.forecast.forecasters import Autoregression, Persistence
from borgtrace.kernels.arrays import Numbers
from tests.forecast.board_files import BEGIN, BIN, Reading, made_readings

NAN = float("nan")


def readings_of(rows: Sequence[Reading]) -> VmReadings:
    vm, seconds, mhz, percent = (np.array(column) for column in zip(*rows, strict=True))
    return VmReadings(
        n_vms=int(vm.max()),
        vm=vm.astype(np.int64) - 1,
        seconds=seconds.astype(np.int64),
        mhz=mhz.astype(np.float32),
        percent=percent.astype(np.float32),
    )


def data_of(rows: Sequence[Reading]) -> BoardData:
    return board_data(readings_of(rows), "made")


@pytest.fixture(scope="module")
def data() -> BoardData:
    """Four VMs on 700 bins: two windows."""
    return data_of(made_readings(4, 700))


def test_there_are_as_many_windows_as_the_leaderboard_has() -> None:
    """ceil(864/48) of a month; at least one and at most twenty."""
    assert number_of_windows(8640) == 18
    assert number_of_windows(480) == 1
    assert number_of_windows(481) == 2
    assert number_of_windows(100_000) == 20


def test_the_windows_of_a_month_are_the_published_ones() -> None:
    """Training may use 7,776 bins; the first label of fast storage is 2013-09-08 13:40 UTC."""
    rows: list[Reading] = [(1, FAST_STORAGE.begin + number * BIN, 1, 1) for number in (0, 8639)]
    month = data_of(rows)
    assert month.panel.n_bins == 8640
    assert month.origins[0] == 7776
    assert np.diff(month.origins).tolist() == [48] * 17
    assert month.origins[-1] == 8640 - 48
    assert month.panel.begin + month.origins[0] * BIN == 1_378_647_600
    assert month.panel.begin == 1_376_314_800


def test_a_bin_takes_the_first_reading_in_it() -> None:
    """Not the mean, and of equal times the first of the file; a bin without a reading is missing."""
    end: Reading = (1, BEGIN + 399 * BIN, 5, 6)
    rows: list[Reading] = [
        (1, BEGIN + 100, 1, 10),
        (1, BEGIN + 100, 2, 20),
        (1, BEGIN + 299, 3, 30),
        (1, BEGIN + 600, 4, 40),
        end,
        (2, BEGIN + 300, 7, 70),
    ]
    values = data_of(rows).panel.values
    assert values.dtype == np.float32
    assert values[:, :3] == pytest.approx(
        np.array([[1, NAN, 4], [10, NAN, 40], [NAN, 7, NAN], [NAN, 70, NAN]]), nan_ok=True
    )


def test_rows_are_megahertz_and_percent_of_one_vm(data: BoardData) -> None:
    panel = data.panel
    assert panel.partner.tolist() == [1, 0, 3, 2, 5, 4, 7, 6]
    assert panel.measure.tolist() == [0, 1] * 4
    assert panel.values[0] == pytest.approx(24 * panel.values[1])


class Noting(PanelForecaster):
    """Notes what it gets."""

    name = "noting"
    about = "notes what it gets"

    def __init__(self) -> None:
        self.seen: list[Panel] = []

    def __deepcopy__(self, memo: object) -> Noting:
        # Its notes are taken together, whatever is copied.
        return self

    def fit_panel(self, panel: Panel, horizon: int, quantiles: Sequence[float]) -> None:
        self.seen.append(panel)

    def predict_panel(self, panel: Panel, horizon: int, quantiles: Sequence[float]) -> Numbers:
        self.seen.append(panel)
        assert (horizon, tuple(quantiles)) == (HORIZON, QUANTILES)
        return np.zeros((panel.n_series, horizon, len(quantiles)))


def test_a_forecaster_gets_copies_of_what_came_before_and_nothing_else(data: BoardData) -> None:
    forecaster = Noting()
    judge(forecaster, data)
    assert [panel.n_bins for panel in forecaster.seen] == [604, 604, 652]
    for panel in forecaster.seen:
        # A view would have a base, which holds the future.
        assert panel.values.base is None
        expected = data.panel.values[:, : panel.n_bins]
        assert np.array_equal(panel.values, expected, equal_nan=True)


def test_a_forecaster_that_writes_into_its_panel_changes_no_label(data: BoardData) -> None:
    class Wiping(Noting):
        name = "wiping"

        def predict_panel(self, panel: Panel, horizon: int, quantiles: Sequence[float]) -> Numbers:
            panel.values[:] = 0
            panel.partner[:] = 0
            return super().predict_panel(panel, horizon, quantiles)

    before = data.panel.values.copy()
    assert judge(Wiping(), data).sums.crps == judge(Noting(), data).sums.crps
    assert np.array_equal(before, data.panel.values)
    assert data.panel.partner.tolist() == [1, 0, 3, 2, 5, 4, 7, 6]


class Learning(PanelForecaster):
    """Forecasts what it has kept of all panels so far, the one that it learned from included."""

    name = "learning"
    about = "keeps everything"

    def __init__(self) -> None:
        self.kept: list[Numbers] = []
        self.forecasts: list[Numbers] = []

    def fit_panel(self, panel: Panel, horizon: int, quantiles: Sequence[float]) -> None:
        self.kept.append(np.nanmean(panel.values, axis=1))

    def predict_panel(self, panel: Panel, horizon: int, quantiles: Sequence[float]) -> Numbers:
        self.kept.append(np.nanmean(panel.values, axis=1))
        mean = np.mean(self.kept, axis=0)[:, None, None]
        return np.broadcast_to(mean, (panel.n_series, horizon, len(quantiles)))


@pytest.mark.parametrize("name", ["frozen", "adapting", "autoregression"])
def test_what_comes_later_changes_no_forecast(name: str, data: BoardData) -> None:
    """The first window scores the same whatever comes after it."""

    def forecaster() -> PanelForecaster:
        if name == "autoregression":
            return ByExamples(Autoregression(), 5000, 0, "cpu")
        new = Learning()
        new.adapts = name == "adapting"
        return new

    def first_window(values: Numbers) -> tuple[float, ...]:
        altered = replace(data.panel, values=values.astype(np.float32))
        # Only the first window is judged, of a panel that goes on.
        sums = judge(forecaster(), BoardData(altered, data.origins[:1])).sums
        return (sums.crps, sums.mase, sums.mae, sums.smape)

    later = data.panel.values.copy()
    later[:, data.origins[1] :] = 10_000 - later[:, data.origins[1] :]
    assert first_window(later) == first_window(data.panel.values)
    earlier = data.panel.values.copy()
    earlier[:, : data.origins[0]] *= 2
    assert first_window(earlier) != first_window(data.panel.values)


def test_only_what_adapts_keeps_what_it_saw_in_past_windows(data: BoardData) -> None:
    """Frozen, each window is asked of a copy of what was fitted: it knows the fit and its own window, two means."""
    frozen = Learning()
    judge(frozen, data)
    assert len(frozen.kept) == 1
    adapting = Learning()
    adapting.adapts = True
    judge(adapting, data)
    assert len(adapting.kept) == 3


def test_an_ordinary_forecaster_is_asked_for_48_bins_of_every_series(data: BoardData) -> None:
    """Persistence forecasts the newest value as its median, and quantiles around it."""
    forecaster = ByExamples(Persistence(), 5000, 0, "cpu")
    history = data.panel.before(604)
    forecaster.fit_panel(history, HORIZON, QUANTILES)
    forecasts = forecaster.predict_panel(data.panel.before(652), HORIZON, QUANTILES)
    assert forecasts.shape == (8, HORIZON, len(QUANTILES))
    newest = np.repeat(data.panel.values[:, 651:652], HORIZON, axis=1)
    assert forecasts[:, :, 4] == pytest.approx(newest, rel=1e-6)
    assert (np.diff(forecasts, axis=2) > 0).all()


def test_its_examples_lie_before_the_first_window_and_have_begun() -> None:
    """A VM that starts late has no example before its first reading."""
    seen: list[Numbers] = []

    class Watching(Persistence):
        def fit(self, train: object) -> None:
            seen.append(train.usage)  # type: ignore[attr-defined]
            seen.append(train.target)  # type: ignore[attr-defined]

    rows = [row for row in made_readings(2, 700) if row[0] == 1 or row[1] >= BEGIN + 500 * BIN]
    late = data_of(rows)
    forecaster = ByExamples(Watching(), 10**6, 0, "cpu")
    forecaster.fit_panel(late.panel.before(604), HORIZON, QUANTILES)
    usage, target = seen
    # Origins 288 … 556 of the first VM, 501 … 556 of the other, of which four fifths are learned from.
    assert len(usage) == (2 * (556 - 288 + 1) + 2 * (556 - 501 + 1)) * 4 // 5
    assert target.shape[1] == HORIZON
    assert usage.max() <= 1


def test_too_few_examples_are_named(data: BoardData) -> None:
    forecaster = ByExamples(Persistence(), 5, 0, "cpu")
    with pytest.raises(UsageError) as error:
        forecaster.fit_panel(data.panel.before(604), HORIZON, QUANTILES)
    assert str(error.value) == (
        "forecaster persistence: too few examples before the first window: expected 100 targets of each "
        "horizon, got 5; a longer file set, or more --examples"
    )


@pytest.mark.parametrize(
    ("forecasts", "expected", "got"),
    [
        (np.zeros((8, 48)), "numbers of shape (8, 48, 9)", "float64 of shape (8, 48)"),
        (
            np.full((8, 48, 9), [NAN, *range(8)]),
            "finite numbers",
            "384 of 3,456 that are NaN or infinite",
        ),
        (
            np.array("much"),
            "numbers of shape (8, 48, 9)",
            "<U4 of shape ()",
        ),
    ],
)
def test_what_are_no_forecasts_is_refused(
    forecasts: Numbers, expected: str, got: str, data: BoardData
) -> None:
    class Wrong(PanelForecaster):
        name = "wrong"
        about = "wrong"

        def predict_panel(self, panel: Panel, horizon: int, quantiles: Sequence[float]) -> Numbers:
            return forecasts

    with pytest.raises(UsageError) as error:
        judge(Wrong(), data)
    assert str(error.value) == (
        f"forecaster wrong: what predict_panel returns: expected {expected}, got {got}"
    )


def test_readings_that_are_too_short_are_named() -> None:
    """A day and a bin before one window: 337 bins."""
    assert data_of(made_readings(1, 337)).origins.tolist() == [289]
    with pytest.raises(SourceError) as error:
        data_of(made_readings(1, 336))
    assert str(error.value) == (
        "made: too short for a window: expected 337 bins of five minutes, got 336"
    )


def test_a_wrong_time_is_named_before_its_grid_takes_all_memory() -> None:
    rows: list[Reading] = [(1, 0, 1, 1), *made_readings(1, 400)]
    with pytest.raises(SourceError) as error:
        data_of(rows)
    assert str(error.value) == (
        "made: readings span 15,888 days: expected a year at most; look for a wrong time, such as 0"
    )


def test_each_board_has_both_baselines_among_its_published_rows() -> None:
    for board in BOARDS.values():
        names = [row.model for row in board.published]
        assert {"naive", "seasonal-naive"} <= set(names)
        assert len(set(names)) == len(names)


def test_a_function_is_judged_on_a_board(data: BoardData) -> None:
    """Of a function that returns the newest value, the median is the one of persistence."""
    newest = from_function("newest", lambda past, horizon, _: past.usage[:, -1:].repeat(horizon, 1))
    mine = judge(ByExamples(newest, 5000, 0, "cpu"), data).sums
    ours = judge(ByExamples(Persistence(), 5000, 0, "cpu"), data).sums
    assert mine.mae == ours.mae
    assert mine.crps == ours.crps


def test_the_question_names_its_own_options() -> None:
    with pytest.raises(UsageError) as error:
        BOARD.run("nowhere", forecasters=("naive",), folds=2)
    assert str(error.value) == (
        "forecast_board: no such parameter: expected one of board, forecasters, examples, seed, device, got folds"
    )
