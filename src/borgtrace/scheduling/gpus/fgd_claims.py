"""What was published of FGD's experiments, as claims on :mod:`borgtrace.scheduling.gpus.gpu_scheduling`."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from borgtrace.question import Claim, Criterion, NotApplicable, near
from borgtrace.question.measures import Measure
from borgtrace.question.scopes import OPENB
from borgtrace.scheduling.gpus.fgd_results import (
    ALLOCATION,
    FRAGMENTATION_RATIO,
    N_RUNS,
    PublishedMean,
)

SCOPE = replace(OPENB, free=("jobs", "loads", "policies", "workloads", "ties"))
"""Of the seeds of the published runs alone: each has arrivals of its own."""
LAST_DIGIT = 0.005
"""Half of the last digit that is printed."""


def value_at(workload: str, policy: str, load: int, column: str) -> Measure:
    """Return what measures a value where ties go by rank.

    Parameters
    ----------
    workload, policy, load
        Which row.
    column
        Which of its values.
    """

    def measure(answer: pa.Table) -> float:
        chosen = answer.filter(
            (pc.field("workload") == workload)
            & (pc.field("policy") == policy)
            & (pc.field("load") == load)
            & (pc.field("ties") == "rank")
        )
        if not chosen.num_rows:
            raise NotApplicable(
                "is not among the workloads, policies, ties and loads of the answer"
            )
        row = chosen.to_pylist()[0]
        if row["published_arrivals"] < row["runs"]:
            raise NotApplicable("its runs have other arrivals than the published ones")
        # Means of ten values of two digits often end in 5, give or take a bit: they were published rounded up.
        return round(row[column] + 1e-9, 2)

    return measure


def as_published(policy: str, published: PublishedMean) -> Criterion:
    """Return what agrees with a published mean: all digits; of random choices, within two standard errors."""
    within = LAST_DIGIT
    if policy == "random":
        within = round(2 * published.deviation / N_RUNS**0.5, 3)
    return near(published.mean, within, published=f"{published.mean:.2f}")


CLAIMS = tuple(
    Claim(
        f"FGD-{workload}-{load}-{policy}",
        statement=f"{workload}, load {load} %: {policy} allocates so much of the GPUs (%)",
        source="FGD (Weng et al., ATC 2023), results of the experiments",
        scope=SCOPE,
        measure=value_at(workload, policy, load, "allocation"),
        criterion=as_published(policy, published),
        format=".2f",
    )
    for (workload, load), by_policy in ALLOCATION.items()
    for policy, published in by_policy.items()
) + tuple(
    Claim(
        f"FGD-ratio-{workload}-{load}-{policy}",
        statement=f"{workload}, load {load} %: typical pods cannot use so much of what {policy} leaves (%)",
        source="FGD (Weng et al., ATC 2023), results of the experiments",
        scope=SCOPE,
        measure=value_at(workload, policy, load, "fragmentation_ratio"),
        criterion=as_published(policy, published),
        format=".2f",
    )
    for (workload, load), by_policy in FRAGMENTATION_RATIO.items()
    for policy, published in by_policy.items()
)
