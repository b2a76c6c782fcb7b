"""Which slots of a machine were measured, and after which promises can therefore be judged.

Where a machine, a cell or who measures it is down, tasks run on, and nothing is seen: that no promise breaks there says
nothing.  A slot is blind where tasks ran and less than half of what they request was measured, a task counting from its
first sample to its last, since nobody knows whether it ran on; or where a machine that is in use at other times used
exactly nothing, which is what an outage writes as well.  A promise is judged where neither its slot nor any of its
horizon is blind.
"""

import numpy as np

from borgtrace.kernels.arrays import Flags, Index
from borgtrace.overcommit.block import MachineBlock
from borgtrace.overcommit.horizons import horizon_ends

LEAST_MEASURED = 0.5
"""Share of the limits that must be measured: with more than half of a machine unseen, its peak is not known."""


def blind_slots(block: MachineBlock) -> Flags:
    """Return which slots of a machine show too little: bool (m,), those of ``block.all.slots``.

    Parameters
    ----------
    block
        A machine.
    """
    n_known = block.all.sums(block.is_known.astype(np.float64))
    is_blind = _is_silent(block, n_known > 0)
    if block.is_known.all():
        return is_blind
    expected = block.all.sums(np.where(_within_samples(block), block.all.limit, 0.0))
    measured = block.all.sums(np.where(block.is_known, block.all.limit, 0.0))
    is_missing: Flags = (n_known == 0) | (measured < LEAST_MEASURED * expected)
    return is_blind | is_missing


def _within_samples(block: MachineBlock) -> Flags:
    """Return which samples lie between the first and the last known one of their task: bool (n,)."""
    known = block.known
    tasks, first, n_samples = np.unique(known.task, return_index=True, return_counts=True)
    n_tasks = int(block.all.task.max(initial=-1)) + 1
    first_slot: Index = np.full(n_tasks, np.iinfo(np.int64).max)
    last_slot: Index = np.full(n_tasks, -1)
    first_slot[tasks] = known.slot[first]
    last_slot[tasks] = known.slot[first + n_samples - 1]
    task = block.all.task
    slot = block.all.slot
    return np.asarray((slot >= first_slot[task]) & (slot <= last_slot[task]))


def _is_silent(block: MachineBlock, is_measured: Flags) -> Flags:
    """Return in which measured slots a machine used exactly nothing, though it is in use at most times: bool (m,)."""
    used = block.all.sums(np.where(block.is_known, block.all.usage, 0.0))
    if not is_measured.any() or np.median(used[is_measured]) <= 0:
        return np.zeros(len(used), np.bool_)
    return np.asarray(is_measured & (used == 0))


def judged_instants(block: MachineBlock, horizon: int) -> Flags:
    """Return after which slots a promise can be judged: bool (judged,), of the first slots of a block.

    Parameters
    ----------
    block
        A machine.
    horizon
        Slots to come.
    """
    ends = horizon_ends(block, horizon)
    # Google's simulator takes what is missing for nothing used.
    if block.is_literal:
        return np.ones(len(ends), np.bool_)
    n_blind_before = np.append(0, np.cumsum(blind_slots(block)))
    end_of_horizon = np.searchsorted(block.all.slots, ends)
    return np.asarray(n_blind_before[end_of_horizon] == n_blind_before[: len(ends)])
