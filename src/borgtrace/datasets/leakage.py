"""What one set can know of another: jobs, users, logical names and moments that they share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Shared:
    """How much of a later set was already seen in an earlier one.

    Attributes
    ----------
    kind
        ``"job"``, ``"user"`` or ``"logical name"``.
    seen, of
        Sets that are compared: ``of`` is the later one.
    groups, traces
        Jobs (users, names) found in both, and the traces of ``of`` that belong to them.
    n_groups, n_traces
        All jobs (users, names) and traces of ``of``.
    """

    kind: str
    seen: str
    of: str
    groups: int
    n_groups: int
    traces: int
    n_traces: int

    def __str__(self) -> str:
        share = 100 * self.traces / self.n_traces if self.n_traces else 0.0
        return (
            f"{self.of}: {self.groups:,} of {self.n_groups:,} {self.kind}s are in {self.seen} too "
            f"({self.traces:,} of {self.n_traces:,} traces, {share:.1f} %)"
        )


def shared_groups(sets: Mapping[str, Index], codes: Mapping[str, NDArray[np.int64]]) -> tuple[Shared, ...]:
    """Compare all pairs of sets.

    Parameters
    ----------
    sets
        Positions of the traces of each set.
    codes
        For each kind, the dense number (0, 1, …) of each trace's job, user or name; −1 where unknown.

    Examples
    --------
    >>> found = shared_groups({"training": np.array([0, 1]), "testing": np.array([2, 3])},
    ...                       {"job": np.array([0, 1, 1, 2])})
    >>> print(found[0])
    testing: 1 of 2 jobs are in training too (1 of 2 traces, 50.0 %)
    """
    names = tuple(sets)
    found = []
    for kind, code in codes.items():
        size = int(code.max(initial=-1)) + 1
        counts = {name: _counts(code[index], size) for name, index in sets.items()}
        found += [
            _compare(kind, seen, of, counts[seen], counts[of], len(sets[of]))
            for k, of in enumerate(names)
            for seen in names[:k]
        ]
    return tuple(found)


def running_on(sets: Mapping[str, Index], start: NDArray[np.int64], end: NDArray[np.int64]) -> dict[str, int]:
    """Traces of each set that still run when the next set begins: 0 everywhere is a clean split by time."""
    names = [name for name in sets if len(sets[name])]
    return {
        f"{earlier} → {later}": int(np.count_nonzero(end[sets[earlier]] > start[sets[later]].min()))
        for earlier, later in pairwise(names)
    }


def _counts(codes: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    return np.bincount(codes[codes >= 0], minlength=size)


def _compare(
    kind: str, seen: str, of: str, before: NDArray[np.int64], after: NDArray[np.int64], n_traces: int
) -> Shared:
    both = (before > 0) & (after > 0)
    return Shared(kind, seen, of, int(both.sum()), int((after > 0).sum()), int(after[both].sum()), n_traces)
