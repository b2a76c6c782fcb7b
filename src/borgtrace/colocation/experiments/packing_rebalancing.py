"""Does filling up the last machine make overflows rarer?

Fig. 13 of Janus & Rzadca (SoCC'17): the same packings before and after rebalancing (first tasks of the other machines
move to the last one, round robin, until five moves have failed).

Reference: Janus & Rzadca, SoCC'17, Fig. 13.
"""

from typing import Any

import pyarrow as pa

from borgtrace.colocation import Cell
from borgtrace.colocation.experiments._answers import grouped, rows_where
from borgtrace.colocation.experiments._charts import WHISKERS, scale_of
from borgtrace.colocation.experiments._outcomes import grid_experiment, paper_estimators
from borgtrace.question.charts import Chart, Plot, axis, box, titled


def cells() -> list[Cell]:
    """Every estimator of the paper, rebalanced and not, with both packers."""
    packers = ("best-fit", "first-fit")
    return [
        Cell(e, packer=p, is_rebalanced=r)
        for e in paper_estimators()
        for p in packers
        for r in (False, True)
    ]


def falls(result: pa.Table) -> list[dict[str, Any]]:
    """Relative fall of q by rebalancing, one row per estimator, parameter, packer and instance with overflows."""
    falls = []
    # Paired by instance: the same packing before and after, so what differs between instances cancels.
    for way, pair in grouped(result, "estimator", "parameter", "packer", "instance"):
        plain, after = (rows_where(pair, is_rebalanced=state)[0]["q"] for state in (False, True))
        # Where nothing overflowed, nothing can fall.
        if plain > 0:
            falls.append(
                way
                | {"label": f"{way['estimator']} {way['parameter']:g}", "fall": 1 - after / plain}
            )
    return falls


def plot(result: pa.Table) -> Chart:
    """Draw the distribution of the relative fall over the instances."""
    rows = [row for row in falls(result) if row["packer"] == "best-fit"]
    x = axis("fall", "relative fall of q by rebalancing", axis={"format": "%"})
    chart = Plot(
        rows, x=x, y=axis("label", type="N"), color=axis("estimator", type="N", legend=None)
    )
    drawn = chart.add(box()).draw(width=500, height=None)
    return titled(
        drawn,
        "How much rebalancing lowers the overflow, Best Fit (Fig. 13)",
        scale_of(result),
        WHISKERS,
    )


EXPERIMENT = grid_experiment(cells, plot, 360)
