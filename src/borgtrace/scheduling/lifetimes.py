"""How long a run lasts, as far as a scheduler may know it: from the trace itself, or learned from earlier days.

Learned lifetimes are Kaplan–Meier estimates of groups of runs: of one class, then of these with one request, then of
one user, then of one name; the smallest group that enough runs are known of decides.  At the beginning of each day
(of each hour, where the trace has less than two days) they are learned anew from what the trace has shown by then:
runs that go on are censored at that moment, and what began before the trace is left out, since nobody knows its age.
What arrives on the first day is not predicted.

What is expected of a run that has lived for a while is the mean of what its curve has left beyond that age.  Beyond the
oldest run of a group its curve goes on as an exponential one (Brown, Hollander and Korwar, 1974).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.question import Tables
from borgtrace.scheduling.kinds import encode
from borgtrace.scheduling.workload import TaskAttempts
from borgtrace.schema.time import DAY, HOUR, SECOND

ORACLE, LEARNED, ONCE = "oracle", "learned", "learned-once"
LIFETIMES = {
    ORACLE: "from the trace itself: a bound, as no scheduler knows it",
    LEARNED: "learned on earlier days, predicted again while a task runs",
    ONCE: "learned on earlier days, predicted when a task starts",
}
LEAST_RUNS = 20
"""A group of fewer runs, or an age that fewer have reached, leaves it to the group around it."""
AGES_PER_DOUBLING = 4
N_AGES = 114
"""Up to eight years."""
AGES: Numbers = np.append(0.0, SECOND * 2.0 ** (np.arange(N_AGES - 1) / AGES_PER_DOUBLING))
"""Ages (µs) at which it is known what is expected."""


class SurvivalCurve(NamedTuple):
    """A Kaplan–Meier estimate; float64 (steps,).

    Attributes
    ----------
    times
        When it steps down, ascending.
    survival
        What share lives longer than each.
    oldest
        The longest time that any was seen.
    """

    times: Numbers
    survival: Numbers
    oldest: float


def survival_curve(lasted: Numbers, has_ended: Flags) -> SurvivalCurve:
    """Estimate how long runs last (Kaplan and Meier, 1958).

    Parameters
    ----------
    lasted
        How long each was seen, (n,).
    has_ended
        Whether it ended then; the others are censored.

    Examples
    --------
    Of four runs one ends at 1, one at 2; the third is no longer seen after 3, and the last ends at 4:

    >>> curve = survival_curve(np.array([1.0, 2, 3, 4]), np.array([True, True, False, True]))
    >>> curve.times.tolist(), curve.survival.tolist()
    ([1.0, 2.0, 4.0], [0.75, 0.5, 0.0])
    """
    times, n_ended = np.unique(lasted[has_ended], return_counts=True)
    # Who is censored at the time of an end was still there.
    n_at_risk = len(lasted) - np.searchsorted(np.sort(lasted), times)
    survival: Numbers = np.cumprod(1 - n_ended / n_at_risk, dtype=np.float64)
    return SurvivalCurve(times, survival, float(lasted.max(initial=0.0)))


def expected_remaining(curve: SurvivalCurve, ages: Numbers) -> Numbers:
    """Return the mean of what is left of a run that has lived so long; NaN where its curve is at 0, or never falls.

    Parameters
    ----------
    curve
        Of the run's group.
    ages
        float64 (n,).

    Examples
    --------
    Half end at 1 and half at 3: at first 2 are expected, and 1.5 of those that have lived for 1.5:

    >>> curve = survival_curve(np.array([1.0, 3.0]), np.array([True, True]))
    >>> expected_remaining(curve, np.array([0.0, 1.5])).tolist()
    [2.0, 1.5]
    """
    knots = np.concatenate([[0.0], curve.times, [curve.oldest]])
    levels = np.append(1.0, curve.survival)
    areas = levels * np.diff(knots)
    last = levels[-1]
    # The exponential curve through 1 at 0 and the last level at the oldest age.
    mean_of_tail = curve.oldest / -np.log(last) if 0 < last < 1 else np.nan
    beyond = 0.0 if last == 0 else last * mean_of_tail
    area_from = np.append(np.cumsum(areas[::-1])[::-1], 0.0) + beyond
    place = np.searchsorted(knots[1:], ages, side="right")
    place = np.minimum(place, len(levels) - 1)
    left = np.maximum(knots[place + 1] - ages, 0.0)
    level = levels[place]
    with np.errstate(invalid="ignore", divide="ignore"):
        within = (level * left + area_from[place + 1]) / level
    return np.where(ages < curve.oldest, within, mean_of_tail)


class Runs(NamedTuple):
    """What a trace shows of attempts: themselves, when they arrive, int64 (n,), and its last instant, in µs."""

    tasks: TaskAttempts
    arrivals: Index
    until: int


class Predictions(NamedTuple):
    """What is known of how long each attempt lasts.

    Attributes
    ----------
    lasts, leaves
        From the trace itself, float64 (n,), µs: how long it runs, and when it is withdrawn if it never ran; infinity
        where it does not end.  Shape (0,) where lifetimes are learned.
    lines
        int64 (n,): its line of `expected`; −1: nothing is known.
    expected
        float64 (lines, ages), µs: what is left at each of `AGES`.
    is_repeated
        Whether a task is predicted again while it runs.
    """

    lasts: Numbers
    leaves: Numbers
    lines: Index
    expected: Numbers
    is_repeated: bool


def from_trace(runs: Runs) -> Predictions:
    """Return what becomes of each attempt in the trace."""
    times = runs.tasks.times
    started = times["schedule_time"]
    left = times["left_time"]
    has_end = (left >= 0) & (left <= runs.until)
    has_run = started >= 0
    return Predictions(
        lasts=np.where(has_end & has_run, left - started, np.inf),
        leaves=np.where(has_end & ~has_run, left, np.inf),
        lines=np.full(len(left), -1),
        expected=np.empty((0, N_AGES)),
        is_repeated=True,
    )


class JobLabels(NamedTuple):
    """Codes of the scheduling class and of the name of each attempt's job, int64 (n,); 0: none is known."""

    scheduling_class: Index
    name: Index


def read_labels(tables: Tables, tasks: TaskAttempts) -> JobLabels:
    """Read the scheduling classes and names of jobs."""
    of_jobs = tables.tasks.group_by("collection_id").aggregate(
        scheduling_class=tables.tasks.scheduling_class.max(),
        name=tables.tasks.collection_logical_name.max(),
    )
    rows = tables.fetch(of_jobs.order_by("collection_id"))
    line = np.searchsorted(rows["collection_id"].to_numpy(), tasks.collection)
    codes = []
    for column in ("scheduling_class", "name"):
        encoded = rows[column].combine_chunks().dictionary_encode().indices
        codes.append(encoded.fill_null(-1).to_numpy().astype(np.int64)[line] + 1)
    return JobLabels(*codes)


def groups_of(tasks: TaskAttempts, labels: JobLabels | None) -> list[Index]:
    """Return the group of each attempt, int64 (n,), from the largest groups to the smallest, each within one before.

    Requests count by their power of two.
    """
    n = len(tasks)
    nothing = np.zeros(n, np.int64)
    scheduling_class, name = labels or (nothing, nothing)
    # 0 of nothing, and 1 more for each doubling.
    cpu, memory = np.frexp(tasks.sizes.astype(np.float64))[1].T.astype(np.int64)
    groups = []
    group = nothing
    for columns in ((scheduling_class, tasks.tier), (cpu, memory), (tasks.user,), (name,)):
        for column in columns:
            group = encode(group * n + encode(column))
        groups.append(group)
    return groups


def learn(runs: Runs, labels: JobLabels | None, *, is_repeated: bool) -> Predictions:
    """Learn, for what arrives on each day, from what had happened when the day began.

    Parameters
    ----------
    runs
        What arrives, and what became of it.
    labels
        Of the jobs; None: not known.
    is_repeated
        As of :class:`Predictions`.
    """
    block = DAY if runs.until >= 2 * DAY else HOUR
    groups = groups_of(runs.tasks, labels)
    lines = np.full(len(runs.tasks), -1)
    # Who has outlived all others is expected to live as long again.
    rows = [np.maximum(AGES, SECOND)]
    for cut in range(block, runs.until + 1, block):
        is_here = (runs.arrivals >= cut) & (runs.arrivals < cut + block)
        if is_here.any():
            known = known_at(runs.tasks, cut)
            add_lines(rows, lines, known, groups, np.flatnonzero(is_here))
    return Predictions(
        lasts=np.empty(0),
        leaves=np.empty(0),
        lines=lines,
        expected=np.array(rows),
        is_repeated=is_repeated,
    )


class KnownRuns(NamedTuple):
    """Runs as they were known at a moment: attempts, how long they had lasted, and whether they had ended."""

    attempts: Index
    lasted: Numbers
    has_ended: Flags


def known_at(tasks: TaskAttempts, cut: int) -> KnownRuns:
    """Return the runs that had begun before a moment, and nothing of what came after it."""
    started = tasks.times["schedule_time"]
    left = tasks.times["left_time"]
    attempts = np.flatnonzero((started > 0) & (started < cut))
    has_ended = (left[attempts] >= 0) & (left[attempts] < cut)
    seen_until = np.where(has_ended, left[attempts], cut)
    lasted = (seen_until - started[attempts]).astype(np.float64)
    return KnownRuns(attempts, lasted, has_ended)


def add_lines(
    rows: list[Numbers], lines: Index, known: KnownRuns, groups: list[Index], arriving: Index
) -> None:
    """Add what is expected of the groups of arriving attempts to `rows`, and set their `lines`."""
    # First all runs, then smaller and smaller groups, each of which has the line of the one around it until it has one.
    everybody = np.zeros(len(lines), np.int64)
    line = np.zeros(len(arriving), np.int64)
    for group in (everybody, *groups):
        order = np.argsort(group[known.attempts], kind="stable")
        sorted_groups = group[known.attempts][order]
        wanted, first, place = np.unique(group[arriving], return_index=True, return_inverse=True)
        begins = np.searchsorted(sorted_groups, wanted)
        ends = np.searchsorted(sorted_groups, wanted, side="right")
        line_of_group = line[first]
        for number, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True)):
            chosen = order[begin:end]
            if len(chosen) >= LEAST_RUNS:
                around = rows[line_of_group[number]]
                line_of_group[number] = len(rows)
                rows.append(expected_of(known.lasted[chosen], known.has_ended[chosen], around))
        line = line_of_group[place]
    lines[arriving] = np.where(line > 0, line, -1)


def expected_of(lasted: Numbers, has_ended: Flags, around: Numbers) -> Numbers:
    """Return what is expected at each of `AGES` in a group; `around` is that of the group around it."""
    if not has_ended.any():
        # All that is known: none has ended in so much time, taken together.
        return np.maximum(around, lasted.sum())
    expected = expected_remaining(survival_curve(lasted, has_ended), AGES)
    n_so_old = len(lasted) - np.searchsorted(np.sort(lasted), AGES)
    is_known = (n_so_old >= LEAST_RUNS) & np.isfinite(expected)
    # Nothing is expected to end at once.
    return np.where(is_known, np.maximum(expected, SECOND), around)


def predictions_of(lifetimes: str, runs: Runs, labels: JobLabels | None = None) -> Predictions:
    """Return what a policy may know of how long each attempt lasts.

    Parameters
    ----------
    lifetimes
        One of `LIFETIMES`.
    runs, labels
        As for :func:`learn`.
    """
    if lifetimes == ORACLE:
        return from_trace(runs)
    return learn(runs, labels, is_repeated=lifetimes == LEARNED)


class LivesAtStart(NamedTuple):
    """What is expected of attempts that start now, whenever that is; float64 (n,).

    Attributes
    ----------
    lives
        How long each runs, µs; infinity: for ever; NaN: nothing is known.
    leaves
        When each is withdrawn if it never ran, µs; infinity: never.
    """

    lives: Numbers
    leaves: Numbers


def lives_at_start(predictions: Predictions) -> LivesAtStart:
    """Return what is expected of each attempt when it starts: from the trace, or from the curve of its group."""
    if len(predictions.lasts):
        return LivesAtStart(predictions.lasts, predictions.leaves)
    is_known = predictions.lines >= 0
    lives = np.where(is_known, predictions.expected[predictions.lines, 0], np.nan)
    return LivesAtStart(lives, np.full(len(lives), np.inf))


def hours_at(lives: LivesAtStart, times: Index) -> Numbers:
    """Return how many hours each attempt is expected to run if it starts at a time (µs), (n,)."""
    left = np.maximum(lives.leaves - times, 0.0)
    # What is not known stays so.
    return np.minimum(lives.lives, left) / HOUR


def kinds_with(kinds: Index, lives: LivesAtStart) -> Index:
    """Return the kind of each attempt, where those of one kind are also expected to live as long."""
    n = len(kinds)
    for column in lives:
        kinds = encode(kinds * n + encode(column.view(np.int64)))
    return kinds
