"""The contract of a scheduler of one's own where devices are known, on nodes and pods that are made up."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from borgtrace.errors import UsageError
from borgtrace.scheduling.gpus.cell import MOST_DEVICES, NO_NODE, WHOLE
from borgtrace.scheduling.gpus.node_kernel import kernels_of, task_of, with_devices
from borgtrace.scheduling.gpus.nodes import GpuNodes
from borgtrace.scheduling.gpus.own_policy import policy_of
from borgtrace.scheduling.gpus.pods import GpuPods
from borgtrace.scheduling.gpus.replay import GpuRun, replay
from borgtrace.scheduling.machine_attributes import attribute_number
from borgtrace.scheduling.own_scheduler import compiled_or_refused, is_number
from borgtrace.scheduling.scheduler import Scheduler, views_of
from borgtrace.testing.plain_schedulers import in_python, plain_score
from borgtrace.testing.trial import Trials

_PODS = 80
_CORES = 64_000
_MEMORY = 262_144


class Placement(NamedTuple):
    """Where a pod went: its node, `NO_NODE` where none took it, and its devices as bits."""

    node: int
    devices: int


def check_device(trials: Trials, where: str, task: Any, machine: Any, value: Any) -> None:
    """Check the device that a scheduler chose for a task that shares one.

    Parameters
    ----------
    trials
        Where failures go.
    where
        On which input, for the sentence.
    task, machine
        What it was asked about.
    value
        What it returned.
    """
    if not is_number(value) or value not in range(MOST_DEVICES):
        trials.add(
            f"device returns {value!r}: expected a place in machine.devices, 0 to {MOST_DEVICES - 1}",
            where,
        )
        return
    free = machine.devices[int(value)]
    if free < task.gpu:
        trials.add(
            f"device returns {value!r}, of which {free:g} is free: the task takes {task.gpu:g}",
            where,
        )


def check_compiled_for_gpus(trials: Trials, scheduler: Scheduler) -> None:
    """Check that Numba compiles what is asked about devices, and that pods are placed as by asking all in Python.

    Parameters
    ----------
    trials
        Where failures go.
    scheduler
        What is checked.
    """
    try:
        compiled_or_refused(scheduler, kernels_of)
    except UsageError as error:
        trials.add(f"Numba cannot compile {error.where}: {error.got}")
        return
    run = small_run()
    placements = trials.call("on nodes with GPUs", lambda: replay(run, policy_of(scheduler)))
    if placements is None:
        return
    expected = plain_placements(scheduler, run)
    pairs = zip(placements.node.tolist(), placements.devices.tolist(), strict=True)
    n_other = sum(pair != other for pair, other in zip(pairs, expected, strict=True))
    if n_other:
        trials.add(
            f"compiled it places {n_other} of {len(expected)} tasks on other devices than in Python: "
            "its result may follow from its arguments alone, by numbers below 2**63"
        )


def small_run() -> GpuRun:
    """Return pods of several kinds that arrive on a few nodes of three shapes, one of them without GPUs."""
    nodes = GpuNodes(
        names=[f"node-{place}" for place in range(6)],
        cpu=np.array([_CORES, _CORES // 2, _CORES] * 2),
        memory=np.array([_MEMORY, _MEMORY // 2, _MEMORY // 2] * 2),
        n_devices=np.array([8, 2, 0] * 2),
        model=np.array([0, 1, 2] * 2),
        models=["large", "small", ""],
    )
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 5, _PODS)
    pods = GpuPods(
        names=[f"pod-{place}" for place in range(_PODS)],
        cpu=np.array([1000, 4000, 2000, 8000, 3000])[kind],
        memory=np.array([2048, 4096, 8192, 16_384, 1024])[kind],
        n_gpus=np.array([1, 1, 1, 2, 0])[kind],
        gpu_milli=np.array([250, 600, WHOLE, WHOLE, 0])[kind],
        spec=[("small" if place % 7 == 0 else "") for place in range(_PODS)],
    )
    kinds, arrivals = pods.kinds(nodes.models)
    typical = pods.typical(nodes.models)
    return GpuRun(nodes=nodes, kinds=kinds, typical=typical, arrivals=arrivals)


class PlainNodes:
    """The nodes of a run and what is left on them, in plain Python.

    Parameters
    ----------
    run
        Who arrives where.
    """

    def __init__(self, run: GpuRun) -> None:
        self.nodes = run.nodes
        self.kinds = run.kinds
        self.capacity = np.column_stack([run.nodes.cpu, run.nodes.memory])
        self.sizes = np.column_stack([run.kinds.cpu, run.kinds.memory])
        self.largest = self.capacity.max(axis=0)
        self.free = self.capacity.copy()
        self.left = np.where(np.arange(MOST_DEVICES) < run.nodes.n_devices[:, None], WHOLE, 0)
        self.n_tasks = [0] * len(run.nodes)

    def task(self, kind: int) -> Any:
        """Return a pod of a kind as a scheduler sees it."""
        cpu, memory = (self.sizes[kind] / self.largest).tolist()
        return task_of([cpu, memory, float(self.kinds.total[kind] / WHOLE), 0])

    def machine(self, scheduler: Scheduler, node: int) -> Any:
        """Return a node as a scheduler sees it."""
        attributes = []
        if scheduler.attributes:
            model = self.nodes.models[self.nodes.model[node]]
            attributes.append((attribute_number(model) if model else np.nan,))
        return with_devices(views_of(scheduler).machine._fields)(
            *(self.capacity[node] / self.largest).tolist(),
            float(self.nodes.n_devices[node]),
            *(self.free[node] / self.largest).tolist(),
            float(self.left[node].sum() / WHOLE),
            self.n_tasks[node],
            *attributes,
            tuple((self.left[node] / WHOLE).tolist()),
        )

    def has_room(self, node: int, kind: int) -> bool:
        """Whether a pod fits on a node."""
        n_gpus = self.kinds.n_gpus[kind]
        n_fitting = (self.left[node] >= self.kinds.gpu_milli[kind]).sum()
        is_allowed = n_gpus == 0 or self.kinds.allowed[kind, self.nodes.model[node]]
        return bool(
            is_allowed and n_fitting >= n_gpus and (self.free[node] >= self.sizes[kind]).all()
        )

    def choose(self, scheduler: Scheduler, kind: int) -> int:
        """Return the node with the lowest score, of equal ones the first; `NO_NODE` where none takes the pod."""
        chosen = NO_NODE
        least = np.inf
        for node in range(len(self.nodes)):
            if self.has_room(node, kind):
                score = plain_score(scheduler, self.task(kind), self.machine(scheduler, node))
                if score < least:
                    chosen, least = node, score
        return chosen

    def place(self, scheduler: Scheduler, node: int, kind: int) -> Placement:
        """Place a pod on a node."""
        part, n_gpus = int(self.kinds.gpu_milli[kind]), int(self.kinds.n_gpus[kind])
        fitting = np.flatnonzero(self.left[node] >= max(part, 1))
        devices = fitting[:n_gpus]
        if 0 < part < WHOLE:
            # The fullest that it fits on, of equal ones the first.
            devices = fitting[np.argsort(self.left[node, fitting], kind="stable")][:1]
            if scheduler.device is not None:
                choose_device = in_python(scheduler.device)
                devices = np.array(
                    [int(choose_device(self.task(kind), self.machine(scheduler, node)))]
                )
        self.free[node] -= self.sizes[kind]
        self.left[node, devices] -= part
        self.n_tasks[node] += 1
        return Placement(node, sum(1 << device for device in devices.tolist()))


def plain_placements(scheduler: Scheduler, run: GpuRun) -> list[Placement]:
    """Return where pods go, all nodes asked for each in plain Python."""
    nodes = PlainNodes(run)
    placements = []
    for kind in run.arrivals.tolist():
        node = nodes.choose(scheduler, kind)
        nowhere = Placement(NO_NODE, 0)
        placements.append(nowhere if node == NO_NODE else nodes.place(scheduler, node, kind))
    return placements
