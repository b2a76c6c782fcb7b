"""What a page needs of many tasks at once: tier, kind, requests; whole columns, read when first asked for."""

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from borgtrace.explore.tiers import UNKNOWN, tier_colors
from borgtrace.store import Store

_COLUMNS = ("collection_type", "priority", "cpu_request", "memory_request")


class Tasks:
    """Columns of the table of tasks by position.

    Parameters
    ----------
    store
        An open store.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.tiers = tuple(tier_colors(store.manifest.dialect))
        """Names of the tiers, `UNKNOWN` last; `tier` counts in them."""

    @cached_property
    def tier(self) -> npt.NDArray[np.uint8]:
        """Tier of each task, as its position in `tiers`."""
        priority = self._columns["priority"]
        tier = np.full(len(priority), self.tiers.index(UNKNOWN), np.uint8)
        for name, low, high in self._store.manifest.dialect.tiers:
            tier[(priority >= low) & (priority <= high)] = self.tiers.index(name)
        return tier

    @cached_property
    def is_job(self) -> npt.NDArray[np.bool_]:
        """Whether it is a task; False for an instance of an alloc set, whose usage contains that of its tasks."""
        return np.asarray(self._columns["collection_type"] != "ALLOC_SET")

    def request(self, resource: str) -> npt.NDArray[np.float32]:
        """Return what each task requested, NaN where that is not known."""
        return self._columns[f"{resource}_request"]

    @cached_property
    def _columns(self) -> dict[str, npt.NDArray[Any]]:
        table = self._store.layout.tasks(_COLUMNS)
        return {name: table[name].to_numpy() for name in _COLUMNS}
