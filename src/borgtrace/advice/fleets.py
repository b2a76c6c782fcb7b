"""Workloads packed on nodes of types that can be bought: how many of each, and what they cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from borgtrace.advice.node_types import NodeType
from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.scheduling.compaction import CellWorkload, order_of
from borgtrace.scheduling.machines import ANYWHERE, EXTENDED, UNIT, Demand
from borgtrace.scheduling.packing import pack
from borgtrace.scheduling.policies import POLICIES


@dataclass(frozen=True, slots=True)
class Fleet:
    """Nodes that hold a workload: how many of each type, by name, and what they cost an hour."""

    nodes: Mapping[str, int]
    price: float

    @property
    def n_nodes(self) -> int:
        """All nodes."""
        return sum(self.nodes.values())


@dataclass(frozen=True, slots=True, eq=False)
class FleetPacker:
    """Packs tasks on nodes of some types.

    Attributes
    ----------
    workload
        The tasks, in parts of the largest machine of the trace; placement constraints name machines that a new fleet
        does not have, and are dropped.  Tasks of a job that must be apart stay apart.
    cores, gib
        Of that largest machine.
    headroom
        Share of each node that is left free.
    on_each_node
        CPU and memory, in the same parts, that runs on every node (daemonsets).
    pods_per_node
        Most tasks on a node, those on every node included.
    n_on_each_node
        How many run on every node.
    seed
        Of the order of packing.
    """

    workload: CellWorkload
    cores: float
    gib: float
    headroom: float
    on_each_node: Index
    pods_per_node: int
    n_on_each_node: int
    seed: int

    def room(self, kind: NodeType) -> Index:
        """Return what a node offers to the tasks: CPU and memory in parts of the largest machine, and pods."""
        amounts = np.array([kind.cores / self.cores, kind.gib / self.gib])
        usable = np.floor(amounts * UNIT * (1 - self.headroom)).astype(np.int64) - self.on_each_node
        return np.append(usable, self.pods_per_node - self.n_on_each_node)

    def taken(self) -> Index:
        """Return what each task takes: CPU, memory and one pod: int64 (n, 3)."""
        sizes = self.workload.demand.sizes[:, :EXTENDED]
        return np.column_stack([sizes, np.ones(len(sizes), np.int64)])

    def nodes_of(self, kind: NodeType, chosen: Flags) -> Index | None:
        """Return the node of each chosen task, from 0, when nodes of one type are filled; None where one fits none."""
        taken = self.taken()[chosen]
        room = self.room(kind)
        if not len(taken):
            return np.empty(0, np.int64)
        if (taken > room).any():
            return None
        workload = self.workload.of(chosen)
        demand = Demand(
            sizes=workload.demand.sizes,
            groups=workload.demand.groups,
            sets=np.zeros(len(taken), np.int64),
            allowed=ANYWHERE,
            extended=taken[:, EXTENDED:],
        )
        n_nodes = self._enough(taken, room, workload.demand.groups)
        while True:
            packing = pack(
                demand,
                order_of(replace(workload, demand=demand), np.random.default_rng(self.seed)),
                np.tile(room, (n_nodes, 1)),
                np.arange(n_nodes),
                POLICIES["best-fit"],
            )
            if not packing.n_pending:
                return packing.machines
            n_nodes += packing.n_pending

    def _enough(self, taken: Index, room: Index, groups: Index) -> int:
        """Return how many nodes may be needed; best fit leaves those empty that are not."""
        by_amount = np.ceil(2 * taken.sum(axis=0) / room).max()
        largest_group = np.bincount(groups[groups >= 0]).max(initial=0)
        return int(max(by_amount, largest_group)) + 1

    def fleet_of(self, kind: NodeType) -> Fleet | None:
        """Return how many nodes of one type hold everything; None where a task fits none."""
        nodes = self.nodes_of(kind, np.ones(len(self.workload.jobs), np.bool_))
        if nodes is None:
            return None
        n_nodes = len(np.unique(nodes))
        return Fleet({kind.name: n_nodes}, n_nodes * kind.price)

    def cheapest_mix(self, types: Sequence[NodeType]) -> Fleet | None:
        """Return the cheapest mix that is found; None where a task fits no type.

        Tasks are dealt to shapes (GiB a core) by what they need more of, and each shape's are packed on each of its
        sizes; or all are packed on each type.  Then every node is replaced by the cheapest type that holds what is on
        it.  A heuristic: an optimum may be cheaper.
        """
        everything: Flags = np.ones(len(self.workload.jobs), np.bool_)
        fleets = [self.downsized(kind, everything, types) for kind in types]
        by_shape = self.by_shape(types)
        found = [fleet for fleet in (*fleets, by_shape) if fleet is not None]
        if not found:
            return None
        return min(found, key=lambda fleet: (fleet.price, fleet.n_nodes))

    def by_shape(self, types: Sequence[NodeType]) -> Fleet | None:
        """Return the mix in which each task goes to the shape that is nearest to its own GiB a core."""
        shapes = sorted({round(kind.gib / kind.cores, 3) for kind in types})
        shape_of_task = nearest(np.log(self.gib_per_core()), np.log(shapes))
        total = Fleet({}, 0.0)
        for place, shape in enumerate(shapes):
            chosen: Flags = shape_of_task == place
            if not chosen.any():
                continue
            of_shape = [kind for kind in types if round(kind.gib / kind.cores, 3) == shape]
            fleets = [self.downsized(kind, chosen, types) for kind in of_shape]
            holding = [fleet for fleet in fleets if fleet is not None]
            if not holding:
                return None
            total = together(total, min(holding, key=lambda fleet: (fleet.price, fleet.n_nodes)))
        return total

    def gib_per_core(self) -> Numbers:
        """Return the GiB a core that each task takes, between 1/16 and 1,024: float64 (n,)."""
        sizes = self.workload.demand.sizes.astype(np.float64)
        cores = np.maximum(sizes[:, 0] * self.cores, 1.0)
        gib = np.maximum(sizes[:, 1] * self.gib, 1.0)
        return np.clip(gib / cores, 1 / 16, 1024)

    def downsized(
        self,
        kind: NodeType,
        chosen: Flags,
        types: Sequence[NodeType],
    ) -> Fleet | None:
        """Return chosen tasks packed on one type, with each node replaced by the cheapest type that holds the same."""
        node = self.nodes_of(kind, chosen)
        if node is None:
            return None
        taken = np.zeros((int(node.max(initial=-1)) + 1, 3), np.int64)
        np.add.at(taken, node, self.taken()[chosen])
        taken = taken[taken[:, 2] > 0]
        # The cheapest type first; of equal ones the smaller.
        ordered = sorted(types, key=lambda one: (one.price, one.cores, one.gib, one.name))
        rooms = np.stack([self.room(one) for one in ordered])
        holds = (taken[:, None, :] <= rooms[None]).all(axis=2)
        # The node's own type holds it, so that there always is one.
        cheapest = holds.argmax(axis=1)
        counts = Counter(ordered[place].name for place in cheapest.tolist())
        price = sum(ordered[place].price for place in cheapest.tolist())
        return Fleet(dict(sorted(counts.items())), price)


def nearest(values: Numbers, points: Sequence[float] | Numbers) -> Index:
    """Return the place of the nearest of some points for each value; of equal ones the first."""
    distance = np.abs(values[:, None] - np.asarray(points)[None])
    return distance.argmin(axis=1).astype(np.int64)


def together(one: Fleet, other: Fleet) -> Fleet:
    """Return both fleets as one."""
    nodes = Counter(one.nodes) + Counter(other.nodes)
    return Fleet(dict(sorted(nodes.items())), one.price + other.price)
