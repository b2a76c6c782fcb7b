"""How many observations of a task are enough?

Fig. 12 of Janus & Rzadca (SoCC'17): the estimators see the first .001 … 1 of the realizations and are judged on the
rest (on all at 1).  With 10,000 realizations, .01 are 100 observations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from borgtrace.colocation.experiments._charts import lines
from borgtrace.colocation.experiments._outcomes import find, outcome_table, packing, paper_estimators, summaries, value
from borgtrace.colocation.grid import Cell
from borgtrace.recipe import Claim, Recipe

if TYPE_CHECKING:
    import altair as alt

RESULT = outcome_table("packing_clairvoyance")
SEEN = (0.001, 0.01, 0.1, 0.3, 0.5, 0.8, 1.0)


def cells() -> list[Cell]:
    """Every estimator of the paper at every share of realizations seen."""
    return [Cell(e, clairvoyance=s) for e in paper_estimators() for s in SEEN]


def plot(result: pa.Table) -> alt.LayerChart:
    """Draw q against the share of realizations seen, per estimator."""
    rows = [row for row in summaries(result) if row["estimator"] in ("gpa", "cantelli", "average")]
    return lines(rows, "clairvoyance", "share of realizations seen").properties(title="Fig. 12")


def _loss(result: pa.Table, column: str) -> float:
    """Largest relative difference of gpa between .01 and 1, over its targets."""
    return max(
        abs(
            value(result, column, estimator="gpa", parameter=row["parameter"], clairvoyance=0.01)
            / max(row[column], 1e-12)
            - 1
        )
        for row in find(result, estimator="gpa", clairvoyance=1.0)
        if row["parameter"] >= 0.01
    )


CLAIMS = (
    Claim(
        "S1-observations-m",
        "100 observations give gpa the machines of all (difference)",
        "≈ 0",
        lambda r: _loss(r, "m"),
        lambda v: v <= 0.03,
        "Janus & Rzadca, §5.5",
    ),
    Claim(
        "S1-observations-q",
        "100 observations give gpa (ρ ≥ .01) the overflow of all (difference)",
        "≈ 0",
        lambda r: _loss(r, "q"),
        lambda v: v <= 0.5,
        "Janus & Rzadca, §5.5",
    ),
)

RECIPE = Recipe(
    "packing_clairvoyance",
    packing(cells, RESULT),
    plot,
    RESULT,
    CLAIMS,
    reads=("instance_usage", "tasks"),
    reference="Janus & Rzadca, SoCC'17, Fig. 12",
    order=350,
)
