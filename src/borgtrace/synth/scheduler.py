"""Which machine a task goes to: one with room by request, overcommitted as in the real cell."""

import random

from borgtrace.synth.jobs import Task
from borgtrace.synth.machines import Machines

CPU_LIMIT = 1.9
"""Requested CPU per capacity up to which a machine takes tasks (the mean of the real cell is 1.135)."""
MEMORY_LIMIT = 1.4
"""The same for memory (mean .933)."""
CHOICES = 3
"""Machines with room that a scheduler compares; the least requested takes the task."""
TRIES = 40
"""Random machines it looks at to find them."""


class Scheduler:
    """Requested resources per machine, and the search for room."""

    def __init__(self, machines: Machines, rng: random.Random) -> None:
        count = len(machines)
        self.random = rng
        self.cpu_limit = (machines.cpu * CPU_LIMIT).tolist()
        self.memory_limit = (machines.memory * MEMORY_LIMIT).tolist()
        self.cpu = [0.0] * count
        self.memory = [0.0] * count
        self.is_up = [True] * count
        self.count = count
        self._tasks: list[dict[int, Task]] = [{} for _ in range(count)]

    def fits(self, task: Task, machine: int) -> bool:
        """Return whether the machine is up, allowed and has room."""
        job = task.job
        return (
            self.is_up[machine]
            and self.cpu[machine] + job.cpu <= self.cpu_limit[machine]
            and self.memory[machine] + job.memory <= self.memory_limit[machine]
            and (job.allowed is None or bool(job.allowed[machine]))
            and not (job.different and machine in job.machines)
        )

    def _load(self, machine: int) -> float:
        return max(
            self.cpu[machine] / self.cpu_limit[machine],
            self.memory[machine] / self.memory_limit[machine],
        )

    def choose(self, task: Task, insist: bool = False) -> int:
        """Return the least loaded of a few random machines with room, −1 if there is none.

        A task inside an alloc set goes where its alloc instance is.

        With `insist` the least loaded machine of all is returned when none has room.
        """
        if task.job.host is not None:
            # Not looked for: the room was booked when the alloc instance was placed.
            return task.job.host.tasks[task.index].machine
        best, found = -1, 0
        # A few random machines rather than all: the cost of placing a task does not grow with the cell.
        for _ in range(TRIES):
            machine = int(self.random.random() * self.count)
            if self.fits(task, machine):
                found += 1
                if best < 0 or self._load(machine) < self._load(best):
                    best = machine
                if found == CHOICES:
                    return best
        return min(range(self.count), key=self._load) if best < 0 and insist else best

    def choose_victim(self, task: Task) -> int:
        """Return a machine where evicting lower priorities makes room, −1 if there is none."""
        for _ in range(50):
            machine = int(self.random.random() * self.count)
            if self.is_up[machine] and (task.job.allowed is None or task.job.allowed[machine]):
                lower = self._below(task, machine)
                cpu = self.cpu[machine] - sum(t.job.cpu for t in lower)
                memory = self.memory[machine] - sum(t.job.memory for t in lower)
                if (
                    cpu + task.job.cpu <= self.cpu_limit[machine]
                    and memory + task.job.memory <= self.memory_limit[machine]
                ):
                    return machine
        return -1

    def victims(self, task: Task, machine: int) -> list[Task]:
        """Return the tasks to evict so that `task` fits: lowest priority first, then the youngest."""
        cpu = self.cpu[machine] + task.job.cpu - self.cpu_limit[machine]
        memory = self.memory[machine] + task.job.memory - self.memory_limit[machine]
        chosen: list[Task] = []
        # The serial number last: victims must not depend on the order in which tasks came to the machine.
        for other in sorted(
            self._below(task, machine), key=lambda t: (t.job.priority, -t.start, t.serial)
        ):
            if cpu <= 0.0 and memory <= 0.0:
                break
            chosen.append(other)
            cpu -= other.job.cpu
            memory -= other.job.memory
        return chosen

    def _below(self, task: Task, machine: int) -> list[Task]:
        # Tasks inside alloc sets have booked nothing, so evicting them would make no room.
        return [
            t
            for t in self._tasks[machine].values()
            if t.job.host is None and t.job.priority < task.job.priority
        ]

    def add(self, task: Task) -> None:
        """Book a task on its machine."""
        if task.job.host is None:
            self.cpu[task.machine] += task.job.cpu
            self.memory[task.machine] += task.job.memory
        self._tasks[task.machine][task.serial] = task
        if task.job.different:
            task.job.machines.add(task.machine)

    def remove(self, task: Task) -> None:
        """Release a task's resources."""
        if task.job.host is None:
            self.cpu[task.machine] -= task.job.cpu
            self.memory[task.machine] -= task.job.memory
        del self._tasks[task.machine][task.serial]
        task.job.machines.discard(task.machine)

    def tasks_on(self, machine: int) -> list[Task]:
        """Return the tasks of a machine, in order of age."""
        return list(self._tasks[machine].values())
