"""How much a partition holds in memory and in a sorting key."""

from dataclasses import dataclass
from pathlib import Path

from borgtrace.engine.memory import parse_memory
from borgtrace.errors import UsageError
from borgtrace.lifecycle.by_machine.window_rows import WINDOW_ROW

_SORTING = 5
"""Sorting a bucket of n bytes takes so many times n."""


@dataclass(frozen=True)
class PartitionLimits:
    """What a partition holds in memory and in a sorting key.

    Attributes
    ----------
    chunk
        Windows that are read, and rows that are sorted, at a time.
    bits_of_slot, bits_of_term
        Of a sorting key: slots for two years, half a thousand million terms; the rest tells 65,536 machines apart.
    memory
        Bytes in which a bucket is sorted; None takes the store's budget.
    """

    chunk: int = 1 << 20
    bits_of_slot: int = 18
    bits_of_term: int = 29
    memory: int | None = None

    def n_buckets(self, n_windows: int, memory: str) -> int:
        """Return as many as let one of them be sorted within the budget.

        Parameters
        ----------
        n_windows
            Of the whole store.
        memory
            The store's budget.

        Examples
        --------
        >>> PartitionLimits().n_buckets(100, "1kB")
        12
        """
        budget = self.memory or parse_memory(memory)
        # Rounded up.
        return max(1, -(-n_windows * WINDOW_ROW.itemsize * _SORTING // budget))

    def check(self, store: Path, n_slots: int, n_terms: int) -> None:
        """Refuse what a sorting key cannot tell apart.

        Parameters
        ----------
        store
            Where the store is.
        n_slots, n_terms
            How many there are.

        Raises
        ------
        UsageError
            There are more than that.
        """
        bounds = (
            ("slots of 5 minutes", n_slots, self.bits_of_slot),
            ("terms of tasks", n_terms, self.bits_of_term),
        )
        for name, n, bits in bounds:
            if n >= 1 << bits:
                raise UsageError(
                    str(store),
                    f"too many {name} to sort usage by machine",
                    expected=f"fewer than {1 << bits:,}",
                    got=f"{n:,}",
                    way_out="make a part of the store: borgtrace subset",
                )
