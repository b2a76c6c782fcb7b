"""Count what two sets share: jobs, users, logical names and moments."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from borgtrace.kernels.arrays import Index


@dataclass(frozen=True, slots=True)
class Overlap:
    """How much of a later set was already seen in an earlier one.

    Attributes
    ----------
    kind
        ``"job"``, ``"user"`` or ``"logical name"``.
    seen, of
        Sets that are compared: ``of`` is the later one.
    groups, traces
        Jobs (users, names) in both sets, and the traces of ``of`` that belong to them.
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
        groups = f"{self.groups:,} of {self.n_groups:,} {self.kind}s"
        traces = f"{self.traces:,} of {self.n_traces:,} traces, {share:.1f} %"
        return f"{self.of}: {groups} are in {self.seen} too ({traces})"


@dataclass(frozen=True, slots=True)
class Leakage:
    """What the sets share: groups, and how many traces run on into the next set (of a split by time)."""

    shared: tuple[Overlap, ...]
    running_on: dict[str, int]

    def lines(self) -> tuple[str, ...]:
        """Return one sentence for each pair of sets and each kind of group that the later one has."""
        lines = [str(overlap) for overlap in self.shared if overlap.n_groups]
        for pair, count in self.running_on.items():
            lines.append(
                f"{pair}: {count:,} traces still run when the first of the next set begins"
            )
        return tuple(lines)


def shared_groups(sets: Mapping[str, Index], codes: Mapping[str, Index]) -> tuple[Overlap, ...]:
    """Compare all pairs of sets.

    Parameters
    ----------
    sets
        Positions of the traces of each set.
    codes
        For each kind, the dense number (0, 1, …) of each trace's job, user or name; −1 where unknown.

    Examples
    --------
    >>> sets = {"training": np.array([0, 1]), "testing": np.array([2, 3])}
    >>> overlaps = shared_groups(sets, {"job": np.array([0, 1, 1, 2])})
    >>> print(overlaps[0])
    testing: 1 of 2 jobs are in training too (1 of 2 traces, 50.0 %)
    """
    overlaps = []
    for kind, code in codes.items():
        n_codes = int(code.max()) + 1
        counts = {}
        for name, index in sets.items():
            known = code[index]
            # Unknown groups (−1) are no groups: two tasks without a user do not share one.
            known = known[known >= 0]
            counts[name] = np.bincount(known, minlength=n_codes)
        for seen, of in pairs_of(sets):
            is_shared = (counts[seen] > 0) & (counts[of] > 0)
            overlap = Overlap(
                kind=kind,
                seen=seen,
                of=of,
                groups=int(is_shared.sum()),
                n_groups=int((counts[of] > 0).sum()),
                traces=int(counts[of][is_shared].sum()),
                n_traces=len(sets[of]),
            )
            overlaps.append(overlap)
    return tuple(overlaps)


def pairs_of(sets: Mapping[str, Index]) -> list[tuple[str, str]]:
    """Return each set with each that comes after it, by the later one."""
    order = {name: place for place, name in enumerate(sets)}
    return sorted(combinations(sets, 2), key=lambda pair: order[pair[1]])


def running_on(
    sets: Mapping[str, Index],
    start: Index,
    end: Index,
) -> dict[str, int]:
    """Count the traces of each set that still run when the next set begins.

    Parameters
    ----------
    sets
        Positions of the traces of each set; those without traces are left out.
    start, end
        Start and end of each trace, shape (n,).

    Examples
    --------
    >>> sets = {"training": np.array([0, 1]), "testing": np.array([2])}
    >>> running_on(sets, np.array([0, 5, 10]), np.array([10, 11, 20]))
    {'training → testing': 1}
    """
    names = [name for name in sets if len(sets[name])]
    counts = {}
    # Only neighbors: whatever runs into a later set runs into the next one first.
    for earlier, later in pairwise(names):
        next_begins = start[sets[later]].min()
        counts[f"{earlier} → {later}"] = int(np.count_nonzero(end[sets[earlier]] > next_begins))
    return counts
