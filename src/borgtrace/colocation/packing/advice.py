"""Which way of packing, which overcommit factor, what do they save: chosen on earlier hours, judged on later ones.

The hours that most tasks run through are halved.  Within the earlier half, each half judges what was packed by the
other, on draws and on the simultaneous series; the choice is made there.  Then all ways pack by the whole earlier half,
and the later half, which the choice has not seen, judges them.  Tasks without time stamps are judged on draws alone,
and the choice is then made on other tasks, where there are enough.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from borgtrace.colocation.options import ColocationOptions
from borgtrace.colocation.packing.choice import HeldOutAdvice, WayChoice
from borgtrace.colocation.packing.instances import Instances, Room, split
from borgtrace.colocation.packing.intervals import ConfidenceInterval, SeriesBlocks, over_instances
from borgtrace.colocation.packing.trial import Evidence, PackingTrial, RunningTasks
from borgtrace.colocation.tasks.pool import SLOT, TaskPool
from borgtrace.colocation.tasks.simultaneous import longest_busy_span
from borgtrace.kernels.arrays import Numbers
from borgtrace.placement import ESTIMATOR_KINDS, CovarianceGpa, Estimator, Gpa, Percentile, Request
from borgtrace.question import NotApplicable
from borgtrace.schema.time import HOUR, SECOND, TRACE_START

FACTORS = tuple(round(1 + 0.05 * step, 2) for step in range(41))
"""Overcommit factors on requests that are tried: 1, 1.05 … 3."""
STRICTER = tuple(10 ** (-step / 2) for step in range(1, 17))
"""Shares of the target that GPA is told as well: the laxest that keeps the target is GPA calibrated on these tasks.

Sums of bursty tasks are skewed and tasks peak together: both ask for targets some powers of ten below the one wanted.
"""


@dataclass(frozen=True, eq=False)
class TrialPlan:
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

    choosing: tuple[PackingTrial, ...]
    judging: PackingTrial
    words: str
    why: str = ""

    @classmethod
    def of(cls, pool: TaskPool, options: ColocationOptions) -> TrialPlan:
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
        first_quarter = slice(0, quarter)
        second_quarter = slice(quarter, half)
        first_half = slice(0, half)
        second_half = slice(half, 2 * half)

        running = RunningTasks.during(pool, span)
        choosing = (
            running.trial(first_quarter, second_quarter, options, options.seed + 1),
            running.trial(second_quarter, first_quarter, options, options.seed + 1),
        )
        judging = running.trial(first_half, second_half, options, options.seed)
        begin = hour_of_slot(span.first)
        middle = hour_of_slot(span.first + half)
        end = hour_of_slot(span.first + 2 * half)
        words = f"chosen on hours {begin}–{middle}, judged on hours {middle}–{end}"
        return cls(choosing, judging, words)

    @classmethod
    def _of_tasks(cls, pool: TaskPool, options: ColocationOptions, why: str) -> TrialPlan:
        judging_tasks, choosing_tasks = split(pool, options.size, options.seed)
        return cls(
            choosing=(_trial_of_tasks(choosing_tasks, options, options.seed + 1),),
            judging=_trial_of_tasks(judging_tasks, options, options.seed),
            words=f"chosen and judged on draws alone ({why})",
            why=why,
        )

    def judge(
        self,
        tried: Sequence[Estimator],
        options: ColocationOptions,
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
        blocks = None
        lengths_of_trials = (np.empty(0, np.int64),) * len(trials)
        if not self.why:
            blocks = SeriesBlocks.of([trial.slots for trial in trials], options.seed)
            lengths_of_trials = blocks.lengths
        ways_of_trials = []
        for trial, lengths in zip(trials, lengths_of_trials, strict=True):
            ways_of_trials.append(trial.run(tried, options.capacity, lengths))
        distinct = 1 - overlap(trials[0].instances)

        evidence = {}
        for number, way in enumerate(tried):
            evidence[way] = Evidence(
                trials=[ways[number] for ways in ways_of_trials],
                blocks=blocks,
                realizations=options.realizations,
                target=options.target,
                distinct=distinct,
            )
        return evidence


def _trial_of_tasks(pool: TaskPool, options: ColocationOptions, seed: int) -> PackingTrial:
    """Return a trial on draws alone."""
    instances = Instances(
        pool,
        size=options.size,
        realizations=options.realizations,
        count=options.instances,
        seed=seed,
        # Each is packed once: nobody asks for its draws again.
        room=Room(0),
    )
    return PackingTrial(instances)


def hour_of_slot(slot: int) -> str:
    """Return the hour of a slot since the trace began, as people write it.

    Parameters
    ----------
    slot
        Of 300 s, on the trace's clock.

    Examples
    --------
    >>> hour_of_slot(2 + 18)
    '1.5'
    """
    since_start = max(slot * SLOT * SECOND - TRACE_START, 0)
    return f"{since_start / HOUR:.3g}"


def candidates(target: float, has_requests: bool) -> list[Estimator]:
    """Return every way that is tried: the paper's, each estimator with a target around it, and overcommitted requests.

    Parameters
    ----------
    target
        Tolerated probability of overflow.
    has_requests
        Whether requests of the tasks are known.
    """
    # Without those that must be prepared: choosing among the targets that GPA is told does what they do.
    named = [ESTIMATOR_KINDS[name] for name in ESTIMATOR_KINDS.named]
    kinds = [kind for kind in named if kind.prepared is Estimator.prepared]
    tried: list[Estimator] = []
    for kind in kinds:
        tried += kind.family()
    for kind in kinds:
        if kind.targets and not kind.needs_more:
            # A test that is too lax or too careful may keep the target when told half or twice of it.
            tried += [kind(share * target) for share in (0.5, 1.0, 2.0) if share * target < 1]
    # To three digits, as people type them.
    stricter_targets = [float(f"{share * target:.3g}") for share in STRICTER]
    tried += [Gpa(stricter) for stricter in stricter_targets]
    tried += [CovarianceGpa(stricter) for stricter in (target, *stricter_targets[:4])]
    if has_requests:
        tried += [Request(factor) for factor in FACTORS]
    # The paper's targets and those around this one may coincide.
    return list(dict.fromkeys(tried))


def advise(
    plan: TrialPlan,
    options: ColocationOptions,
    tried: Sequence[Estimator] | None = None,
) -> list[dict[str, Any]]:
    """Choose a way of packing and an overcommit factor, and judge all ways.

    Parameters
    ----------
    plan
        Where to choose and where to judge.
    options
        Capacity, target, realizations and seed.
    tried
        Ways of packing; by default the :func:`candidates`.

    Returns
    -------
    list of dict
        One for each way of packing, by number of machines.  Of the judging trial: ``machines``, ``q_draws`` and
        ``q_series`` (overflow on held-out draws and on the simultaneous series), ``above`` and ``worst`` (share of the
        machines above the target, overflow of the worst one), ``saved_request`` and ``saved_maximum`` (share of
        machines saved against packing by request, and by the maximum seen), each with the ``_low`` and ``_high`` end of
        its interval, None where unknown; ``n_unplaceable``; ``overcommit`` (known requests ÷ capacity of the machines);
        ``keeps_target`` (by its own interval there); ``is_advised`` (the first choice that keeps it), ``is_nearest``
        (where nothing does, what comes closest), ``is_factor`` (the overcommit factor; all smaller ones keep it, too).
        Of the choice: ``chosen_machines``, ``chosen_q``, ``chosen_q_high`` (the stricter overflow), ``chosen_keeps``,
        ``is_first_choice``, ``is_chosen_factor``.
    """
    instances = plan.judging.instances
    if tried is None:
        tried = candidates(options.target, instances.pool.has_requests)
    chosen = plan.judge(tried, options, is_choice=True)
    choice = WayChoice.of(chosen)
    judged = plan.judge(choice.shown, options, is_choice=False)
    advice = HeldOutAdvice.of(choice, judged)

    requests = [way for way in choice.shown if isinstance(way, Request)]
    by_request = judged[requests[0]] if requests else None
    by_maximum = judged[Percentile(100)]
    rows = []
    for way in choice.shown:
        row = _choice_columns(way, choice, chosen[way])
        row |= _judged_columns(judged[way], by_request, by_maximum)
        row["keeps_target"] = judged[way].keeps
        row["is_advised"] = way == advice.way
        row["is_nearest"] = way == advice.nearest
        row["is_factor"] = way == advice.factor
        row["overcommit"] = overcommit(instances, judged[way].machines, options.capacity)
        rows.append(row)
    return sorted(rows, key=_by_machines_and_name)


def _by_machines_and_name(row: Mapping[str, Any]) -> tuple[float, str]:
    return row["machines"], f"{row['estimator']} {row['parameter']:g}"


def _choice_columns(way: Estimator, choice: WayChoice, chosen: Evidence) -> dict[str, Any]:
    """Return what the trials of the choice say of one way, by column."""
    return {
        "estimator": way.name,
        "parameter": float(way.parameter),
        "chosen_machines": float(chosen.machines.mean()),
        "chosen_q": chosen.stricter.value,
        "chosen_q_high": chosen.stricter.high,
        "chosen_keeps": way in choice.keeping,
        "is_first_choice": way == choice.ranking[0],
        "is_chosen_factor": way in choice.keeping and way in choice.factors[-1:],
    }


def _judged_columns(
    judged: Evidence,
    by_request: Evidence | None,
    by_maximum: Evidence,
) -> dict[str, Any]:
    """Return what the judging trial says of one way, by column."""
    above, worst = judged.per_machine()
    intervals = {
        "machines": over_instances(judged.machines, least=0.0),
        "q_draws": judged.on_draws,
        "q_series": judged.on_series,
        "above": above,
        "worst": worst,
        "saved_request": saved_machines(judged, by_request),
        "saved_maximum": saved_machines(judged, by_maximum),
    }
    n_unplaceable = [packing.n_unplaceable for packing in judged.trials[0]]
    columns: dict[str, float | None] = {"n_unplaceable": float(np.mean(n_unplaceable))}
    for name, interval in intervals.items():
        columns[name] = None if interval is None else interval.value
        columns[f"{name}_low"] = None if interval is None else interval.low
        columns[f"{name}_high"] = None if interval is None else interval.high
    return columns


def saved_machines(judged: Evidence, base: Evidence | None) -> ConfidenceInterval | None:
    """Return the share of machines saved, instance by instance; None where there is nothing to compare with.

    Parameters
    ----------
    judged, base
        A way of packing, and the one it is compared with.
    """
    if base is None:
        return None
    # Paired: an instance that is large is large for both, which does not widen the interval.
    return over_instances(1 - judged.machines / np.maximum(base.machines, 1))


def overcommit(instances: Instances, machines: Numbers, capacity: float) -> float | None:
    """Return the known requests of all instances ÷ capacity of the machines in use; None where no request is known.

    Parameters
    ----------
    instances
        What was packed.
    machines
        float64 (instances,): machines in use.
    capacity
        Of each machine.
    """
    requests = instances.pool.cpu_request
    if requests is None or not instances.pool.has_requests:
        return None
    requested = 0.0
    for number in range(instances.count):
        requested += float(np.nansum(requests[instances.tasks(number)]))
    return requested / max(float(machines.sum()) * capacity, 1e-12)


def overlap(instances: Instances) -> float:
    """Return the share of the tasks of all instances that an earlier one has had.

    Parameters
    ----------
    instances
        Random instances of a pool.
    """
    tasks = np.concatenate([instances.tasks(number) for number in range(instances.count)])
    return 1 - len(np.unique(tasks)) / len(tasks)
