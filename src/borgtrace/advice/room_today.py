"""How full machines are by what their tasks request: why a packing may need more of them than there are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from borgtrace.scheduling.machines import EXTENDED
from borgtrace.scheduling.workload import KnownMachines, TaskAttempts


@dataclass(frozen=True, slots=True)
class RequestedRoom:
    """What the tasks of a moment request of the machines that are there.

    Attributes
    ----------
    cpu, memory
        Share of the capacity of all machines.
    n_overfull
        Machines whose tasks request more than they have, of any resource.
    """

    cpu: float
    memory: float
    n_overfull: int

    @classmethod
    def of(cls, machines: KnownMachines, tasks: TaskAttempts) -> RequestedRoom:
        """Add up what is requested of each machine."""
        requested = np.column_stack([tasks.sizes, tasks.extended])
        place = np.searchsorted(machines.ids, tasks.machine)
        place = np.minimum(place, len(machines.ids) - 1)
        is_placed = machines.ids[place] == tasks.machine
        on_machine = np.zeros_like(machines.capacity)
        np.add.at(on_machine, place[is_placed], requested[is_placed])
        total = machines.capacity[:, :EXTENDED].sum(axis=0)
        cpu, memory = (tasks.sizes.sum(axis=0) / total).tolist()
        is_overfull = (on_machine > machines.capacity).any(axis=1)
        return cls(cpu, memory, int(is_overfull.sum()))
