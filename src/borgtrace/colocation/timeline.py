"""The tasks of a pool on the clock of slots: when they come, what they use, when they leave."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from borgtrace.colocation.pool import Pool
from borgtrace.kernels.arrays import Index, Values


@dataclass(frozen=True, eq=False)
class Timeline:
    """Tasks on the clock of slots.

    Attributes
    ----------
    begin, end
        int64 (n,): first slot of a task, and the slot after its last.
    offsets, slot, usage
        CSR: the slots in which a task was measured, ascending, and its usage there (float32).
    """

    begin: Index
    end: Index
    offsets: Index
    slot: Index
    usage: Values

    @classmethod
    def of(cls, pool: Pool) -> Timeline:
        """Lay the windows of a pool on the clock; windows of one slot are averaged.

        Raises
        ------
        NotApplicable
            The pool has no time stamps.
        """
        slot = pool.slots()
        task = np.repeat(np.arange(len(pool)), pool.n_windows)
        # 2019 has several short windows in one slot, and a slot is what the simulation measures.
        order = np.lexsort((slot, task))
        is_new = np.append(True, (np.diff(task[order]) != 0) | (np.diff(slot[order]) != 0))
        starts = np.flatnonzero(is_new)
        counts = np.diff(np.append(starts, len(order)))
        usage = np.add.reduceat(pool.inst[order].astype(np.float64), starts) / counts
        kept = order[starts]
        offsets = np.searchsorted(task[kept], np.arange(len(pool) + 1))
        begin, end = slot[kept][offsets[:-1]], slot[kept][offsets[1:] - 1] + 1
        return cls(begin, end, offsets, slot[kept], usage.astype(np.float32))
