"""Jobs that start whole or not at all: queues by hand, and the same as a plain restatement on random cells."""

from __future__ import annotations

import heapq
from dataclasses import replace

import numpy as np
import pytest

from borgtrace.scheduling import parse_policy
from borgtrace.scheduling.gangs import gangs_of
from borgtrace.scheduling.replay import PAUSE, ReplayInput, replayed
from tests.scheduling.plain import PlainCell
from tests.scheduling.traces import trace_of

FREE, OTHER, PRODUCTION = range(3)
SECOND = 10**6


def with_instances(trace: ReplayInput) -> ReplayInput:
    """Let each attempt be a task of its own."""
    return replace(trace, tasks=replace(trace.tasks, instance=np.arange(len(trace.tasks))))


def starts(
    trace: ReplayInput, policy: str = "best-fit", *, whole_jobs: bool = True
) -> list[tuple[int, int, int]]:
    """Job, submitted and started of each submission."""
    rows = replayed(with_instances(trace), parse_policy(policy), 1.0, whole_jobs=whole_jobs)
    return [(int(trace.tasks.collection[row[0]]), int(row[1]), int(row[2])) for row in rows]


def test_a_job_waits_until_all_of_its_tasks_fit() -> None:
    # Job 1 has half of the machine until 300; two of the three tasks of job 2 fit beside it, one after job 3 too.
    three = [(2, 0, at, at, at + 100, 0.25, FREE) for at in (100, 101, 102)]
    attempts = [(1, 0, 0, 0, 300, 0.5, FREE), *three, (3, 0, 150, 150, 250, 0.5, FREE)]
    trace = trace_of(attempts)
    whole = [
        (1, 0, 0),
        (2, 100, 300),
        (2, 101, 300),
        (2, 102, 300),
        (3, 150, 150),
    ]
    assert sorted(starts(trace)) == whole
    single = [
        (1, 0, 0),
        (2, 100, 100),
        (2, 101, 101),
        (2, 102, 200),
        (3, 150, 300),
    ]
    assert sorted(starts(trace, whole_jobs=False)) == single
    # The third is withdrawn at 200: the others start at the next end, at 250.
    attempts[3] = (2, 0, 102, -1, 200, 0.25, FREE)
    assert sorted(starts(trace_of(attempts))) == [
        (1, 0, 0),
        (2, 100, 250),
        (2, 101, 250),
        (2, 102, -1),
        (3, 150, 150),
    ]
    # So they do where it is the first of them.
    attempts[1:4] = [(2, 0, 100, -1, 200, 0.25, FREE), *three[1:]]
    assert sorted(starts(trace_of(attempts))) == [
        (1, 0, 0),
        (2, 100, -1),
        (2, 101, 250),
        (2, 102, 250),
        (3, 150, 150),
    ]
    # A job of which all are withdrawn is gone, and one that never fits waits for ever.
    attempts[1:4] = [(2, 0, at, -1, 200, 0.25, FREE) for at in (100, 101, 102)]
    assert [row[2] for row in sorted(starts(trace_of(attempts)))] == [0, -1, -1, -1, 150]
    assert [row[2] for row in starts(trace_of([(2, 0, 0, 0, 9, 0.6, FREE)] * 2))] == [-1, -1]


def test_the_higher_priority_is_asked_first_and_a_job_evicts_nobody() -> None:
    pairs = [
        (job, 0, at, at, at + 100, 0.5, tier)
        for job, at, tier in ((2, 100, FREE), (3, 200, PRODUCTION))
    ]
    attempts = [(1, 0, 0, 0, 300, 0.75, FREE), *(row for row in pairs for _ in range(2))]
    for policy in ("best-fit", "best-fit+preempt", "random:k=1"):
        found = sorted(starts(trace_of(attempts), policy))
        assert [row[2] for row in found] == [0, 400, 400, 300, 300], policy


def test_what_was_evicted_comes_again_by_itself() -> None:
    # Production evicts the second of job 2, which starts again when the first ends.
    attempts = [
        (2, 0, 0, 0, 300, 0.5, FREE),
        (2, 0, 1, 1, 301, 0.5, FREE),
        (3, 0, 100, 100, 900, 0.5, PRODUCTION),
    ]
    assert starts(trace_of(attempts), "best-fit+preempt") == [
        (2, 0, 1),
        (2, 1, 1),
        (3, 100, 100),
        (2, 107, 301),
    ]


def test_tasks_are_together_within_a_second() -> None:
    arrivals = np.array([0, SECOND, 2 * SECOND + 1, 2 * SECOND + 2, 0, 5])
    jobs = np.array([1, 1, 1, 1, 2, 2])
    priority = np.array([0, 0, 0, 0, 0, 1])
    # The last attempt follows another one, so that it is nobody's.
    times, firsts, gangs = gangs_of(
        np.array([0, 4, 5, 1, 2, 3]),
        arrivals,
        jobs,
        priority,
        np.array([7, 7, 7, 8, 9, 9]),
    )
    assert gangs.of.tolist() == [0, 0, 1, 1, -1, -1]
    assert gangs.members.tolist() == [0, 1, 2, 3]
    assert gangs.first.tolist() == [0, 2, 4]
    # The first gang is one part; of the second all are one, and each kind is another.
    assert gangs.parts.tolist() == [0, 1, 4]
    assert gangs.waits.tolist() == [2, 2, 1, 1]
    assert gangs.part.tolist() == [0, 0, 2, 3, -1, -1]
    assert times.tolist() == [
        SECOND,
        SECOND,
        *[2 * SECOND + 2] * 2,
        0,
        5,
    ]
    assert firsts.tolist() == [4, 5, 0, 1, 2, 3]


def plain(trace: ReplayInput, policy: str) -> dict[int, tuple[int, int]]:
    """Latest start and machine of each attempt, by a loop that looks at everything whenever a machine gets room."""
    tasks = trace.tasks
    n = len(trace.tasks)
    allowed = trace.allowed.tolist()
    cell = PlainCell(
        trace.machines.capacity, range(len(trace.machines.ids)), allowed, extended=tasks.extended
    )
    cell.is_up = [False] * len(cell.is_up)
    given = [
        (*map(int, tasks.sizes[task]), int(tasks.groups[task]), int(tasks.sets[task]), task)
        for task in range(n)
    ]
    start = tasks.times["schedule_time"]
    left = tasks.times["left_time"]
    jobs: dict[int, list[list[int]]] = {}
    for task in range(n):
        parts = jobs.setdefault(int(tasks.collection[task]), [[]])
        if parts[-1] and trace.arrivals[task] - trace.arrivals[parts[-1][-1]] > SECOND:
            parts.append([])
        parts[-1].append(task)
    # Of one instant ends come first, then machines, then arrivals.
    agenda = [
        (int(trace.arrivals[part[-1]]), 2, part[0], part)
        for parts in jobs.values()
        for part in parts
    ]
    agenda += [(int(row[0]), 1, place, row[1:].tolist()) for place, row in enumerate(trace.changes)]
    heapq.heapify(agenda)
    waiting: list[list[int]] = []
    found: dict[int, tuple[int, int]] = {}
    running: set[int] = set()

    def try_all(part: list[int], machine: int, time: int) -> bool:
        placed: list[tuple[int, int]] = []
        for task in part:
            at = machine if len(part) == 1 and machine >= 0 else cell.choose(policy, *given[task])
            if at < 0 or not cell.open(at, *given[task]):
                break
            cell.place(at, *given[task][:3], task)
            placed.append((task, at))
        if len(placed) < len(part):
            for task, at in placed:
                cell.remove(at, *given[task][:3], task)
            return False
        for task, at in placed:
            found[task] = time, at
            running.add(task)
            if start[task] >= 0:
                heapq.heappush(
                    agenda, (time + int(left[task] - start[task]), 0, task, [task, time])
                )
        return True

    def refill(machine: int, time: int) -> None:
        failed: list[list[int]] = []
        while True:
            ready = [
                p
                for p in waiting
                if p not in failed and any(cell.open(machine, *given[task]) for task in p)
            ]
            if not ready:
                return
            part = min(ready, key=lambda p: (-tasks.priority[p[0]], waiting.index(p)))
            # One that is left of several is looked for everywhere, as they were.
            if try_all(part, machine if part in alone else -1, time):
                waiting.remove(part)
            else:
                failed.append(part)

    alone: list[list[int]] = []
    while agenda:
        time, what, _, part = heapq.heappop(agenda)
        if what == 0 and part[0] in running:
            # The end of an earlier start is none of this one.
            if len(part) == 1 or found[part[0]][0] == part[1]:
                machine = found[part[0]][1]
                running.remove(part[0])
                cell.remove(machine, *given[part[0]][:3], part[0])
                if cell.is_up[machine]:
                    refill(machine, time)
        elif what == 0:
            for p in waiting:
                if part[0] in p and len(part) == 1:
                    p.remove(part[0])
            waiting[:] = [p for p in waiting if p]
        elif what == 1:
            machine, is_there, which = part
            if which:
                allowed[which - 1][machine] = bool(is_there)
            else:
                cell.is_up[machine] = bool(is_there)
            for task in sorted(running) if which == is_there == 0 else ():
                if found[task][1] == machine:
                    running.remove(task)
                    cell.remove(machine, *given[task][:3], task)
                    heapq.heappush(agenda, (time + PAUSE, 2, task, [task]))
            if cell.is_up[machine]:
                refill(machine, time)
        else:
            for task in part:
                if start[task] < 0 and left[task] >= 0:
                    heapq.heappush(agenda, (max(time, int(left[task])), 0, task, [task]))
            if not try_all(part, -1, time):
                waiting.append(part)
                if len(part) == 1:
                    alone.append(part)
    return found


def random_trace(seed: int) -> ReplayInput:
    """Return jobs of a few tasks on a few machines, some with constraints, which change, or mixed tasks."""
    rng = np.random.default_rng(seed)
    machines = rng.choice([0.25, 0.5, 1.0], int(rng.integers(1, 7))).tolist()
    attempts = []
    for job in range(1, int(rng.integers(3, 20))):
        begin = int(rng.integers(0, 30))
        size = float(rng.choice([0.05, 0.1, 0.2, 0.25]))
        for _ in range(int(rng.integers(1, 8))):
            # Steps of .4 s: two of them are together, three are not.
            begin += int(rng.choice([0, 0, 1, 2, 3]))
            lasts = int(rng.integers(1, 25))
            is_run = rng.random() < 0.85
            mixed = size * (2 if job % 5 == 0 and rng.random() < 0.5 else 1)
            attempts.append((job, 0, begin, begin if is_run else -1, begin + lasts, mixed, job % 3))
    attempts = [
        (job, a, t * 400_000, s * 400_000 if s >= 0 else -1, e * 400_000, z, i)
        for job, a, t, s, e, z, i in attempts
    ]
    trace = with_instances(
        trace_of(
            sorted(attempts, key=lambda row: row[2]),
            machines,
            until=10**9,
        )
    )
    # In every fourth job all tasks keep apart, or only some.
    job = trace.tasks.collection
    n = len(trace.tasks)
    m = len(machines)
    is_apart = (job % 4 == 0) & ((job % 8 == 0) | (rng.random(n) < 0.7))
    trace = replace(
        trace,
        tasks=replace(
            trace.tasks,
            is_apart=is_apart,
            sets=np.where(
                job % 3 == 0,
                job % 2 + 1,
                0,
            ),
        ),
    )
    # A machine goes and comes, another meets a set of constraints no longer, and again.
    times = np.sort(rng.integers(1, 40, 4)) * 400_000 + 1
    rows = [
        (times[0], 0, 0, 0),
        (times[1], m - 1, 0, 1),
        (times[2], 0, 1, 0),
        (times[3], m - 1, 1, 1),
    ]
    changes = np.vstack([trace.changes, rows]) if seed % 2 else trace.changes
    if seed % 3 == 0:
        # Two GPUs on every other machine, of which each task of every other job takes one.
        capacity = np.column_stack([trace.machines.capacity, np.arange(m) % 2 * 2000])
        tasks = replace(trace.tasks, extended=(job % 2 * 1000)[:, None])
        trace = replace(trace, tasks=tasks, machines=replace(trace.machines, capacity=capacity))
    return replace(
        trace,
        changes=changes,
        allowed=np.array([[True] * m, (np.arange(m) % 2 == 0).tolist()]),
    )


@pytest.mark.parametrize("seed", range(30))
def test_random_cells_are_as_in_plain_python(seed: int) -> None:
    trace = random_trace(seed)
    rows = replayed(trace, parse_policy("best-fit"), 1.0, whole_jobs=True)
    assert set(rows[:, 0]) == set(range(len(trace.tasks)))
    ran = rows[rows[:, 2] >= 0]
    # Of one that was submitted again the last row counts.
    assert {int(row[0]): (int(row[2]), int(row[4])) for row in ran} == plain(trace, "best-fit")
    # The case is one: some wait.
    assert (ran[:, 2] > ran[:, 1]).any()


def test_where_each_job_has_one_task_nothing_is_whole() -> None:
    attempts = [
        (1, 0, 0, 0, 300, 0.75, FREE),
        (2, 0, 100, 100, 200, 0.5, FREE),
    ]
    assert starts(trace_of(attempts)) == [(1, 0, 0), (2, 100, 300)]
