"""Nodes with GPUs while pods are placed on them: what is left on each device, and what placing a pod changes.

CPU and GPUs are counted in thousandths, memory in MiB.  Nodes are numbered in the order in which they win ties, so that
the first of equal ones is the one to take.
"""

from typing import NamedTuple

import numpy as np

from borgtrace.kernels.arrays import Flags, Index, Numbers, Words
from borgtrace.kernels.compiled import compiled
from borgtrace.kernels.hashing import GOLDEN, finalized

WHOLE = 1000
"""Thousandths of a device."""
MOST_DEVICES = 8
"""Devices of a node at most."""
NO_NODE = -1
CPU_ONLY, SHARING = 0, 1
"""Classes of pods; those after them take 1, 2, 4, 8 whole devices."""
N_CLASSES = 6


class PodKinds(NamedTuple):
    """What pods request; pods of one kind are alike.

    Attributes
    ----------
    cpu, memory
        Shape (kinds,): thousandths of a core; MiB.
    n_gpus, gpu_milli, total
        Shape (kinds,): devices, thousandths of each, and both multiplied.
    pod_class
        Shape (kinds,): without GPU, sharing one, or by the number of devices.
    allowed
        Shape (kinds, models): which models of GPUs it may use.
    shape
        Shape (kinds,): kinds of one shape request the same CPU and GPUs.
    n_listed
        Shape (kinds,): pods in the list of the workload.
    """

    cpu: Index
    memory: Index
    n_gpus: Index
    gpu_milli: Index
    total: Index
    pod_class: Index
    allowed: Flags
    shape: Index
    n_listed: Index


class TypicalPods(NamedTuple):
    """The kinds of pods that a node should still take; see :func:`borgtrace.scheduling.gpus.typical.typical_pods`.

    Attributes
    ----------
    cpu, n_gpus, gpu_milli
        Shape (kinds,), as of :class:`PodKinds`.
    allowed
        Shape (kinds, models).
    weight
        Shape (kinds,): share of the pods; all together 1.
    """

    cpu: Index
    n_gpus: Index
    gpu_milli: Index
    allowed: Flags
    weight: Numbers


class GpuCell(NamedTuple):
    """Nodes, and what is left on them.

    Attributes
    ----------
    cpu_left, memory_left
        Shape (nodes,).
    left
        Shape (nodes, `MOST_DEVICES`): thousandths left on each device; 0 where there is none.
    total_left, n_whole, most_left
        Shape (nodes,): of its devices, what is left together, how many are untouched, and the most left on one.
    n_devices, model, cpu_capacity
        Shape (nodes,): what does not change.
    n_pods
        Shape (nodes, `N_CLASSES`): its pods by class.
    fragmentation
        Shape (nodes,): thousandths of GPUs that typical pods cannot use, as FGD counts them.
    kinds, typical
        Kinds of pods, and typical ones.
    random
        Shape (1,): the last random number.
    """

    cpu_left: Index
    memory_left: Index
    left: Index
    total_left: Index
    n_whole: Index
    most_left: Index
    n_devices: Index
    model: Index
    cpu_capacity: Index
    n_pods: Index
    fragmentation: Numbers
    kinds: PodKinds
    typical: TypicalPods
    random: Words


@compiled(inline=True, makes_arrays=False)
def draw_below(random: Words, n: int) -> int:
    """Return a random number from 0 to `n` − 1; its bias is below `n` / 2⁶⁴."""
    random[0] += GOLDEN
    return int(finalized(random[0]) % np.uint64(n))


@compiled(inline=True, makes_arrays=False)
def fits(cell: GpuCell, node: int, kind: int) -> bool:
    """Whether a node takes a pod of a kind: models, devices, CPU and memory.

    FGD's simulator also ends at 1,001 pods on a node, far above what any has.
    """
    kinds = cell.kinds
    if kinds.n_gpus[kind] > 0:
        if kinds.gpu_milli[kind] < WHOLE:
            if cell.most_left[node] < kinds.gpu_milli[kind]:
                return False
        elif cell.n_whole[node] < kinds.n_gpus[kind]:
            return False
        if not kinds.allowed[kind, cell.model[node]]:
            return False
    return cell.cpu_left[node] >= kinds.cpu[kind] and cell.memory_left[node] >= kinds.memory[kind]


@compiled(makes_arrays=False)
def best_device(cell: GpuCell, node: int, kind: int) -> int:
    """Return the device on which least is left of those that take a sharing pod; of equal ones the first."""
    wanted = cell.kinds.gpu_milli[kind]
    best = -1
    least = WHOLE + 1
    for device in range(cell.n_devices[node]):
        if wanted <= cell.left[node, device] < least:
            least = cell.left[node, device]
            best = device
    return best


@compiled(makes_arrays=False)
def take(cell: GpuCell, node: int, kind: int, device: int) -> int:
    """Place a pod on a node; return its devices as bits.

    Parameters
    ----------
    cell
        The nodes.
    node, kind
        Which node takes a pod of which kind.
    device
        Where it shares a device, which one; whole devices are the first untouched ones.
    """
    kinds = cell.kinds
    devices = 0
    if kinds.pod_class[kind] == SHARING:
        devices = 1 << device
    else:
        wanted = kinds.n_gpus[kind]
        for one in range(cell.n_devices[node]):
            if wanted == 0:
                break
            if cell.left[node, one] == WHOLE:
                devices |= 1 << one
                wanted -= 1
    change(cell, node, kind, devices, -1)
    return devices


@compiled(makes_arrays=False)
def change(cell: GpuCell, node: int, kind: int, devices: int, sign: int) -> None:
    """Take what a pod requests from a node, or give it back.

    Parameters
    ----------
    cell
        The nodes.
    node, kind, devices
        Where a pod of which kind is.
    sign
        −1 as it comes, 1 as it goes.
    """
    kinds = cell.kinds
    cell.cpu_left[node] += sign * kinds.cpu[kind]
    cell.memory_left[node] += sign * kinds.memory[kind]
    cell.n_pods[node, kinds.pod_class[kind]] -= sign
    if devices == 0:
        return
    n_whole = 0
    most_left = 0
    for device in range(cell.n_devices[node]):
        if devices >> device & 1:
            cell.left[node, device] += sign * kinds.gpu_milli[kind]
        left = cell.left[node, device]
        n_whole += left == WHOLE
        most_left = max(most_left, left)
    cell.total_left[node] += sign * kinds.total[kind]
    cell.n_whole[node] = n_whole
    cell.most_left[node] = most_left
