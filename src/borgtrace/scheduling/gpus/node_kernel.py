"""How a scheduler of one's own is asked about a pod and a node: what it sees of both, and its compiled form.

The replay is compiled once, whatever the scheduler: it calls these functions by their address, one node at a time, for
most nodes keep their score from one pod to the next.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.core.ccallback import CFunc

from borgtrace.kernels.compiled import callback, compiled
from borgtrace.scheduling.gpus.cell import MOST_DEVICES, N_CLASSES, WHOLE, GpuCell
from borgtrace.scheduling.own_kernel import as_compiled, calling
from borgtrace.scheduling.scheduler import DECLARED, Scheduler, shortened_views

(
    CPU_CAPACITY,
    MEMORY_CAPACITY,
    GPU_CAPACITY,
    CPU_FREE,
    MEMORY_FREE,
    GPU_FREE,
    N_TASKS,
    FIRST_DEVICE,
) = range(8)
"""Columns of what is seen of nodes."""
N_COLUMNS = FIRST_DEVICE + MOST_DEVICES


def with_devices(view: type[Any]) -> Any:
    """Return the class of what a scheduler sees of a machine, and of each of its devices."""
    return namedtuple(view.__name__, [*view._fields, "devices"])


POD_VIEW, NODE_WITHOUT_DEVICES = shortened_views(frozenset(DECLARED))
"""A pod, and a node, without what is not known here: attributes and lifetimes."""
NodeView = with_devices(NODE_WITHOUT_DEVICES)
"""A node as a scheduler sees it."""

ASK_NODE = types.boolean(types.float64[::1], types.float64[::1], types.float64[::1])
"""A pod, a node, and room for the answer.  Returned: whether no function raised an error."""
ask_node_at = calling(ASK_NODE)
"""Calls what :func:`answering` returns."""


def task_of(fields: Sequence[float]) -> Any:
    """Return a pod as a scheduler sees it."""
    return POD_VIEW(fields[0], fields[1], fields[2], int(fields[3]))


def machine_of(columns: Sequence[float]) -> Any:
    """Return a node as a scheduler sees it, from its columns."""
    # One by one: Numba has to know how many they are.
    devices = (
        columns[FIRST_DEVICE],
        columns[FIRST_DEVICE + 1],
        columns[FIRST_DEVICE + 2],
        columns[FIRST_DEVICE + 3],
        columns[FIRST_DEVICE + 4],
        columns[FIRST_DEVICE + 5],
        columns[FIRST_DEVICE + 6],
        columns[FIRST_DEVICE + 7],
    )
    return NodeView(
        columns[CPU_CAPACITY],
        columns[MEMORY_CAPACITY],
        columns[GPU_CAPACITY],
        columns[CPU_FREE],
        columns[MEMORY_FREE],
        columns[GPU_FREE],
        int(columns[N_TASKS]),
        devices,
    )


@compiled(makes_arrays=False)
def look_at_node(cell: GpuCell, own: Any, node: int) -> None:
    """Write down what is free on a node, in the units of a scheduler."""
    view = own.views[node]
    view[CPU_FREE] = cell.cpu_left[node] / own.largest[0]
    view[MEMORY_FREE] = cell.memory_left[node] / own.largest[1]
    view[GPU_FREE] = cell.total_left[node] / WHOLE
    n_pods = 0
    for pod_class in range(N_CLASSES):
        n_pods += cell.n_pods[node, pod_class]
    view[N_TASKS] = n_pods
    for device in range(MOST_DEVICES):
        view[FIRST_DEVICE + device] = cell.left[node, device] / WHOLE


class NodeKernels(NamedTuple):
    """The compiled functions of a scheduler: its score with its filter, and its choice of a device if it has one."""

    score: CFunc
    device: CFunc | None

    @property
    def addresses(self) -> tuple[int, int]:
        """Where they are; 0 where there is none."""
        return address_of(self.score), address_of(self.device)


def address_of(kernel: CFunc | None) -> int:
    """Return where a compiled function is; 0 where there is none."""
    if kernel is None or kernel.address is None:
        return 0
    return kernel.address


@cache
def kernels_of(scheduler: Scheduler) -> NodeKernels:
    """Compile the functions that are asked about nodes; about a second each, once in a process.

    Raises
    ------
    numba.core.errors.NumbaError
        Numba cannot compile them; the message names the line.
    """
    score = as_compiled(scheduler.score)
    accepts = as_compiled(scheduler.accepts)

    def score_if_accepted(task, machine):  # type: ignore[no-untyped-def]
        if accepts(task, machine):
            return float(score(task, machine))
        return np.inf

    device = None if scheduler.device is None else answering(scheduler.device)
    return NodeKernels(answering(score_if_accepted), device)


def answering(function: Callable[..., Any]) -> CFunc:
    """Compile a function of a task and a machine, as :data:`ASK_NODE` calls it."""
    asked = as_compiled(function)
    view_task = as_compiled(task_of)
    view_machine = as_compiled(machine_of)

    def write_answer(fields, columns, answer):  # type: ignore[no-untyped-def]
        answer[0] = asked(view_task(fields), view_machine(columns))

    compiled_answer = as_compiled(write_answer)

    def answer_safely(fields, columns, answer):  # type: ignore[no-untyped-def]
        try:
            compiled_answer(fields, columns, answer)
        except Exception:
            return False
        return True

    return callback(ASK_NODE, answer_safely)
