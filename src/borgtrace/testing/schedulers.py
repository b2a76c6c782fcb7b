"""The contract of a scheduler of one's own, on tasks and machines that are made up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from borgtrace.errors import UsageError
from borgtrace.kernels.arrays import Index
from borgtrace.scheduling.gpus.cell import MOST_DEVICES
from borgtrace.scheduling.gpus.gpu_options import is_for_gpus
from borgtrace.scheduling.gpus.node_kernel import with_devices
from borgtrace.scheduling.machine_attributes import attribute_number
from borgtrace.scheduling.machines import UNIT, Demand
from borgtrace.scheduling.own_kernel import GPU_PARTS
from borgtrace.scheduling.own_scheduler import (
    compiled_or_refused,
    fields_of,
    is_number,
    machine_view,
    noun_of,
    task_view,
)
from borgtrace.scheduling.packing import pack
from borgtrace.scheduling.policies import SCHEDULER_KINDS, PlacementPolicy, is_scheduler
from borgtrace.scheduling.scheduler import (
    DECLARED,
    ROLES,
    MachineView,
    Scheduler,
    TaskView,
    views_of,
)
from borgtrace.testing.gpu_schedulers import check_compiled_for_gpus, check_device
from borgtrace.testing.plain_schedulers import in_python, plain_score
from borgtrace.testing.scheduler_replays import check_replays, made_up_attributes
from borgtrace.testing.trial import Trials, check_words

_MACHINES = 12
_TASKS = 60


class Asked(NamedTuple):
    """A task and a machine that it fits on, and where a sentence says that something went wrong."""

    where: str
    task: Any
    machine: Any


def check_scheduler(scheduler: Scheduler) -> None:
    """Check that a scheduler keeps its contract; this needs no store.

    Its functions return numbers (the filter: yes or no; the choice of a device: one with room) for every task and
    machine: with and without GPUs, for a task that asks for nothing, for a machine that is empty or becomes full.  They
    return the same again, ask for nothing that a scheduler does not know, print nothing, and take some machine.  Numba
    can compile score, filter and choice of a device, which then say the same, and small cells, with devices that are
    known and, unless it reads these, without, are packed as by asking every machine each time.  With
    lifetimes a small trace is replayed likewise, and what comes later in it changes nothing before.  A scheduler that
    names attributes may take none of the machines, whose values are made up.

    Parameters
    ----------
    scheduler
        A value ``borgtrace.Scheduler(…)``.

    Raises
    ------
    ContractError
        An AssertionError with every failure at once, one sentence each.

    Examples
    --------
    >>> from borgtrace import Scheduler
    >>> check_scheduler(Scheduler(name="tight", about="least is left"))
    """
    trials = Trials()
    if not is_scheduler(scheduler):
        trials.add(f"it is not {SCHEDULER_KINDS.wanted}")
        trials.raise_all(str(scheduler))
    check_words(trials, scheduler)
    for role in ROLES:
        if getattr(scheduler, role) is not None:
            _check_function(trials, scheduler, role)
    if not trials.failures and not scheduler.attributes:
        _check_takes_some(trials, scheduler)
    if not trials.failures:
        _check_compiled(trials, scheduler)
    trials.raise_all(scheduler.name)


def _check_function(trials: Trials, scheduler: Scheduler, role: str) -> None:
    """Check one of the functions in plain Python, where a failure has its line."""
    function = in_python(getattr(scheduler, role))
    first: list[Any] = []
    asked_of_it = questions_of(role, scheduler)
    for asked in asked_of_it:
        arguments = arguments_of(role, asked)
        value = trials.call(asked.where, partial(_called, function, arguments))
        if value is None:
            trials.add(f"{role} returns None: is there a return at its end?", asked.where)
        elif isinstance(value, Complaint):
            trials.add(value.sentence)
        else:
            _check_value(trials, role, asked, value)
        first.append(value)
    if trials.failures:
        return
    # In another order: what it remembers of one question shows in the next.
    for asked, before in reversed(list(zip(asked_of_it, first, strict=True))):
        arguments = arguments_of(role, asked)
        if _called(function, arguments) != before:
            trials.add(
                f"{role} returns another value when it is asked again: it may depend on its arguments alone"
            )
            return


def _check_value(trials: Trials, role: str, asked: Asked, value: Any) -> None:
    if role == "accepts":
        if not isinstance(value, bool | np.bool_):
            trials.add(f"accepts returns {value!r}: expected True or False", asked.where)
    elif role == "device":
        check_device(trials, asked.where, asked.task, asked.machine, value)
    elif isinstance(value, float | np.floating) and np.isnan(value):
        trials.add(f"{role} returns NaN: return infinity for what should not be used", asked.where)
    elif not is_number(value):
        trials.add(f"{role} returns {value!r}: expected a number", asked.where)


class Complaint(NamedTuple):
    """What a function does with its arguments that it may not."""

    sentence: str


def _called(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Return what a function returns; where it asks for what there is not, or changes what it is given, say so."""
    try:
        return function(*arguments)
    except AttributeError as error:
        # Python 3.11 says neither of which object nor which attribute cannot be set.
        if "can't set attribute" in str(error):
            return Complaint("it changes its input: a task and a machine stay as they are")
        view: Any = error.obj
        noun = noun_of(view)
        if not noun:
            raise
        asked = f"it asks for {noun}.{error.name}, which"
        if error.name in DECLARED:
            return Complaint(f"{asked} is there for a scheduler that says {DECLARED[error.name]}")
        fields = ", ".join(view._fields)
        return Complaint(f"{asked} a scheduler does not know: a {noun} has {fields}")


def _check_takes_some(trials: Trials, scheduler: Scheduler) -> None:
    is_taken = []
    for asked in questions(scheduler):
        is_accepted = in_python(scheduler.accepts)(asked.task, asked.machine)
        score = in_python(scheduler.score)(asked.task, asked.machine)
        is_taken.append(bool(is_accepted) and score < np.inf)
    if not any(is_taken):
        trials.add(f"it takes none of {len(is_taken)} machines that have room for the task")


def _check_compiled(trials: Trials, scheduler: Scheduler) -> None:
    """Check that Numba compiles score and filter, and that small cells are packed as by asking all in Python."""
    if is_for_gpus(scheduler):
        check_compiled_for_gpus(trials, scheduler)
        if trials.failures or reads_devices(scheduler):
            return
    try:
        compiled_or_refused(scheduler)
    except UsageError as error:
        trials.add(f"Numba cannot compile {error.where}: {error.got}")
        return
    if scheduler.knows_lifetimes:
        check_replays(trials, scheduler)
        return
    cell = small_cell(scheduler)
    policy = PlacementPolicy.of(scheduler)
    order = np.arange(len(cell.demand.sizes))
    rank = np.arange(len(cell.capacity))
    packing = trials.call("", lambda: pack(cell.demand, order, cell.capacity, rank, policy))
    if packing is None:
        return
    expected = plain_choices(scheduler, cell)
    n_other = int((packing.machines != expected).sum())
    if n_other:
        trials.add(
            f"compiled it places {n_other} of {len(expected)} tasks on other machines than in Python: "
            "its result may follow from its arguments alone, by numbers below 2**63"
        )


class SmallCell(NamedTuple):
    """Tasks, and capacities of machines: int64 (machines, 3)."""

    demand: Demand
    capacity: Index


def small_cell(scheduler: Scheduler) -> SmallCell:
    """Return a cell of a few machines of three shapes, with attributes, and tasks of several kinds."""
    rng = np.random.default_rng(0)
    shapes = np.array(
        [[UNIT, UNIT, 0], [UNIT // 2, UNIT // 2, 0], [UNIT, UNIT // 2, 8 * GPU_PARTS]]
    )
    kind = rng.integers(0, 6, _TASKS)
    sizes = rng.integers(1, UNIT // 4, (6, 2))[kind]
    gpus = np.where(kind == 0, GPU_PARTS, 0)
    nobody = np.full(_TASKS, -1)
    demand = Demand(
        sizes=sizes,
        groups=nobody,
        sets=np.zeros(_TASKS, np.int64),
        extended=gpus[:, None].astype(np.int64),
        priority=kind % 3 * 100,
        attributes=made_up_attributes(scheduler.attributes, _MACHINES),
    )
    return SmallCell(demand, shapes[np.arange(_MACHINES) % 3])


def plain_choices(scheduler: Scheduler, cell: SmallCell) -> Index:
    """Return the machine of each task, all machines asked for each in plain Python; −1: none."""
    free = cell.capacity.copy()
    n_tasks = np.zeros(len(free), np.int64)
    taken = cell.demand.taken
    fields = fields_of(cell.demand, has_gpus=True)
    choices = np.full(len(taken), -1)
    for place, sizes in enumerate(taken):
        task = task_view(scheduler, fields[place])
        least = np.inf
        for machine in np.flatnonzero((sizes <= free).all(axis=1)).tolist():
            state = np.concatenate([cell.capacity[machine], free[machine], n_tasks[[machine]]])
            attributes = cell.demand.attributes[machine]
            view = machine_view(scheduler, state, has_gpus=True, attributes=attributes)
            score = plain_score(scheduler, task, view)
            if score < least:
                least = score
                choices[place] = machine
        if choices[place] >= 0:
            free[choices[place]] -= sizes
            n_tasks[choices[place]] += 1
    return choices


def reads_devices(scheduler: Scheduler) -> bool:
    """Whether a scheduler asks for devices, so that it is one for ``borgtrace simulate gpus`` alone."""
    machine_view = views_of(scheduler).machine
    for asked in questions(scheduler):
        machine = machine_view(*asked.machine[: len(machine_view._fields)])
        try:
            plain_score(scheduler, asked.task, machine)
        except AttributeError:
            return True
    return False


def arguments_of(role: str, asked: Asked) -> tuple[Any, ...]:
    """Return what a function of this role is called with."""
    both: Mapping[str, Any] = {"task": asked.task, "machine": asked.machine}
    return tuple(both[name] for name in ROLES[role])


def questions_of(role: str, scheduler: Scheduler) -> list[Asked]:
    """Return what a function of this role is asked about."""
    asked = questions(scheduler)
    return [one for one in asked if 0 < one.task.gpu < 1] if role == "device" else asked


def questions(scheduler: Scheduler) -> list[Asked]:
    """Return tasks and machines that they fit on, as the scheduler sees them."""
    n = len(scheduler.attributes)
    task = TaskView(cpu=0.125, memory=0.0625, gpu=0.0, priority=200, expected_life=2.5)
    room = MachineView(1.0, 0.5, 0.0, 0.5, 0.25, 0.0, 7, (1.0,) * n, remaining_life=12.0)
    machine = with_devices(MachineView._fields)(*room, (0.0,) * MOST_DEVICES)
    empty = machine._replace(cpu_free=1.0, memory_free=0.5, n_tasks=0, remaining_life=0.0)
    full = machine._replace(cpu_free=0.125, memory_free=0.0625)
    small = machine._replace(
        cpu_capacity=0.25, memory_capacity=0.25, cpu_free=0.1, memory_free=0.2, n_tasks=1
    )
    with_gpus = with_free(machine, 0.5, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0)
    two_gpus = with_free(machine, 0.0, 0.25)
    asked = [
        Asked("on a machine with a few tasks", task, machine),
        Asked("on an empty machine", task, empty),
        Asked("on a machine that becomes full", task, full),
        Asked("for a task that asks for nothing", TaskView(0.0, 0.0, 0.0, 0, 2.5), machine),
        Asked("for a task that takes half a GPU", task._replace(gpu=0.5, priority=0), with_gpus),
        Asked("for a task that takes two GPUs", task._replace(gpu=2.0), with_gpus),
        Asked("on a machine whose first GPU is full", task._replace(gpu=0.25), two_gpus),
        Asked("on a small machine", task._replace(cpu=0.01), small),
    ]
    asked += questions_of_attributes(scheduler, task, machine)
    asked += questions_of_lifetimes(scheduler, task, machine)
    return [shortened(one, scheduler) for one in asked]


def questions_of_attributes(scheduler: Scheduler, task: TaskView, machine: Any) -> list[Asked]:
    """Return machines whose attributes are words, or missing, for a scheduler that names any."""
    n = len(scheduler.attributes)
    if not n:
        return []
    word = machine._replace(attributes=(attribute_number("a word"),) * n)
    without = machine._replace(attributes=(np.nan,) * n)
    return [
        Asked("on a machine whose attributes are words", task, word),
        Asked("on a machine without the attributes", task, without),
    ]


def questions_of_lifetimes(scheduler: Scheduler, task: TaskView, machine: Any) -> list[Asked]:
    """Return tasks of which nothing is known, or that have no end, for a scheduler that knows lifetimes."""
    if not scheduler.knows_lifetimes:
        return []
    unknown = task._replace(expected_life=np.nan)
    endless = task._replace(expected_life=np.inf)
    kept = machine._replace(remaining_life=np.inf)
    return [
        Asked("for a task of which nothing is known", unknown, machine),
        Asked("for a task without an end on a machine without one", endless, kept),
    ]


def with_free(machine: Any, *free: float) -> Any:
    """Return a machine with GPUs, of which so much is free."""
    missing = MOST_DEVICES - len(free)
    return machine._replace(
        gpu_capacity=float(len(free)),
        gpu_free=sum(free),
        devices=(*free, *(0.0,) * missing),
    )


def shortened(asked: Asked, scheduler: Scheduler) -> Asked:
    """Return what a scheduler is asked, without the fields that it does not see."""
    task_view, machine_view = views_of(scheduler)
    if is_for_gpus(scheduler):
        machine_view = with_devices(machine_view._fields)
    task = task_view(*(getattr(asked.task, name) for name in task_view._fields))
    machine = machine_view(*(getattr(asked.machine, name) for name in machine_view._fields))
    return Asked(asked.where, task, machine)
