"""Do the estimators meet their target on smaller and larger machines?

Fig. 11 of Janus & Rzadca (SoCC'17): capacities from half to five times the largest machine of the trace, with and
without rebalancing.  Large machines hold more tasks, whose sum is closer to a Gaussian; on small ones some tasks fit
nowhere.

Reference: Janus & Rzadca, SoCC'17, Fig. 11.
"""

import pyarrow as pa

from borgtrace.colocation import Cell
from borgtrace.colocation.experiments._charts import overflow_lines, scale_of, titled
from borgtrace.colocation.experiments._outcomes import find, grid_experiment, paper_estimators, value
from borgtrace.recipe import NotApplicable
from borgtrace.recipe.charts import Chart, axis

CAPACITIES = (0.5, 0.8, 1.0, 2.0, 5.0)


def cells() -> list[Cell]:
    """Every estimator of the paper at every capacity, rebalanced and not."""
    return [Cell(e, capacity=c, is_rebalanced=r) for e in paper_estimators() for c in CAPACITIES for r in (False, True)]


def plot(result: pa.Table) -> Chart:
    """Draw q against the capacity, per estimator, without and with rebalancing."""
    rows = [
        row | {"rebalancing": "rebalanced" if row["is_rebalanced"] else "not rebalanced"}
        for row in find(result)
        if row["estimator"] in ("gpa", "average")
    ]
    ticks = {"values": list(CAPACITIES), "format": "~g"}
    capacity = axis("capacity", "capacity of every machine", scale={"type": "log", "nice": False}, axis=ticks)
    return titled(
        overflow_lines(rows, capacity, column="rebalancing"),
        "Overflow on machines of other capacities (Fig. 11)",
        scale_of(result),
    )


def spread(result: pa.Table, estimator: str, parameter: float) -> float:
    """Largest ÷ smallest q over the capacities.

    Parameters
    ----------
    result
        Outcomes of this experiment.
    estimator, parameter
        Which estimator.

    Raises
    ------
    NotApplicable
        At some capacity nothing overflowed.
    """
    rows = find(result, estimator=estimator, parameter=parameter, is_rebalanced=True)
    q = [row["q"] for row in rows]
    NotApplicable.unless(min(q) > 0, "no overflow at some capacity")
    return float(max(q) / min(q))


def worst_promise(result: pa.Table) -> float:
    """Return the largest q ÷ ρ of gpa at ρ ≥ .01 over the capacities."""
    rows = find(result, estimator="gpa", is_rebalanced=True)
    # Not at ρ = .001, where GPA misses its target by skewness (claim S1-gpa-0.001-q).
    return float(max(row["q"] / row["parameter"] for row in rows if row["parameter"] >= 0.01))


def small_to_large(result: pa.Table) -> float:
    """Return q of gpa .001 on small machines over that on large ones."""
    cell = {"estimator": "gpa", "parameter": 0.001, "is_rebalanced": True}
    small, large = (value(result, "q", capacity=capacity, **cell) for capacity in (0.5, 5.0))
    return small / max(large, 1e-12)


EXPERIMENT = grid_experiment(cells, plot, (worst_promise, small_to_large, spread), 340)
