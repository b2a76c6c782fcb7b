"""Jobs that start whole or not at all: queues by hand, and the same as a plain restatement on random cells."""

from __future__ import annotations

import heapq
from dataclasses import replace

import numpy as np
import pytest

from borgtrace.scheduling import parse_policy
from borgtrace.scheduling.gangs import gangs_of
from borgtrace.scheduling.replay import PAUSE, ScheduleInput, replayed
from borgtrace.scheduling.state import ATTEMPT, RAN_ON, STARTED, SUBMITTED
from tests.scheduling.plain import PlainCell
from tests.scheduling.traces import trace_of

FREE, OTHER, PRODUCTION = range(3)
SECOND = 10**6
STEP = 400_000


def with_instances(trace: ScheduleInput) -> ScheduleInput:
    """Let each attempt be a task of its own."""
    return replace(trace, tasks=replace(trace.tasks, instance=np.arange(len(trace.tasks))))


def starts(
    trace: ScheduleInput, policy: str = "best-fit", *, whole_jobs: bool = True
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


END, CHANGE, ARRIVAL = range(3)
"""Of one instant ends come first, then machines, then arrivals."""


class PlainReplay:
    """A replay by a loop that looks at everything whenever a machine gets room.

    A part is a list of tasks that start together.  `starts` has the latest start and machine of each task.
    """

    def __init__(self, trace: ScheduleInput, policy: str) -> None:
        self.tasks = trace.tasks
        self.policy = policy
        self.start = trace.tasks.times["schedule_time"]
        self.left = trace.tasks.times["left_time"]
        self.allowed = trace.allowed.tolist()
        self.cell = PlainCell(
            trace.machines.capacity,
            range(len(trace.machines.ids)),
            self.allowed,
            extended=trace.tasks.extended,
        )
        self.cell.is_up = [False] * len(self.cell.is_up)
        self.agenda: list[tuple[int, int, int, list[int]]] = []
        for part in parts_of(trace):
            arrival = int(trace.arrivals[part[-1]])
            self.agenda.append((arrival, ARRIVAL, part[0], part))
        for place, row in enumerate(trace.changes):
            self.agenda.append((int(row[0]), CHANGE, place, row[1:].tolist()))
        heapq.heapify(self.agenda)
        self.waiting: list[list[int]] = []
        self.alone: list[list[int]] = []
        self.running: set[int] = set()
        self.starts: dict[int, tuple[int, int]] = {}

    def run(self) -> dict[int, tuple[int, int]]:
        while self.agenda:
            time, what, _, content = heapq.heappop(self.agenda)
            if what == ARRIVAL:
                self.arrive(content, time)
            elif what == CHANGE:
                self.change(content, time)
            elif content[0] in self.running:
                self.end(content, time)
            else:
                self.withdraw(content)
        return self.starts

    def demand(self, task: int) -> tuple[int, int, int, int, int]:
        """CPU, memory, group, set of constraints, and the task."""
        cpu, memory = map(int, self.tasks.sizes[task])
        return cpu, memory, int(self.tasks.groups[task]), int(self.tasks.sets[task]), task

    def remove(self, machine: int, task: int) -> None:
        self.cell.remove(machine, *self.demand(task)[:3], task)

    def try_all(self, part: list[int], machine: int, time: int) -> bool:
        placed: list[tuple[int, int]] = []
        for task in part:
            chosen = machine
            if len(part) > 1 or machine < 0:
                chosen = self.cell.choose(self.policy, *self.demand(task))
            if chosen < 0 or not self.cell.open(chosen, *self.demand(task)):
                break
            self.cell.place(chosen, *self.demand(task)[:3], task)
            placed.append((task, chosen))
        if len(placed) < len(part):
            for task, chosen in placed:
                self.remove(chosen, task)
            return False
        for task, chosen in placed:
            self.starts[task] = (time, chosen)
            self.running.add(task)
            if self.start[task] >= 0:
                end = time + int(self.left[task] - self.start[task])
                heapq.heappush(self.agenda, (end, END, task, [task, time]))
        return True

    def is_ready(self, part: list[int], machine: int) -> bool:
        return any(self.cell.open(machine, *self.demand(task)) for task in part)

    def refill(self, machine: int, time: int) -> None:
        if not self.cell.is_up[machine]:
            return
        failed: list[list[int]] = []
        while True:
            ready = [
                part for part in self.waiting if part not in failed and self.is_ready(part, machine)
            ]
            if not ready:
                return
            first = min(
                ready,
                key=lambda part: (-self.tasks.priority[part[0]], self.waiting.index(part)),
            )
            # One that is left of several is looked for everywhere, as they were.
            if self.try_all(first, machine if first in self.alone else -1, time):
                self.waiting.remove(first)
            else:
                failed.append(first)

    def arrive(self, part: list[int], time: int) -> None:
        for task in part:
            if self.start[task] < 0 and self.left[task] >= 0:
                left = max(time, int(self.left[task]))
                heapq.heappush(self.agenda, (left, END, task, [task]))
        if not self.try_all(part, -1, time):
            self.waiting.append(part)
            if len(part) == 1:
                self.alone.append(part)

    def change(self, content: list[int], time: int) -> None:
        machine, is_there, constraint_set = content
        if constraint_set:
            self.allowed[constraint_set - 1][machine] = bool(is_there)
        else:
            self.cell.is_up[machine] = bool(is_there)
            if not is_there:
                self.remove_all(machine, time)
        self.refill(machine, time)

    def remove_all(self, machine: int, time: int) -> None:
        for task in sorted(self.running):
            if self.starts[task][1] == machine:
                self.running.remove(task)
                self.remove(machine, task)
                heapq.heappush(self.agenda, (time + PAUSE, ARRIVAL, task, [task]))

    def end(self, content: list[int], time: int) -> None:
        task = content[0]
        started, machine = self.starts[task]
        # The end of an earlier start is none of this one.
        if len(content) == 1 or started == content[1]:
            self.running.remove(task)
            self.remove(machine, task)
            self.refill(machine, time)

    def withdraw(self, content: list[int]) -> None:
        # The end of a start that was cut short withdraws nobody.
        if len(content) > 1:
            return
        for part in self.waiting:
            if content[0] in part:
                part.remove(content[0])
        self.waiting = [part for part in self.waiting if part]


def parts_of(trace: ScheduleInput) -> list[list[int]]:
    """Return the tasks of each job that arrive within a second of each other."""
    parts_of_jobs: dict[int, list[list[int]]] = {}
    for task in range(len(trace.tasks)):
        parts = parts_of_jobs.setdefault(int(trace.tasks.collection[task]), [[]])
        last_part = parts[-1]
        if last_part and trace.arrivals[task] - trace.arrivals[last_part[-1]] > SECOND:
            parts.append([])
        parts[-1].append(task)
    return [part for parts in parts_of_jobs.values() for part in parts]


def random_trace(seed: int) -> ScheduleInput:
    """Return jobs of a few tasks on a few machines, some with constraints, which change, or mixed tasks."""
    rng = np.random.default_rng(seed)
    machines = rng.choice([0.25, 0.5, 1.0], int(rng.integers(1, 7))).tolist()
    attempts = []
    for job in range(1, int(rng.integers(3, 20))):
        begin = int(rng.integers(0, 30))
        size = float(rng.choice([0.05, 0.1, 0.2, 0.25]))
        for _ in range(int(rng.integers(1, 8))):
            # Two steps are together, three are not.
            begin += int(rng.choice([0, 0, 1, 2, 3]))
            lasts = int(rng.integers(1, 25))
            has_run = rng.random() < 0.85
            is_large = job % 5 == 0 and rng.random() < 0.5
            attempt = (
                job,
                0,
                begin * STEP,
                begin * STEP if has_run else -1,
                (begin + lasts) * STEP,
                size * 2 if is_large else size,
                job % 3,
            )
            attempts.append(attempt)
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
    times = np.sort(rng.integers(1, 40, 4)) * STEP + 1
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
    assert set(rows[:, ATTEMPT]) == set(range(len(trace.tasks)))
    ran = rows[rows[:, STARTED] >= 0]
    # Of one that was submitted again the last row counts.
    started = {int(row[ATTEMPT]): (int(row[STARTED]), int(row[RAN_ON])) for row in ran}
    assert started == PlainReplay(trace, "best-fit").run()
    # The case is one: some wait.
    assert (ran[:, STARTED] > ran[:, SUBMITTED]).any()


def test_where_each_job_has_one_task_nothing_is_whole() -> None:
    attempts = [
        (1, 0, 0, 0, 300, 0.75, FREE),
        (2, 0, 100, 100, 200, 0.5, FREE),
    ]
    assert starts(trace_of(attempts)) == [(1, 0, 0), (2, 100, 300)]
