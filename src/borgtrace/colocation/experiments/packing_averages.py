"""What does it cost to see five-minute averages instead of single seconds?

Fig. 10 of Janus & Rzadca (SoCC'17), in a panel per estimator and data: the same estimators, once fed with
instantaneous samples and once with window averages, always judged on instantaneous usage. The bin size multiplier e
says how far machines are filled, to .8 or all of their capacity; overflows are those of the whole machine.

Reference: Janus & Rzadca, SoCC'17, Fig. 10.
"""

import numpy as np
import pyarrow as pa

from borgtrace.colocation import Cell
from borgtrace.colocation.experiments._answers import Row, grouped
from borgtrace.colocation.experiments._charts import (
    ESTIMATOR_COLOURS,
    OVERFLOW,
    TIPS,
    overflow_marks,
    scale_of,
    with_floor,
)
from borgtrace.colocation.experiments._outcomes import find, grid_experiment, paper_estimators, rare
from borgtrace.colocation.instances import Data
from borgtrace.question.charts import (
    Chart,
    Plot,
    axis,
    line,
    palette,
    point,
    probability_axis,
    text,
    titled,
)

FILLS = (0.8, 1.0)
"""Bin size multipliers e of §5.3 that the paper gives numbers for."""
CLOSE = 2.5
"""Ratio of two q below which their labels would overlap."""
DATA: tuple[Data, ...] = ("inst", "avg")


def cells() -> list[Cell]:
    """Every estimator of the paper, on both data, filling machines to .8 or to all of their capacity."""
    return [Cell(e, data=d, fill=f) for e in paper_estimators() for d in DATA for f in FILLS]


def plot(result: pa.Table) -> Chart:
    """Draw q against e in a panel per estimator and data, with GPA's targets ρ."""
    shown = [row | _beside(row) for row in with_floor(find(result))]
    for _, ends in grouped([row for row in shown if row["end"]], "estimator", "data"):
        _join_close(ends)
    e = axis(
        "fill", "bin size multiplier (e)", type="O", axis={"labelAngle": 0}, scale={"padding": 1}
    )
    plot = Plot(shown, result, x=e, y=probability_axis("shown_q", OVERFLOW), detail="label")
    plot.add(line(strokeDash=[4, 3], color="#777"), y=probability_axis("rho", OVERFLOW))
    plot.add(line(), color=palette("estimator", ESTIMATOR_COLOURS))
    plot.add(
        point(35),
        color=palette("estimator", ESTIMATOR_COLOURS),
        shape=overflow_marks(shown),
        tips=TIPS,
    )
    plot.add(text(align="left", dx=7, fontSize=10), text="end").facet(
        row="data", column="estimator"
    )
    drawn = plot.draw(width=165, height=250)
    return titled(
        drawn,
        "Overflow from seconds and from averages of windows (Fig. 10)",
        scale_of(result),
        "dashed: the targets ρ of gpa",
    )


def _beside(row: Row) -> Row:
    """What a row shows besides: the target as a line, and the parameter where the line ends."""
    is_end = row["fill"] == max(FILLS)
    return {
        "rho": row["parameter"] if row["estimator"] == "gpa" else None,
        "end": f"{row['parameter']:g}" if is_end else "",
    }


def _join_close(ends: list[Row]) -> None:
    """Write parameters whose lines end at nearly one height behind each other, not on each other."""
    first: Row = {"shown_q": np.inf}
    for row in sorted(ends, key=lambda row: -float(row["shown_q"])):
        if first["shown_q"] > CLOSE * row["shown_q"]:
            first = row
        else:
            first["end"], row["end"] = f"{first['end']}, {row['end']}", ""


EXPERIMENT = grid_experiment(cells, plot, 330, (rare,))
