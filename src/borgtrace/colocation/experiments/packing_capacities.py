"""Do the estimators meet their target on smaller and larger machines?

Fig. 11 of Janus & Rzadca (SoCC'17): capacities from half to five times the largest machine of the trace, with and
without rebalancing.  Large machines hold more tasks, whose sum is closer to a Gaussian; on small ones some tasks fit
nowhere.

Reference: Janus & Rzadca, SoCC'17, Fig. 11.
"""

import pyarrow as pa

from borgtrace.colocation import Cell
from borgtrace.colocation.experiments._charts import overflow_lines, scale_of
from borgtrace.colocation.experiments._outcomes import find, grid_experiment, paper_estimators
from borgtrace.question.charts import Chart, axis, titled

CAPACITIES = (0.5, 0.8, 1.0, 2.0, 5.0)


def cells() -> list[Cell]:
    """Every estimator of the paper at every capacity, rebalanced and not."""
    return [
        Cell(e, capacity=c, is_rebalanced=r)
        for e in paper_estimators()
        for c in CAPACITIES
        for r in (False, True)
    ]


def plot(result: pa.Table) -> Chart:
    """Draw q against the capacity, per estimator, without and with rebalancing."""
    rows = [
        row | {"rebalancing": "rebalanced" if row["is_rebalanced"] else "not rebalanced"}
        for row in find(result)
        if row["estimator"] in ("gpa", "average")
    ]
    ticks = {"values": list(CAPACITIES), "format": "~g"}
    capacity = axis(
        "capacity", "capacity of every machine", scale={"type": "log", "nice": False}, axis=ticks
    )
    return titled(
        overflow_lines(rows, capacity, column="rebalancing"),
        "Overflow on machines of other capacities (Fig. 11)",
        scale_of(result),
    )


EXPERIMENT = grid_experiment(cells, plot, 340)
