"""A scheduler of one's own at work: compiled, asked about tasks, and what is said where its functions fail."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from borgtrace.errors import UsageError
from borgtrace.extensions import failure_of_extension, line_of_function, words_of
from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.scheduling.exits import Exits
from borgtrace.scheduling.kinds import kinds_of
from borgtrace.scheduling.lifetimes import lives_at_start
from borgtrace.scheduling.machines import (
    CPU,
    EXTENDED,
    MEMORY,
    NO_ATTRIBUTES,
    UNIT,
    CellState,
    Demand,
)
from borgtrace.scheduling.own_kernel import GPU_PARTS, kernel_of
from borgtrace.scheduling.own_scores import (
    COMMON,
    FAILURE,
    NO_LIVES,
    TASK,
    ExpectedLives,
    OwnScores,
    make_own_scores,
)
from borgtrace.scheduling.scheduler import DECLARED, Scheduler, views_of
from borgtrace.schema.time import HOUR

NO_VALUES: Numbers = np.empty(0)
"""Of attributes that do not change, or that nobody asks for."""

COMPILABLE = "use numbers, conditions and loops alone, and put @borgtrace.compiled() above functions it calls"
N_FIELDS = 4
"""Of a task, that every scheduler sees."""


def fields_of(demand: Demand, *, has_gpus: bool) -> Numbers:
    """Return what every scheduler knows of each task: float64 (n, `N_FIELDS`)."""
    n = len(demand.sizes)
    fields = np.zeros((n, N_FIELDS))
    fields[:, :EXTENDED] = demand.sizes / UNIT
    if has_gpus:
        fields[:, 2] = demand.extended[:, 0] / GPU_PARTS
    if len(demand.priority):
        fields[:, 3] = demand.priority
    return fields


def task_view(scheduler: Scheduler, fields: Numbers, life: float = math.nan) -> Any:
    """Return a task as a scheduler sees it, from its line of :func:`fields_of` and how many hours it may live."""
    cpu, memory, gpu, priority = fields.tolist()
    known = [life] if scheduler.knows_lifetimes else []
    return views_of(scheduler).task(cpu, memory, gpu, int(priority), *known)


def own_scores_of(
    scheduler: Scheduler | None,
    cell: CellState,
    demand: Demand,
    *,
    has_gpus: bool,
    attributes: Numbers = NO_ATTRIBUTES,
    values: Numbers = NO_VALUES,
    exits: Exits | None = None,
) -> OwnScores | None:
    """Return the scores of a scheduler of one's own, none of which is known; None where there is none.

    Parameters
    ----------
    scheduler
        Who chooses.
    cell, demand
        Machines and tasks.
    has_gpus
        Whether the first extended resource is GPUs.
    attributes, values
        As of :class:`OwnScores`: machines in the order of the cell.
    exits
        What is expected of tasks and machines, for a scheduler that knows lifetimes.

    Raises
    ------
    UsageError
        Numba cannot compile it.
    """
    if scheduler is None:
        return None
    sets = np.where(is_common(cell)[demand.sets], 0, demand.sets)
    expected = NO_LIVES
    # Where lifetimes are known no list is kept.
    kinds = np.zeros_like(sets)
    if exits is None:
        kinds = kinds_of(replace(demand, sets=sets))
    else:
        lives = lives_at_start(exits.predictions)
        expected = ExpectedLives(*lives, exits.exits, exits.marks)
    return make_own_scores(
        compiled_or_refused(scheduler).address,
        cell,
        fields_of(demand, has_gpus=has_gpus),
        kinds,
        sets,
        has_gpus=has_gpus,
        attributes=attributes,
        values=values,
        expected=expected,
    )


def is_common(cell: CellState) -> Flags:
    """Whether many machines meet each set of constraints."""
    n_allowed = cell.allowed.sum(axis=1)
    return np.asarray(n_allowed * COMMON >= cell.allowed.shape[1])


def compiled_or_refused(
    scheduler: Scheduler, compile_scheduler: Callable[[Scheduler], Any] = kernel_of
) -> Any:
    """Compile a scheduler.

    Parameters
    ----------
    scheduler
        Whose functions are compiled.
    compile_scheduler
        Compiles them for the replay that asks.

    Raises
    ------
    UsageError
        Numba cannot; the message has the line, and what Numba refuses.
    """
    try:
        return compile_scheduler(scheduler)
    # Numba raises many kinds of errors, some of them Python's own.
    except Exception as error:
        located = failure_of_extension(error)
        words = words_of(error)
        raise UsageError(
            located.where if located else line_of_function(scheduler.score),
            "Numba cannot compile this",
            got=words,
            way_out=way_to_declare(words) or COMPILABLE,
        ) from error


def way_to_declare(words: str) -> str | None:
    """Return what a scheduler has to say, where Numba's words are about a field that it has not asked for."""
    for name, declaration in DECLARED.items():
        if f"Unknown attribute {name!r}" in words:
            return f"write {declaration} into Scheduler(…)"
    return None


def places_of_kinds(
    scheduler: Scheduler, role: str, fields: Numbers, kinds: Index, lives: Numbers | None = None
) -> Index:
    """Return for each task the place of its kind when kinds are sorted by a function of the scheduler: int64 (n,).

    Parameters
    ----------
    scheduler
        Whose function it is.
    role
        ``order`` or ``victim``.
    fields, kinds, lives
        Of each task; `lives` are the hours that it is expected to live when it arrives, None: nobody asks.

    Raises
    ------
    UsageError
        It returns what is no number.
    """
    function = getattr(scheduler, role)
    _, first = np.unique(kinds, return_index=True)
    values = np.empty(len(first))
    # In plain Python: kinds are few, and nothing has to be compiled.
    for place, task in enumerate(first.tolist()):
        view = task_view(scheduler, fields[task], math.nan if lives is None else lives[task])
        value = function(view)
        if not is_number(value):
            raise UsageError(
                line_of_function(function),
                f"`{role}` of {scheduler.name} returns no number",
                got=f"{value!r} for {shown(view)}",
            )
        values[place] = value
    ranks = np.unique(values, return_inverse=True)[1].astype(np.int64)
    return ranks[kinds]


def is_number(value: Any) -> bool:
    """Whether a value can be compared as a number."""
    return isinstance(value, float | int | np.floating | np.integer) and not math.isnan(value)


def raise_failure(scheduler: Scheduler | None, own: OwnScores | None) -> None:
    """Raise the error of the first score with which something is wrong.

    Raises
    ------
    UsageError
        A score is NaN.
    Exception
        What the function itself raises: it is called again, in plain Python, so that the error has its line.
    """
    if scheduler is None or own is None or not own.marks[FAILURE]:
        return
    task = task_view(scheduler, own.fields[own.marks[TASK]], float(own.known[0]))
    machine = machine_view(
        scheduler,
        own.failed,
        has_gpus=own.has_gpus,
        attributes=own.known[2:],
        remaining=max(float(own.known[1]), 0.0) / HOUR,
    )
    raise_failed_score(scheduler, task, machine)


def raise_failed_score(scheduler: Scheduler, task: Any, machine: Any) -> None:
    """Raise the error of a score with which something is wrong.

    Raises
    ------
    UsageError
        It is NaN.
    Exception
        What the function itself raises: it is called again, in plain Python, so that the error has its line.
    """
    for function in (scheduler.accepts, scheduler.score):
        # What was compiled hides its lines.
        getattr(function, "py_func", function)(task, machine)
    raise UsageError(
        line_of_function(scheduler.score),
        f"the score of {scheduler.name} is not a number",
        got=f"NaN for {shown(task)} and {shown(machine)}",
        way_out="return infinity for a machine that should not be used",
    )


def machine_view(
    scheduler: Scheduler,
    state: Index,
    *,
    has_gpus: bool,
    attributes: Numbers = NO_VALUES,
    remaining: float = 0.0,
) -> Any:
    """Return a machine as a scheduler sees it.

    Parameters
    ----------
    scheduler
        Who sees it.
    state
        Capacity, what is free, and number of tasks: as :class:`OwnScores` has them of the one that failed.
    has_gpus
        Whether the first extended resource is GPUs.
    attributes, remaining
        Values of those that the scheduler names, and hours until the machine is expected to become empty.
    """
    width = len(state) // 2
    capacity = state[:width]
    free = state[width : 2 * width]
    known: dict[str, Any] = {}
    if scheduler.attributes:
        known["attributes"] = tuple(attributes.tolist())
    if scheduler.knows_lifetimes:
        known["remaining_life"] = remaining
    return views_of(scheduler).machine(
        cpu_capacity=float(capacity[CPU] / UNIT),
        memory_capacity=float(capacity[MEMORY] / UNIT),
        gpu_capacity=float(capacity[EXTENDED] / GPU_PARTS) if has_gpus else 0.0,
        cpu_free=float(free[CPU] / UNIT),
        memory_free=float(free[MEMORY] / UNIT),
        gpu_free=float(free[EXTENDED] / GPU_PARTS) if has_gpus else 0.0,
        n_tasks=int(state[-1]),
        **known,
    )


def noun_of(view: Any) -> str:
    """Return ``task`` or ``machine`` for what a scheduler sees; empty for anything else."""
    return {"TaskView": "task", "MachineView": "machine"}.get(type(view).__name__, "")


def shown(view: Any) -> str:
    """Return a task or a machine for a message: ``task(cpu=0.25, memory=0.5, gpu=0, priority=9)``."""
    values = [f"{name}={shown_value(value)}" for name, value in view._asdict().items()]
    return f"{noun_of(view)}({', '.join(values)})"


def shown_value(value: float | tuple[float, ...]) -> str:
    """Return a number, or several in brackets, with four digits each."""
    if isinstance(value, tuple):
        return f"({', '.join(shown_value(one) for one in value)})"
    return f"{value:.4g}"
