"""Studies, instances and options whose values are known, made of the package's own classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from borgtrace.colocation.packing.instances import Instance, Instances
from borgtrace.colocation.tasks.pool import TaskPool


@dataclass(frozen=True, eq=False, kw_only=True)
class KnownInstances(Instances):
    """Instances whose tasks are given."""

    chosen: tuple[list[int], ...]

    def tasks(self, number: int) -> np.ndarray:
        return np.array(self.chosen[number], np.int64)


def instances_with(pool: TaskPool, *chosen: list[int], **more: Any) -> KnownInstances:
    """Return instances of a pool with these tasks."""
    return KnownInstances(pool, count=len(chosen), chosen=chosen, **more)


def drawn(usage: Any, number: int = 0, fresh: Any = None, request: Any = None) -> Instance:
    """Return an instance with these realizations, and maybe others that judge."""
    values = np.asarray(usage, np.float32)

    def draw(column: str, salt: int = 0) -> np.ndarray:
        return values if fresh is None else np.asarray(fresh, np.float32)

    return Instance(number, np.arange(len(values)), values, draw, request)
