"""Samples that repeat: where the step of a query is shorter than the time between two scrapes.

Each value is then answered several times.
"""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from borgtrace.schema.time import write_time

_LEAST_CHANGES = 4
"""Fewer changes of a counter may lie at equal distances by chance."""
_MOSTLY = 0.5
"""Share of the counters that must repeat: those of idle containers stand still now and then."""


@dataclass
class RepeatedSamples:
    """How many samples of counters lie between two changes of their values.

    Parameters
    ----------
    n_of_distance
        Counters by the number of samples from one change to the next; 1 for those that change at any of them.
    """

    n_of_distance: Counter[int] = field(default_factory=Counter)

    def look(self, values: npt.NDArray[np.float64]) -> None:
        """Look at the samples of one counter, in order of time."""
        (changes,) = np.nonzero(np.diff(values))
        if len(changes) < _LEAST_CHANGES:
            return
        distances = np.diff(changes)
        # A scrape comes a sample earlier or later where its time is no multiple of the step.
        are_even = distances.max() - distances.min() <= 1
        is_repeating = distances.min() > 1 and are_even
        self.n_of_distance[round(float(np.mean(distances))) if is_repeating else 1] += 1

    def note(self, step: int) -> str:
        """Return the sentence about samples that repeat; empty where they do not.

        Parameters
        ----------
        step
            The usual time between two samples, in µs.
        """
        n_counters = self.n_of_distance.total()
        n_repeating = n_counters - self.n_of_distance[1]
        if n_repeating <= _MOSTLY * n_counters:
            return ""
        distance = max(
            (each for each in self.n_of_distance if each > 1),
            key=lambda each: (self.n_of_distance[each], -each),
        )
        scrape = write_time(distance * step)
        return (
            f"Samples repeat: {n_repeating:,} of {n_counters:,} counters of CPU change once in {distance} samples, "
            f"as the step of the query, {write_time(step)}, is shorter than the time between two scrapes, "
            f"about {scrape}. "
            f"Peaks are too high, as all use of {scrape} stands in one window of {write_time(step)}: query with a step "
            f"of {scrape}."
        )
