"""A scheduler of one's own: plain functions that say where a task goes, which waits first, and who is evicted."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from borgtrace.errors import UsageError


class TaskView(NamedTuple):
    """What a scheduler knows of a task; nothing of what becomes of it.

    Attributes
    ----------
    cpu, memory
        What it is planned with, as shares of the largest machine.
    gpu
        GPUs that it requests; 0 where the trace has none.  Less than 1 is a share of one device.
    priority
        As in the trace.
    """

    cpu: float
    memory: float
    gpu: float
    priority: int


class MachineView(NamedTuple):
    """What a scheduler knows of a machine, before the task is on it.

    Attributes
    ----------
    cpu_capacity, memory_capacity
        Shares of the largest machine.
    gpu_capacity
        GPUs; 0 where the trace has none.
    cpu_free, memory_free, gpu_free
        What no task there is planned with, in the same units.
    n_tasks
        Tasks that run there.
    devices
        Where devices are known, which is in ``borgtrace simulate gpus`` alone: what is free of each GPU, as a share of
        it, 8 numbers; 0 where there is none.
    """

    cpu_capacity: float
    memory_capacity: float
    gpu_capacity: float
    cpu_free: float
    memory_free: float
    gpu_free: float
    n_tasks: int


Score = Callable[[TaskView, MachineView], float]
Filter = Callable[[TaskView, MachineView], bool]
Rank = Callable[[TaskView], float]
DeviceChoice = Callable[[TaskView, MachineView], int]


def least_left(task: TaskView, machine: MachineView) -> float:
    """Return what would be left of CPU and memory, as shares of the machine: the score where none is given."""
    cpu_left = (machine.cpu_free - task.cpu) / machine.cpu_capacity
    memory_left = (machine.memory_free - task.memory) / machine.memory_capacity
    return cpu_left + memory_left


def anywhere(task: TaskView, machine: MachineView) -> bool:
    """Return True: the filter where none is given."""
    return True


@dataclass(frozen=True, kw_only=True)
class Scheduler:
    """A scheduler made of plain functions, for ``borgtrace simulate``, ``simulate gpus`` and ``compact``.

    The program keeps room, constraints and anti-affinity: the functions are asked only of machines that could take the
    task.  `score`, `accepts` and `device` are compiled by Numba, so they are written in the part of Python that it
    knows, and their results follow from their arguments alone: borgtrace asks again only where a machine has changed.

    Parameters
    ----------
    name, about
        What users call it, and what it does, in a few words.
    score
        ``score(task, machine)``: the machine with the smallest result is chosen, of equal ones that with the lowest
        id; infinity: not this one.  By default what would be left of CPU and memory, as best-fit.
    accepts
        ``accepts(task, machine)``: whether a machine may be used at all.  It is also asked, with the machine as it
        is, before tasks are evicted from it.
    order
        ``order(task)``: of waiting tasks, the smallest is asked first when a machine gets room, and of equal ones
        the first that came.  By default the highest priority.
    victim
        ``victim(task)``: where a task evicts those of lower tiers, the smallest on the machine goes first, and of
        equal ones the one that started last.  By default the lowest priority.
    device
        ``device(task, machine)``: where a task takes a share of one GPU, the place of that GPU in ``machine.devices``;
        only ``borgtrace simulate gpus`` asks.  By default that on which least is left.

    Raises
    ------
    UsageError
        What should be a function of so many arguments is none.

    Examples
    --------
    >>> def fewest_tasks(task, machine):
    ...     return machine.n_tasks
    >>> Scheduler(name="fewest-tasks", about="the machine with the fewest tasks", score=fewest_tasks).label
    'fewest-tasks'
    """

    name: str
    about: str
    score: Score = least_left
    accepts: Filter = anywhere
    order: Rank | None = None
    victim: Rank | None = None
    device: DeviceChoice | None = None

    def __post_init__(self) -> None:
        """Refuse what is no function of the right number of arguments."""
        for role, arguments in ROLES.items():
            function = getattr(self, role)
            if function is not None and not takes(function, len(arguments)):
                raise UsageError(
                    f"scheduler {self.name}",
                    f"`{role}` cannot be called",
                    expected=f"a function {role}({', '.join(arguments)})",
                    got=described(function),
                )

    @property
    def label(self) -> str:
        """The name, as tables show it."""
        return self.name


ROLES = {
    "score": ("task", "machine"),
    "accepts": ("task", "machine"),
    "order": ("task",),
    "victim": ("task",),
    "device": ("task", "machine"),
}
"""What a scheduler is made of, and the arguments of each."""


def takes(function: Any, n_arguments: int) -> bool:
    """Whether a function can be called with so many arguments."""
    if not callable(function):
        return False
    # Of a compiled function the one that was written.
    written = getattr(function, "py_func", function)
    try:
        inspect.signature(written).bind(*range(n_arguments))
    except (TypeError, ValueError):
        return False
    return True


def described(value: Any) -> str:
    """Return what stands in the place of a function, for a message."""
    written = getattr(value, "py_func", value)
    if inspect.isfunction(written):
        return f"{written.__name__}{inspect.signature(written)}"
    return repr(value)
