"""NILAS and LAVA in plain Python: every machine is asked about every task, in a cell where nobody waits."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from borgtrace.scheduling.lifetimes import AGES, Predictions
from borgtrace.scheduling.replay import ScheduleInput
from borgtrace.schema.time import HOUR, MINUTE

FOREVER = float("inf")


class PlainPolicy(ABC):
    """What the two have in common: machines with tasks, and when each has to be looked at."""

    def __init__(self, trace: ScheduleInput, predictions: Predictions) -> None:
        self.trace = trace
        self.predictions = predictions
        self.capacity = trace.machines.capacity[:, 0].tolist()
        self.size = trace.tasks.sizes[:, 0].tolist()
        self.tasks: list[list[int]] = [[] for _ in self.capacity]
        self.started: dict[int, int] = {}
        self.due = [FOREVER] * len(self.capacity)

    def free(self, machine: int) -> int:
        return self.capacity[machine] - sum(self.size[task] for task in self.tasks[machine])

    def is_known(self, task: int) -> bool:
        return len(self.predictions.lasts) > 0 or self.predictions.lines[task] >= 0

    def end(self, task: int, started: int, time: int) -> float:
        if len(self.predictions.lasts):
            return started + self.predictions.lasts[task]
        if not self.is_known(task):
            return time
        expected = self.predictions.expected[self.predictions.lines[task]]
        if not self.predictions.is_repeated:
            return started + expected[0]
        return time + expected[np.searchsorted(AGES, time - started, side="right") - 1]

    def choose(self, task: int, time: int) -> int:
        end = self.end(task, time, time)
        ranked = []
        for machine, capacity in enumerate(self.capacity):
            left = self.free(machine) - self.size[task]
            if left >= 0:
                level = self.level(machine, end, time) if self.is_known(task) else 0
                # As much CPU as memory: the share that is left of both.
                ranked.append((level, left / capacity + left / capacity, machine))
        return min(ranked)[2]

    @abstractmethod
    def level(self, machine: int, end: float, time: int) -> int:
        """Return how bad a machine is for a task that is expected to end then."""

    @abstractmethod
    def look(self, machine: int, time: int) -> None:
        """Look at a machine again."""

    def schedule(self) -> list[int]:
        """Return the machine of each attempt."""
        times = self.trace.tasks.times
        ends = self.trace.arrivals + times["left_time"] - times["schedule_time"]
        # Of one instant ends come first.
        events = [(time, 0, task) for task, time in enumerate(ends.tolist())]
        events += [(time, 1, task) for task, time in enumerate(self.trace.arrivals.tolist())]
        machine_of = [-1] * len(ends)
        changed: list[int] = []
        for time, is_arrival, task in sorted(events):
            for machine in changed:
                self.look(machine, time)
            for machine in np.argsort(self.due, kind="stable").tolist():
                if self.due[machine] <= time:
                    self.look(machine, time)
            if is_arrival:
                machine_of[task] = self.choose(task, time)
                self.tasks[machine_of[task]].append(task)
                self.started[task] = time
            else:
                self.tasks[machine_of[task]].remove(task)
            changed = [machine_of[task]]
        return machine_of


class PlainNilas(PlainPolicy):
    """The class of the time by which a task keeps a machine longer."""

    def __init__(self, trace: ScheduleInput, predictions: Predictions) -> None:
        super().__init__(trace, predictions)
        self.exit = [-FOREVER] * len(self.capacity)
        self.seen: list[list[int]] = [[] for _ in self.capacity]

    def look(self, machine: int, time: int) -> None:
        tasks = self.tasks[machine]
        if self.due[machine] > time and tasks[:-1] == self.seen[machine]:
            # One has started, of which alone something is new.
            asked = tasks[-1:]
        else:
            asked = tasks
            self.exit[machine] = -FOREVER
            self.due[machine] = FOREVER
        for task in asked:
            end = self.end(task, self.started[task], time)
            self.exit[machine] = max(self.exit[machine], end)
            if self.predictions.is_repeated and end > time:
                self.due[machine] = min(self.due[machine], end)
        self.seen[machine] = list(tasks)

    def level(self, machine: int, end: float, time: int) -> int:
        exit = max(self.exit[machine], time)
        # Two that never end are no longer than each other.
        longer = end - exit if end > exit else 0.0
        bounds = [0.0, *(15 * MINUTE * 4.0**step for step in range(5))]
        return sum(longer > bound for bound in bounds)


class PlainLava(PlainPolicy):
    """Classes of lives, and machines that are open or filled."""

    def __init__(self, trace: ScheduleInput, predictions: Predictions) -> None:
        super().__init__(trace, predictions)
        self.life = [-1] * len(self.capacity)
        self.is_filled = [False] * len(self.capacity)
        self.residual: list[set[int]] = [set() for _ in self.capacity]
        self.seen: list[set[int]] = [set() for _ in self.capacity]

    def class_of(self, life: float) -> int:
        return sum(life > HOUR * 10.0**step for step in range(3))

    def look(self, machine: int, time: int) -> None:
        tasks = set(self.tasks[machine])
        known = self.seen[machine] & tasks
        is_due = time >= self.due[machine]
        longest = 0
        for task in tasks - known:
            longest = max(longest, self.class_of(self.end(task, self.started[task], time) - time))
        before = self.life[machine]
        is_renewed = False
        if not tasks:
            self.life[machine] = -1
            self.is_filled[machine] = False
            self.due[machine] = FOREVER
        elif not known:
            self.life[machine] = longest
            self.is_filled[machine] = False
            is_renewed = True
        elif longest > before:
            self.life[machine] = longest
        elif is_due:
            self.life[machine] = min(before + 1, 3)
        elif self.is_filled[machine] and not known & self.residual[machine]:
            self.life[machine] = max(before - 1, 0)
        is_renewed = is_renewed or is_due or self.life[machine] != before
        if 10 * self.free(machine) <= self.capacity[machine] and not self.is_filled[machine]:
            self.is_filled[machine] = True
            is_renewed = True
        if tasks and is_renewed:
            life = self.life[machine]
            self.due[machine] = FOREVER if life == 3 else time + HOUR * 10.0**life
            self.residual[machine] = tasks
        self.residual[machine] = self.residual[machine] & tasks
        self.seen[machine] = tasks

    def level(self, machine: int, end: float, time: int) -> int:
        wanted = self.class_of(end - time)
        life = self.life[machine]
        if life < 0:
            return 4
        if life < wanted:
            return 7
        if life == wanted:
            return 5 if self.is_filled[machine] and life < 3 else 3
        return life - wanted - 1 if self.is_filled[machine] else 6
