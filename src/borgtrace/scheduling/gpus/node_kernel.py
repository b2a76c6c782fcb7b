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
from borgtrace.scheduling.scheduler import (
    DECLARED,
    MachineView,
    Scheduler,
    shortened_views,
    views_of,
)

(
    CPU_CAPACITY,
    MEMORY_CAPACITY,
    GPU_CAPACITY,
    CPU_FREE,
    MEMORY_FREE,
    GPU_FREE,
    N_TASKS,
    GPU_MODEL,
    FIRST_DEVICE,
) = range(9)
"""Columns of what is seen of nodes."""
N_COLUMNS = FIRST_DEVICE + MOST_DEVICES


MODEL = "gpu_model"
"""The attribute of machines that nodes have; also the name of constraints on it."""

POD_VIEW = shortened_views(frozenset(DECLARED)).task
"""A pod as a scheduler sees it: nobody knows how long it may run."""


@cache
def with_devices(fields: tuple[str, ...]) -> Any:
    """Return the class of what a scheduler sees of a machine, these fields, and of each of its devices."""
    return namedtuple(MachineView.__name__, [*fields, "devices"])


ASK_NODE = types.boolean(types.float64[::1], types.float64[::1], types.float64[::1])
"""A pod, a node, and room for the answer.  Returned: whether no function raised an error."""
ask_node_at = calling(ASK_NODE)
"""Calls what :func:`answering` returns."""


def task_of(fields: Sequence[float]) -> Any:
    """Return a pod as a scheduler sees it."""
    return POD_VIEW(fields[0], fields[1], fields[2], int(fields[3]))


def reader_of(scheduler: Scheduler, attributes_of: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function from the columns of a node to what a scheduler sees of it.

    Parameters
    ----------
    scheduler
        Who sees it.
    attributes_of
        What :func:`attributes_reader` returns, compiled or not.
    """
    view = with_devices(views_of(scheduler).machine._fields)

    def machine_of(columns):  # type: ignore[no-untyped-def]
        room = (
            columns[CPU_CAPACITY],
            columns[MEMORY_CAPACITY],
            columns[GPU_CAPACITY],
            columns[CPU_FREE],
            columns[MEMORY_FREE],
            columns[GPU_FREE],
            int(columns[N_TASKS]),
        )
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
        known = attributes_of(columns)
        return view(*(room + known + (devices,)))

    return machine_of


def attributes_reader(scheduler: Scheduler) -> Callable[..., Any]:
    """Return a function from the columns of a node to the values of the fields for attributes: one, or none."""
    return model_alone if scheduler.attributes else no_attributes


def no_attributes(columns: Sequence[float]) -> tuple[()]:
    """Return nothing, for a view without."""
    return ()


def model_alone(columns: Sequence[float]) -> tuple[tuple[float]]:
    """Return the model of a node's GPUs, as the only attribute."""
    return ((columns[GPU_MODEL],),)


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

    inlined = compiled(cached=False, inline=True)
    machine_of = reader_of(scheduler, inlined(attributes_reader(scheduler)))
    device = None if scheduler.device is None else answering(scheduler.device, machine_of)
    return NodeKernels(answering(score_if_accepted, machine_of), device)


def answering(function: Callable[..., Any], machine_of: Callable[..., Any]) -> CFunc:
    """Compile a function of a task and a machine, as :data:`ASK_NODE` calls it.

    Parameters
    ----------
    function
        What is asked.
    machine_of
        From the columns of a node to what the function sees of it.
    """
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
