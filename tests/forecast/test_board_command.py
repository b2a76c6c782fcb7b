"""``borgtrace forecast --board``: published digits, published rows, and forecasters of users."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from borgtrace.cli.app import app
from borgtrace.forecast import BOARD, FORECAST
from borgtrace.forecast.board.answer import ADAPTS, FROZEN
from borgtrace.forecast.board.boards import FAST_STORAGE, RND
from borgtrace.testing import ContractError, check_forecaster
from tests.conftest import real_folder
from tests.extensions.own_code import write
from tests.forecast.board_files import BEGIN, made_readings, write_folder, write_parquet
from tests.forecast.test_board_protocol import Learning, Noting
from tests.forecast.test_forecast import cell

__all__ = ["cell"]

RUNNER = CliRunner()
OWN = '''"""Quantiles of the last day of each series."""

import numpy as np

from borgtrace.forecast import PanelForecaster


class LastDay(PanelForecaster):
    name = "last-day"
    about = "quantiles of the last day"

    def predict_panel(self, panel, horizon, quantiles):
        day = np.nan_to_num(panel.values[:, -288:])
        levels = np.quantile(day, quantiles, axis=1).T
        return np.repeat(levels[:, None, :], horizon, axis=1)


class Adapting(LastDay):
    name = "adapting"
    adapts = True
'''


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_parquet(tmp_path_factory.mktemp("board") / "made.parquet", made_readings(4, 700))


@pytest.mark.wide
def test_the_baselines_have_the_published_digits(trace: Path) -> None:
    """FORECAST.md: naive 1.09481, .892946, 173.2819, .374655; seasonal 1.13602, 1.210386, 346.4374, .476182."""
    folder = real_folder(trace, "bitbrains-1250")
    result = BOARD.run(folder / "bitbrains-1250.parquet")
    measured = {
        row["forecaster"]: row for row in result.table.to_pylist() if row["source"] == "measured"
    }
    digits = {"mase": 5, "crps": 6, "mae": 4, "smape": 6}
    rounded = {
        name: [round(row[metric], places) for metric, places in digits.items()]
        for name, row in measured.items()
    }
    assert rounded == {
        "naive": [1.09481, 0.892946, 173.2819, 0.374655],
        "seasonal-naive": [1.13602, 1.210386, 346.4374, 0.476182],
    }
    assert {row["labels"] for row in measured.values()} == {2_100_710}
    assert [finding.verdict for finding in result.findings] == ["holds", "holds"]
    published = [row for row in result.table.to_pylist() if row["source"] == "published"]
    assert [row["forecaster"] for row in published[:2]] == ["Toto-2.0-1B", "Toto-2.0-313m"]
    assert len(published) == len(FAST_STORAGE.published)


@pytest.mark.wide
def test_rnd_works_with_its_own_files(tmp_path: Path) -> None:
    """500 made VMs of the size and clock of rnd: its published rows stand beside, and other labels do not hold."""
    made = made_readings(500, 8640, every=144)
    files = write_parquet(tmp_path / "rnd.parquet", made)
    result = BOARD.run(files, board=RND.name)
    rows = result.table.to_pylist()
    published = [row["forecaster"] for row in rows if row["source"] == "published"]
    assert len(published) == len(RND.published)
    assert [row["crps"] for row in rows] == sorted(row["crps"] for row in rows)
    assert [row["place"] for row in rows] == list(range(1, len(rows) + 1))
    assert {finding.verdict for finding in result.findings} == {"does not hold"}
    # The same files are none of fast storage's.
    other = BOARD.run(files)
    assert {row["source"] for row in other.table.to_pylist()} == {"measured"}
    assert {finding.verdict for finding in other.findings} == {"not applicable"}


def test_other_files_have_no_published_rows(files: Path) -> None:
    result = BOARD.run(files, board=RND.name, forecasters=("naive",))
    (row,) = result.table.to_pylist()
    assert row["forecaster"] == "naive"
    assert row["learns"] == FROZEN
    # Two windows of 48 bins of eight series.
    assert row["labels"] == 2 * 48 * 8
    assert result.sentence == (
        "The files are not all of the board's: no published result compares.\n"
        f"naive (frozen before the first window): CRPS {row['crps']:.4g}, MASE {row['mase']:.4g}."
    )


def test_csv_and_parquet_score_the_same(files: Path, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "rnd", made_readings(4, 700))
    scores = [
        [(row["crps"], row["mase"]) for row in BOARD.run(place).table.to_pylist()]
        for place in (files, folder)
    ]
    assert scores[0] == scores[1]


def test_the_result_says_who_adapts(files: Path) -> None:
    adapting = Learning()
    adapting.adapts = True
    adapting.name = "adapting"
    rows = BOARD.run(files, forecasters=(Learning, adapting)).table.to_pylist()
    learns = {row["forecaster"]: row["learns"] for row in rows}
    assert learns == {"learning": FROZEN, "adapting": ADAPTS}


def test_a_forecaster_of_the_users_is_judged_by_name(files: Path, tmp_path: Path) -> None:
    own = write(tmp_path, "own_panels.py", OWN)
    line = ["forecast", str(files), "--board", RND.name, "--from", str(own), "--json"]
    done = RUNNER.invoke(app, line)
    assert done.exit_code == 0, done.stderr
    answer = json.loads(done.stdout)
    learns = {row["forecaster"]: row["learns"] for row in answer["rows"]}
    assert learns == {
        "naive": FROZEN,
        "seasonal-naive": FROZEN,
        "last-day": FROZEN,
        "adapting": ADAPTS,
    }
    assert answer["provenance"]["extensions"]["last-day"]["source"] == own.name
    assert answer["provenance"]["parameters"]["board"] == RND.name


def test_files_of_a_board_are_written(files: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    line = ["forecast", str(files), "--board", RND.name, "--out", str(out)]
    assert RUNNER.invoke(app, line).exit_code == 0
    names = {path.name for path in out.iterdir()}
    assert names == {
        "claims.csv",
        *(f"forecast_board.{ending}" for ending in ("csv", "parquet", "svg", "vl.json")),
    }


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["{files}", "--board", "bitbrains"],
            "--board: no such board: expected bitbrains_fast_storage/5T/short or bitbrains_rnd/5T/short, "
            "got bitbrains",
        ),
        (
            ["--board", RND.name],
            "STORE: no files named: expected with --board, those that the board is made of; name a folder of "
            "GWA-T-12, such as fastStorage/2013-8",
        ),
        (
            ["{files}", "--board", RND.name, "--forecaster", "naiv"],
            "--forecaster: no such forecaster: expected one of naive, seasonal-naive, persistence, seasonal, "
            "autoregression, boosting, lstm, mixture, anchors, adaptive-anchors, got naiv; did you mean naive? one "
            "of your own: name its file with --from",
        ),
        (
            ["{files}", "--board", RND.name, "--device", "cuda"],
            "--device: no forecaster here computes in PyTorch: expected lstm, anchors, adaptive-anchors, or one of "
            'yours with needs = "torch", got naive and seasonal-naive; leave out --device, or name such a forecaster',
        ),
    ],
)
def test_a_mistake_is_named(words: list[str], message: str, files: Path) -> None:
    done = RUNNER.invoke(app, ["forecast", *(word.format(files=files) for word in words)])
    assert done.exit_code == 2
    assert done.stderr == f"borgtrace: {message}\n"


def test_a_baseline_of_boards_is_named_where_there_is_none(cell: Path) -> None:
    done = RUNNER.invoke(app, ["forecast", str(cell), "--forecaster", "naive"])
    assert done.exit_code == 2
    assert "--forecaster: no such forecaster" in done.stderr


def test_one_that_takes_panels_is_judged_on_tasks_too(cell: Path) -> None:
    """Each example is a series: its newest value is that of persistence, a day before the hour that follows."""

    class Newest(Noting):
        name = "newest-of-panel"

        def predict_panel(self, panel, horizon, quantiles):  # type: ignore[no-untyped-def]
            assert panel.values.shape[1] == 288
            # The last hour and the hour a day before the next one are known, and nothing between.
            assert np.isnan(panel.values[:, 12:-12]).all()
            assert not np.isnan(panel.values[:, -12:]).any()
            shape = (panel.n_series, horizon, len(quantiles))
            return np.broadcast_to(panel.values[:, -1, None, None], shape)

    table = FORECAST.run(cell, forecasters=("persistence", Newest)).table.to_pylist()
    rmse: dict[str, list[float]] = {}
    for row in table:
        rmse.setdefault(row["forecaster"], []).append(row["rmse"])
    assert rmse["newest-of-panel"] == pytest.approx(rmse["persistence"], rel=1e-6)


def test_the_contract_of_one_that_takes_panels_is_checked() -> None:
    class Short(Noting):
        name = "short"

        def predict_panel(self, panel, horizon, quantiles):  # type: ignore[no-untyped-def]
            known = np.nanmean(panel.values, axis=1) if panel.n_bins > 288 else panel.values[:, -1]
            shape = (panel.n_series, horizon, len(quantiles))
            return np.broadcast_to(known[:, None, None], shape)

    with pytest.raises(ContractError) as error, pytest.warns(RuntimeWarning, match="empty slice"):
        check_forecaster(Short)
    assert str(error.value) == (
        "short: on a panel of a few series, what predict_panel returns: expected finite numbers, got 864 of "
        "5,184 that are NaN or infinite"
    )


def test_the_first_bin_of_rnd_is_its_own() -> None:
    """2013-06-30 22:00 UTC."""
    assert RND.begin == BEGIN == 1_372_629_600
