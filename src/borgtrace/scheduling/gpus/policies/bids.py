"""A pod goes where what is left loses least worth, by what typical pods would bid for it.

Pods of one class want the same part of a device and may use the same models.  Each class has a *bid*, at most that
part.  Devices are thought to fill with pods that come at random, as frequent as in the list, but rather with those that
bid more; a device closes at the first pod that does not fit.  A class that finds more room than its pods need lowers
its bid, one that finds less raises it.  So classes bid much where only scarce models take them, or where others would
waste what they fill, and little where there is plenty.

The *worth* of a device, by what is left of it, is what pods that fill it bid together.  They need CPU and memory, too:
the worth of a node is the least, over several prices of CPU or memory, of what its devices are worth to pods that pay
the price, and what its CPU or memory costs at it.  So CPU in plenty adds nothing, and devices without CPU are worth
little.  Models to which many pods are bound are worth somewhat more; so is room for pods of several devices, the more
the fewer nodes have it.  Bids are settled before the first arrival, and again when a tenth of what was free has been
requested.
"""

from typing import NamedTuple

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.scheduling.gpus.cell import SHARING, WHOLE, GpuCell, PodKinds, TypicalPods
from borgtrace.scheduling.gpus.nodes import GpuNodes
from borgtrace.scheduling.gpus.policy import GpuPolicy, least_left

TEMPERATURE = 10.0  # thousandths of a device: who bids so much more is e times as likely to get it
PRICES = np.array([0.005, 0.01, 0.02, 0.04, 0.08, 0.16])  # of a core, in devices; also of memory
DEMAND = 0.9  # of what is free, how much pods are thought to request
ROUNDS, MORE_ROUNDS = 200, 10  # how often bids change before the first arrival, and later
FIRST_BID, LARGEST_STEP = 0.8, 0.2  # of what a class wants: its first bid, and its largest change
PART_OF_FREE, PART_OF_ALL = 0.1, 0.01  # both are requested until bids are settled again
BOUND = 0.1  # how much more a device is worth where pods that are bound to its model could fill it
AMPLE = 2  # as long as the node has so much more CPU than pods request in the mean
STEEPNESS = 6  # room for a pod of several devices is worth their number · (demand / room) to this
FULLER = 1 / 8000  # what a thousandth that is left counts against a node that is equal otherwise
TINY = 1e-6  # keeps from dividing by 0


class Bids(NamedTuple):
    """What is known of the pods in the list, what they bid now, and what nodes are worth by that."""

    size: Index  # (classes,): part of a device that pods want, by its place in `sizes`
    share: Numbers  # (classes,): devices per thousandth that pods request
    bid: Numbers  # (classes,)
    chance: Numbers  # (models, classes): share of the class in the pods that a model takes
    thrift: Numbers  # (prices, classes): mean of exp(−what pods pay / `TEMPERATURE`)
    sizes: Index  # rising, in grains
    grain: int  # thousandths of a device that divide all parts
    price: Numbers  # (prices, 2): of CPU and of memory; the first are 0
    cpu_per_gpu: float  # CPU per thousandth of a device that pods request
    bound: Numbers  # (models,): how much of it pods request that no other takes; at most 1
    several: Numbers  # (numbers, 4): devices of a pod, mean CPU and memory, pods per thousandth
    worth: Numbers  # (models, levels, prices): of a device; levels are grains that are left
    room_worth: Numbers  # (numbers,): of room for a pod of several devices
    at_price: Numbers  # (nodes, prices): of nodes, but for what `extra` adds
    as_it_is: Numbers  # (nodes,): of nodes
    requested: Numbers  # (2,): thousandths so far, and at how many bids are settled again


def prepare(nodes: GpuNodes, kinds: PodKinds, typical: TypicalPods) -> Bids:
    """Return the classes of the pods in the list, with their first bids."""
    chosen = np.flatnonzero(kinds.n_gpus > 0)
    n_gpus, needs = kinds.n_gpus[chosen], np.stack([kinds.cpu, kinds.memory], axis=1)[chosen]
    n_pods = kinds.n_listed[chosen] / max(int(kinds.n_listed @ kinds.total), 1)
    rows = np.column_stack([kinds.gpu_milli[chosen], kinds.allowed[chosen]])
    classes, class_of = np.unique(rows, axis=0, return_inverse=True)
    part, allowed = classes[:, 0], classes[:, 1:].T
    devices = (np.arange(len(classes))[:, None] == class_of.reshape(-1)) * (n_pods * n_gpus)
    share = devices.sum(axis=1)
    # Memory that costs as much as CPU, by what nodes have of both.
    per_memory = nodes.cpu.sum() / max(nodes.memory.sum(), 1)
    price = np.vstack([[0, 0], np.outer(PRICES, [1, 0]), np.outer(PRICES, [0, per_memory])])
    paid = price @ (needs / n_gpus[:, None]).T
    capacity = np.bincount(nodes.model, nodes.n_devices, len(nodes.models))
    bound = (allowed * (allowed.sum(axis=0) == 1)) @ (share * part) * capacity.sum()
    several = pods_of_several(n_gpus, needs, n_pods)
    grain = int(np.gcd.reduce(np.append(WHOLE, part)))
    sizes, size = np.unique(part // grain, return_inverse=True)
    return Bids(
        size=size.reshape(-1),
        share=share,
        bid=FIRST_BID * part,
        chance=allowed * share / np.maximum(allowed @ share, TINY)[:, None],
        thrift=np.exp(-paid / TEMPERATURE) @ devices.T / share,
        sizes=sizes,
        grain=grain,
        price=price,
        cpu_per_gpu=float(n_pods @ needs[:, 0]) + TINY,
        bound=np.minimum(bound / np.maximum(capacity, 1), 1.0),
        several=several,
        worth=np.zeros((len(nodes.models), WHOLE // grain + 1, len(price))),
        room_worth=np.zeros(len(several)),
        at_price=np.zeros((len(nodes), len(price))),
        as_it_is=np.zeros(len(nodes)),
        requested=np.zeros(2),
    )


def pods_of_several(n_gpus: Index, needs: Index, n_pods: Numbers) -> Numbers:
    """Return pods of several devices by their number: it, their mean needs, and how many."""
    rows = []
    for number in np.unique(n_gpus[n_gpus > 1]):
        weight = n_pods * (n_gpus == number)
        rows.append([number, *(weight @ needs / weight.sum() + TINY), weight.sum()])
    return np.array(rows, np.float64).reshape(-1, 4)


@compiled()
def fill(own: Bids, model: int, price: int) -> tuple[Numbers, Numbers, Numbers]:
    """Return how bids weigh by class and by size, and by level the mean of exp(bids that fill it / temperature)."""
    weight = own.chance[model] * np.exp(own.bid / TEMPERATURE) * own.thrift[price]
    pull = np.zeros(len(own.sizes))
    chance = np.zeros(len(own.sizes))
    for one in range(len(own.size)):
        pull[own.size[one]] += weight[one]
        chance[own.size[one]] += own.chance[model, one]
    means = np.ones(own.worth.shape[1])
    for level in range(len(means)):
        for size in range(np.searchsorted(own.sizes, level, side="right")):
            means[level] += pull[size] * means[level - own.sizes[size]] - chance[size]
        # Nobody pays more than it bids: at worst a device stays as it is.
        means[level] = max(means[level], 1.0)
    return weight, pull, means


@compiled()
def find_room(own: Bids, free: Numbers) -> Numbers:
    """Return how many devices of each class find room; `free` counts devices, shape (models, levels)."""
    placed = np.zeros(len(own.bid))
    for model in range(len(free)):
        weight, pull, means = fill(own, model, 0)
        devices = free[model].copy()
        taken = np.zeros(len(pull))
        for level in range(len(devices) - 1, 0, -1):
            for size in range(np.searchsorted(own.sizes, level, side="right")):
                rest = level - own.sizes[size]
                flow = devices[level] * pull[size] * means[rest] / means[level]
                taken[size] += flow
                devices[rest] += flow
        placed += weight * (taken / (pull + 1e-300))[own.size]
    return placed


@compiled()
def settle(cell: GpuCell, own: Bids, n_rounds: int) -> float:
    """Settle bids, and what nodes are worth by them; return how many thousandths of devices are free."""
    free = np.zeros(own.worth.shape[:2])
    for node in range(len(cell.left)):
        for one in range(cell.n_devices[node]):
            free[cell.model[node], cell.left[node, one] // own.grain] += 1
    total = cell.total_left.sum()
    part = own.grain * own.sizes[own.size]
    most = LARGEST_STEP * part
    for _ in range(n_rounds):
        excess = (find_room(own, free) + TINY) / (DEMAND * total * own.share + TINY)
        step = np.minimum(np.maximum(TEMPERATURE / 2 * np.log(excess), -most), most)
        own.bid[:] = np.minimum(np.maximum(own.bid - step, 0), part)
    for model in range(len(free)):
        for price in range(len(own.price)):
            own.worth[model, :, price] = TEMPERATURE * np.log(fill(own, model, price)[2])
    for number in range(len(own.several)):
        n_gpus = own.several[number, 0]
        demand = DEMAND * total * (own.several[number:, 0] * own.several[number:, 3]).sum()
        fitting = TINY
        for node in range(len(cell.left)):
            left = (cell.n_whole[node], cell.cpu_left[node], cell.memory_left[node])
            fitting += n_gpus * room(own, number, *left)
        own.room_worth[number] = WHOLE * n_gpus * min(demand / fitting, 1.0) ** STEEPNESS
    for node in range(len(cell.left)):
        changed(cell, own, node)
    return total


@compiled(makes_arrays=False)
def room(own: Bids, number: int, n_whole: int, cpu: int, memory: int) -> int:
    """Return how many pods of several devices find room, with the mean CPU and memory of their number."""
    n_gpus, each_cpu, each_memory, _ = own.several[number]
    return min(int(n_whole / n_gpus), int(cpu / each_cpu), int(memory / each_memory))


@compiled(makes_arrays=False)
def extra(own: Bids, model: int, total: int, n_whole: int, cpu: int, memory: int) -> float:
    """Return what a node is worth beyond what its devices are: for several devices, and for its model."""
    most = 0.0
    for number in range(len(own.several)):
        most = max(most, own.room_worth[number] * room(own, number, n_whole, cpu, memory))
    return most + BOUND * own.bound[model] * min(total, cpu / (AMPLE * own.cpu_per_gpu))


@compiled(makes_arrays=False)
def changed(cell: GpuCell, own: Bids, node: int) -> None:
    """Note what a node is worth as it is."""
    model, cpu, memory = cell.model[node], cell.cpu_left[node], cell.memory_left[node]
    least = np.inf
    for price in range(len(own.price)):
        worth = own.price[price, 0] * cpu + own.price[price, 1] * memory
        for one in range(cell.n_devices[node]):
            worth += own.worth[model, cell.left[node, one] // own.grain, price]
        own.at_price[node, price] = worth
        least = min(least, worth)
    total, n_whole = cell.total_left[node], cell.n_whole[node]
    own.as_it_is[node] = least + extra(own, model, total, n_whole, cpu, memory)


@compiled(makes_arrays=False)
def score(cell: GpuCell, own: Bids, node: int, kind: int) -> float:
    """Return by how much a pod changes what a node is worth; of equal ones, the fullest is best."""
    kinds, model = cell.kinds, cell.model[node]
    n_gpus, cpu, memory = kinds.n_gpus[kind], kinds.cpu[kind], kinds.memory[kind]
    left = WHOLE
    if kinds.pod_class[kind] == SHARING:
        left = cell.left[node, least_left(cell, own, node, kind)]
    level, rest = left // own.grain, (left - kinds.gpu_milli[kind]) // own.grain
    least = np.inf
    for price in range(len(own.price)):
        lost = own.worth[model, level, price] - own.worth[model, rest, price]
        paid = own.price[price, 0] * cpu + own.price[price, 1] * memory
        least = min(least, own.at_price[node, price] - n_gpus * lost - paid)
    total = cell.total_left[node] - kinds.total[kind]
    n_whole = cell.n_whole[node] - n_gpus * (left == WHOLE)
    cpu, memory = cell.cpu_left[node] - cpu, cell.memory_left[node] - memory
    worth = least + extra(own, model, total, n_whole, cpu, memory)
    return worth - own.as_it_is[node] - FULLER * total


@compiled(makes_arrays=False)
def arrived(cell: GpuCell, own: Bids, kind: int) -> bool:
    """Settle bids if enough was requested since the last time; return whether they are new."""
    requested = own.requested[0]
    own.requested[0] += cell.kinds.total[kind]
    if requested < own.requested[1]:
        return False
    free = settle(cell, own, MORE_ROUNDS if requested > 0 else ROUNDS)
    least = PART_OF_ALL * WHOLE * cell.n_devices.sum()
    own.requested[1] = requested + max(PART_OF_FREE * free, least)
    return True


POLICY = GpuPolicy(
    name="bids",
    title="Bids",
    about="what is left loses least worth, by what typical pods bid",
    score=score,
    prepare=prepare,
    changed=changed,
    arrived=arrived,
    scored_by="kind",
)
