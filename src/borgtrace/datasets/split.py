"""Training, validation and testing: by task, by job, by user, or past against future."""

import re
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from borgtrace.errors import UsageError, check_names
from borgtrace.kernels.arrays import Index

By = Literal["task", "job", "user", "time"]
SETS = ("training", "validation", "testing")

_NAME = re.compile(r"[A-Za-z0-9][\w-]*", re.ASCII)
"""Of a set: it becomes the name of a folder."""


@dataclass(frozen=True, slots=True)
class Split:
    """How traces are divided among the sets.

    Parameters
    ----------
    fractions
        Share of each of :data:`SETS`, one to three numbers whose sum is at most 1; what remains is dropped.
    sets
        Names of the sets, at least as many as fractions; what is scaled is measured on the first.
    by
        ``"task"``: each trace for itself.  ``"job"``, ``"user"``: all traces of one fall in one set, so that
        nothing of a job or user seen in training is met again (sizes are right to within one group).
        ``"time"``: traces that begin earlier come first.  None: as the dataset has it, which is by job, or by task
        under ``compat="original"``.

    Examples
    --------
    >>> Split((0.5, 0.25)).sizes(10)
    (5, 2)
    """

    fractions: tuple[float, ...] = (0.7, 0.1, 0.2)
    by: By | None = None
    sets: tuple[str, ...] = SETS

    def __post_init__(self) -> None:
        got = ",".join(f"{fraction:g}" for fraction in self.fractions)
        if not 1 <= len(self.fractions) <= len(self.sets):
            raise UsageError(
                "--split", "wrong number of fractions", expected=f"1 to {len(self.sets)}", got=got
            )
        if len(set(self.names)) < len(self.fractions) or not all(map(_NAME.fullmatch, self.names)):
            named = ",".join(self.sets)
            expected = "different words of letters, digits, - and _"
            raise UsageError("--split", "not names of sets", expected=expected, got=named)
        if not all(0 <= fraction <= 1 for fraction in self.fractions) or not self.fractions[0]:
            raise UsageError(
                "--split",
                "not a fraction",
                expected="numbers from 0 to 1, the first above 0",
                got=got,
            )
        # 0.7 + 0.2 + 0.1 is not 1 in floating point: allow what rounding adds.
        if sum(self.fractions) > 1 + 1e-9:
            expected = "a sum of at most 1"
            way_out = "try 0.7,0.1,0.2"
            raise UsageError(
                "--split",
                "fractions exceed 1",
                expected=expected,
                got=got,
                way_out=way_out,
            )
        check_names("--split-by", (self.by or "job",), get_args(By), "unknown way to split")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the sets."""
        return self.sets[: len(self.fractions)]

    def sizes(self, n: int) -> tuple[int, ...]:
        """Traces in each set of n: ``int(fraction · n)``, as the pipeline of 2017 rounds."""
        # Rounded down, so up to one trace per set is left over.
        return tuple(int(fraction * n) for fraction in self.fractions)

    def divide(
        self,
        n: int,
        groups: Index | None,
        start: Index,
    ) -> list[Index]:
        """Divide n traces, given in random order.

        Parameters
        ----------
        n
            Number of traces.
        groups
            Dense job or user number of each trace, shape (n,); needed by ``"job"`` and ``"user"``.
        start
            Start of each trace, shape (n,); used by ``"time"``.

        Returns
        -------
        list of int64 arrays
            Positions of the traces of each set, in the order that they have in it.
        """
        if self.by == "time":
            # Stable, so that traces which begin together keep the random order in which they were drawn.
            order = np.argsort(start, kind="stable")
        elif self.by == "task" or groups is None:
            order = np.arange(n)
        else:
            return self._divide_groups(groups)
        ends = np.cumsum(self.sizes(n))
        return [order[end - size : end] for size, end in zip(self.sizes(n), ends, strict=True)]

    def _divide_groups(self, groups: Index) -> list[Index]:
        """Groups in order of first appearance go to the set in whose share they begin."""
        # By first appearance in the random order: the groups are then in random order, too.
        groups = groups + 1  # unknown users have -1
        counts = np.bincount(groups)
        first = np.full(len(counts), len(groups))
        # Backwards: of several values that are assigned to one place, the last one stays.
        first[groups[::-1]] = np.arange(len(groups))[::-1]
        order = np.argsort(first, kind="stable")
        begin = np.empty(len(order), np.int64)
        begin[order] = np.cumsum(counts[order]) - counts[order]
        limits = np.cumsum(self.fractions) * len(groups)
        # "right": a group that begins exactly at a limit has all its traces beyond it.
        chosen = np.searchsorted(limits, begin, side="right")[groups]
        return [np.flatnonzero(chosen == k) for k in range(len(self.fractions))]
