"""How long to wait before a request is tried again."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential waiting with jitter, the same for the same seed.

    Before the n-th repetition of a request the wait is drawn evenly from the upper half of
    ``min(cap, base * 2**(n-1))`` seconds; the server's own ``Retry-After`` is a lower bound.  A try
    that brought new bytes starts the count again: only ``attempts`` vain tries in a row give up.

    Examples
    --------
    >>> waits = [Backoff(seed=1).delay("part-00000", n) for n in (1, 2, 3)]
    >>> waits == [Backoff(seed=1).delay("part-00000", n) for n in (1, 2, 3)]
    True
    >>> 0.25 <= waits[0] <= 0.5 <= waits[1] <= 1.0 <= waits[2] <= 2.0
    True
    """

    seed: int = 0
    base: float = 0.5
    cap: float = 60.0
    attempts: int = 8
    longest_retry_after: float = 600.0

    def delay(self, key: str, failures: int, retry_after: float | None = None) -> float:
        """Return the seconds to wait after the given number of vain tries in a row (≥ 1)."""
        ceiling = min(self.cap, self.base * 2.0 ** (failures - 1))
        jitter = random.Random(f"{self.seed}/{key}/{failures}").uniform(ceiling / 2, ceiling)
        return max(jitter, min(retry_after or 0.0, self.longest_retry_after))
