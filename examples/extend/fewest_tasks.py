"""A scheduler: the machine with the fewest tasks, and never the last tenth of its memory."""

from borgtrace import Scheduler


def score(task, machine):
    """Return how bad a machine is: tasks there, and between equal ones how much CPU would be left."""
    left = (machine.cpu_free - task.cpu) / machine.cpu_capacity
    return machine.n_tasks + left / 2


def accepts(task, machine):
    """Keep a tenth of the memory free, except for tasks of production."""
    left = (machine.memory_free - task.memory) / machine.memory_capacity
    return task.priority >= 9 or left >= 0.1


def order(task):
    """Ask small tasks first when a machine gets room."""
    return max(task.cpu, task.memory)


def victim(task):
    """Evict the largest first."""
    return -task.cpu


SCHEDULER = Scheduler(
    name="fewest-tasks",
    about="the machine with the fewest tasks, a tenth of its memory left free",
    score=score,
    accepts=accepts,
    order=order,
    victim=victim,
)
