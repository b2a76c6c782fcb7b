"""The nodes of a cluster with GPUs, as they are when nothing runs on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from borgtrace.kernels.arrays import Index
from borgtrace.scheduling.gpus.cell import WHOLE


@dataclass(frozen=True, slots=True)
class GpuNodes:
    """Nodes, in the order in which they win ties.

    Attributes
    ----------
    names
        What they are called.
    cpu, memory
        Shape (nodes,): thousandths of a core; MiB.
    n_devices
        Shape (nodes,): GPUs, at most 8.
    model
        Shape (nodes,): which of `models` they are.
    models
        Names of the models.
    """

    names: Sequence[str]
    cpu: Index
    memory: Index
    n_devices: Index
    model: Index
    models: Sequence[str]

    def __len__(self) -> int:
        return len(self.names)

    @property
    def total(self) -> int:
        """Thousandths of all devices together."""
        return int(self.n_devices.sum()) * WHOLE

    def in_order(self, order: Index) -> GpuNodes:
        """Return the nodes in another order.

        Parameters
        ----------
        order
            Shape (nodes,): the place of each in this one.
        """
        return GpuNodes(
            names=[self.names[place] for place in order.tolist()],
            cpu=self.cpu[order],
            memory=self.memory[order],
            n_devices=self.n_devices[order],
            model=self.model[order],
            models=self.models,
        )

    def sorted_by_name(self) -> GpuNodes:
        """Return the nodes in the order of their names, as text."""
        return self.in_order(np.argsort(np.array(self.names, dtype=np.str_), kind="stable"))
