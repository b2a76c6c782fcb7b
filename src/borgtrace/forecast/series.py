"""Usage of tasks in slots of 300 s, and the examples that forecasters learn from and are judged on.

At the end of slot t only windows that ended in t or before are known.  Nothing comes from the table of tasks, which
summarizes whole lives, and no task is chosen by its length: an example needs an hour of known slots and something to
compare a forecast with, in the trace as it went on.
"""

from dataclasses import dataclass

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.schema.time import SECOND, TRACE_START, WINDOW
from borgtrace.store import Store

PAST = 12
"""Slots that a forecast sees: an hour."""
HORIZONS = 12
"""Slots that are told: an hour."""
DAY = 288
SLOTS = 1 << 20
"""Of a key."""
COLUMNS = {"cpu": "average_cpu", "memory": "average_memory"}


@dataclass(frozen=True, eq=False)
class Series:
    """Means of slots, sorted by task and slot.

    Attributes
    ----------
    key
        int64 (n,): ``task · 2²⁰ + slot``, ascending.
    value
        float64 (n,): fraction of the largest machine.
    """

    key: Index
    value: Numbers

    @property
    def slot(self) -> Index:
        """Slot of each value."""
        return self.key % SLOTS

    def at(self, key: Index) -> Numbers:
        """Return the values of some keys, of their shape; NaN where there is none."""
        place = np.searchsorted(self.key, key)
        found = np.append(self.key, -1)[place] == key
        return np.where(found, np.append(self.value, np.nan)[place], np.nan)

    @property
    def end(self) -> int:
        """The slot after the last one."""
        return int(self.slot.max(initial=-1)) + 1

    @classmethod
    def of(
        cls,
        store: Store,
        resource: str,
        tasks: int,
        seed: int,
    ) -> "Series":
        """Read a random sample of the tasks of a store.

        Parameters
        ----------
        store
            An open store.
        resource
            ``"cpu"`` or ``"memory"``.
        tasks
            How many tasks; all where there are fewer.
        seed
            Of the sample.
        """
        n = len(store.offsets) - 1
        chosen = np.sort(np.random.default_rng(seed).permutation(n)[:tasks])
        first = store.offsets[chosen]
        lengths = np.diff(store.offsets)[chosen]
        rows = np.repeat(first - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
        value = np.asarray(store.array(COLUMNS[resource])[rows], np.float64)
        seconds = np.asarray(store.array("duration")[rows], np.float64)
        end = np.asarray(store.array("start_time")[rows], np.float64) + seconds
        slot = np.ceil((end * SECOND - TRACE_START) / WINDOW).astype(np.int64) - 1
        kept = ~np.isnan(value) & (slot >= 0) & (slot < SLOTS) & (seconds > 0)
        key, at = np.unique((np.repeat(chosen, lengths) * SLOTS + slot)[kept], return_inverse=True)
        # Two windows that end in a slot count by their length.
        weight = np.bincount(at, seconds[kept], len(key))
        return cls(key, np.bincount(at, (seconds * value)[kept], len(key)) / weight)


@dataclass(frozen=True, eq=False)
class Examples:
    """What is known at the end of some slots, and what came.

    Attributes
    ----------
    key
        int64 (n,): task and slot, as in :class:`Series`.
    past
        float64 (n, PAST): the last values, the newest last.
    before
        float64 (n, HORIZONS): the values of the same slots a day earlier; the newest value where there are none.
    target
        float64 (n, HORIZONS): the values to come; NaN where there are none.
    """

    key: Index
    past: Numbers
    before: Numbers
    target: Numbers

    def __len__(self) -> int:
        """Return the number of examples."""
        return len(self.key)

    @property
    def slot(self) -> Index:
        """Slot of the newest value of each."""
        return self.key % SLOTS

    @property
    def n_targets(self) -> int:
        """Number of targets of the horizon that has the fewest."""
        return int((~np.isnan(self.target)).sum(axis=0).min())

    def take(self, chosen: Index) -> "Examples":
        """Return some of them."""
        return Examples(
            self.key[chosen], self.past[chosen], self.before[chosen], self.target[chosen]
        )


def examples(
    series: Series,
    begin: int,
    end: int,
    limit: int,
    seed: int,
) -> Examples:
    """Return the examples of slots from `begin` on whose targets all lie before `end`.

    Parameters
    ----------
    series
        The tasks.
    begin, end
        Slots.  Examples before a split have their last target before it, so that none is trained on what is judged.
    limit
        A random sample of at most so many.
    seed
        Of the sample.
    """
    newest = np.arange(PAST - 1, len(series.key))
    slot = series.slot[newest]
    whole = series.key[newest] - series.key[newest - PAST + 1] == PAST - 1
    newest = newest[whole & (slot >= begin) & (slot + HORIZONS < end)]
    newest = np.sort(np.random.default_rng(seed).permutation(newest)[:limit])
    key = series.key[newest]
    past = series.value[newest[:, None] + np.arange(1 - PAST, 1)]
    ahead = key[:, None] + np.arange(1, HORIZONS + 1)
    # In the first day of a trace these keys lie at the far end of another task's, where no slot is.
    before = series.at(ahead - DAY)
    return Examples(key, past, np.where(np.isnan(before), past[:, -1:], before), series.at(ahead))
