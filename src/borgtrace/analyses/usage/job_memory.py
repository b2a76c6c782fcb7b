"""Do jobs that use more CPU also use more memory?

Jobs by their CPU-hours of the largest machine, rounded down (see `job_usage`), and the median of the memory-hours
of each bucket; the published figure is Pearson's correlation of the two over the buckets that have jobs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from borgtrace.analyses.usage.job_usage import usage_of_jobs
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    NotApplicable,
    Question,
    Row,
    Tables,
    charts,
    near,
    sql,
)
from borgtrace.question.scopes import MONTH_2019

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="bucket of CPU-hours",
    key=[Column("bucket", "int64", "h", "CPU-hours of the jobs, rounded down.")],
    columns=[
        Column("n_jobs", "int64", "count", "Jobs of the bucket."),
        Column("memory", "float64", "h", "Median memory-hours of these jobs."),
    ],
)


def compute(tables: Tables) -> list[Row]:
    """Return the median memory-hours of the jobs of each bucket of CPU-hours.

    Raises
    ------
    NotApplicable
        Where one of the two was never measured.
    """
    usage = usage_of_jobs(tables)
    for resource, hours in usage.items():
        # Missing usage adds up to nothing; a median of 0 hours would be a finding.
        if not hours.any():
            raise NotApplicable(f"no job used any {resource}")
    bucket_of_job = np.floor(usage["cpu"]).astype(np.int64)
    order = np.argsort(bucket_of_job, kind="stable")
    buckets, starts = np.unique(bucket_of_job[order], return_index=True)
    memory_by_bucket = np.split(usage["memory"][order], starts[1:])
    return [
        {"bucket": int(bucket), "n_jobs": len(memory), "memory": float(np.median(memory))}
        for bucket, memory in zip(buckets, memory_by_bucket, strict=True)
    ]


def chart(answer: pa.Table) -> alt.Chart:
    """Draw the median memory-hours of jobs over their CPU-hours."""
    import altair as alt

    rows = answer.to_pylist()
    return (
        charts.base(rows, title="Memory-hours of jobs by CPU-hours")
        .mark_point(filled=True, size=20)
        .encode(
            x=alt.X("bucket:Q", title="CPU-hours of the jobs (h)", scale=alt.Scale(type="symlog")),
            y=alt.Y(
                "memory:Q",
                title="median memory-hours of these jobs (h)",
                scale=alt.Scale(type="symlog"),
            ),
            tooltip=charts.tooltips(rows),
        )
    )


CLAIMS = [
    Claim(
        "TIR-cpu-memory",
        statement="CPU-hours and median memory-hours of jobs are correlated",
        source="Tirmazi et al., EuroSys'20 (correlation of CPU and memory)",
        scope=MONTH_2019,
        measure=sql(
            """
            select corr(bucket, memory)
            from answer
            having count(*) > 2 and stddev_pop(memory) > 0
            """,
            otherwise="the jobs fill fewer than three buckets",
        ),
        criterion=near(0.97, within=0.05),
    ),
]

QUESTION = Question(
    name="job_memory",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=["instance_usage"],
    reference=(
        "Tirmazi et al., Borg: the Next Generation, EuroSys'20 (correlation of CPU and memory)"
    ),
)
