"""The experiment grid: every cell (estimator, data, packer, rebalancing, capacity, clairvoyance) on every instance.

One pass over the instances answers any number of cells: what they share is computed once (realizations, sorted
values, items, placements), and all packings of an instance are judged in one pass over its realizations.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from borgtrace import placement
from borgtrace.colocation.instances import Data, Instance, Instances
from borgtrace.colocation.quality import least_machines, overflow_counts
from borgtrace.engine import SparkTasks
from borgtrace.errors import UsageError
from borgtrace.placement import Estimator, Packing

CORES = min(os.cpu_count() or 1, 4)
"""Instances worked on at a time on this machine."""


@dataclass(frozen=True)
class Cell:
    """One way to pack an instance.

    Attributes
    ----------
    estimator
        The fit test.
    packer
        Name of the packer.
    is_rebalanced
        Whether the last machine is filled up afterward.
    data
        What the estimator sees: instantaneous usage or window averages.  The evaluation always uses the former.
    capacity
        Of every machine.
    clairvoyance
        Share of the R realizations the estimator sees: the first ones.  The rest judge, or all R at 1.
    fill
        The bin size multiplier e of §5.3: machines are filled to e times their capacity, and judged by all of it.
    """

    estimator: Estimator
    packer: str = "best-fit"
    is_rebalanced: bool = True
    data: Data = "inst"
    capacity: float = 1.0
    clairvoyance: float = 1.0
    fill: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.clairvoyance <= 1:
            expected = "above 0 and at most 1"
            got = f"{self.clairvoyance:g}"
            raise UsageError(
                "clairvoyance", "not a share of the realizations", expected=expected, got=got
            )
        placement.require_capacity("capacity", self.capacity)
        placement.require_capacity("fill", self.capacity * self.fill)


@dataclass(frozen=True)
class Outcome:
    """What became of one cell on one instance.

    Attributes
    ----------
    m_abs, lower_bound, m
        Machines in use, ⌈Σ x̄ᵢ ÷ c⌉ of the placed tasks (§5.1; all tasks where all are placed), and their ratio.
    overflows, trials
        Pairs (machine, realization) with an overflow, and all of them.
    predicted
        Mean probability of exceeding what machines are filled to, as the estimator predicts it *before* rebalancing,
        or None.
    """

    cell: Cell
    instance: int
    m_abs: int
    lower_bound: int
    overflows: int
    trials: int
    n_tasks: int
    n_unplaceable: int
    n_moved: int
    predicted: float | None = None

    @property
    def m(self) -> float:
        """Machines in use ÷ lower bound; 0 where nothing could be placed."""
        return self.m_abs / self.lower_bound

    @property
    def machines(self) -> int:
        """Machines in use, with one of its own for every unplaceable task."""
        return self.m_abs + self.n_unplaceable

    @property
    def q(self) -> float:
        """Share of overflows; 0 without machines."""
        return self.overflows / self.trials if self.trials else 0.0


def judge_instance(
    instance: Instance, cells: Sequence[Cell], *, on_fresh: bool = False
) -> list[Outcome]:
    """Pack and judge one instance in every way of `cells`; outcomes in their order.

    Parameters
    ----------
    instance
        Tasks and their realizations.
    cells
        Ways of packing; what they share is computed once.
    on_fresh
        As for :class:`Grid`.
    """
    packings: dict[Cell, Packing] = {}
    predicted: dict[Cell, float] = {}
    # Sorted values, moments and histograms of one observation serve all cells that see the same.
    for (data, n_seen), viewers in _alike(cells, lambda cell: (cell.data, _n_seen(instance, cell))):
        observed = instance.observed(data, n_seen)
        for (estimator, limit), group in _alike(
            viewers, lambda cell: (cell.estimator, cell.capacity * cell.fill)
        ):
            fitted = placement.fit(estimator, observed, limit)
            # Placing takes far longer than rebalancing, and cells with and without it share the placement.
            for packer, members in _alike(group, lambda cell: cell.packer):
                plain = placement.pack_fitted(fitted, packer=placement.parse_packer(packer))
                for cell in members:
                    packed = placement.rebalanced(plain, fitted) if cell.is_rebalanced else plain
                    packings[cell] = replace(packed, rows=np.full_like(packed.rows, cell.capacity))
                # The promise is that of the fit tests; rebalancing asks none for the machines it takes tasks from.
                if estimator.predicts and len(plain.rows):
                    predicted |= dict.fromkeys(
                        members, float(placement.predicted_overflow(plain, fitted).mean())
                    )
    # Judged on what was not seen, except where all was: the paper's O = E = R.
    seen = {cell: _n_seen(instance, cell) for cell in cells}
    full = instance.inst.shape[1]
    first = [0 if on_fresh or seen[cell] == full else seen[cell] for cell in cells]
    judged = instance.fresh if on_fresh else instance.inst
    counts = overflow_counts(judged, [packings[cell] for cell in cells], first)
    # Of all realizations, whatever the estimator saw: the bound is that of §5.1, and the same for every cell.
    means = instance.seen.mean
    outcomes = []
    for cell, start, overflows in zip(cells, first, counts, strict=True):
        packing = packings[cell]
        bound = least_machines(means, cell.capacity, packing)
        outcomes.append(
            Outcome(
                cell,
                instance.number,
                packing.n_bins,
                bound,
                int(overflows),
                packing.n_bins * (full - start),
                len(instance.tasks),
                len(packing.unplaceable),
                packing.moved,
                predicted.get(cell),
            )
        )
    return outcomes


def _n_seen(instance: Instance, cell: Cell) -> int:
    # .001 of a few hundred realizations rounds to none, and estimators need one.
    return max(1, round(cell.clairvoyance * instance.inst.shape[1]))


def _alike(cells: Iterable[Cell], key: Callable[[Cell], Any]) -> Iterable[tuple[Any, list[Cell]]]:
    groups: dict[Any, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(key(cell), []).append(cell)
    return groups.items()


@dataclass(eq=False)
class Grid:
    """Outcomes of cells over instances, each computed once.

    Attributes
    ----------
    instances
        The instances every cell is judged on.
    on_fresh
        Whether packings are judged by draws of their own, which no estimator has seen, instead of as the paper does.
    threads
        Instances worked on at a time (each takes about 200 MB at paper scale), or the executors that work on them.
    """

    instances: Instances
    on_fresh: bool = False
    threads: int | SparkTasks = CORES
    _known: dict[Cell, list[Outcome]] = field(default_factory=dict, repr=False)

    def outcomes(self, cells: Sequence[Cell]) -> list[Outcome]:
        """Outcomes of `cells`, cell by cell, instance by instance; unknown ones are computed in one pass."""
        missing = list(dict.fromkeys(cell for cell in cells if cell not in self._known))
        if missing:
            found: dict[Cell, list[Outcome]] = {cell: [] for cell in missing}
            judge = partial(judge_instance, cells=missing, on_fresh=self.on_fresh)
            for outcome in chain.from_iterable(self.instances.map(judge, self.threads)):
                found[outcome.cell].append(outcome)
            # All or nothing: a pass that is interrupted leaves no cell with some of its instances.
            self._known |= found
        return [outcome for cell in dict.fromkeys(cells) for outcome in self._known[cell]]

    def mean_quality(self, cell: Cell) -> float:
        """Q over all machines of all instances together."""
        outcomes = self.outcomes([cell])
        trials = sum(outcome.trials for outcome in outcomes)
        return sum(outcome.overflows for outcome in outcomes) / trials if trials else 0.0

    def prepared(self, estimator: Estimator, cell: Cell) -> Estimator:
        """Let an estimator learn on these (held-out) instances, in the setting of `cell` without rebalancing.

        Parameters
        ----------
        estimator
            The estimator that learns.
        cell
            How its tasks are packed while it learns.
        """
        # Rebalancing mostly lowers overflow; an estimator that learned with it would promise too much without it.
        setting = replace(cell, is_rebalanced=False)

        def qualities(tried: Sequence[Estimator]) -> list[float]:
            cells = [replace(setting, estimator=each) for each in tried]
            self.outcomes(cells)  # all in one pass over the instances
            return [self.mean_quality(each) for each in cells]

        return estimator.prepared(qualities)
