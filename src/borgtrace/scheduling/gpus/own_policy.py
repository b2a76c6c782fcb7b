"""A scheduler of one's own as a policy for GPUs.

Its scores are turned round here and nowhere else: users' schedulers take the lowest, policies for GPUs the highest.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from borgtrace.errors import UsageError
from borgtrace.extensions import line_of_function
from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.scheduling.gpus.cell import (
    MOST_DEVICES,
    WHOLE,
    GpuCell,
    PodKinds,
    TypicalPods,
    best_device,
)
from borgtrace.scheduling.gpus.node_kernel import (
    CPU_CAPACITY,
    GPU_CAPACITY,
    GPU_MODEL,
    MEMORY_CAPACITY,
    N_COLUMNS,
    ask_node_at,
    attributes_reader,
    kernels_of,
    look_at_node,
    reader_of,
    task_of,
)
from borgtrace.scheduling.gpus.nodes import GpuNodes
from borgtrace.scheduling.gpus.policy import GpuPolicy
from borgtrace.scheduling.machine_attributes import attribute_number
from borgtrace.scheduling.own_scheduler import (
    N_FIELDS,
    compiled_or_refused,
    places_of_kinds,
    raise_failed_score,
    shown,
)
from borgtrace.scheduling.scheduler import Scheduler

FAILURE, KIND = range(2)
"""Elements of `marks`."""
NO_SCORE, NO_DEVICE = 1, 2
"""What is wrong with an answer."""


class OwnNodes(NamedTuple):
    """What is kept for a scheduler of one's own.

    Attributes
    ----------
    score, device
        Addresses of its compiled functions; 0 where it chooses no device.
    fields
        Shape (kinds of pods, fields): what a :class:`~borgtrace.scheduling.scheduler.TaskView` holds.
    views
        Shape (nodes, `N_COLUMNS`): what a :class:`~borgtrace.scheduling.scheduler.MachineView` holds.
    largest
        Shape (2,): the most CPU and memory of a node, of which the others are shares.
    answer
        Shape (1,): of the function that was asked last.
    marks, failed
        What is wrong with an answer, for which kind of pods, and the node; nothing is asked after it.
    """

    score: int
    device: int
    fields: Numbers
    views: Numbers
    largest: Numbers
    answer: Numbers
    marks: Index
    failed: Numbers


def prepare(
    scheduler: Scheduler, nodes: GpuNodes, kinds: PodKinds, typical: TypicalPods
) -> OwnNodes:
    """Compile a scheduler and return what it sees, see :class:`~borgtrace.scheduling.gpus.policy.GpuPolicy`.

    Raises
    ------
    UsageError
        Numba cannot compile it.
    """
    score, device = compiled_or_refused(scheduler, kernels_of).addresses
    largest = largest_of(nodes)
    views = np.zeros((len(nodes), N_COLUMNS))
    views[:, CPU_CAPACITY] = nodes.cpu / largest[0]
    views[:, MEMORY_CAPACITY] = nodes.memory / largest[1]
    views[:, GPU_CAPACITY] = nodes.n_devices
    models = [attribute_number(model) if model else np.nan for model in nodes.models]
    views[:, GPU_MODEL] = np.array(models)[nodes.model]
    return OwnNodes(
        score=score,
        device=device,
        fields=fields_of_kinds(nodes, kinds),
        views=views,
        largest=largest,
        answer=np.zeros(1),
        marks=np.zeros(2, np.int64),
        failed=np.zeros(N_COLUMNS),
    )


def largest_of(nodes: GpuNodes) -> Numbers:
    """Return the most CPU and memory of a node: float64 (2,), at least 1."""
    return np.array([nodes.cpu.max(initial=1), nodes.memory.max(initial=1)], np.float64)


def fields_of_kinds(nodes: GpuNodes, kinds: PodKinds) -> Numbers:
    """Return what a scheduler knows of each kind of pods: float64 (kinds, `N_FIELDS`)."""
    fields = np.zeros((len(kinds.cpu), N_FIELDS))
    fields[:, :2] = np.column_stack([kinds.cpu, kinds.memory]) / largest_of(nodes)
    fields[:, 2] = kinds.total / WHOLE
    return fields


def turns(scheduler: Scheduler, nodes: GpuNodes, kinds: PodKinds) -> Index:
    """Return the place of each kind in the order of the queue: int64 (kinds,).

    Raises
    ------
    UsageError
        The scheduler returns what is no number.
    """
    n_kinds = len(kinds.cpu)
    if scheduler.order is None:
        return np.zeros(n_kinds, np.int64)
    fields = fields_of_kinds(nodes, kinds)
    return places_of_kinds(scheduler, "order", fields, np.arange(n_kinds))


@compiled(makes_arrays=False)
def note_failure(own: OwnNodes, node: int, kind: int, what: int) -> None:
    """Note the first answer with which something is wrong."""
    own.marks[FAILURE] = what
    own.marks[KIND] = kind
    for column in range(N_COLUMNS):
        own.failed[column] = own.views[node, column]


@compiled(makes_arrays=False)
def score(cell: GpuCell, own: OwnNodes, node: int, kind: int) -> float:
    """Return how good a node is to a scheduler that says how bad it is; −infinity: it does not want it."""
    if own.marks[FAILURE] > 0:
        return -np.inf
    is_answered = ask_node_at(own.score, (own.fields[kind], own.views[node], own.answer))
    if not is_answered or np.isnan(own.answer[0]):
        note_failure(own, node, kind, NO_SCORE)
        return -np.inf
    return -own.answer[0]


@compiled(makes_arrays=False)
def takes(cell: GpuCell, own: OwnNodes, node: int, kind: int) -> bool:
    """Whether the scheduler wants a node on which a pod fits."""
    return score(cell, own, node, kind) > -np.inf


@compiled(makes_arrays=False)
def device(cell: GpuCell, own: OwnNodes, node: int, kind: int) -> int:
    """Return the device that the scheduler chooses; that on which least is left where it chooses none."""
    if own.device == 0 or own.marks[FAILURE] > 0:
        return best_device(cell, node, kind)
    is_answered = ask_node_at(own.device, (own.fields[kind], own.views[node], own.answer))
    if is_answered and 0 <= own.answer[0] < cell.n_devices[node]:
        chosen = int(own.answer[0])
        if chosen == own.answer[0] and cell.left[node, chosen] >= cell.kinds.gpu_milli[kind]:
            return chosen
    note_failure(own, node, kind, NO_DEVICE)
    return best_device(cell, node, kind)


def raise_failure(scheduler: Scheduler, own: OwnNodes) -> None:
    """Raise the error of the first answer with which something is wrong.

    Raises
    ------
    UsageError
        A score is NaN, or a device is none, or too full.
    Exception
        What the function itself raises: it is called again, in plain Python, so that the error has its line.
    """
    if not own.marks[FAILURE]:
        return
    task = task_of(own.fields[own.marks[KIND]].tolist())
    machine_of = reader_of(scheduler, attributes_reader(scheduler))
    machine = machine_of(own.failed.tolist())
    if own.marks[FAILURE] == NO_SCORE:
        raise_failed_score(scheduler, task, machine)
    raise_failed_device(scheduler, task, machine)


def raise_failed_device(scheduler: Scheduler, task: Any, machine: Any) -> None:
    """Raise the error of a choice of a device with which something is wrong; as :func:`raise_failure`."""
    function: Any = scheduler.device
    # What was compiled hides its lines.
    chosen = getattr(function, "py_func", function)(task, machine)
    raise UsageError(
        line_of_function(function),
        f"`device` of {scheduler.name} returns no device that the task fits on",
        expected=f"0 to {MOST_DEVICES - 1}, with {task.gpu:.4g} free in machine.devices",
        got=f"{chosen!r} for {shown(task)} and {shown(machine)}",
    )


@cache
def policy_of(scheduler: Scheduler) -> GpuPolicy:
    """Return the policy of a scheduler of one's own.

    Parameters
    ----------
    scheduler
        Who chooses.
    """
    return GpuPolicy(
        name=scheduler.name,
        title=scheduler.name,
        about=scheduler.about,
        score=score,
        device=device,
        prepare=partial(prepare, scheduler),
        changed=look_at_node,
        takes=takes,
        turns=partial(turns, scheduler),
        finished=partial(raise_failure, scheduler),
        scored_by="request",
    )
