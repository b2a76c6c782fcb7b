"""Divide traces into training, validation and testing: by task, by job, by user, or past against future."""

import re
from dataclasses import dataclass
from typing import Literal, Self, get_args

import numpy as np

from borgtrace.errors import UsageError, check_names
from borgtrace.kernels.arrays import Index
from borgtrace.schema.ranges import parse_words

By = Literal["task", "job", "user", "time"]
SETS = ("training", "validation", "testing")

SET_NAME = re.compile(r"[A-Za-z0-9][\w-]*", re.ASCII)
"""The name of a set becomes the name of a folder."""


@dataclass(frozen=True, slots=True)
class Split:
    """How traces are divided among the sets.

    Parameters
    ----------
    fractions
        Share of each of :data:`SETS`, one to three numbers whose sum is at most 1; what remains is dropped.
    by
        ``"task"``: each trace for itself.  ``"job"``, ``"user"``: all traces of one fall in one set, so that
        nothing of a job or user seen in training is met again (sizes are right to within one group).
        ``"time"``: traces that begin earlier come first.  None: by job, or by task
        under ``compat="original"``.
    sets
        Names of the sets, at least as many as fractions; scaling is measured on the first.

    Examples
    --------
    >>> Split((0.5, 0.25)).sizes(10)
    (5, 2)
    """

    fractions: tuple[float, ...] = (0.7, 0.1, 0.2)
    by: By | None = None
    sets: tuple[str, ...] = SETS

    @classmethod
    def parse(cls, text: str, by: By | None = None) -> Self:
        """Read a split from text: fractions, each with the name of its set before it or none of them.

        Parameters
        ----------
        text
            Such as ``"0.7,0.1,0.2"`` or ``"train=0.8,test=0.2"``.
        by
            What is never split.

        Raises
        ------
        UsageError
            The text is no such list.

        Examples
        --------
        >>> Split.parse("train=0.8,test=0.2").names
        ('train', 'test')
        """
        words = [word.rpartition("=") for word in parse_words(text)]
        names = tuple(name for name, _, _ in words if name)
        try:
            fractions = tuple(float(number) for _, _, number in words)
        except ValueError:
            fractions = ()
        if len(fractions) != len(words) or (names and len(names) != len(words)):
            raise UsageError(
                "--split",
                "not a fraction",
                expected="numbers such as 0.7,0.1,0.2, or train=0.8,test=0.2",
                got=text,
            )
        return cls(fractions, by, names or SETS)

    def __post_init__(self) -> None:
        fractions = ",".join(f"{fraction:g}" for fraction in self.fractions)
        if not 1 <= len(self.fractions) <= len(self.sets):
            raise UsageError(
                "--split",
                "wrong number of fractions",
                expected=f"1 to {len(self.sets)}",
                got=fractions,
            )
        is_unique = len(set(self.names)) == len(self.fractions)
        if not is_unique or not all(map(SET_NAME.fullmatch, self.names)):
            raise UsageError(
                "--split",
                "not names of sets",
                expected="different words of letters, digits, - and _",
                got=",".join(self.sets),
            )
        if not all(0 <= fraction <= 1 for fraction in self.fractions) or not self.fractions[0]:
            raise UsageError(
                "--split",
                "not a fraction",
                expected="numbers from 0 to 1, the first above 0",
                got=fractions,
            )
        # 0.7 + 0.2 + 0.1 is not 1 in floating point: allow what rounding adds.
        if sum(self.fractions) > 1 + 1e-9:
            raise UsageError(
                "--split",
                "fractions exceed 1",
                expected="a sum of at most 1",
                got=fractions,
                way_out="try 0.7,0.1,0.2",
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
        sizes = self.sizes(n)
        ends = np.cumsum(sizes)
        return [order[end - size : end] for size, end in zip(sizes, ends, strict=True)]

    def _divide_groups(self, groups: Index) -> list[Index]:
        """Groups in order of first appearance go to the set in whose share they begin."""
        # By first appearance in the random order: the groups are then in random order, too.
        groups = groups + 1  # unknown users have -1
        n_traces = len(groups)
        counts = np.bincount(groups)
        first = np.full(len(counts), n_traces)
        # Backwards: of several values that are assigned to one place, the last one stays.
        first[groups[::-1]] = np.arange(n_traces)[::-1]
        order = np.argsort(first, kind="stable")
        begin = np.empty(len(order), np.int64)
        begin[order] = np.cumsum(counts[order]) - counts[order]
        limits = np.cumsum(self.fractions) * n_traces
        # "right": a group that begins exactly at a limit has all its traces beyond it.
        set_of_group = np.searchsorted(limits, begin, side="right")
        set_of_trace = set_of_group[groups]
        return [np.flatnonzero(set_of_trace == k) for k in range(len(self.fractions))]
