"""How many observations of a task are enough?

Fig. 12 of Janus & Rzadca (SoCC'17): the estimators see the first .001 … 1 of the realizations and are judged on the
rest (on all at 1).  With 10,000 realizations, .01 are 100 observations.

Reference: Janus & Rzadca, SoCC'17, Fig. 12.
"""

import pyarrow as pa

from borgtrace.colocation import Cell
from borgtrace.colocation.experiments._charts import overflow_lines, scale_of
from borgtrace.colocation.experiments._outcomes import find, grid_experiment, paper_estimators
from borgtrace.question.charts import Chart, log_axis, titled

SEEN = (0.001, 0.01, 0.1, 0.3, 0.5, 0.8, 1.0)


def cells() -> list[Cell]:
    """Every estimator of the paper at every share of realizations seen."""
    return [Cell(e, clairvoyance=s) for e in paper_estimators() for s in SEEN]


def plot(result: pa.Table) -> Chart:
    """Draw q against the share of realizations seen, per estimator."""
    rows = [row for row in find(result) if row["estimator"] in ("gpa", "cantelli", "average")]
    share = log_axis("clairvoyance", "share of the draws that the estimator saw", least=None)
    return titled(
        overflow_lines(rows, share), "Overflow with fewer observations (Fig. 12)", scale_of(result)
    )


EXPERIMENT = grid_experiment(cells, plot, 350)
