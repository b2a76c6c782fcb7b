"""Which way of packing, which overcommit factor, what do they save: chosen on earlier hours, judged on later ones.

The hours that most tasks run through are halved.  In the earlier half each half of *it* judges what was packed by the
other, on draws and on the simultaneous series; the choice is made there.  Then all ways pack by the whole earlier half,
and the later half, which the choice has not seen, judges them.  Tasks without time stamps are judged on draws alone,
and the choice is then made on other tasks, where there are enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from borgtrace.colocation.instances import Instances, split
from borgtrace.colocation.intervals import Blocks, Interval, over_instances
from borgtrace.colocation.pool import SLOT, Pool
from borgtrace.colocation.raw_series import longest_busy_span
from borgtrace.colocation.study import Options
from borgtrace.colocation.trial import Evidence, Running, Trial
from borgtrace.kernels.arrays import Numbers
from borgtrace.placement import CovarianceGpa, Estimator, Gpa, Percentile, Request, estimators
from borgtrace.question import NotApplicable
from borgtrace.schema.time import HOUR, SECOND, TRACE_START

FACTORS = tuple(round(1 + 0.05 * step, 2) for step in range(41))
"""Overcommit factors on requests that are tried: 1, 1.05 … 3."""
STRICTER = tuple(10 ** (-step / 2) for step in range(1, 17))
"""Shares of the target that GPA is told besides: the laxest that keeps it is GPA calibrated on these tasks.

Sums of bursty tasks are skewed and tasks peak together: both ask for targets some powers of ten below the one wanted.
"""


@dataclass(frozen=True, eq=False)
class Plan:
    """On which hours, or tasks, the choice is made, and on which it is judged.

    Attributes
    ----------
    choosing
        Trials of the choice.
    judging
        The trial that judges.
    words
        The same for people.
    why
        Why there is no simultaneous series; empty where there is one.
    """

    choosing: tuple[Trial, ...]
    judging: Trial
    words: str
    why: str = ""

    @classmethod
    def of(cls, pool: Pool, options: Options) -> Plan:
        """Divide the tasks' hours; without time stamps, the tasks.

        Parameters
        ----------
        pool
            The tasks.
        options
            Size, realizations, number of instances, hours and seed.
        """
        # A tenth of a small pool will do: more hours tell more of what happens at one time than more tasks.
        enough = min(options.size, len(pool) // 10)
        try:
            span = longest_busy_span(pool, options.hours, enough)
        except NotApplicable as reason:
            return cls._of_tasks(pool, options, str(reason))
        half = span.slots // 2
        quarter = span.slots // 4
        first = slice(0, quarter)
        second = slice(quarter, half)
        running = Running.during(pool, span)
        choosing = [
            running.trial(*both, options, options.seed + 1)
            for both in ((first, second), (second, first))
        ]
        judging = running.trial(
            slice(0, half),
            slice(half, 2 * half),
            options,
            options.seed,
        )
        begin, middle, end = (span.first + k * half for k in range(3))
        words = f"chosen on hours {_hour(begin)}–{_hour(middle)}, judged on hours {_hour(middle)}–{_hour(end)}"
        return cls(tuple(choosing), judging, words)

    @classmethod
    def _of_tasks(
        cls,
        pool: Pool,
        options: Options,
        why: str,
    ) -> Plan:
        size = options.size
        scale = (options.realizations, options.instances)
        judged, held_out = split(pool, size, options.seed)
        chosen = Trial(Instances(held_out, size, *scale, options.seed + 1))
        words = f"chosen and judged on draws alone ({why})"
        return cls(
            (chosen,),
            Trial(Instances(judged, size, *scale, options.seed)),
            words,
            why,
        )

    def judge(
        self,
        tried: Sequence[Estimator],
        options: Options,
        *,
        is_choice: bool,
    ) -> dict[Estimator, Evidence]:
        """Pack and judge in every way, in the trials of the choice or in the one that judges.

        Parameters
        ----------
        tried
            Ways of packing.
        options
            Capacity, target, realizations and seed.
        is_choice
            Which trials.
        """
        trials = self.choosing if is_choice else (self.judging,)
        blocks = None if self.why else Blocks.of([trial.slots for trial in trials], options.seed)
        cuts = [np.empty(0, np.int64)] * len(trials) if blocks is None else blocks.lengths
        found = [
            trial.run(tried, options.capacity, cut) for trial, cut in zip(trials, cuts, strict=True)
        ]
        known = (blocks, options.realizations, options.target, 1 - overlap(trials[0].instances))
        return {way: Evidence([trial[k] for trial in found], *known) for k, way in enumerate(tried)}


def _hour(slot: int) -> str:
    """Hour of a slot since the trace began, as people write it."""
    return f"{max(slot * SLOT * SECOND - TRACE_START, 0) / HOUR:.3g}"


def candidates(target: float, has_requests: bool) -> list[Estimator]:
    """Every way that is tried: the paper's, each estimator with a target around it, and overcommitted requests.

    Parameters
    ----------
    target
        Tolerated probability of overflow.
    has_requests
        Whether requests of the tasks are known.
    """
    # Not those that must be prepared: the choice among the targets that GPA is told does what they do.
    kinds = [kind for kind in estimators().values() if kind.prepared is Estimator.prepared]
    tried: list[Estimator] = [estimator for kind in kinds for estimator in kind.family()]
    for kind in kinds:
        if kind.targets and not kind.needs_more:
            # Around the target: a test that is too lax or too careful may keep it when told half or twice of it.
            tried += [kind(share * target) for share in (0.5, 1.0, 2.0) if share * target < 1]
    # To three digits, as people type them.
    ladder = [float(f"{share * target:.3g}") for share in STRICTER]
    tried += [Gpa(told) for told in ladder] + [
        CovarianceGpa(told) for told in (target, *ladder[:4])
    ]
    if has_requests:
        tried += [Request(factor) for factor in FACTORS]
    # The paper's targets and those around this one may meet.
    return list(dict.fromkeys(tried))


def advise(plan: Plan, options: Options) -> list[dict[str, Any]]:
    """Choose a way of packing and an overcommit factor, and judge all ways.

    Parameters
    ----------
    plan
        Where to choose and where to judge.
    options
        Capacity, target, realizations and seed.

    Returns
    -------
    list of dict
        One for each way of packing, by number of machines.  Of the judging trial: ``machines``, ``q_draws`` and
        ``q_series`` (overflow on held-out draws and on the simultaneous series), ``above`` and ``worst`` (share of the
        machines above the target, overflow of the worst one), ``saved_request`` and ``saved_maximum`` (share of
        machines saved against packing by request, and by the maximum seen), each with the ``_low`` and ``_high`` end of
        its interval, None where unknown; ``n_unplaceable``; ``overcommit`` (known requests ÷ capacity of the machines).
        Of the choice: ``chosen_machines``, ``chosen_q``, ``chosen_q_high`` (the stricter overflow), ``keeps_target``,
        ``is_advised`` (fewest machines among those that keep it), ``is_nearest`` (else the one that comes closest),
        ``is_factor`` (the overcommit factor: it and all smaller ones keep the target).
    """
    tried = candidates(options.target, plan.judging.instances.pool.has_requests)
    chosen = plan.judge(tried, options, is_choice=True)
    factors = [way for way in tried if isinstance(way, Request)]
    kept = _kept_factors(chosen, factors)
    # One step past the factor is shown, to say what it breaks; packing all of the ladder again would tell no more.
    shown = [way for way in tried if way not in factors[len(kept) + 1 :]]
    wanted = [way for way in shown if way in kept or (way not in factors and chosen[way].keeps)]
    order = {way: (float(chosen[way].machines.mean()), chosen[way].stricter.value) for way in shown}
    best = min(wanted, key=order.__getitem__, default=None)
    nearest = (
        None if best else min(shown, key=lambda way: (_reach(chosen[way].stricter), *order[way]))
    )
    judged = plan.judge(shown, options, is_choice=False)
    by_request = judged.get(factors[0]) if factors else None
    by_maximum = judged[Percentile(100)]
    found = []
    for way in shown:
        stricter = chosen[way].stricter
        row = {
            "estimator": way.name,
            "parameter": float(way.parameter),
            "n_unplaceable": float(np.mean([one.n_unplaceable for one in judged[way].trials[0]])),
            "overcommit": _overcommit(
                plan.judging.instances, judged[way].machines, options.capacity
            ),
            "chosen_machines": order[way][0],
            "chosen_q": stricter.value,
            "chosen_q_high": stricter.high,
            "keeps_target": way in wanted,
            "is_advised": way == best,
            "is_nearest": way == nearest,
            "is_factor": bool(kept) and way == kept[-1],
        }
        found.append(row | _measured(judged[way], by_request, by_maximum))
    return sorted(
        found, key=lambda row: (row["machines"], f"{row['estimator']} {row['parameter']:g}")
    )


def _kept_factors(
    chosen: dict[Estimator, Evidence], factors: Sequence[Estimator]
) -> list[Estimator]:
    """Overcommit factors up to the first that breaks the target: a larger one that seems to keep it does by luck."""
    broken = next((k for k, factor in enumerate(factors) if not chosen[factor].keeps), len(factors))
    return list(factors[:broken])


def _reach(stricter: Interval) -> float:
    """How far up the overflow may reach."""
    return stricter.value if stricter.high is None else stricter.high


def _measured(
    judged: Evidence, by_request: Evidence | None, by_maximum: Evidence
) -> dict[str, float | None]:
    """All that the judging trial says of one way, by column."""
    above, worst = judged.per_machine()
    intervals = {
        "machines": over_instances(judged.machines),
        "q_draws": judged.on_draws,
        "q_series": judged.on_series,
        "above": above,
        "worst": worst,
        "saved_request": _saved(judged, by_request),
        "saved_maximum": _saved(judged, by_maximum),
    }
    found: dict[str, float | None] = {}
    for name, interval in intervals.items():
        ends = (
            (None, None, None)
            if interval is None
            else (interval.value, interval.low, interval.high)
        )
        found |= dict(zip((name, f"{name}_low", f"{name}_high"), ends, strict=True))
    return found


def _saved(judged: Evidence, base: Evidence | None) -> Interval | None:
    """Share of machines saved, instance by instance; None where there is nothing to compare with."""
    if base is None:
        return None
    # Paired: what makes an instance large makes it large for both, and does not widen the interval.
    return over_instances(1 - judged.machines / np.maximum(base.machines, 1))


def _overcommit(instances: Instances, machines: Numbers, capacity: float) -> float | None:
    """Known requests of all instances ÷ capacity of the machines in use; None where no request is known."""
    requests = instances.pool.cpu_request
    if requests is None or not instances.pool.has_requests:
        return None
    asked = sum(float(np.nansum(requests[instances.tasks(k)])) for k in range(instances.count))
    return asked / max(float(machines.sum()) * capacity, 1e-12)


def overlap(instances: Instances) -> float:
    """Share of the tasks of all instances that an earlier one has had."""
    tasks = np.concatenate([instances.tasks(k) for k in range(instances.count)])
    return 1 - len(np.unique(tasks)) / len(tasks)
