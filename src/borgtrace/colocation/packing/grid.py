"""The experiment grid: every cell (estimator, data, packer, rebalancing, capacity, clairvoyance) on every instance.

One pass over the instances answers any number of cells: what they share is computed once (realizations, sorted
values, items, placements), and all packings of an instance are judged in one pass over its realizations.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import TypeVar

import numpy as np

from borgtrace import placement
from borgtrace.colocation.packing.instances import Data, Instance, Instances
from borgtrace.colocation.packing.quality import least_machines, overflow_counts
from borgtrace.engine import SparkTasks
from borgtrace.errors import UsageError
from borgtrace.placement import Estimator, Fitted, Packing

CORES = min(os.cpu_count() or 1, 4)
"""Instances worked on at a time on this machine."""

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class GridCell:
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
    has_prediction
        Whether the overflow that the estimator predicts is asked for, which takes as long as packing.
    """

    estimator: Estimator
    packer: str = "best-fit"
    is_rebalanced: bool = True
    data: Data = "inst"
    capacity: float = 1.0
    clairvoyance: float = 1.0
    fill: float = 1.0
    has_prediction: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.clairvoyance <= 1:
            raise UsageError(
                "clairvoyance",
                "not a share of the realizations",
                expected="above 0 and at most 1",
                got=f"{self.clairvoyance:g}",
            )
        placement.require_capacity("capacity", self.capacity)
        placement.require_capacity("fill", self.capacity * self.fill)


@dataclass(frozen=True)
class PackingOutcome:
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

    cell: GridCell
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


@dataclass(frozen=True, eq=False)
class _Placement:
    """Where a cell's tasks are, and its estimator's mean probability of exceeding what machines are filled to."""

    packing: Packing
    predicted: float | None


def judge_instance(
    instance: Instance,
    cells: Sequence[GridCell],
    *,
    on_fresh: bool = False,
) -> list[PackingOutcome]:
    """Pack and judge one instance in every way of `cells`; outcomes in their order.

    Parameters
    ----------
    instance
        Tasks and their realizations.
    cells
        Ways of packing; what they share is computed once.
    on_fresh
        As for :class:`PackingGrid`.
    """
    placements = _place_cells(instance, cells)
    packings = [placements[cell].packing for cell in cells]
    full = instance.n_realizations
    # Judged by what was not seen, except where all was: the paper's O = E = R.
    first_columns = []
    for cell in cells:
        n_seen = n_realizations_seen(instance, cell)
        first_columns.append(0 if on_fresh or n_seen == full else n_seen)
    judging, rows = instance.usage(is_fresh=on_fresh)
    counts = overflow_counts(judging, packings, first_columns, rows=rows)

    # Of all realizations, whatever the estimator saw: the bound is that of §5.1, and the same for every cell.
    means = instance.seen.mean
    outcomes = []
    for cell, first, n_overflows in zip(cells, first_columns, counts.tolist(), strict=True):
        placement_of_cell = placements[cell]
        packing = placement_of_cell.packing
        outcomes.append(
            PackingOutcome(
                cell,
                instance.number,
                m_abs=packing.n_bins,
                lower_bound=least_machines(means, cell.capacity, packing),
                overflows=n_overflows,
                trials=packing.n_bins * (full - first),
                n_tasks=len(instance.tasks),
                n_unplaceable=len(packing.unplaceable),
                n_moved=packing.moved,
                predicted=placement_of_cell.predicted,
            )
        )
    return outcomes


def _place_cells(instance: Instance, cells: Sequence[GridCell]) -> dict[GridCell, _Placement]:
    """Pack one instance in every way; cells that see, fill or pack alike share that work."""
    placements: dict[GridCell, _Placement] = {}
    # Sorted values, moments and histograms of one observation serve all cells that see the same.
    of_observation = group_cells(
        cells, lambda cell: (cell.data, n_realizations_seen(instance, cell))
    )
    for (data, n_seen), seeing_alike in of_observation.items():
        observed = instance.observed(data, n_seen)
        of_test = group_cells(
            seeing_alike, lambda cell: (cell.estimator, cell.capacity * cell.fill)
        )
        for (estimator, limit), testing_alike in of_test.items():
            fitted = placement.fit(estimator, observed, limit)
            # Placing takes far longer than rebalancing, and cells with and without it share the placement.
            of_packer = group_cells(testing_alike, lambda cell: cell.packer)
            for packer, packing_alike in of_packer.items():
                plain = placement.pack_fitted(fitted, packer=placement.parse_packer(packer))
                predicted = None
                if any(cell.has_prediction for cell in packing_alike):
                    predicted = _predicted_overflow(plain, fitted)
                for cell in packing_alike:
                    packing = plain
                    if cell.is_rebalanced:
                        packing = placement.rebalanced(plain, fitted)
                    judged_capacity = np.full_like(packing.rows, cell.capacity)
                    packing = replace(packing, rows=judged_capacity)
                    placements[cell] = _Placement(packing, predicted)
    return placements


def _predicted_overflow(plain: Packing, fitted: Fitted) -> float | None:
    # The promise is that of the fit tests; rebalancing asks none for the machines it takes tasks from.
    if not fitted.estimator.predicts or not len(plain.rows):
        return None
    return float(placement.predicted_overflow(plain, fitted).mean())


def n_realizations_seen(instance: Instance, cell: GridCell) -> int:
    """Return how many realizations the estimator of a cell sees, at least one.

    Parameters
    ----------
    instance
        Tasks and their realizations.
    cell
        Its clairvoyance is the share that is seen.
    """
    # .001 of a few hundred realizations rounds to none, and estimators need one.
    return max(1, round(cell.clairvoyance * instance.n_realizations))


def group_cells(
    cells: Iterable[GridCell], key: Callable[[GridCell], Key]
) -> dict[Key, list[GridCell]]:
    """Group cells by a key; groups and cells stay in their order.

    Parameters
    ----------
    cells
        Ways of packing.
    key
        What the cells of a group have in common.
    """
    groups: dict[Key, list[GridCell]] = {}
    for cell in cells:
        groups.setdefault(key(cell), []).append(cell)
    return groups


@dataclass(eq=False)
class PackingGrid:
    """Outcomes of cells over instances, each computed once.

    Attributes
    ----------
    instances
        The instances every cell is judged on.
    on_fresh
        Whether packings are judged by draws of their own, which no estimator has seen, instead of as the paper does.
    threads
        Instances worked on at a time (each takes about 200 MB at paper scale), or the executors that work on them.
    planned
        Cells that will be asked for later: they run in the first pass.
    """

    instances: Instances
    on_fresh: bool = False
    threads: int | SparkTasks = CORES
    planned: Sequence[GridCell] = ()
    _known: dict[GridCell, list[PackingOutcome]] = field(default_factory=dict, repr=False)

    def outcomes(self, cells: Sequence[GridCell]) -> list[PackingOutcome]:
        """Outcomes of `cells`, cell by cell, instance by instance; unknown ones are computed in one pass."""
        if any(cell not in self._known for cell in cells):
            wanted = dict.fromkeys([*cells, *self.planned])
            missing = [cell for cell in wanted if cell not in self._known]
            outcomes_of_cell: dict[GridCell, list[PackingOutcome]] = {cell: [] for cell in missing}
            judge = partial(judge_instance, cells=missing, on_fresh=self.on_fresh)
            for outcomes in self.instances.map(judge, self.threads):
                for outcome in outcomes:
                    outcomes_of_cell[outcome.cell].append(outcome)
            # All or nothing: a pass that is interrupted leaves no cell with some of its instances.
            self._known |= outcomes_of_cell
        known = [self._known[cell] for cell in dict.fromkeys(cells)]
        return list(chain.from_iterable(known))

    def mean_quality(self, cell: GridCell) -> float:
        """Q over all machines of all instances together."""
        outcomes = self.outcomes([cell])
        trials = sum(outcome.trials for outcome in outcomes)
        return sum(outcome.overflows for outcome in outcomes) / trials if trials else 0.0

    def prepared(self, estimator: Estimator, cell: GridCell) -> Estimator:
        """Let an estimator learn on these (held-out) instances, packed as a cell says but without rebalancing.

        Parameters
        ----------
        estimator
            The estimator that learns.
        cell
            How its tasks are packed while it learns.
        """
        # Rebalancing mostly lowers overflow; an estimator that learned with it would promise too much without it.
        plain = replace(cell, is_rebalanced=False, has_prediction=False)

        def qualities(tried: Sequence[Estimator]) -> list[float]:
            cells = [replace(plain, estimator=candidate) for candidate in tried]
            self.outcomes(cells)  # all in one pass over the instances
            return [self.mean_quality(candidate) for candidate in cells]

        return estimator.prepared(qualities)
