"""Do jobs that use more CPU use more memory, too?

Jobs by the whole CPU-hours of the largest machine that they used (see `job_usage`), and the median of the memory-hours
of each bucket; the published figure is Pearson's correlation of the two over the buckets that have jobs.

Reference: Tirmazi et al., Borg: the Next Generation, EuroSys'20 (correlation of CPU and memory).
"""

import numpy as np

from borgtrace.analyses.job_usage import usage_of_jobs
from borgtrace.question import Recipe, Row, Tables


def compute(tables: Tables) -> list[Row]:
    """Return the median memory-hours of the jobs of each bucket of CPU-hours."""
    used = usage_of_jobs(tables)
    bucket = np.floor(used["cpu"]).astype(np.int64)
    order = np.argsort(bucket, kind="stable")
    buckets, starts = np.unique(bucket[order], return_index=True)
    memory = np.split(used["memory"][order], starts[1:])
    return [
        {"bucket": int(one), "n_jobs": len(jobs), "memory": float(np.median(jobs))}
        for one, jobs in zip(buckets, memory, strict=True)
    ]


RECIPE = Recipe.declared(compute, reads=("instance_usage",), order=65)
