"""How much of the GPUs could be used at most: a linear program that knows all pods, and may refuse any.

Nodes of one type are taken for one large node, and pods and devices may be cut.  No policy can do more; one that must
place whatever fits cannot even do as much.  But devices stay devices: a sharing pod takes its part of one on which
enough is left.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from borgtrace.errors import UsageError
from borgtrace.kernels.arrays import Index
from borgtrace.scheduling.gpus.arrivals import PodArrivals
from borgtrace.scheduling.gpus.cell import SHARING, WHOLE, PodKinds
from borgtrace.scheduling.gpus.workload import GpuWorkload


def upper_bound(workload: GpuWorkload, arrivals: PodArrivals, load: float = 100) -> float:
    """Return the largest allocation, in percent of the GPUs, once pods have requested a load.

    This takes about a second for a workload of FGD's experiments (HiGHS through SciPy, one thread).

    Parameters
    ----------
    workload
        Pods and nodes.
    arrivals
        In which order pods come.
    load
        Of all GPUs, what pods have requested together, in percent.

    Raises
    ------
    UsageError
        SciPy is not installed.
    """
    nodes = workload.nodes
    kinds, kind_of_pod = workload.kinds
    requested = np.cumsum(workload.pods.total[arrivals.pods])
    arrived = arrivals.pods[100 * requested <= load * nodes.total]
    n_arrived = np.bincount(kind_of_pod[arrived], minlength=len(kinds.cpu))
    program = Program()
    pods = [program.add_row(n) for n in n_arrived.tolist()]
    types = np.column_stack([nodes.cpu, nodes.memory, nodes.n_devices, nodes.model])
    types, n_nodes = np.unique(types, axis=0, return_counts=True)
    levels = reachable_levels(kinds)
    for node, n in zip(types.tolist(), n_nodes.tolist(), strict=True):
        add_nodes(program, kinds, pods, levels, node, n)
    return 100 * program.largest_gain() / max(nodes.total, 1)


@dataclass(slots=True)
class Program:
    """A linear program: columns have gains; rows add up columns, and must not exceed their limits."""

    limits: list[float] = field(default_factory=list)
    gains: list[float] = field(default_factory=list)
    entries: list[tuple[int, int, float]] = field(default_factory=list)

    def add_row(self, limit: float) -> int:
        """Add a row; return its number."""
        self.limits.append(limit)
        return len(self.limits) - 1

    def add_column(self, gain: float, entries: Iterable[tuple[int, float]]) -> None:
        """Add a column by its coefficients, row by row."""
        column = len(self.gains)
        self.gains.append(gain)
        self.entries += [(row, column, value) for row, value in entries if value]

    def largest_gain(self) -> float:
        """Return the largest sum of gains."""
        optimize, sparse = scipy_modules()
        row, column, value = np.array(self.entries).T
        place = (row.astype(np.int64), column.astype(np.int64))
        shape = (len(self.limits), len(self.gains))
        matrix = sparse.coo_array((value, place), shape=shape).tocsr()
        gains = np.array(self.gains)
        solution = optimize.linprog(-gains, A_ub=matrix, b_ub=self.limits, method="highs")
        return -float(solution.fun)


def scipy_modules() -> tuple[Any, Any]:
    """Import what solves linear programs; most commands need no SciPy."""
    try:
        from scipy import optimize, sparse
    except ImportError:
        raise UsageError(
            "upper_bound", "SciPy is not installed", way_out='pip install "borgtrace[bounds]"'
        ) from None
    return optimize, sparse


def reachable_levels(kinds: PodKinds) -> Index:
    """Return how many thousandths can be left of a device, falling.

    Examples
    --------
    >>> from borgtrace.scheduling.gpus.pods import GpuPods
    >>> ones = np.ones(2, np.int64)
    >>> pods = GpuPods(["a", "b"], ones, ones, ones, np.array([600, 300]), ["", ""])
    >>> reachable_levels(pods.kinds([])[0]).tolist()
    [1000, 700, 400, 100]
    """
    parts = np.unique(kinds.gpu_milli[kinds.pod_class == SHARING])
    is_reached = np.zeros(WHOLE + 1, np.bool_)
    is_reached[WHOLE] = True
    for level in range(WHOLE, 0, -1):
        if is_reached[level]:
            is_reached[level - parts[parts <= level]] = True
    return np.flatnonzero(is_reached)[::-1]


def add_nodes(
    program: Program, kinds: PodKinds, pods: list[int], levels: Index, node: list[int], n: int
) -> None:
    """Add nodes of one type: CPU and memory, and what is taken of devices, part by part.

    Parameters
    ----------
    program
        Grows.
    kinds, pods
        Kinds of pods, and the row of each.
    levels
        What can be left of a device.
    node, n
        CPU, memory, devices and model of a node; how many there are.
    """
    cpu, memory, n_devices, model = node
    # In thousands, so that coefficients are about 1.
    cpu_row = program.add_row(n * cpu / WHOLE)
    memory_row = program.add_row(n * memory / WHOLE)
    devices = {level: program.add_row(0) for level in levels.tolist()}
    program.limits[devices[WHOLE]] = n * n_devices
    parts = np.unique(kinds.gpu_milli[kinds.pod_class == SHARING]).tolist()
    taken = {part: program.add_row(0) for part in parts}
    fits = (kinds.cpu <= cpu) & (kinds.memory <= memory) & (kinds.n_gpus <= n_devices)
    fits &= kinds.allowed[:, model] | (kinds.n_gpus == 0)
    for kind in np.flatnonzero(fits).tolist():
        entries = [(pods[kind], 1.0), (cpu_row, kinds.cpu[kind] / WHOLE)]
        entries.append((memory_row, kinds.memory[kind] / WHOLE))
        if kinds.pod_class[kind] == SHARING:
            entries.append((taken[int(kinds.gpu_milli[kind])], 1.0))
        else:
            entries.append((devices[WHOLE], float(kinds.n_gpus[kind])))
        program.add_column(float(kinds.total[kind]), entries)
    # A part is taken of a device of one level, which then has another.
    for part in parts:
        for level in levels[levels >= part].tolist():
            moved = [(devices[level], 1.0), (devices[level - part], -1.0), (taken[part], -1.0)]
            program.add_column(0.0, moved)
