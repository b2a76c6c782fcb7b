"""Do jobs that use more CPU use more memory, too?

Jobs by the whole CPU-hours of the largest machine that they used (see `job_usage`), and the median of the memory-hours
of each bucket; the published figure is Pearson's correlation of the two over the buckets that have jobs.

Reference: Tirmazi et al., Borg: the Next Generation, EuroSys'20 (correlation of CPU and memory).
"""

import numpy as np
import pyarrow as pa

from borgtrace.analyses.job_usage import usage_of_jobs
from borgtrace.recipe import NotApplicable, Recipe, Row, Tables


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


def pearson(result: pa.Table) -> float:
    """Return the correlation of CPU-hours and median memory-hours over the buckets."""
    memory = result["memory"].to_numpy()
    NotApplicable.unless(len(memory) > 2 and memory.std() > 0, "the jobs fill fewer than three buckets")
    return float(np.corrcoef(result["bucket"].to_numpy(), memory)[0, 1])


RECIPE = Recipe.declared(compute, (pearson,), reads=("instance_usage",), order=65)
