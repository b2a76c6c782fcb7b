"""Schedulers of one's own that know lifetimes: a user's NILAS beside ours, by hand, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from borgtrace.errors import UsageError
from borgtrace.extensions import import_source
from borgtrace.scheduling import (
    CompactOptions,
    PlacementPolicy,
    Scheduler,
    SimulateOptions,
    parse_policy,
)
from borgtrace.scheduling.lifetimes import LIFETIMES, ORACLE
from borgtrace.scheduling.replay import ScheduleInput, replayed
from borgtrace.scheduling.state import ATTEMPT, OUTCOME, PREEMPTED, RAN_ON, STARTED
from borgtrace.schema.time import DAY, HOUR, MINUTE
from tests.scheduling.test_lifetimes import planted, random_trace, with_another_future
from tests.scheduling.traces import trace_of

FREE, OTHER, PRODUCTION = range(3)
NEVER = -1
pytestmark = pytest.mark.wide  # a replay of its own: 40 s of compiling
EXAMPLE = Path(__file__).parents[2] / "examples" / "extend" / "keeps_no_longer.py"
NILAS = PlacementPolicy.of(import_source(str(EXAMPLE)).SCHEDULER)


def own(**functions: Any) -> PlacementPolicy:
    """A scheduler that knows from the trace itself how long tasks last."""
    scheduler = Scheduler(name="own", about="of a test", knows_lifetimes=True, **functions)
    return replace(PlacementPolicy.of(scheduler), lifetimes=ORACLE)


def placements(trace: ScheduleInput, policy: PlacementPolicy) -> list[list[int]]:
    """Start and machine of each submission, by attempt."""
    rows = replayed(trace, policy, 1.0)
    rows = rows[np.argsort(rows[:, ATTEMPT], kind="stable")]
    return rows[:, [STARTED, RAN_ON]].tolist()


@pytest.mark.parametrize("lifetimes", LIFETIMES)
def test_nilas_of_a_user_is_ours(lifetimes: str) -> None:
    for seed in range(3):
        trace = random_trace(seed)
        theirs = placements(trace, replace(NILAS, lifetimes=lifetimes))
        assert theirs == placements(trace, parse_policy(f"nilas:lifetimes={lifetimes}"))
        assert theirs != placements(trace, parse_policy("best-fit"))


def test_a_long_task_goes_to_a_machine_that_is_kept_anyway() -> None:
    found = placements(planted(), replace(NILAS, lifetimes=ORACLE))
    assert [machine for _, machine in found] == [0, 0, 1, 1, 0]


def test_what_comes_later_changes_no_placement() -> None:
    trace = random_trace(3)
    now = 2 * DAY + 7 * HOUR
    n = int((trace.arrivals < now).sum())
    other = with_another_future(trace, now, 0)
    assert placements(trace, NILAS)[:n] == placements(other, NILAS)[:n]
    oracle = replace(NILAS, lifetimes=ORACLE)
    assert placements(trace, oracle)[:n] != placements(other, oracle)[:n]


def fewest(task, machine):
    return machine.n_tasks


def test_remaining_life_by_hand() -> None:
    # Machines are empty after 1 h and 3 h.  At 20 min a task wants one that is empty within 1.5 h: the first, where it
    # stays for 5 h; at 40 min none is; the second one is once the time has come.
    attempts = [
        (1, 0, 0, 0, HOUR, 0.25, FREE),
        (2, 0, 0, 0, 3 * HOUR, 0.25, FREE),
        (3, 0, 20 * MINUTE, 20 * MINUTE, 320 * MINUTE, 0.25, FREE),
        (4, 0, 100 * MINUTE, 100 * MINUTE, 110 * MINUTE, 0.25, FREE),
    ]
    trace = trace_of(attempts, (1.0, 1.0), until=9 * HOUR)

    def apart_or_soon_empty(task, machine):
        return machine.n_tasks == 0 or machine.remaining_life <= 1.5

    found = placements(trace, own(accepts=apart_or_soon_empty, score=fewest))
    assert found[2] == [20 * MINUTE, 0]
    assert found[3] == [100 * MINUTE, 1]


def test_who_waits_is_asked_with_the_machine_as_it_is_then() -> None:
    # Two tasks fill a machine, for 1 h and for 5 h; those that wait want one that is empty within 1.5 h.  It is so when
    # the second one has ended, and no longer once the third, of 2 h, has started at the same instant.
    attempts = [
        (1, 0, 0, 0, HOUR, 0.5, FREE),
        (2, 0, 0, 0, 5 * HOUR, 0.5, FREE),
        (3, 0, MINUTE, MINUTE, 2 * HOUR + MINUTE, 0.25, FREE),
        (4, 0, MINUTE, MINUTE, 2 * HOUR, 0.125, FREE),
    ]

    def empty_soon(task, machine):
        return machine.remaining_life <= 1.5

    trace = trace_of(attempts, until=9 * HOUR)
    starts = [start for start, _ in placements(trace, own(accepts=empty_soon))]
    assert starts == [0, 0, 5 * HOUR, 7 * HOUR]


def by_life(task):
    return task.expected_life


def test_the_shortest_is_asked_first() -> None:
    attempts = [
        (1, 0, 0, 0, HOUR, 1.0, FREE),
        (2, 0, 10, 10, 10 + 2 * HOUR, 1.0, FREE),
        (3, 0, 20, 20, 20 + HOUR, 1.0, FREE),
        # As long as the second: of equal ones who came first.
        (4, 0, 30, 30, 30 + 2 * HOUR, 1.0, FREE),
    ]
    found = placements(trace_of(attempts, until=9 * HOUR), own(order=by_life))
    assert [start for start, _ in found] == [0, 2 * HOUR, HOUR, 4 * HOUR]


def test_the_shortest_is_evicted_first() -> None:
    attempts = [
        (1, 0, 0, 0, HOUR, 0.5, FREE),
        (2, 0, 10, 10, 3 * HOUR, 0.5, FREE),
        (3, 0, 20, 20, HOUR, 0.5, PRODUCTION),
    ]
    trace = trace_of(attempts, until=9 * HOUR)
    policy = replace(own(victim=by_life), preempts=True)
    rows = replayed(trace, policy, 1.0)
    assert rows[rows[:, OUTCOME] == PREEMPTED, ATTEMPT].tolist() == [0]


def lives(task, machine):
    return task.expected_life - machine.remaining_life


def test_what_is_not_known_is_no_number() -> None:
    # On the first day nothing is.
    trace = trace_of([(1, 0, 0, 0, HOUR, 0.25, FREE)], until=4 * HOUR)
    with pytest.raises(UsageError) as raised:
        replayed(trace, replace(own(score=lives), lifetimes="learned"), 1.0)
    line = lives.__code__.co_firstlineno
    assert str(raised.value) == (
        f"{__file__}:{line}: the score of own is not a number: got NaN for "
        "task(cpu=0.25, memory=0.25, gpu=0, priority=0, expected_life=nan) and "
        "machine(cpu_capacity=1, memory_capacity=1, gpu_capacity=0, cpu_free=1, memory_free=1, "
        "gpu_free=0, n_tasks=0, remaining_life=0); "
        "return infinity for a machine that should not be used"
    )


def endless(task, machine):
    return 0.0 if task.expected_life == np.inf else np.inf


def test_what_has_no_end_lives_for_ever() -> None:
    attempts = [(1, 0, 0, 0, NEVER, 0.25, FREE), (2, 0, 10, 10, HOUR, 0.25, FREE)]
    found = placements(trace_of(attempts, until=2 * HOUR), own(score=endless))
    assert found == [[0, 0], [-1, -1]]


def test_it_is_asked_for_by_name_and_refused_where_no_time_goes_by() -> None:
    assert NILAS.label == "keeps-no-longer:lifetimes=learned"
    with pytest.raises(UsageError) as raised:
        CompactOptions(policy=NILAS)
    assert str(raised.value) == (
        "--policy: a moment has no lifetimes: expected a policy that does not ask for them, such as best-fit, "
        "got keeps-no-longer:lifetimes=learned"
    )
    with pytest.raises(UsageError) as raised:
        SimulateOptions(policies=(NILAS,), whole_jobs=True)
    assert str(raised.value) == (
        "--whole-jobs: not beside a policy that knows lifetimes: expected one without, such as best-fit, "
        "got keeps-no-longer:lifetimes=learned"
    )


def test_what_was_not_asked_for_is_not_there() -> None:
    trace = trace_of([(1, 0, 0, 0, HOUR, 0.25, FREE)], until=4 * HOUR)
    scheduler = Scheduler(name="own", about="of a test", score=lives)
    with pytest.raises(UsageError) as raised:
        replayed(trace, PlacementPolicy.of(scheduler), 1.0)
    assert str(raised.value).endswith(
        ": Numba cannot compile this: got Unknown attribute 'expected_life' of type "
        "TaskView(float64, float64, float64, int64); write knows_lifetimes=True into Scheduler(…)"
    )
