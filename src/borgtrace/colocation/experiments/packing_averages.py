"""What does it cost to see five-minute averages instead of single seconds?

Fig. 10 of Janus & Rzadca (SoCC'17): the same estimators, once fed with instantaneous samples and once with window
averages, always judged on instantaneous usage; all realizations seen, or the first 80 %.

Reference: Janus & Rzadca, SoCC'17, Fig. 10.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from borgtrace.colocation import Cell
from borgtrace.colocation.experiments._charts import overflow_chart
from borgtrace.colocation.experiments._outcomes import find, grid_experiment, outcome_table, paper_estimators, value
from borgtrace.colocation.experiments._scopes import PAPER, SHAPE
from borgtrace.colocation.instances import Data
from borgtrace.recipe import Claim, NotApplicable, from_source
from borgtrace.recipe.charts import Chart
from borgtrace.recipe.criteria import Criterion, between

RESULT = outcome_table("packing_averages")
SEEN = (0.8, 1.0)
DATA: tuple[Data, ...] = ("inst", "avg")


def cells() -> list[Cell]:
    """Every estimator of the paper, on both data, seeing all or most realizations."""
    return [Cell(e, data=d, clairvoyance=s) for e in paper_estimators() for d in DATA for s in SEEN]


def plot(result: pa.Table) -> Chart:
    """Draw m against q, with one shape for instantaneous data and one for averages."""
    return overflow_chart(find(result, clairvoyance=1.0), "Fig. 10: what the estimators saw", shape="data")


def gain(result: pa.Table, estimator: str) -> float:
    """Q from averages ÷ q from instantaneous data: geometric mean over the parameters with overflows in both.

    Parameters
    ----------
    result
        Outcomes of this experiment.
    estimator
        Name of the estimator.

    Raises
    ------
    NotApplicable
        No parameter has overflows in both.
    """
    rows = find(result, estimator=estimator, clairvoyance=1.0)
    q = {(row["parameter"], row["data"]): row["q"] for row in rows}
    # Where one of both never overflowed, a ratio says nothing but the number of draws.
    ratios = [q[p, "avg"] / q[p, "inst"] for p in {row["parameter"] for row in rows} if q[p, "avg"] and q[p, "inst"]]
    if not ratios:
        raise NotApplicable("no overflow from instantaneous data")
    # Geometric, because q spans powers of ten between the parameters.
    return float(np.exp(np.mean(np.log(ratios))))


def _claim_gain(estimator: str, statement: str, criterion: Criterion) -> Claim:
    return Claim(f"S1-avg-{estimator}", statement, criterion, lambda r: gain(r, estimator), scope=SHAPE)


def _claim_maximum(seen: float, averages: str, criterion: Criterion) -> Claim:
    return Claim(
        f"S1-avg-maximum-{seen:g}",
        f"q of the maximum of {averages}",
        criterion,
        lambda r: value(r, "q", estimator="percentile", parameter=100.0, data="avg", clairvoyance=seen),
        format=".1e",
    )


CLAIMS = from_source(
    "Janus & Rzadca, §5.3",
    _claim_gain("cantelli", "instantaneous data lower q of cantelli about 10 times", between(5, 20, "≈ 10")),
    _claim_gain("gpa", "instantaneous data lower q of gpa 2–3 times", between(1.5, 4.5, "2–3")),
    _claim_gain("average", "for average the data make no difference", between(0.8, 1.25, "1")),
    _claim_maximum(0.8, "80 % of the averages", between(6e-8, 1.5e-6, 3e-7)),
    _claim_maximum(1.0, "all averages", between(1e-5, 2.5e-4, 5e-5)),
    scope=PAPER,
)
EXPERIMENT = grid_experiment(RESULT, cells, plot, CLAIMS, 330)
