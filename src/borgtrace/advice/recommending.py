"""Recommended requests for each workload, and the back-test that chooses the recommender."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.overcommit.recommenders.recommender import Recommender
from borgtrace.overcommit.recommenders.samples import JobSamples
from borgtrace.schema.time import HOUR, WINDOW

CANDIDATES = ("vpa", "koordinator", "katalyst", "crane", "autopilot")
"""Recommenders that the back-test chooses among: those that control planes of today have."""
TOLERATED = {"cpu": 0.05, "memory": 0.001}
"""Share of the samples that may lie above what was recommended before them: CPU above a request may wait for the CPU
that others request, memory above it may be killed."""
MARGIN_ABOVE_PEAK = 0.15
"""CPU is never recommended above the highest sample so far and this share of it."""
RECENT = HOUR // WINDOW
"""A workload that had no usage in so many last slots of the trace has ended."""


@dataclass(frozen=True, slots=True, eq=False)
class RecommendedWorkload:
    """One resource of a workload.  Amounts are cores, or bytes, of one task.

    Attributes
    ----------
    workload
        Its place among the workloads.
    tasks
        Tasks with usage in the last hour of the trace; all of them where there are none.
    is_running
        Whether there are any.
    windows
        Samples.
    first_slot, last_slot
        Of its samples.
    request
        What its tasks request, their median; NaN where none is known.
    p95, peak, peak_slot
        95th percentile and largest of all samples, and when that was.
    recommended
        By each recommender, after the last sample: (recommenders,); NaN where it has none.
    judged, short
        Samples after a recommendation, and those above it: (recommenders,).
    """

    workload: int
    tasks: int
    is_running: bool
    windows: int
    first_slot: int
    last_slot: int
    request: float
    p95: float
    peak: float
    peak_slot: int
    recommended: Numbers
    judged: Index
    short: Index


@dataclass(slots=True, eq=False)
class RecommenderTotals:
    """Sums over all workloads of each recommender: (recommenders,).

    Attributes
    ----------
    judged, short
        Samples after a recommendation, and those above it.
    reserved
        Σ of what was recommended over them.
    """

    judged: Numbers
    short: Numbers
    reserved: Numbers

    @classmethod
    def of(cls, n: int) -> RecommenderTotals:
        """Return sums of nothing for some recommenders."""
        return cls(np.zeros(n), np.zeros(n), np.zeros(n))

    def best(self, tolerated: float) -> int | None:
        """Return the recommender that reserves least with a tolerated share of samples above it.

        Where none is tolerated it is the one with the smallest share; None where nothing was judged.  Of equal ones
        the first.
        """
        if not (self.judged > 0).any():
            return None
        n = np.maximum(self.judged, 1)
        rate = np.where(self.judged > 0, self.short / n, np.inf)
        reserved = np.where(self.judged > 0, self.reserved / n, np.inf)
        if (rate <= tolerated).any():
            return int(np.where(rate <= tolerated, reserved, np.inf).argmin())
        return int(rate.argmin())


@dataclass(slots=True, eq=False)
class Recommending:
    """Recommendations for workloads, some at a time.

    Attributes
    ----------
    recommenders
        Who recommends.
    n_slots
        Slots of the trace.
    never_below_peak
        Whether memory that is recommended is at least what a workload used at its highest until then.
    totals
        Sums over all workloads so far.
    """

    recommenders: Sequence[Recommender]
    n_slots: int
    never_below_peak: bool
    totals: RecommenderTotals = field(init=False)

    def __post_init__(self) -> None:
        """Begin with nothing."""
        self.totals = RecommenderTotals.of(len(self.recommenders))

    def add(self, samples: JobSamples) -> Iterator[RecommendedWorkload]:
        """Yield what is recommended for some workloads; of each the samples are those of one job."""
        if not len(samples):
            return
        recommended = np.stack([self.recommend(one, samples) for one in self.recommenders])
        in_force = np.stack([before(samples, values) for values in recommended])
        is_judged = ~np.isnan(in_force)
        is_short = is_judged & (samples.value > in_force)
        self.totals.judged += is_judged.sum(axis=1)
        self.totals.short += is_short.sum(axis=1)
        self.totals.reserved += np.nansum(in_force, axis=1)
        first = np.flatnonzero(np.diff(samples.job, prepend=-1))
        ends = np.append(first[1:], len(samples))
        for begin, end in zip(first.tolist(), ends.tolist(), strict=True):
            part = slice(begin, end)
            yield self.summarize(
                samples,
                part,
                recommended[:, end - 1],
                is_judged[:, part].sum(axis=1),
                is_short[:, part].sum(axis=1),
            )

    def recommend(self, recommender: Recommender, samples: JobSamples) -> Numbers:
        """Return what is recommended after each sample: (n,)."""
        # NaN stays in both: where nothing is recommended the peak alone is no recommendation.
        recommended = recommender.recommend(samples)
        peak = highest_so_far(samples)
        if samples.resource == "cpu":
            return np.minimum(recommended, peak * (1 + MARGIN_ABOVE_PEAK))
        return np.maximum(recommended, peak) if self.never_below_peak else recommended

    def summarize(
        self,
        samples: JobSamples,
        part: slice,
        recommended: Numbers,
        judged: Index,
        short: Index,
    ) -> RecommendedWorkload:
        """Return one workload."""
        value = samples.value[part]
        slot = samples.slot[part]
        task = samples.task[part]
        is_recent: Flags = slot >= self.n_slots - RECENT
        shown = is_recent if is_recent.any() else np.ones(len(value), np.bool_)
        running = np.unique(task[shown])
        of_running = samples.request[part][np.isin(task, running)]
        known = of_running[~np.isnan(of_running)]
        peak = int(value.argmax())
        return RecommendedWorkload(
            workload=int(samples.job[part.start]),
            tasks=len(running),
            is_running=bool(is_recent.any()),
            windows=len(value),
            first_slot=int(slot[0]),
            last_slot=int(slot[-1]),
            request=float(np.median(known)) if len(known) else float("nan"),
            p95=float(np.percentile(value, 95)),
            peak=float(value[peak]),
            peak_slot=int(slot[peak]),
            recommended=recommended,
            judged=judged,
            short=short,
        )


def before(samples: JobSamples, recommended: Numbers) -> Numbers:
    """Return what was recommended before the slot of each sample: (n,); NaN where nothing was."""
    moment = samples.moment(samples.slot)
    last = np.searchsorted(moment, moment) - 1
    # −1, before the first slot of all, takes the workload that is none.
    is_own = np.append(samples.job, -1)[last] == samples.job
    return np.where(is_own, recommended[last], np.nan)


def highest_so_far(samples: JobSamples) -> Numbers:
    """Return the largest value of each sample's workload up to and including it: (n,)."""
    out = samples.value.copy()
    first = np.flatnonzero(np.diff(samples.job, prepend=-1))
    ends = np.append(first[1:], len(samples))
    for begin, end in zip(first.tolist(), ends.tolist(), strict=True):
        np.maximum.accumulate(out[begin:end], out=out[begin:end])
    return out
