"""From the cells of an experiment to its tables: each cell, each policy over all stores, and each pair of families."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from borgtrace.experiments.blocks import (
    LEAST_PERIODS,
    Covariance,
    covariance,
    margins,
    mean_covariance,
)
from borgtrace.experiments.cells import Cell, CellSums
from borgtrace.experiments.comparisons import Comparisons, compare_all
from borgtrace.experiments.estimates import estimate_with_ends
from borgtrace.experiments.front import is_on_front
from borgtrace.experiments.pairs import ordered_pair
from borgtrace.experiments.peaks.curves import Mixture, mixture_at
from borgtrace.experiments.peaks.machine_days import MachineDays
from borgtrace.experiments.peaks.plan import PeakPlan, name_of
from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.question import Row


@dataclass(frozen=True, eq=False)
class FamilyPart:
    """A family of policies on one resource and some tasks.

    Attributes
    ----------
    resource, tasks, family
        What it is.
    policies
        Its settings.
    blocks
        Of each store, in the order of the plan.
    mixture
        What saves most at the target.
    """

    resource: str
    tasks: str
    family: str
    policies: Sequence[str]
    blocks: Sequence[MachineDays]
    mixture: Mixture

    @property
    def influences(self) -> list[Numbers]:
        """What blocks of each store add to the savings of the mixture: (blocks,)."""
        return [
            self.mixture.of_influences(blocks.rate_influences, blocks.savings_influences)
            for blocks in self.blocks
        ]


@dataclass(frozen=True, eq=False)
class PeakAnalysis:
    """What an experiment found.

    Attributes
    ----------
    runs, policies, comparisons
        Rows of the three tables (`borgtrace.experiments.peaks.tables`).
    families
        Families on each resource and group of tasks, in the order of the plan.
    margins
        Half the width of the 95 % interval of the savings of each family by itself; NaN where nothing tells.
    pairs
        What `comparisons` are of.
    n_machines, n_days
        Of all stores together, and the fewest days of a store.
    """

    runs: list[Row]
    policies: list[Row]
    comparisons: list[Row]
    families: Sequence[FamilyPart]
    margins: Numbers
    pairs: Comparisons
    n_machines: int = 0
    n_days: int = 0

    @property
    def days_vary(self) -> bool:
        """Whether intervals are over days, too."""
        return self.n_days >= LEAST_PERIODS


def analyze(
    plan: PeakPlan,
    cells: CellSums,
    labels: Mapping[tuple[str, str], str],
    horizon_slots: int,
) -> PeakAnalysis:
    """Return what the cells of an experiment say.

    Parameters
    ----------
    plan
        The experiment.
    cells
        Its cells with their sums.
    labels
        Policies with all of their parameters, by store and policy as the plan names it.
    horizon_slots
        How far ahead peaks were predicted.
    """
    runs = [row for cell, sums in cells for row in rows_of_cell(cell, sums, labels, horizon_slots)]
    families = []
    policies: list[Row] = []
    for resource, tasks in parts_of(sums for _, sums in cells):
        of_part: list[Row] = []
        for family in plan.policies:
            part = family_part(plan, cells, family, resource, tasks)
            if part is not None:
                families.append(part)
                of_part += rows_of_policies(part, horizon_slots)
        mark_front(of_part)
        policies += of_part
    estimates = np.array([part.mixture.savings for part in families])
    of_families = family_covariance(families)
    groups = group_numbers(families)
    pairs = compare_all(estimates, of_families, groups)
    blocks = families[0].blocks if families else ()
    return PeakAnalysis(
        runs=runs,
        policies=policies,
        comparisons=rows_of_pairs(families, pairs),
        families=families,
        margins=margins(of_families),
        pairs=pairs,
        n_machines=sum(one.n_machines for one in blocks),
        n_days=min((one.n_days for one in blocks), default=0),
    )


def parts_of(tables: Iterable[pa.Table]) -> list[tuple[str, str]]:
    """Return the resources and groups of tasks that sums of cells have, in the order of the first of them."""
    parts: dict[tuple[str, str], None] = {}
    for sums in tables:
        joined = pc.binary_join_element_wise(sums["resource"], sums["tasks"], "/")
        for text in joined.unique().to_pylist():
            resource, _, tasks = text.partition("/")
            parts[resource, tasks] = None
    return list(parts)


def rows_of_cell(
    cell: Cell, sums: pa.Table, labels: Mapping[tuple[str, str], str], horizon_slots: int
) -> list[Row]:
    """Return the rows of a cell, one for each resource and group of tasks."""
    rows = []
    for resource, tasks in parts_of([sums]):
        blocks = MachineDays.of([[sums]], resource, tasks)
        influences = np.column_stack([blocks.rate_influences, blocks.savings_influences])
        ends = margins(covariance(influences, blocks.machine, blocks.day))
        n_instants = int(blocks.sums["instants"].sum())
        row = {
            "store": cell.store,
            "resource": resource,
            "tasks": tasks,
            "family": cell.family,
            "policy": cell.policy,
            "seed": cell.seed,
            "parameters": labels[cell.store, cell.policy],
            "machines": blocks.n_machines,
            "days": blocks.n_days,
            "instants": n_instants,
            **rate_with_ends(blocks.rates[0], ends[0], n_instants, horizon_slots),
            **estimate_with_ends("savings", blocks.savings[0], ends[1]),
        }
        rows.append(row)
    return rows


def rate_with_ends(value: float, margin: float, n_instants: int, horizon_slots: int) -> Row:
    """Return the columns of a violation rate; its interval never ends below 3 ÷ trials (the rule of three)."""
    row = estimate_with_ends("rate", value, margin)
    if row["rate_high"] is not None:
        # Instants of one horizon share most of their peak: together they are one trial.
        unseen = 3 * horizon_slots / n_instants
        row["rate_low"] = max(row["rate_low"], 0.0)
        row["rate_high"] = min(max(row["rate_high"], unseen), 1.0)
    return row


def family_part(
    plan: PeakPlan, cells: CellSums, family: str, resource: str, tasks: str
) -> FamilyPart | None:
    """Return a family on one resource and group of tasks; None where it was not judged on them in every store."""
    names = [name_of(member) for member in plan.policies[family]]
    of_stores = []
    for store in plan.stores:
        tables = [
            [
                sums
                for cell, sums in cells
                if (cell.store, cell.family, cell.policy) == (store, family, name)
            ]
            for name in names
        ]
        if not all((resource, tasks) in parts_of(of_policy) for of_policy in tables):
            return None
        blocks = MachineDays.of(tables, resource, tasks)
        # Without limits nobody saves anything.
        if not np.isfinite(blocks.savings).all():
            return None
        of_stores.append(blocks)
    rates = np.mean([blocks.rates for blocks in of_stores], axis=0)
    savings = np.mean([blocks.savings for blocks in of_stores], axis=0)
    mixture = mixture_at(rates, savings, plan.target)
    return FamilyPart(resource, tasks, family, names, of_stores, mixture)


def rows_of_policies(part: FamilyPart, horizon_slots: int) -> list[Row]:
    """Return the rows of the settings of a family: means over the stores."""
    of_stores = []
    for blocks in part.blocks:
        influences = np.hstack([blocks.rate_influences, blocks.savings_influences])
        of_stores.append(covariance(influences, blocks.machine, blocks.day))
    ends = margins(mean_covariance(of_stores))
    rates = np.mean([blocks.rates for blocks in part.blocks], axis=0)
    savings = np.mean([blocks.savings for blocks in part.blocks], axis=0)
    n = len(part.policies)
    rows = []
    for k, policy in enumerate(part.policies):
        n_instants = int(sum(blocks.sums["instants"][:, k].sum() for blocks in part.blocks))
        row = {
            "resource": part.resource,
            "tasks": part.tasks,
            "family": part.family,
            "policy": policy,
            "stores": len(part.blocks),
            "machines": sum(blocks.n_machines for blocks in part.blocks),
            "instants": n_instants,
            **rate_with_ends(rates[k], ends[k], n_instants, horizon_slots),
            **estimate_with_ends("savings", savings[k], ends[n + k]),
        }
        rows.append(row)
    return rows


def mark_front(rows: Sequence[Row]) -> None:
    """Mark the rows of one part that are on Pareto's front."""
    rates = np.array([row["rate"] for row in rows])
    savings = np.array([row["savings"] for row in rows])
    for row, on_front in zip(rows, is_on_front(rates, savings), strict=True):
        row["is_on_front"] = on_front


def group_numbers(families: Sequence[FamilyPart]) -> Index:
    """Return the number of each family's resource and group of tasks: only families of one are compared."""
    numbers: dict[tuple[str, str], int] = {}
    return np.array(
        [numbers.setdefault((part.resource, part.tasks), len(numbers)) for part in families],
        np.int64,
    )


def family_covariance(families: Sequence[FamilyPart]) -> Covariance:
    """Return how the savings of families at the target vary together."""
    if not families:
        nothing = np.empty((0, 0))
        return Covariance(nothing, nothing, nothing, 0)
    of_stores = []
    for store in range(len(families[0].blocks)):
        blocks = [part.blocks[store] for part in families]
        machine = np.concatenate([one.machine for one in blocks])
        day = np.concatenate([one.day for one in blocks])
        pairs, row = np.unique(np.column_stack([machine, day]), axis=0, return_inverse=True)
        # Resources and groups of tasks may have other machines: what is not there adds nothing.
        influences = np.zeros((len(pairs), len(families)))
        begin = 0
        for column, part in enumerate(families):
            values = part.influences[store]
            influences[row[begin : begin + len(values)], column] = values
            begin += len(values)
        of_stores.append(covariance(influences, pairs[:, 0], pairs[:, 1]))
    return mean_covariance(of_stores)


def rows_of_pairs(families: Sequence[FamilyPart], pairs: Comparisons) -> list[Row]:
    """Return a row for each pair; the one that saves more comes first."""
    rows = []
    for place in range(len(pairs.first)):
        pair = ordered_pair(pairs, place)
        first, second = families[pair.larger], families[pair.smaller]
        row: Row = {
            "resource": first.resource,
            "tasks": first.tasks,
            "family": first.family,
            "other": second.family,
            "savings": first.mixture.savings,
            "other_savings": second.mixture.savings,
        }
        rows.append(row | pair.columns)
    return rows
