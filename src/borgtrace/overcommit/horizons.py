"""How far the oracle looks ahead of each slot: to the end of the horizon, or as Google's simulator does."""

import numpy as np

from borgtrace.kernels.arrays import Index
from borgtrace.kernels.compiled import compiled
from borgtrace.overcommit.block import MachineBlock


def horizon_ends(block: MachineBlock, horizon: int) -> Index:
    """Return the slot after the horizon of each judged slot: int64 (judged,), those of the first slots of a block.

    Parameters
    ----------
    block
        A machine.
    horizon
        Slots to come.
    """
    slots = block.all.slots
    if block.is_literal:
        n_samples = np.diff(block.all.columns.offsets)
        return simulator_ends(slots, n_samples, horizon)
    n_judged = int(np.searchsorted(slots, block.n_slots - horizon))
    return slots[:n_judged] + horizon + 1


@compiled()
def simulator_ends(
    slots: Index,
    n_samples: Index,
    horizon: int,
) -> Index:
    """Return the slot after the last one that Google's simulator shows to the oracle of each slot it is asked about.

    After googleinterns/cluster-resource-forecast, simulator/fortune_teller.py.  It reads the samples of a machine one
    by one.  A sample beyond the horizon lets the oldest slot that waits be judged by all the slots that have been read
    whole, and sets the next horizon to a slot after that of the judged one.  So where a machine has a gap the slot
    after it is judged by fewer slots than the horizon has; and slots that the gap made due wait for one sample each,
    some of them until slots beyond their horizon have been read.  The end of the samples lets one more be judged.
    Where no slot waits the original fails; here such a sample changes nothing.

    Parameters
    ----------
    slots, n_samples
        Slots of a machine, ascending, and how many samples each has: (m,).
    horizon
        Slots to come.

    Returns
    -------
    int64 (judged,)
        Of the first slots; the slot after itself where none has been read.
    """
    ends = np.empty(slots.size, np.int64)
    n_judged = 0
    for j in range(1, slots.size + 1):
        is_end_of_samples = j == slots.size
        n = 1 if is_end_of_samples else n_samples[j]
        for _ in range(n):
            # The first slot sets the first horizon; each judged one the next.
            due = slots[0] + horizon if n_judged == 0 else slots[n_judged - 1] + horizon + 1
            if n_judged == j or not (is_end_of_samples or slots[j] > due):
                break
            ends[n_judged] = slots[j - 1] + 1
            n_judged += 1
    return ends[:n_judged]
