"""Problem instances: random thousands of tasks, with their realizations, made one at a time.

"50 instances × 1,000 tasks drawn from the sample" (Janus & Rzadca, SoCC'17, §5.1) need 4 GB at 10,000 realizations of
two columns; here only those being worked on exist.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from borgtrace.colocation.pool import Pool
from borgtrace.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

FEWEST_REALIZATIONS = 100
"""Below, a target of 1 % is decided by less than one realization."""

Values = NDArray[np.float32]
Answer = TypeVar("Answer")

_DRAWING = Lock()  # draws use all threads: one at a time


@dataclass(frozen=True, eq=False)
class Instance:
    """Tasks to pack, in the order in which they were drawn.

    Attributes
    ----------
    number
        Which instance of the experiment it is, from 0.
    tasks
        int64 (n,): indices into the pool.
    inst, avg
        float32 (n, R): realizations.
    request
        float64 (n,) or None: CPU requests, NaN where unknown.
    """

    number: int
    tasks: NDArray[np.int64]
    inst: Values
    avg: Values
    request: NDArray[np.float64] | None = None


@dataclass(frozen=True, eq=False)
class Instances:
    """Independent random instances of a pool.

    Parameters
    ----------
    pool
        Where tasks are drawn from, without replacement within an instance.
    size
        Tasks per instance; all tasks of the pool where it has fewer.
    realizations
        R, at least 100.
    count
        Number of instances.
    seed
        Instance k depends on (seed, k) only: the first instances of a longer run are the shorter run.

    Examples
    --------
    >>> instances = Instances(Pool.from_synth(30, seed=1), size=5, realizations=100, count=2)
    >>> instances.make(1).inst.shape
    (5, 100)
    """

    pool: Pool
    size: int = 1_000
    realizations: int = 10_000
    count: int = 50
    seed: int = 0

    def __post_init__(self) -> None:
        for name, value, least in (
            ("tasks", len(self.pool), 1),
            ("size", self.size, 1),
            ("realizations", self.realizations, FEWEST_REALIZATIONS),
            ("instances", self.count, 1),
        ):
            if value < least:
                raise UsageError(name, "too few", expected=f"at least {least}", got=str(value))

    def tasks(self, number: int) -> NDArray[np.int64]:
        """Indices of the tasks of one instance, in random order."""
        rng = np.random.default_rng([self.seed, number])
        return rng.permutation(len(self.pool))[: self.size].astype(np.int64)

    def make(self, number: int) -> Instance:
        """Draw one instance."""
        tasks = self.tasks(number)
        request = self.pool.cpu_request
        with _DRAWING:
            drawn = self.pool.realize(tasks, self.realizations, self.seed)
        return Instance(
            number, tasks, drawn.inst, drawn.avg,
            None if request is None else request[tasks].astype(np.float64),
        )  # fmt: skip

    def map(self, work: Callable[[Instance], Answer], threads: int = 2) -> Iterator[Answer]:
        """Do `work` on every instance, `threads` at a time; answers come in order, the same whatever `threads`."""
        with ThreadPoolExecutor(max_workers=max(1, threads)) as workers:
            yield from workers.map(lambda number: work(self.make(number)), range(self.count))


def split(pool: Pool, size: int, seed: int) -> tuple[Pool, Pool]:
    """Two pools without a common task where each half fills an instance, else the pool twice."""
    if len(pool) < 2 * size:
        return pool, pool
    order = np.random.default_rng([seed, 2]).permutation(len(pool))
    return pool.take(np.sort(order[: len(pool) // 2])), pool.take(np.sort(order[len(pool) // 2 :]))
