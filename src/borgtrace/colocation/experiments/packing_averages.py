"""What does it cost to see five-minute averages instead of single seconds?

Fig. 10 of Janus & Rzadca (SoCC'17): the same estimators, once fed with instantaneous samples and once with window
averages, always judged on instantaneous usage; all realizations seen, or the first 80 %.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from borgtrace.colocation.experiments._charts import m_q_chart
from borgtrace.colocation.experiments._outcomes import find, outcome_table, packing, paper_estimators, summaries, value
from borgtrace.colocation.grid import Cell
from borgtrace.colocation.instances import Data
from borgtrace.recipe import Claim, NotApplicable, Recipe

if TYPE_CHECKING:
    import altair as alt

RESULT = outcome_table("packing_averages")
SEEN = (0.8, 1.0)
DATA: tuple[Data, ...] = ("inst", "avg")


def cells() -> list[Cell]:
    """Every estimator of the paper, on both data, seeing all or most realizations."""
    return [Cell(e, data=d, clairvoyance=s) for e in paper_estimators() for d in DATA for s in SEEN]


def plot(result: pa.Table) -> alt.Chart:
    """Draw m against q, filled for instantaneous data and hollow for averages."""
    rows = [row for row in summaries(result) if row["clairvoyance"] == 1]
    return m_q_chart(rows, title="Fig. 10: what the estimators saw", shape="data:N")


def gain(result: pa.Table, estimator: str) -> float:
    """Q from averages ÷ q from instantaneous data: geometric mean over the parameters with overflows in both."""
    rows = find(result, estimator=estimator, clairvoyance=1.0)
    q = {(row["parameter"], row["data"]): row["q"] for row in rows}
    ratios = [q[p, "avg"] / q[p, "inst"] for p in {row["parameter"] for row in rows} if q[p, "avg"] and q[p, "inst"]]
    if not ratios:
        raise NotApplicable("no overflow from instantaneous data")
    return float(np.exp(np.mean(np.log(ratios))))


CLAIMS = (
    Claim(
        "S1-avg-cantelli",
        "instantaneous data lower q of cantelli about 10 times",
        "≈ 10",
        lambda r: gain(r, "cantelli"),
        lambda v: 5 <= v <= 20,
        "Janus & Rzadca, §5.3",
    ),
    Claim(
        "S1-avg-gpa",
        "instantaneous data lower q of gpa 2–3 times",
        "2–3",
        lambda r: gain(r, "gpa"),
        lambda v: 1.5 <= v <= 4.5,
        "Janus & Rzadca, §5.3",
    ),
    Claim(
        "S1-avg-average",
        "for average the data make no difference",
        "1",
        lambda r: gain(r, "average"),
        lambda v: 0.8 <= v <= 1.25,
        "Janus & Rzadca, §5.3",
    ),
    Claim(
        "S1-avg-maximum-0.8",
        "q of the maximum of 80 % of the averages, within a factor of 5",
        3e-7,
        lambda r: value(r, "q", estimator="percentile", parameter=100.0, data="avg", clairvoyance=0.8),
        lambda v: 6e-8 <= v <= 1.5e-6,
        "Janus & Rzadca, §5.3",
        ".1e",
    ),
    Claim(
        "S1-avg-maximum-1",
        "q of the maximum of all averages, within a factor of 5",
        5e-5,
        lambda r: value(r, "q", estimator="percentile", parameter=100.0, data="avg", clairvoyance=1.0),
        lambda v: 1e-5 <= v <= 2.5e-4,
        "Janus & Rzadca, §5.3",
        ".1e",
    ),
)

RECIPE = Recipe(
    "packing_averages",
    packing(cells, RESULT),
    plot,
    RESULT,
    CLAIMS,
    reads=("instance_usage", "tasks"),
    reference="Janus & Rzadca, SoCC'17, Fig. 10",
    order=330,
)
