"""Which tasks does the colocation study use, and which were dropped?

The preparation of Janus & Rzadca (SoCC'17, §3.1), step by step, with how many of the tasks that remained each
step affected: failing tasks, tasks that never used CPU, short tasks; then a random sample of at most N. The
last rows count windows: left out because a value is missing, or corrected because their average was above 1.

Reference: Janus & Rzadca, SoCC'17, §3.1.
"""

from typing import Any

import pyarrow as pa

from borgtrace.colocation import Experiment, Options, Study
from borgtrace.colocation.experiment import POOL
from borgtrace.colocation.experiments._answers import RESULTS
from borgtrace.recipe import NotApplicable
from borgtrace.recipe.charts import Chart, Plot, added, axis, bar
from borgtrace.schema.arrow import arrow_schema


def compute(study: Study, options: Options) -> pa.Table:
    """Return what each step of the preparation touched."""
    steps = study.pool(options).steps
    rows = [
        {"step": rank, "name": step.name, "unit": step.unit, "n_touched": step.count, "n_before": step.of}
        for rank, step in enumerate(steps, 1)
    ]
    return pa.Table.from_pylist(rows, schema=arrow_schema(RESULTS["colocation_preparation"]))


def plot(result: pa.Table) -> Chart:
    """Draw the share that each step touched."""
    rows = added(result, share=lambda row: row["n_touched"] / max(row["n_before"], 1))
    title = "share of what was there before the step"
    x = axis("share", title, scale={"domain": [0, 1]}, axis={"format": "%"})
    chart = Plot(rows, result, x=x, y=axis("name", order="data", axis={"labelLimit": 380}), color="unit")
    return chart.add(bar()).draw("Preparation of the tasks")


def touched(result: pa.Table, start: str) -> int:
    """Return how many tasks or windows a step touched."""
    return int(_step(result, start)["n_touched"])


def _step(result: pa.Table, start: str) -> dict[str, Any]:
    for row in result.to_pylist():
        # By the start: the ends of some steps hold numbers, and a pool from a file may have none of them.
        if row["name"].startswith(start) and row["n_before"]:
            return dict(row)
    raise NotApplicable("the pool does not record it")


def share(result: pa.Table, start: str) -> float:
    """Return the share of those there that a step touched."""
    step = _step(result, start)
    return float(step["n_touched"] / step["n_before"])


EXPERIMENT = Experiment.declared(
    compute, (share, touched), plot=plot, order=199, options=(*POOL, "instantaneous", "include")
)
