"""Read the usage of tasks in slots of 300 s, and make the examples that forecasters learn from and are judged on.

At the end of slot t only windows that ended in t or before are known.  Nothing comes from the table of tasks, which
summarizes whole lives, and no task is chosen by its length: an example needs an hour of known slots and later usage in
the trace to compare a forecast with.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.schema.time import SECOND, TRACE_START, WINDOW
from borgtrace.store import Store

PAST = 12
"""Slots that a forecast sees: an hour."""
HORIZONS = 12
"""Slots that are forecast: an hour."""
DAY = 288
"""Slots."""
SLOTS = 1 << 20
"""Slots per task in a packed key."""
COLUMNS = {"cpu": "average_cpu", "memory": "average_memory"}


@dataclass(frozen=True, eq=False)
class UsageSeries:
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
        # One more entry, for keys above all others.
        keys = np.append(self.key, -1)
        values = np.append(self.value, np.nan)
        return np.where(keys[place] == key, values[place], np.nan)

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
    ) -> UsageSeries:
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
        n_tasks = len(store.offsets) - 1
        sample = np.sort(np.random.default_rng(seed).permutation(n_tasks)[:tasks])
        first_row = store.offsets[sample]
        lengths = np.diff(store.offsets)[sample]
        task = np.repeat(sample, lengths)
        shifts = first_row - (np.cumsum(lengths) - lengths)
        rows = np.repeat(shifts, lengths) + np.arange(lengths.sum())
        return cls.from_windows(
            task,
            np.asarray(store.array("start_time")[rows], np.float64),
            np.asarray(store.array("duration")[rows], np.float64),
            np.asarray(store.array(COLUMNS[resource])[rows], np.float64),
        )

    @classmethod
    def from_windows(
        cls,
        task: Index,
        start: Numbers,
        duration: Numbers,
        value: Numbers,
    ) -> UsageSeries:
        """Put windows into slots; all arrays have shape (n,).

        Parameters
        ----------
        task
            Number of the task, from 0.
        start, duration
            Of the window, s.
        value
            Mean usage; NaN where it was not measured.
        """
        # A window belongs to the slot in which it ends.
        end = start + duration
        slot = np.ceil((end * SECOND - TRACE_START) / WINDOW).astype(np.int64) - 1
        is_known = ~np.isnan(value) & (slot >= 0) & (slot < SLOTS) & (duration > 0)
        key, place = np.unique((task * SLOTS + slot)[is_known], return_inverse=True)
        # Two windows that end in a slot count by their length.
        weights = np.bincount(place, duration[is_known], len(key))
        sums = np.bincount(place, (duration * value)[is_known], len(key))
        return cls(key, sums / weights)


@dataclass(frozen=True, eq=False)
class Past:
    """What is known of tasks at the end of some slots, one row for each; nothing of it came later.

    Attributes
    ----------
    key
        int64 (n,): task and slot, as in :class:`UsageSeries`.
    usage
        float64 (n, PAST): the last values, the newest last, as fractions of the largest machine.
    day_before
        float64 (n, HORIZONS): the values a day before the slots to come; the newest value where there are none.
    """

    key: Index
    usage: Numbers
    day_before: Numbers

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.key)

    @property
    def task(self) -> Index:
        """Number of the task of each row: int64 (n,)."""
        return self.key // SLOTS

    @property
    def slot(self) -> Index:
        """Slot of the newest value of each row: int64 (n,)."""
        return self.key % SLOTS

    def copied(self) -> Past:
        """Return a copy that others may change, without what came later."""
        return Past(self.key.copy(), self.usage.copy(), self.day_before.copy())

    def past_of(self, chosen: Index) -> Past:
        """Return a copy of some rows, without what came later."""
        return Past(self.key[chosen], self.usage[chosen], self.day_before[chosen])


@dataclass(frozen=True, eq=False)
class Examples(Past):
    """What was known at the end of some slots, and what came.

    Attributes
    ----------
    target
        float64 (n, HORIZONS): the values to come; NaN where there are none.
    """

    target: Numbers

    @property
    def n_targets(self) -> int:
        """Number of targets of the horizon that has the fewest."""
        return int((~np.isnan(self.target)).sum(axis=0).min())

    def take(self, chosen: Index) -> Examples:
        """Return a copy of some of them."""
        return Examples(
            key=self.key[chosen],
            usage=self.usage[chosen],
            day_before=self.day_before[chosen],
            target=self.target[chosen],
        )


def examples(
    series: UsageSeries,
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
    # Positions of the newest value of each example: those before it must be of the same task, without a gap.
    newest = np.arange(PAST - 1, len(series.key))
    slot = series.slot[newest]
    is_whole = series.key[newest] - series.key[newest - PAST + 1] == PAST - 1
    is_inside = (slot >= begin) & (slot + HORIZONS < end)
    newest = newest[is_whole & is_inside]
    newest = np.sort(np.random.default_rng(seed).permutation(newest)[:limit])
    key = series.key[newest]
    usage = series.value[newest[:, None] + np.arange(1 - PAST, 1)]
    future_keys = key[:, None] + np.arange(1, HORIZONS + 1)
    # In the first day of a trace these keys lie at the far end of another task's, where no slot is.
    day_before = series.at(future_keys - DAY)
    return Examples(
        key=key,
        usage=usage,
        day_before=np.where(np.isnan(day_before), usage[:, -1:], day_before),
        target=series.at(future_keys),
    )
