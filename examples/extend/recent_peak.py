"""A peak policy: the highest total of the last hours, with a margin."""

from dataclasses import dataclass

import numpy as np

from borgtrace import PeakPolicy


@dataclass(frozen=True)
class RecentPeak(PeakPolicy):
    """The highest total usage of the last slots of 300 s, times 1 + margin; never above the limits."""

    slots: int = 24
    margin: float = 0.1

    name = "recent-peak"
    about = "the highest total of the last slots, with a margin"

    def predict(self, block):
        # What a slot sees: the totals of the slots before it, and its own.
        past = np.concatenate([np.zeros(self.slots), block.total_usage])
        windows = np.lib.stride_tricks.sliding_window_view(past, self.slots)
        peak = windows.max(axis=1)[1:]
        # Tasks that nobody measured may use all of their limits.
        return np.minimum((1 + self.margin) * peak + block.unmeasured, block.limits)
