"""A workload on a cluster with GPUs, and what becomes of it in runs that differ in the order of arrivals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from borgtrace.kernels.arrays import Index
from borgtrace.scheduling.gpus.arrivals import PodArrivals, draw_arrivals
from borgtrace.scheduling.gpus.cell import PodKinds, TypicalPods
from borgtrace.scheduling.gpus.metrics import LoadColumns, load_columns
from borgtrace.scheduling.gpus.nodes import GpuNodes
from borgtrace.scheduling.gpus.pods import GpuPods
from borgtrace.scheduling.gpus.policy import GpuPolicy
from borgtrace.scheduling.gpus.replay import GpuRun, replay

TIES = ("rank", "drawn", "file")
"""Which of equally good nodes is taken: that with the lowest rank of the run, any of them, or the first in the file."""


@dataclass(frozen=True)
class GpuWorkload:
    """Pods, and the nodes that they are placed on.

    Attributes
    ----------
    name
        What it is called.
    nodes
        In the order of their file.
    pods
        Sorted by name.
    published
        Arrivals of published runs, by seed.
    """

    name: str
    nodes: GpuNodes
    pods: GpuPods
    published: Mapping[int, PodArrivals] = field(default_factory=dict)

    @cached_property
    def kinds(self) -> tuple[PodKinds, Index]:
        """Kinds of pods, and the kind of each pod."""
        return self.pods.kinds(self.nodes.models)

    @cached_property
    def typical(self) -> TypicalPods:
        """The typical kinds of the list."""
        return self.pods.typical(self.nodes.models)

    def arrivals(self, seed: int) -> PodArrivals:
        """Return the arrivals of a run: those that were published of it, or drawn ones."""
        if seed in self.published:
            return self.published[seed]
        return draw_arrivals(self.pods, len(self.nodes), self.nodes.total, seed)

    def run(self, arrivals: PodArrivals, ties: str, seed: int) -> GpuRun:
        """Return what is replayed.

        Parameters
        ----------
        arrivals
            Of the run.
        ties
            Which of equal nodes is taken, one of `TIES`.
        seed
            Of what is drawn.
        """
        nodes = self.nodes
        if ties != "file":
            nodes = nodes.sorted_by_name().in_order(np.argsort(arrivals.node_rank, kind="stable"))
        kinds, kind_of_pod = self.kinds
        return GpuRun(
            nodes=nodes,
            kinds=kinds,
            typical=self.typical,
            arrivals=kind_of_pod[arrivals.pods],
            draws_ties=ties == "drawn",
            seed=seed,
        )


def columns_of_run(workload: GpuWorkload, policy: GpuPolicy, ties: str, seed: int) -> LoadColumns:
    """Replay a run, and measure it by load.

    Parameters
    ----------
    workload
        Pods and nodes.
    policy
        Who chooses.
    ties
        Which of equal nodes is taken, one of `TIES`.
    seed
        Of the arrivals, and of what is drawn.
    """
    arrivals = workload.arrivals(seed)
    placements = replay(workload.run(arrivals, ties, seed), policy)
    pods = workload.pods
    return load_columns(
        placements,
        requested=pods.total[arrivals.pods],
        is_several=pods.n_gpus[arrivals.pods] > 1,
        total=workload.nodes.total,
    )
