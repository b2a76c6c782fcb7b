"""Does filling up the last machine make overflows rarer?

Fig. 13 of Janus & Rzadca (SoCC'17): the same packings before and after rebalancing (first tasks of the other machines
move to the last one, round robin, until five moves have failed).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from borgtrace.colocation.experiments._outcomes import outcome_table, packing, paper_estimators
from borgtrace.colocation.grid import Cell
from borgtrace.recipe import Claim, NotApplicable, Recipe

if TYPE_CHECKING:
    import altair as alt

RESULT = outcome_table("packing_rebalancing")


def cells() -> list[Cell]:
    """Every estimator of the paper, rebalanced and not, with both packers."""
    return [
        Cell(e, packer=p, is_rebalanced=r)
        for e in paper_estimators()
        for p in ("best-fit", "first-fit")
        for r in (False, True)
    ]


def falls(result: pa.Table, estimator: str | None = None) -> list[dict[str, object]]:
    """Relative fall of q by rebalancing, one row per estimator, parameter, packer and instance with overflows."""
    plain: dict[tuple[str, float, str, int], float] = {}
    after: dict[tuple[str, float, str, int], float] = {}
    for row in result.to_pylist():
        key = (row["estimator"], row["parameter"], row["packer"], row["instance"])
        (after if row["is_rebalanced"] else plain)[key] = row["q"]
    return [
        {"label": f"{key[0]} {key[1]:g}", "estimator": key[0], "packer": key[2], "fall": 1 - after[key] / q}
        for key, q in plain.items()
        if q > 0 and (estimator is None or key[0] == estimator)
    ]


def plot(result: pa.Table) -> alt.Chart:
    """Draw the distribution of the relative fall over the instances."""
    import altair as alt

    rows = [row for row in falls(result) if row["packer"] == "best-fit"]
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_boxplot(extent="min-max")
        .encode(
            x=alt.X("fall:Q", title="relative fall of q by rebalancing", axis=alt.Axis(format="%")),
            y=alt.Y("label:N", title=None),
            color=alt.Color("estimator:N", legend=None),
        )
        .properties(width=420, title="Fig. 13")
    )


def mean_fall(result: pa.Table) -> float:
    """Mean relative fall over average and gpa, Best Fit."""
    found = [row["fall"] for name in ("average", "gpa") for row in falls(result, name) if row["packer"] == "best-fit"]
    if not found:
        raise NotApplicable("nothing overflowed")
    return float(np.mean(np.array(found, np.float64)))


CLAIMS = (
    Claim(
        "S1-rebalancing",
        "rebalancing lowers q of average and gpa by about 7 % (mean fall)",
        "≈ .07",
        mean_fall,
        lambda v: 0.04 <= v <= 0.09,
        "Janus & Rzadca, Fig. 13",
    ),
)

RECIPE = Recipe(
    "packing_rebalancing",
    packing(cells, RESULT),
    plot,
    RESULT,
    CLAIMS,
    reads=("instance_usage", "tasks"),
    reference="Janus & Rzadca, SoCC'17, Fig. 13",
    order=360,
)
