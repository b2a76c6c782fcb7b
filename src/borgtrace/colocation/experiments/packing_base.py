"""How many machines does each estimator need, and how often do they overflow?

Fig. 7, 8 and 9 of Janus & Rzadca (SoCC'17): random instances of 1,000 tasks, machines of capacity 1, all realizations
seen (O = E = R), First Fit and Best Fit, rebalanced. m is machines ÷ ⌈Σ mean usage⌉; q the share of (machine,
realization) pairs whose tasks exceed the machine. A task that fails the test alone is unplaceable: it is counted
separately, and left out of m's lower bound.

Reference: Janus & Rzadca, SoCC'17, Fig. 7–9.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from borgtrace.colocation import Cell
from borgtrace.colocation.experiments._charts import overflow_chart, spread_chart
from borgtrace.colocation.experiments._outcomes import find, grid_experiment, outcome_table, paper_estimators, value
from borgtrace.colocation.experiments._rows import grouped
from borgtrace.colocation.experiments._scopes import PAPER, SHAPE
from borgtrace.recipe import Claim, NotApplicable, from_source
from borgtrace.recipe.charts import Chart
from borgtrace.recipe.criteria import Criterion, at_least, at_most, between, equals, near

RESULT = outcome_table("packing_base")


def cells() -> list[Cell]:
    """Every estimator of the paper, with both packers."""
    return [Cell(e, packer=p) for e in paper_estimators() for p in ("best-fit", "first-fit")]


def plot(result: pa.Table) -> Chart:
    """Draw m against q, and the spread of both over the instances."""
    # Here, because only drawing needs it: what computes stays free of drawing libraries.
    import altair as alt

    best = find(result, packer="best-fit")
    spreads = alt.hconcat(
        spread_chart(result, "m", "machines ÷ lower bound (Fig. 8)"),
        spread_chart(result, "q", "overflow probability (Fig. 9)"),
    )
    return alt.vconcat(overflow_chart(best, "Fig. 7: Best Fit"), spreads).resolve_scale(color="independent")


def _best(result: pa.Table, column: str, estimator: str, parameter: float) -> float:
    return value(result, column, estimator=estimator, parameter=parameter, packer="best-fit")


def _of_a_thousand(result: pa.Table, column: str, estimator: str, parameter: float) -> float:
    # The published counts are of instances of 1,000 tasks; m, a ratio, compares at any size.
    if find(result)[0]["n_tasks"] != 1_000:
        raise NotApplicable("instances have fewer than 1,000 tasks")
    return _best(result, column, estimator, parameter)


def packer_difference(result: pa.Table) -> float:
    """Largest difference in machines between First Fit and Best Fit, over estimators and instances."""
    pairs = grouped(result, "estimator", "parameter", "instance")
    return float(max(np.ptp([row["m_abs"] for row in rows]) for _, rows in pairs))


def dominators(result: pa.Table) -> str:
    """Estimator that needs fewest machines *and* overflows least of all, or ``none``."""
    rows = find(result, packer="best-fit")
    for row in rows:
        if all(row["m"] <= other["m"] and row["q"] <= other["q"] for other in rows):
            return str(row["label"])
    return "none"


def linearity(result: pa.Table) -> float:
    """R² of log q against m over the estimators that overflowed at all.

    Raises
    ------
    NotApplicable
        Fewer than three did.
    """
    # The logarithm of a q of 0 is none.
    rows = [row for row in find(result, packer="best-fit") if row["q"] > 0]
    if len(rows) < 3:
        raise NotApplicable("fewer than three estimators overflowed")
    return float(np.corrcoef([row["m"] for row in rows], np.log([row["q"] for row in rows]))[0, 1] ** 2)


def _rare(result: pa.Table, estimator: str, parameter: float, published: float) -> float:
    """q, unless it is too rare for the number of draws to be seen."""
    row = find(result, estimator=estimator, parameter=parameter, packer="best-fit")[0]
    # With fewer than 3 expected, seeing none has a probability above 5 % (e⁻³), and refutes nothing.
    if row["q"] == 0 and published * row["trials"] < 3:
        raise NotApplicable(f"none seen in {row['trials']:.1e} draws, {published * row['trials']:.1f} expected")
    return float(row["q"])


def _claim_m(estimator: str, parameter: float, published: float) -> Claim:
    return Claim(
        f"S1-m-{estimator}-{parameter:g}",
        f"m of {estimator} {parameter:g}",
        near(published, relative=0.03),
        lambda r: _best(r, "m", estimator, parameter),
        source="Janus & Rzadca, §5.2 (arithmetic on its numbers)",
        kind="derived",
    )


def _claim_q(estimator: str, parameter: float, published: float) -> Claim:
    return Claim(
        f"S1-q-{estimator}-{parameter:g}",
        f"q of {estimator} {parameter:g}",
        between(published / 5, published * 5, published),
        lambda r: _rare(r, estimator, parameter, published),
        format=".1e",
    )


def _claim_machines(estimator: str, parameter: float, column: str, statement: str, criterion: Criterion) -> Claim:
    name = "av" if estimator == "average" else f"{estimator}-{parameter:g}"
    return Claim(f"S1-{name}-machines", statement, criterion, lambda r: _of_a_thousand(r, column, estimator, parameter))


CLAIMS = from_source(
    "Janus & Rzadca, §5.2",
    _claim_machines("average", 1.0, "m_abs", "average 1.0 packs 1,000 tasks into 28 machines", between(27, 29, 28.0)),
    _claim_machines("gpa", 0.1, "m_abs_median", "median machines of gpa 0.1", between(34, 36, 35.0)),
    _claim_machines("gpa", 0.001, "m_abs_median", "median machines of gpa 0.001", between(45.6, 48.4, 47.0)),
    *(_claim_m("gpa", rho, m) for rho, m in ((0.1, 1.25), (0.05, 1.34), (0.001, 1.68))),
    *(_claim_m("cantelli", b, m) for b, m in ((4.4, 4.95), (1.7, 2.52), (1.0, 1.90))),
    Claim(
        "S1-gpa-0.001-q",
        "gpa 0.001 overflows 60 % more often than promised",
        between(1.1e-3, 1.8e-3, "1.6e-3"),
        lambda r: _best(r, "q", "gpa", 0.001),
        format=".2e",
    ),
    *(_claim_q("cantelli", b, q) for b, q in ((1.7, 2e-6), (1.0, 3e-4))),
    *(_claim_q("percentile", p, q) for p, q in ((90.0, 7e-5), (95.0, 5e-6), (99.0, 2e-8))),
    Claim(
        "S1-ff-bf", "First Fit and Best Fit differ by at most one machine", at_most(1), packer_difference, scope=SHAPE
    ),
    Claim("S1-dominance", "no estimator is best in both m and q", equals("none"), dominators, scope=SHAPE),
    Claim(
        "S1-linear",
        "log q falls linearly with m (R²)",
        at_least(0.9, "linear"),
        linearity,
        source="Janus & Rzadca, Fig. 7",
        scope=SHAPE,
    ),
    scope=PAPER,
)
EXPERIMENT = grid_experiment(RESULT, cells, plot, CLAIMS, 320)
