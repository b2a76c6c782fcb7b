"""Borg's reservations: the limit at first, then slowly toward usage and a margin."""

from dataclasses import dataclass

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.overcommit.block import Samples
from borgtrace.overcommit.policies.tasks import Ever


@dataclass(frozen=True)
class Reservation(Ever):
    """Σ of each task's reservation: its limit for a slot, then decaying to usage × (1 + margin), rising to it at once.

    Decay rate and margin of Borg are not published (Verma et al., EuroSys'15, §5.5): both are parameters.

    Attributes
    ----------
    warmup
        Samples before the reservation may sink.
    margin
        Above the usage, as a share of it.
    half_life
        Slots in which the distance to usage and margin halves.
    """

    warmup: int = 1
    margin: float = 0.2
    half_life: int = 12

    name = "reservation"
    about = "the sum of reservations as in Borg: the limit, decaying toward usage plus a margin, up at once"

    def of_tasks(self, samples: Samples) -> Numbers:
        """Return each task's reservation after each sample."""
        return reservations(samples.task, samples.slot, samples.usage, samples.limit, self.margin, self.half_life)


@compiled()
def reservations(task: Index, slot: Index, usage: Numbers, limit: Numbers, margin: float, half_life: int) -> Numbers:
    """Return the reservation of each task at the end of each of its slots, at most the limit: float64 (n,).

    After a gap a task starts over from its limit, as when it is new.

    Parameters
    ----------
    task, slot, usage, limit
        Of :class:`borgtrace.overcommit.block.Samples`.
    margin, half_life
        As for :class:`Reservation`.
    """
    out = np.empty(task.size)
    kept = 0.5 ** (1.0 / half_life)
    for i in range(task.size):
        goes_on = i > 0 and task[i] == task[i - 1] and slot[i] == slot[i - 1] + 1
        before, target = out[i - 1] if goes_on else limit[i], usage[i] * (1.0 + margin)
        out[i] = min(limit[i], max(target, target + (before - target) * kept))
    return out
