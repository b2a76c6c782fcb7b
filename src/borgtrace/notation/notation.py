"""Everything needed to write the things of one store: names, amounts and times."""

from __future__ import annotations

from dataclasses import dataclass

from borgtrace.notation.amounts import ResourceAmounts
from borgtrace.notation.clock import WallClock
from borgtrace.notation.names import Names
from borgtrace.store.store import Store


@dataclass(frozen=True, slots=True)
class Notation:
    """How a store's things are written.

    Attributes
    ----------
    names
        Of machines, jobs and tasks.
    amounts
        Cores and GiB, or shares of the largest machine.
    clock
        Wall clock and hours.

    Examples
    --------
    ::

        notation = Notation.of(store)
        notation.names.machine(1414256032411877079)     # node-01
        notation.amounts.text(0.12, "cpu")              # 1.92 cores
        notation.clock.text(43_800_000_000)             # 2026-11-01 12:00 UTC (12 h)
    """

    names: Names
    amounts: ResourceAmounts
    clock: WallClock

    @classmethod
    def of(cls, store: Store, cores: float = 0.0, gib: float = 0.0) -> Notation:
        """Return how the things of a store are written.

        Parameters
        ----------
        store
            An open store.
        cores, gib
            Size of the largest machine as the user states it; 0 where not stated.
        """
        manifest = store.manifest
        return cls(Names(store), ResourceAmounts.of(manifest, cores, gib), WallClock.of(manifest))
