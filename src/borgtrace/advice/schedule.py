"""How far ahead policies are judged, and how often they are chosen anew, on a trace of some length.

Long traces are judged as a planner works: a promise holds for an hour, and the policy is chosen anew each day.  What
is shorter than three days is divided into eight periods, and what is shorter than a day has a horizon of a part of it,
so that ten minutes, two hours and a month each get the answer that they can give.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from borgtrace.overcommit.policies.policy import HISTORY, WARMUP
from borgtrace.question import NotApplicable
from borgtrace.question.study_times import (
    HISTORIES_IN_SPAN,
    LONGEST_WARMUP,
    in_words,
    whole_windows,
)
from borgtrace.schema.time import DAY, HOUR, WINDOW, Microseconds, write_time

LEAST_SLOTS = 12
"""Slots of 300 s that can be learned from and judged: below, no period has two before it."""
PERIODS_OF_A_SHORT_TRACE = 12
HORIZONS_OF_A_SHORT_TRACE = 24
LONG_TRACE = 7 * DAY
"""From here on periods are days."""
HISTORIES = (2 * HOUR, 10 * HOUR, DAY)
"""What policies may look back on, where the trace is four times as long."""
WARMUP_SHARE = WARMUP / HISTORY
"""The policies' own: two windows of two hours may be missing."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """How policies are judged.  Times are in µs, and whole slots of 300 s.

    Attributes
    ----------
    span
        Length of the usage in the trace.
    horizon
        How far ahead a peak is promised.
    period
        How often the policy is chosen anew, by the periods before.
    histories
        What policies look back on.
    """

    span: Microseconds
    horizon: Microseconds
    period: Microseconds
    histories: Sequence[Microseconds]

    @property
    def horizon_slots(self) -> int:
        """The horizon in slots."""
        return self.horizon // WINDOW

    @property
    def slots_per_period(self) -> int:
        """The period in slots."""
        return self.period // WINDOW

    def candidates(self) -> tuple[str, ...]:
        """Return the policies that are tried, as users name them: the limits first."""
        policies = ["limit"]
        policies += [f"borg:phi={phi}" for phi in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)]
        for history in self.histories:
            past = f"history={write_time(history)},warmup={write_time(warmup_of(history))}"
            policies += [f"nsigma:n={n},{past}" for n in (2, 3, 5, 7.5, 10)]
            policies += [f"task-percentile:q={q},{past}" for q in (95, 99, 100)]
            policies += [f"machine-percentile:q={q},{past}" for q in (95, 99, 100)]
            policies += [f"gpa:rho={rho},{past}" for rho in (0.01, 0.001, 1e-6)]
            policies.append(f"nsigma:n=5,{past}+task-percentile:q=99,{past}")
        return tuple(policies)


def schedule_of(
    span: Microseconds,
    horizon: Microseconds | None = None,
) -> Schedule:
    """Return how policies are judged on usage of some length.

    Parameters
    ----------
    span
        From the first window to the end of the last one, µs.
    horizon
        How far ahead a peak is promised, where a user says it.

    Raises
    ------
    NotApplicable
        Where there are fewer than `LEAST_SLOTS` slots, or no period after a horizon.

    Examples
    --------
    >>> schedule_of(7 * DAY).horizon == HOUR, schedule_of(7 * DAY).period == DAY
    (True, True)
    >>> two_hours = schedule_of(2 * HOUR)
    >>> two_hours.horizon_slots, two_hours.slots_per_period
    (1, 2)
    """
    n_slots = span // WINDOW
    NotApplicable.unless(
        n_slots >= LEAST_SLOTS,
        f"usage of {in_words(max(span, 0))} is too short to learn from and to judge: "
        f"this takes {in_words(LEAST_SLOTS * WINDOW)} at least",
    )
    if horizon is None:
        horizon = HOUR if span >= DAY else whole_windows(span // HORIZONS_OF_A_SHORT_TRACE)
    else:
        horizon = whole_windows(horizon)
    period = DAY if span >= LONG_TRACE else whole_windows(span // PERIODS_OF_A_SHORT_TRACE)
    period = max(period, horizon)
    NotApplicable.unless(
        4 * period <= span,
        f"usage of {in_words(span)} has too few periods to learn from and to judge "
        f"with a horizon of {in_words(horizon)}: choose a shorter --horizon",
    )
    return Schedule(
        span=span,
        horizon=horizon,
        period=period,
        histories=histories_of(span),
    )


def histories_of(span: Microseconds) -> Sequence[Microseconds]:
    """Return what policies may look back on in usage of some length."""
    histories = [history for history in HISTORIES if history * HISTORIES_IN_SPAN <= span]
    return histories or [whole_windows(span // HISTORIES_IN_SPAN)]


def warmup_of(history: Microseconds) -> Microseconds:
    """Return how much of a history a task needs before it counts less than its limit."""
    return min(whole_windows(int(history * WARMUP_SHARE)), LONGEST_WARMUP)
