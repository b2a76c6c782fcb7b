"""The compiled form of a scheduler of one's own: one function that scores a list of machines for a task.

The replay is compiled once, whatever the scheduler: it calls this function by its address, once for a task and not for
each machine, so that the call costs little and the author's functions are inlined into the loop.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.ccallback import CFunc
from numba.extending import intrinsic

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.compiled import callback, compiled, is_compiled
from borgtrace.scheduling.machines import CPU, EXTENDED, MEMORY, UNIT
from borgtrace.scheduling.scheduler import Scheduler, views_of
from borgtrace.schema.time import HOUR

GPU_PARTS = 1000
"""GPUs are counted in thousandths of a device."""

SCORE_MACHINES = types.boolean(
    types.float64[::1],
    types.float64,
    types.float64,
    types.boolean,
    types.int64[:, ::1],
    types.int64[:, ::1],
    types.int64[::1],
    types.float64[:, ::1],
    types.float64[::1],
    types.int64[::1],
    types.int64,
    types.float64[::1],
    types.int64[::1],
)
"""The task, how many hours it is expected to live, and now, in µs; whether there are GPUs; what machines have, what is
free of it, their tasks, their attributes, when they are expected to become empty; machines, how many of these; room for
their scores, and for the place of the one that is asked.  Returned: whether no function raised an error."""


def calling(signature: Any) -> Any:
    """Return what compiled code calls with the address of a function of a signature, and a tuple of its arguments.

    Numba's own type of functions would do the same, but of every kernel that is handed a function, Numba then works out
    the types of all arguments anew at each call from Python: half a millisecond, of a state with many arrays.
    """

    @intrinsic
    def call_at(typing_context, address, arguments):  # type: ignore[no-untyped-def]
        def generate(context, builder, _, values):  # type: ignore[no-untyped-def]
            pointer, packed = values
            of_arguments = [context.get_value_type(kind) for kind in signature.args]
            returned = context.get_value_type(signature.return_type)
            function_type = ir.FunctionType(returned, of_arguments)
            function = builder.inttoptr(pointer, function_type.as_pointer())
            return builder.call(function, cgutils.unpack_tuple(builder, packed))

        return signature.return_type(types.int64, types.Tuple(signature.args)), generate

    return call_at


score_machines_at = calling(SCORE_MACHINES)
"""Calls what :func:`kernel_of` returns."""


class MachineColumns(NamedTuple):
    """What is known of the machines, for views of them: see :data:`SCORE_MACHINES`."""

    capacity: Index
    free: Index
    n_tasks: Index
    attributes: Numbers
    exits: Numbers


@cache
def kernel_of(scheduler: Scheduler) -> CFunc:
    """Compile the score and the filter of a scheduler; about a second, once in a process.

    Raises
    ------
    numba.core.errors.NumbaError
        Numba cannot compile them; the message names the line.
    """
    score_each = as_compiled(loop_of(scheduler))

    def score_machines(  # type: ignore[no-untyped-def]
        fields,
        life,
        now,
        has_gpus,
        capacity,
        free,
        n_tasks,
        attributes,
        exits,
        machines,
        n,
        scores,
        asked,
    ):
        columns = MachineColumns(capacity, free, n_tasks, attributes, exits)
        # Around the loop and not in it: there it took four times as long to compile.
        try:
            score_each(fields, life, now, has_gpus, columns, machines[:n], scores, asked)
        except Exception:
            return False
        return True

    return callback(SCORE_MACHINES, score_machines)


def loop_of(scheduler: Scheduler) -> Callable[..., None]:
    """Return the function that scores machines for a task, to be compiled; infinity: not accepted."""
    score = as_compiled(scheduler.score)
    accepts = as_compiled(scheduler.accepts)
    inlined = compiled(cached=False, inline=True)
    view_task = inlined(task_reader(scheduler))
    view_machine = inlined(machine_reader(scheduler))

    def score_each(  # type: ignore[no-untyped-def]
        fields, life, now, has_gpus, columns, machines, scores, asked
    ):
        task = view_task(fields, life)
        for place in range(machines.size):
            asked[0] = place
            machine = view_machine(columns, machines[place], now, has_gpus)
            if accepts(task, machine):
                scores[place] = score(task, machine)
            else:
                scores[place] = np.inf

    return score_each


def task_reader(scheduler: Scheduler) -> Callable[..., Any]:
    """Return a function from the fields of a task, and its expected life, to what a scheduler sees of it."""
    view = views_of(scheduler).task
    inlined = compiled(cached=False, inline=True)
    life_of_task = inlined(alone if scheduler.knows_lifetimes else no_life)

    def view_task(fields, life):  # type: ignore[no-untyped-def]
        requests = (fields[0], fields[1], fields[2], int(fields[3]))
        return view(*(requests + life_of_task(life)))

    return view_task


def machine_reader(scheduler: Scheduler) -> Callable[..., Any]:
    """Return a function from the columns of machines to what a scheduler sees of one of them, now."""
    view = views_of(scheduler).machine
    inlined = compiled(cached=False, inline=True)
    attributes_of = inlined(reader_of(len(scheduler.attributes)))
    life_of_machine = inlined(hours_until_empty if scheduler.knows_lifetimes else no_exit)

    def view_machine(columns, machine, now, has_gpus):  # type: ignore[no-untyped-def]
        capacity = columns.capacity[machine]
        free = columns.free[machine]
        gpu_capacity = 0.0
        gpu_free = 0.0
        if has_gpus:
            gpu_capacity = capacity[EXTENDED] / GPU_PARTS
            gpu_free = free[EXTENDED] / GPU_PARTS
        room = (
            capacity[CPU] / UNIT,
            capacity[MEMORY] / UNIT,
            gpu_capacity,
            free[CPU] / UNIT,
            free[MEMORY] / UNIT,
            gpu_free,
            columns.n_tasks[machine],
        )
        known = attributes_of(columns.attributes, machine)
        known_life = life_of_machine(columns.exits, machine, now)
        return view(*(room + known + known_life))

    return view_machine


def alone(life: float) -> tuple[float]:
    """Return how long a task is expected to live, for a view with the field."""
    return (life,)


def no_life(life: float) -> tuple[()]:
    """Return nothing, for a view without."""
    return ()


def no_exit(exits: Numbers, machine: int, now: float) -> tuple[()]:
    """Return nothing, for a view without."""
    return ()


def no_attributes(attributes: Numbers, machine: int) -> tuple[()]:
    """Return nothing, for a view without."""
    return ()


def hours_until_empty(exits: Numbers, machine: int, now: float) -> tuple[float]:
    """Return when a machine is expected to become empty, in hours from now; 0 where it is."""
    return (max(exits[machine] - now, 0.0) / HOUR,)


def reader_of(n_attributes: int) -> Callable[..., tuple[Any, ...]]:
    """Return a function that makes a tuple of a tuple: so many attributes of a machine; of none, no tuple in it."""
    if not n_attributes:
        return no_attributes
    read = as_compiled(no_attributes)
    for place in range(n_attributes):
        read = as_compiled(with_next(read, place))

    def read_all(attributes, machine):  # type: ignore[no-untyped-def]
        return (read(attributes, machine),)

    return read_all


def with_next(read: Any, place: int) -> Callable[..., tuple[float, ...]]:
    """Return a function that adds an attribute to those that another reads: Numba makes tuples of a length it knows."""

    def read_one_more(attributes, machine):  # type: ignore[no-untyped-def]
        return (*read(attributes, machine), attributes[machine, place])

    return read_one_more


def as_compiled(function: Any) -> Any:
    """Return a function as compiled ones call it; a division by zero raises an error there as it does in Python."""
    if is_compiled(function):
        return function
    return compiled(cached=False)(function)
