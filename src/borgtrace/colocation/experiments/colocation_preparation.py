"""Which tasks does the colocation study use, and which were dropped?

The preparation of Janus & Rzadca (SoCC'17, §3.1), step by step, with how many of the tasks that remained each
step affected: failing tasks, tasks that never used CPU, short tasks; then a random sample of at most N. The
last rows count windows: left out because a value is missing, or corrected because their average was above 1.

Reference: Janus & Rzadca, SoCC'17, §3.1.
"""

from borgtrace.colocation import Experiment, Options, Study
from borgtrace.colocation.experiment import POOL
from borgtrace.colocation.experiments._answers import Row


def compute(study: Study, options: Options) -> list[Row]:
    """Return what each step of the preparation touched."""
    steps = study.pool(options).steps
    return [
        {
            "step": rank,
            "name": step.name,
            "unit": step.unit,
            "n_touched": step.count,
            "n_before": step.of,
        }
        for rank, step in enumerate(steps, 1)
    ]


EXPERIMENT = Experiment.declared(compute, order=199, options=(*POOL, "instantaneous", "include"))
