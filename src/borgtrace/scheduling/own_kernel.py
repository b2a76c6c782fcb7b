"""The compiled form of a scheduler of one's own: one function that scores a list of machines for a task.

The replay is compiled once, whatever the scheduler: it calls this function by its address, once for a task and not for
each machine, so that the call costs little and the author's functions are inlined into the loop.
"""

from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.ccallback import CFunc
from numba.extending import intrinsic

from borgtrace.kernels.compiled import callback, compiled, is_compiled
from borgtrace.scheduling.machines import CPU, EXTENDED, MEMORY, UNIT
from borgtrace.scheduling.scheduler import MachineView, Scheduler, TaskView

GPU_PARTS = 1000
"""GPUs are counted in thousandths of a device."""

SCORE_MACHINES = types.boolean(
    types.float64[::1],
    types.boolean,
    types.int64[:, ::1],
    types.int64[:, ::1],
    types.int64[::1],
    types.int64[::1],
    types.int64,
    types.float64[::1],
    types.int64[::1],
)
"""The task; whether there are GPUs; what machines have, what is free of it, their tasks; machines, how many of these;
room for their scores, and for the place of the one that is asked.  Returned: whether no function raised an error."""


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


@cache
def kernel_of(scheduler: Scheduler) -> CFunc:
    """Compile the score and the filter of a scheduler; about a second, once in a process.

    Raises
    ------
    numba.core.errors.NumbaError
        Numba cannot compile them; the message names the line.
    """
    score = as_compiled(scheduler.score)
    accepts = as_compiled(scheduler.accepts)

    def score_each(  # type: ignore[no-untyped-def]
        fields, has_gpus, capacity, free, n_tasks, machines, n, scores, asked
    ):
        task = TaskView(fields[0], fields[1], fields[2], int(fields[3]))
        for place in range(n):
            asked[0] = place
            machine = machines[place]
            gpu_capacity = 0.0
            gpu_free = 0.0
            if has_gpus:
                gpu_capacity = capacity[machine, EXTENDED] / GPU_PARTS
                gpu_free = free[machine, EXTENDED] / GPU_PARTS
            view = MachineView(
                capacity[machine, CPU] / UNIT,
                capacity[machine, MEMORY] / UNIT,
                gpu_capacity,
                free[machine, CPU] / UNIT,
                free[machine, MEMORY] / UNIT,
                gpu_free,
                n_tasks[machine],
            )
            if accepts(task, view):
                scores[place] = score(task, view)
            else:
                scores[place] = np.inf

    compiled_loop = as_compiled(score_each)

    def score_machines(  # type: ignore[no-untyped-def]
        fields, has_gpus, capacity, free, n_tasks, machines, n, scores, asked
    ):
        # Around the loop and not in it: there it took four times as long to compile.
        try:
            compiled_loop(fields, has_gpus, capacity, free, n_tasks, machines, n, scores, asked)
        except Exception:
            return False
        return True

    return callback(SCORE_MACHINES, score_machines)


def as_compiled(function: Any) -> Any:
    """Return a function as compiled ones call it; a division by zero raises an error there as it does in Python."""
    if is_compiled(function):
        return function
    return compiled(cached=False)(function)
