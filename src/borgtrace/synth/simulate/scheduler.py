"""Which machine a task goes to: one with room by request, overcommitted as in the real cell."""

import random

from borgtrace.synth.model.jobs import Task
from borgtrace.synth.model.machines import CellMachines

CPU_LIMIT = 1.9
"""Requested CPU per capacity up to which a machine takes tasks (the mean of the real cell is 1.135)."""
MEMORY_LIMIT = 1.4
"""The same for memory (mean .933)."""
CHOICES = 3
"""Machines with room that a scheduler compares; the least requested takes the task."""
TRIES = 40
"""Random machines it looks at to find them."""
EVICTION_TRIES = 50
"""Random machines it looks at to find one where evicting tasks makes room."""


class SyntheticScheduler:
    """Requested resources per machine, and the search for room.

    Parameters
    ----------
    machines
        The machines.
    rng
        Chooses the machines to look at.

    Attributes
    ----------
    cpu, memory
        What the tasks of each machine have requested.
    cpu_limit, memory_limit
        What they may request at most.
    is_up
        Whether each machine is there.
    """

    def __init__(self, machines: CellMachines, rng: random.Random) -> None:
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
        if not self.is_up[machine]:
            return False
        cpu = self.cpu[machine] + job.cpu
        memory = self.memory[machine] + job.memory
        if cpu > self.cpu_limit[machine] or memory > self.memory_limit[machine]:
            return False
        if job.different and machine in job.machines:
            return False
        return self._is_allowed(task, machine)

    def _is_allowed(self, task: Task, machine: int) -> bool:
        allowed = task.job.allowed
        return allowed is None or bool(allowed[machine])

    def _load(self, machine: int) -> float:
        cpu = self.cpu[machine] / self.cpu_limit[machine]
        memory = self.memory[machine] / self.memory_limit[machine]
        return max(cpu, memory)

    def choose(self, task: Task, insist: bool = False) -> int:
        """Return the least loaded of a few random machines with room, −1 if there is none.

        A task inside an alloc set goes where its alloc instance is.

        With `insist` the least loaded machine of all is returned when none has room.
        """
        if task.job.host is not None:
            # No search: the room was booked when the alloc instance was placed.
            return task.job.host.tasks[task.index].machine
        best = -1
        compared = 0
        # A few random machines rather than all: the cost of placing a task does not grow with the cell.
        for _ in range(TRIES):
            machine = int(self.random.random() * self.count)
            if not self.fits(task, machine):
                continue
            compared += 1
            if best < 0 or self._load(machine) < self._load(best):
                best = machine
            if compared == CHOICES:
                return best
        if best < 0 and insist:
            return self._least_loaded(task)
        return best

    def _least_loaded(self, task: Task) -> int:
        """Return the least loaded machine of all, where there is one that runs no task of a job that wants it so."""
        different = task.job.machines if task.job.different else set()
        choice = [
            machine
            for machine in range(self.count)
            if machine not in different and self._is_allowed(task, machine)
        ]
        return min(choice or range(self.count), key=self._load)

    def choose_victim(self, task: Task) -> int:
        """Return a machine where evicting lower priorities makes room, −1 if there is none."""
        for _ in range(EVICTION_TRIES):
            machine = int(self.random.random() * self.count)
            if not (self.is_up[machine] and self._is_allowed(task, machine)):
                continue
            lower = self._evictable(task, machine)
            lower_cpu = sum(other.job.cpu for other in lower)
            lower_memory = sum(other.job.memory for other in lower)
            cpu = self.cpu[machine] - lower_cpu
            memory = self.memory[machine] - lower_memory
            has_cpu = cpu + task.job.cpu <= self.cpu_limit[machine]
            has_memory = memory + task.job.memory <= self.memory_limit[machine]
            if has_cpu and has_memory:
                return machine
        return -1

    def victims(self, task: Task, machine: int) -> list[Task]:
        """Return the tasks to evict so that `task` fits: lowest priority first, then the youngest."""
        cpu = self.cpu[machine] + task.job.cpu
        memory = self.memory[machine] + task.job.memory
        cpu_needed = cpu - self.cpu_limit[machine]
        memory_needed = memory - self.memory_limit[machine]
        chosen: list[Task] = []
        for other in sorted(self._evictable(task, machine), key=_eviction_order):
            if cpu_needed <= 0.0 and memory_needed <= 0.0:
                break
            chosen.append(other)
            cpu_needed -= other.job.cpu
            memory_needed -= other.job.memory
        return chosen

    def _evictable(self, task: Task, machine: int) -> list[Task]:
        """Return the tasks of a machine with a lower priority than `task`."""
        # Tasks inside alloc sets have booked nothing, so evicting them would make no room.
        return [
            other
            for other in self._tasks[machine].values()
            if other.job.host is None and other.job.priority < task.job.priority
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


def _eviction_order(task: Task) -> tuple[int, int, int]:
    # The serial number last: victims must not depend on the order in which tasks came to the machine.
    return task.job.priority, -task.start, task.serial
