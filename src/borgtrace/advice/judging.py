"""Judge overcommit policies along a trace: each is chosen on earlier periods and judged on later ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from borgtrace.advice.options import TARGETS, AdviceOptions
from borgtrace.advice.schedule import Schedule
from borgtrace.overcommit.next_period import upper_end_by_chance
from borgtrace.overcommit.options import ReplayOptions
from borgtrace.overcommit.policies import PeakPolicy
from borgtrace.overcommit.rates import RatioEstimate
from borgtrace.overcommit.replay import ReplayInput, ReplayPart
from borgtrace.overcommit.replay_question import (
    open_replay,
    sample_machines,
    why_nothing_can_be_replayed,
)
from borgtrace.overcommit.walk_forward import (
    Choice,
    add_periods,
    best_policy,
    limits_first,
    sum_by_period,
    violation_rate,
    walk_forward,
)
from borgtrace.question import EngineTables, NotApplicable
from borgtrace.question.store_question import Report
from borgtrace.store import Store

LEAST_PERIODS = 2
"""One period says nothing about how periods differ."""


@dataclass(frozen=True, slots=True, eq=False)
class JudgedPolicies:
    """What a walk through the trace shows of one resource.

    Attributes
    ----------
    resource
        ``"cpu"`` or ``"memory"``.
    policies
        What was tried; the limits first.
    sums
        `borgtrace.overcommit.walk_forward.SUMS` of shape (machines, policies, periods).
    choices
        Of each period that was judged.
    target
        Share of the windows in which a promise may be broken.
    schedule
        Horizon and periods.
    n_slots
        Slots of the trace.
    """

    resource: str
    policies: Sequence[PeakPolicy]
    sums: npt.NDArray[np.void]
    choices: Sequence[Choice]
    target: float
    schedule: Schedule
    n_slots: int

    @property
    def n_judged_slots(self) -> int:
        """Slots of the judged periods whose horizon ends within the trace."""
        length = self.schedule.slots_per_period
        last_judged = self.n_slots - self.schedule.horizon_slots
        n = 0
        for choice in self.choices:
            begin = choice.period * length
            n += min(begin + length, last_judged) - begin
        return n

    @property
    def walked(self) -> npt.NDArray[np.void]:
        """Sums of what was chosen, over the judged periods: `SUMS` of shape (machines,)."""
        judged = np.stack([choice.judged for choice in self.choices], axis=1)
        return add_periods(judged[:, None, :])[:, 0]

    @property
    def known(self) -> npt.NDArray[np.void]:
        """Sums of each policy over all periods: `SUMS` of shape (machines, policies)."""
        return add_periods(self.sums)

    @property
    def next_policy(self) -> tuple[int, RatioEstimate] | None:
        """The policy that all periods advise for what comes after, and its rate in them."""
        return best_policy(
            self.sums,
            self.target,
            self.schedule.horizon_slots,
            LEAST_PERIODS,
            by_value=True,
        )

    @property
    def safest_policy(self) -> tuple[int, RatioEstimate] | None:
        """The policy with the lowest upper end of its rate, of those that promise less than the limits.

        Of equal ones that which promises least.
        """
        known = self.known
        promised = known["peak"].sum(axis=0)
        # What promises as much as the limits is no overcommitment.
        places = [k for k in range(1, len(self.policies)) if promised[k] < promised[0]]
        if not places:
            return None
        rates = {k: violation_rate(known[:, k], self.schedule.horizon_slots) for k in places}
        safest = min(places, key=lambda k: (rates[k].high, promised[k]))
        return safest, rates[safest]


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """A cell that is ready to be replayed.

    Attributes
    ----------
    input
        Usage by machine, and capacities.
    places
        Machines that are judged, by their position.
    schedule
        Horizon and periods.
    """

    input: ReplayInput
    places: Sequence[int]
    schedule: Schedule

    def part(self, resource: str, options: AdviceOptions, report: Report) -> ReplayPart:
        """Return all tasks of one resource, to be replayed."""
        return ReplayPart(
            input=self.input,
            tasks="all",
            resource=resource,
            places=self.places,
            jobs=options.jobs,
            report=report,
        )


def replay_of(
    store: Store,
    tables: EngineTables,
    options: AdviceOptions,
    schedule: Schedule,
    report: Report,
) -> Replay:
    """Open a cell for a replay.

    Raises
    ------
    NotApplicable
        Where no usage belongs to a machine, or no task has a request.
    """
    replay_input = open_replay(store, tables, replay_options(options, schedule), report)
    n_machines = len(replay_input.usage.machines)
    places = sample_machines(n_machines, options.machines, options.seed)
    NotApplicable.unless(places, why_nothing_can_be_replayed(replay_input.usage.facts))
    return Replay(replay_input, places, schedule)


def replay_options(options: AdviceOptions, schedule: Schedule) -> ReplayOptions:
    """Return the options of the replay that an advice makes: `borgtrace overcommit` with them gives the same rates."""
    return ReplayOptions(
        policies=tuple(options.policies) or schedule.candidates(),
        resources=tuple(options.resources),
        horizon=schedule.horizon,
        machines=options.machines,
        cores=options.cores,
        gib=options.gib,
        seed=options.seed,
        jobs=options.jobs,
    )


def judge_policies(
    replay: Replay,
    resource: str,
    options: AdviceOptions,
    report: Report,
) -> JudgedPolicies:
    """Replay all policies on all tasks of one resource, and choose among them period by period.

    Raises
    ------
    NotApplicable
        Where no instant has a whole horizon, or no period has one before it.
    """
    schedule = replay.schedule
    policies = limits_first(replay_options(options, schedule).parsed())
    by_period = partial(sum_by_period, slots_per_period=schedule.slots_per_period)
    sums = replay.part(resource, options, report).replay(
        policies,
        schedule.horizon_slots,
        by_period,
    )
    target = options.target or smallest_target(sums, schedule.horizon_slots)
    choices = list(
        walk_forward(
            sums,
            schedule.horizon_slots,
            target,
            slots_per_period=schedule.slots_per_period,
            least_periods=LEAST_PERIODS,
            by_value=True,
        )
    )
    NotApplicable.unless(
        choices,
        f"no period of the usage of {resource} has one before it whose horizon has ended",
    )
    return JudgedPolicies(
        resource=resource,
        policies=policies,
        sums=sums,
        choices=choices,
        target=target,
        schedule=schedule,
        n_slots=int(replay.input.usage.facts["n_slots"]),
    )


def smallest_target(sums: npt.NDArray[np.void], horizon: int) -> float:
    """Return the smallest risk that a period can be promised to keep, where half of the periods before broke nothing.

    Parameters
    ----------
    sums
        `SUMS` of shape (machines, policies, periods).
    horizon
        In slots; one machine for one horizon is a trial.
    """
    instants = sums["instants"][:, 0].sum(axis=0)
    # Nothing is judged before usage was measured.
    instants = instants[instants > 0]
    # Half of the periods: a choice must be possible early enough to be judged.
    n_known = max(len(instants) // 2, 1)
    n_trials = instants[:n_known].sum() / horizon
    for target in TARGETS:
        if n_trials and upper_end_by_chance(0.0, n_trials, n_trials / n_known) <= target:
            return target
    return TARGETS[-1]
