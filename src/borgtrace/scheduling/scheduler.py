"""A scheduler of one's own: plain functions that say where a task goes, which waits first, and who is evicted."""

from __future__ import annotations

import inspect
import math
from collections import namedtuple
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
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
    expected_life
        Hours that it is expected to run when it starts now, infinity where it does not end; NaN: nothing is known.
        There for a scheduler that says `knows_lifetimes`.
    """

    cpu: float
    memory: float
    gpu: float
    priority: int
    expected_life: float = math.nan


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
    attributes
        The values of those that the scheduler names, in its order: numbers as they are, words as
        :func:`attribute_number` returns them, NaN where the machine has none.  There for a scheduler that names any.
    remaining_life
        Hours until the last of its tasks is expected to end; 0 where it is empty.  Tasks of which nothing is known do
        not count.  There for a scheduler that says `knows_lifetimes`.
    """

    cpu_capacity: float
    memory_capacity: float
    gpu_capacity: float
    cpu_free: float
    memory_free: float
    gpu_free: float
    n_tasks: int
    attributes: tuple[float, ...] = ()
    remaining_life: float = 0.0


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
    knows, and their results follow from their arguments alone: borgtrace asks again only where a machine has changed,
    or each time where lifetimes are known.

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
    attributes
        Names of the attributes of machines that the functions read in ``machine.attributes``: of the table
        machine_attributes, or ``platform_id`` and ``switch_id`` of machine_events; in ``borgtrace simulate gpus``
        ``gpu_model`` alone.
    knows_lifetimes
        Whether the functions read ``task.expected_life`` and ``machine.remaining_life``.  What is known is chosen by
        ``--policy NAME:lifetimes=…``, as for ``nilas``; learned on earlier days where nothing is said.  Only
        ``simulate`` has lifetimes, and each start costs a look at all machines that could take the task.

    Raises
    ------
    UsageError
        What should be a function of so many arguments is none, or `attributes` are no names, each once.

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
    attributes: Sequence[str] = ()
    knows_lifetimes: bool = False

    def __post_init__(self) -> None:
        """Refuse what is no function of the right number of arguments, and attributes without a name."""
        self._check_declarations()
        for role, arguments in ROLES.items():
            function = getattr(self, role)
            if function is not None and not takes(function, len(arguments)):
                raise UsageError(
                    f"scheduler {self.name}",
                    f"`{role}` cannot be called",
                    expected=f"a function {role}({', '.join(arguments)})",
                    got=described(function),
                )

    def _check_declarations(self) -> None:
        """Refuse attributes without a name, and keep the names as a tuple: compiled code is kept by scheduler."""
        names = self.attributes
        is_list = isinstance(names, Sequence) and not isinstance(names, str)
        if not is_list or not all(isinstance(name, str) and name for name in names):
            raise UsageError(
                f"scheduler {self.name}",
                "`attributes` are no names",
                expected='a tuple of texts, such as ("platform_id",)',
                got=repr(names),
            )
        if len(set(names)) < len(names):
            raise UsageError(
                f"scheduler {self.name}",
                "`attributes` name one twice",
                expected="each once",
                got=repr(names),
            )
        object.__setattr__(self, "attributes", tuple(names))
        if self.knows_lifetimes and self.device is not None:
            raise UsageError(
                f"scheduler {self.name}",
                "`device` beside lifetimes",
                expected="one of the two: where devices are known, lifetimes are not",
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


DECLARED = {
    "attributes": "attributes=(…)",
    "expected_life": "knows_lifetimes=True",
    "remaining_life": "knows_lifetimes=True",
}
"""Fields of views that are there for a scheduler that says so, and what it says."""


class Views(NamedTuple):
    """Classes of what a scheduler sees: of a task and a machine, without the fields that it has not asked for."""

    task: type[Any]
    machine: type[Any]


def views_of(scheduler: Scheduler) -> Views:
    """Return the classes of a scheduler's views.

    What it has not asked for is not there: a forgotten declaration is an error, and no NaN that compares as False.

    Examples
    --------
    >>> views_of(Scheduler(name="tight", about="least is left")).task._fields
    ('cpu', 'memory', 'gpu', 'priority')
    """
    withheld = set()
    if not scheduler.attributes:
        withheld.add("attributes")
    if not scheduler.knows_lifetimes:
        withheld |= {"expected_life", "remaining_life"}
    return shortened_views(frozenset(withheld))


@cache
def shortened_views(withheld: frozenset[str]) -> Views:
    """Return views without some fields, always the same classes: what Numba has compiled is kept by class."""
    classes = []
    for view in (TaskView, MachineView):
        fields = [name for name in view._fields if name not in withheld]
        classes.append(namedtuple(view.__name__, fields))
    return Views(*classes)


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
