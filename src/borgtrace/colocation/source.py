"""Where the questions about colocation get their pool: prepared from a store's tables once, or given.

``RECIPE.run(store)`` prepares a pool from the store; ``RECIPE.run(PoolTables(pool))`` asks the same question
of a pool that came from a file or from the generator.  What several questions need (the pool, the sums of
random samples) is computed once per set of tables and shared.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from borgtrace.colocation.pool import Pool
from borgtrace.colocation.preparation import Instantaneous, prepare
from borgtrace.errors import UsageError
from borgtrace.recipe import Tables

Value = TypeVar("Value")

_SHARED: WeakKeyDictionary[Tables, dict[Hashable, Any]] = WeakKeyDictionary()


class PoolTables(Tables):
    """A pool in the place of a store's tables: questions that read a pool can run on it.

    Examples
    --------
    >>> tables = PoolTables(Pool.from_synth(30, seed=1))
    >>> len(pool_of(tables, tasks=20))
    20
    """

    def __init__(self, pool: Pool) -> None:
        super().__init__({}, generation=pool.generation or "2011", synthetic=pool.is_synthetic, name=pool.source)
        self.pool = pool

    def n_rows(self, name: str) -> int:
        """One row of everything: what a question needs, the pool has."""
        return 1


def pool_of(tables: Tables, tasks: int = 100_000, seed: int = 0, instantaneous: Instantaneous = "sampled") -> Pool:
    """Return at most `tasks` tasks of the pool behind `tables`, drawn without replacement.

    Raises
    ------
    NotApplicable
        The store has no task that can be modelled; says why, with counts.
    UsageError
        `tasks` is below 1.
    """
    if tasks < 1:
        raise UsageError("--tasks", "not a sample size", expected="at least 1", got=str(tasks))
    if not isinstance(tables, PoolTables):
        key = ("pool", tasks, seed, instantaneous)
        return shared(tables, key, lambda: prepare(tables, tasks, seed, instantaneous))
    if tasks >= len(tables.pool):
        return tables.pool
    return shared(tables, ("pool", tasks, seed), lambda: tables.pool.take(tables.pool.sample(tasks, seed)))


def shared(tables: Tables, key: Hashable, make: Callable[[], Value]) -> Value:
    """Return what was made for `tables` under `key`, making it at the first call."""
    kept = _SHARED.setdefault(tables, {})
    if key not in kept:
        kept[key] = make()
    value: Value = kept[key]
    return value
