"""Where does a forecaster stand on a public board, scored to the letter of its protocol?

GIFT-Eval's configurations of Bitbrains: of each VM, CPU in MHz and in percent are two series on a grid of five minutes,
which takes the first reading of each bin. A forecaster learns from what came before the last tenth, once. Then it
forecasts window after window of four hours, from all that came before the window, as the quantiles 10 %, 20 %, …, 90 %.
All labels of all series and windows are pooled; missing ones do not count. CRPS is the mean of the weighted quantile
losses, Σ 2·|(y − ŷ)·(1[ŷ ≥ y] − q)| ÷ Σ|y|; MASE, MAE and sMAPE take the quantile 50 %. The unit of MASE is the mean
difference between days in the history of the series; labels without one drop out. Published results stand beside those
that were measured, as long as the files are those of the board.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import pyarrow as pa

from borgtrace.forecast.board.baselines import BASELINES
from borgtrace.forecast.board.boards import BOARDS, Board, PublishedRow
from borgtrace.forecast.board.file_set import read_file_set
from borgtrace.forecast.board.options import BoardOptions, forecaster_on_board, named_on_board
from borgtrace.forecast.board.protocol import BoardData, Judged, board_data, judge
from borgtrace.forecast.choice import forecaster_name
from borgtrace.forecast.panel_forecaster import PanelForecaster
from borgtrace.learning.devices import device_of
from borgtrace.notation.numbers import number
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    EngineTables,
    NotApplicable,
    Provenance,
    Result,
    Row,
    Scope,
    charts,
    equals,
)
from borgtrace.question.store_question import NamedCode, Report, StoreQuestion

MEASURED, PUBLISHED = "measured", "published"
FROZEN, ADAPTS = "frozen before the first window", "adapts to past windows"
_DIGITS = {"mase": 5, "crps": 6, "mae": 4, "smape": 6}
"""Decimals to which the baselines are published."""

ANSWER = Answer(
    grain="forecaster, measured or published",
    key=[Column("place", "int64", "rank", "Place by CRPS among the rows.")],
    columns=[
        Column("forecaster", "string", "id", "Forecaster."),
        Column("source", "string", "id", "measured, or published on the leaderboard."),
        Column("crps", "float64", "1", "Mean weighted sum of quantile losses."),
        Column(
            "mase",
            "float64",
            "1",
            "Mean absolute error in units of the seasonal one; NULL where no series has that.",
            nullable=True,
        ),
        Column(
            "mae",
            "float64",
            "1",
            "Mean absolute error, of MHz and percent together.",
            nullable=True,
        ),
        Column(
            "smape",
            "float64",
            "1",
            "Symmetric mean absolute percentage error, from 0 to 2.",
            nullable=True,
        ),
        Column(
            "learns",
            "string",
            "id",
            "What it learns from: frozen before the first window, or adapts to past windows.",
            nullable=True,
        ),
        Column(
            "rank",
            "int64",
            "rank",
            "Rank by CRPS among all 119 published results, of which some stand here.",
            nullable=True,
        ),
        Column("labels", "int64", "count", "Labels that count.", nullable=True),
        Column("fit_seconds", "float64", "s", "CPU time of learning.", nullable=True),
        Column("forecast_seconds", "float64", "s", "CPU time of all windows.", nullable=True),
    ],
    most_important=["forecaster", "source", "crps", "mase", "mae", "smape", "learns", "rank"],
)


def compute(data: BoardData, options: BoardOptions, report: Report) -> list[Row]:
    """Judge forecasters, and put the published results beside.

    Parameters
    ----------
    data
        Series and windows.
    options
        Board, forecasters, seed.
    report
        Called with the progress.

    Raises
    ------
    NotApplicable
        Where no label counts.
    """
    kinds = named_on_board(options)
    total = len(kinds) * len(data.origins)
    rows = []
    for n_before, (name, kind) in enumerate(kinds.items()):
        forecaster = forecaster_on_board(kind, options)

        def done(windows: int, n_windows: int, name: str = name, n_before: int = n_before) -> None:
            report(name, n_before * n_windows + windows, total)

        report(f"{name}: learns", n_before * len(data.origins), total)
        judged = judge(forecaster, data, done)
        NotApplicable.unless(judged.sums.total, "no label of the windows is known and above 0")
        rows.append(measured_row(name, forecaster, judged))
    board = BOARDS[options.board]
    if is_file_set_of(board, data, rows[0]["labels"]):
        rows += [published_row(row) for row in board.published]
    rows.sort(key=lambda row: (row["crps"], row["source"], row["forecaster"]))
    return [{"place": place, **row} for place, row in enumerate(rows, 1)]


def is_file_set_of(board: Board, data: BoardData, n_labels: int) -> bool:
    """Return whether data are those of a board, as far as its size, its clock and its labels tell."""
    found = (data.n_vms, data.panel.begin, data.panel.n_bins)
    has_labels = board.n_labels is None or board.n_labels == n_labels
    return has_labels and found == (board.n_vms, board.begin, board.n_bins)


def measured_row(name: str, forecaster: PanelForecaster, judged: Judged) -> Row:
    """Return the row of a forecaster that was judged here."""
    sums = judged.sums
    return {
        "forecaster": name,
        "source": MEASURED,
        "crps": sums.crps,
        "mase": None if math.isnan(sums.mase) else sums.mase,
        "mae": sums.mae,
        "smape": None if math.isnan(sums.smape) else sums.smape,
        "learns": ADAPTS if forecaster.adapts else FROZEN,
        "rank": None,
        "labels": sums.labels,
        "fit_seconds": judged.fit_seconds,
        "forecast_seconds": judged.forecast_seconds,
    }


def published_row(row: PublishedRow) -> Row:
    """Return the row of a result of the leaderboard."""
    return {
        "forecaster": row.model,
        "source": PUBLISHED,
        "crps": row.crps,
        "mase": row.mase,
        "mae": row.mae,
        "smape": row.smape,
        "learns": None,
        "rank": row.rank,
        "labels": None,
        "fit_seconds": None,
        "forecast_seconds": None,
    }


def standing(answer: pa.Table) -> str:
    """Return a sentence about each forecaster that was measured, the best one last.

    Parameters
    ----------
    answer
        Rows of this question.
    """
    rows = answer.to_pylist()
    published = [row for row in rows if row["source"] == PUBLISHED]
    sentences = []
    for row in reversed(rows):
        if row["source"] == PUBLISHED:
            continue
        mase = "" if row["mase"] is None else f", MASE {number(row['mase'])}"
        sentence = f"{row['forecaster']} ({row['learns']}): CRPS {number(row['crps'])}{mase}"
        if published:
            n_better = sum(other["crps"] < row["crps"] for other in published)
            sentence += f"; {n_better} of the {len(published)} published results here are better"
        sentences.append(f"{sentence}.")
    if not published:
        sentences.insert(0, "The files are not all of the board's: no published result compares.")
    return "\n".join(sentences)


def chart(answer: pa.Table) -> charts.Chart:
    """Draw CRPS and MASE of each forecaster, measured and published."""
    import altair as alt

    rows = answer.to_pylist()
    order = [row["forecaster"] for row in rows]
    base = charts.base(rows, height=None).encode(
        y=alt.Y("forecaster:N", title=None, sort=order),
        color=alt.Color("source:N", title=None),
        tooltip=charts.tooltips(rows, "forecaster", "source", "crps", "mase", "learns"),
    )
    errors = base.mark_point(filled=True, size=50)
    return alt.hconcat(
        errors.encode(x=alt.X("crps:Q", title="CRPS")),
        errors.encode(x=alt.X("mase:Q", title="MASE")),
    ).properties(title="Forecasters on a public board")


def published_digits(name: str) -> Callable[[pa.Table], int]:
    """Return what counts the metrics of a baseline that agree with the published ones to their last digit.

    Parameters
    ----------
    name
        Of the baseline.
    """

    def measure(answer: pa.Table) -> int:
        rows = {row["source"]: row for row in answer.to_pylist() if row["forecaster"] == name}
        NotApplicable.unless(MEASURED in rows, f"{name} was not judged")
        NotApplicable.unless(PUBLISHED in rows, "the files are not all of the board's")
        measured, published = rows[MEASURED], rows[PUBLISHED]
        return sum(
            measured[metric] is not None and round(measured[metric], digits) == published[metric]
            for metric, digits in _DIGITS.items()
        )

    return measure


_ANY_RUN = Scope(free=tuple(option.name for option in fields(BoardOptions)))
CLAIMS = [
    Claim(
        f"GIFT-{name}",
        statement=f"{name} has the published MASE, CRPS, MAE and sMAPE, to the last printed digit",
        source="GIFT-Eval (arXiv 2410.10393), leaderboard at 4fd98a9",
        scope=_ANY_RUN,
        measure=published_digits(name),
        criterion=equals(len(_DIGITS)),
    )
    for name in BASELINES
]


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardQuestion(StoreQuestion):
    """A question about the files of a board, which no store holds: ``compute(data, options, report)``."""

    options: type[Any] = BoardOptions
    code: NamedCode = field(default=named_on_board, compare=False)
    unit: str = "windows"

    def run(self, store: Any, engine: str | None = None, **parameters: Any) -> Result:
        """Answer the question about files.

        Parameters
        ----------
        store
            Path of the files; see :func:`~borgtrace.forecast.board.file_set.read_file_set`.
        engine
            Not used.
        parameters
            Fields of :class:`BoardOptions`.

        Raises
        ------
        UsageError
            For a parameter that there is not, a value out of range, or a store in place of files.
        SourceError
            The files hold something else.
        """
        values = self.with_defaults(parameters)
        options = self.parse_options(values)
        if options.device != "cpu":
            device_of(options.device)
        data = board_data(read_file_set(Path(store)), str(store))
        digest = hashlib.sha256(data.panel.values.tobytes()).hexdigest()
        origin = Provenance(store=str(store), digest=digest, generation="bitbrains", engine="numpy")
        names = tuple(forecaster_name(choice) for choice in values["forecasters"])
        return self.result(
            EngineTables({}, origin),
            {**values, "forecasters": names},
            lambda: self.compute(data, options, self.report),
            code=self.code(options),
        )


BOARD = BoardQuestion(
    name="forecast_board",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    sentence=standing,
    reference="GIFT-Eval (Aksu et al., arXiv 2410.10393); GWA-T-12 (Shen, van Beek, Iosup, CCGrid 2015)",
)
"""Scores on a board: ``BOARD.run(files, board=…, forecasters=…)``."""
