"""Samples of jobs for recommenders, and a decaying histogram's percentile restated in plain Python."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np

from borgtrace.overcommit.recommenders import JobSamples

Sample = tuple[int, float, float]
"""Slot, value and weight."""


def samples_of(
    rows: Sequence[tuple[int, int, int, float]],
    resource: str,
    *,
    is_serving: bool = False,
) -> JobSamples:
    """Rows are job, slot, task and value; every task requests .5 core or 1 GB."""
    job, slot, task, value = (np.array(column) for column in zip(*sorted(rows), strict=True))
    request, size = (0.5, 64.0) if resource == "cpu" else (1e9, 256e9)
    requests = np.full(len(job), request)
    serve = np.full(len(job), is_serving)
    return JobSamples(
        job,
        task,
        slot,
        value.astype(float),
        requests,
        serve,
        resource,
        size,
    )


def random_rows(seed: int, scale: float) -> list[tuple[int, int, int, float]]:
    draw = random.Random(seed)
    rows = []
    for job in range(3):
        slot = draw.randrange(10)
        for _ in range(60):
            slot += draw.choice([1, 1, 5, 40])
            rows += [
                (job, slot, 10 * job + task, scale * draw.lognormvariate(0, 1)) for task in range(2)
            ]
    return rows


def exponential(first: float, ratio: float = 1.05) -> Callable[[float], float]:
    """Return the upper edge of a value's bucket."""

    def edge(value: float) -> float:
        bucket = (
            0 if value < first else int(math.log(value * (ratio - 1) / first + 1) / math.log(ratio))
        )
        return first * (ratio ** (bucket + 1) - 1) / (ratio - 1)

    return edge


def percentile(
    seen: Sequence[Sample],
    share: float,
    half_life: float,
    edge: Callable[[float], float],
) -> float:
    now = seen[-1][0]
    weights = defaultdict(float)
    for slot, value, weight in seen:
        weights[edge(value)] += weight * 2.0 ** ((slot - now) / half_life)
    total = 0.0
    threshold = share * sum(weights.values())
    for upper in sorted(weights):
        total += weights[upper]
        if total >= threshold * (1 - 1e-12):
            return upper
    return max(weights)
