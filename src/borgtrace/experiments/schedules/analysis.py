"""From the cells of an experiment with schedulers to its tables: cells, schedulers over all stores, and pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from borgtrace.experiments.blocks import (
    LEAST_PERIODS,
    covariance,
    margins,
    mean_covariance,
)
from borgtrace.experiments.cells import Cell, CellSums
from borgtrace.experiments.comparisons import Comparisons, compare_all
from borgtrace.experiments.estimates import estimate_with_ends
from borgtrace.experiments.front import is_on_front
from borgtrace.experiments.pairs import ordered_pair
from borgtrace.experiments.schedules.job_hours import JobBlocks, rows_of
from borgtrace.experiments.schedules.plan import SchedulePlan, name_of
from borgtrace.kernels.arrays import Numbers
from borgtrace.question import Row

NOTHING = 1e-9
"""Seconds, or evictions: less is rounding."""
MEASURES = {"wait": "waited", "evictions": "evictions"}
"""Columns with intervals, and what they are means of."""


@dataclass(frozen=True, eq=False)
class WaitAnalysis:
    """What an experiment found.

    Attributes
    ----------
    runs, policies, comparisons
        Rows of the three tables (`borgtrace.experiments.schedules.tables`).
    n_jobs, n_periods
        Of all stores together, and the fewest days (or hours, in traces below five days) of a store.
    days_vary
        Whether periods are days.
    n_days
        The fewest days of a store.
    """

    runs: list[Row]
    policies: list[Row]
    comparisons: list[Row]
    n_jobs: int
    n_periods: int
    days_vary: bool
    n_days: int


def analyze(plan: SchedulePlan, cells: CellSums) -> WaitAnalysis:
    """Return what the cells of an experiment say.

    Parameters
    ----------
    plan
        The experiment.
    cells
        Its cells with their sums.
    """
    runs = [row for cell, sums in cells for row in rows_of_cell(plan, cell, sums)]
    tables = tables_by_policy(cells)
    names = [name_of(member) for member in plan.members]
    tiers = [tier for tier in plan.tiers if is_everywhere(plan, tables, tier)]
    of_stores = [
        JobBlocks.of([(tables[store, name], tier) for tier in tiers for name in names])
        for store in plan.stores
        if tiers
    ]
    policies = rows_of_policies(plan, tiers, of_stores)
    return WaitAnalysis(
        runs=runs,
        policies=policies,
        comparisons=rows_of_pairs(policies, compare_waits(of_stores, len(names))),
        n_jobs=sum(len(np.unique(blocks.job)) for blocks in of_stores),
        n_periods=min((blocks.n_periods for blocks in of_stores), default=0),
        days_vary=all(blocks.n_days >= LEAST_PERIODS for blocks in of_stores),
        n_days=min((blocks.n_days for blocks in of_stores), default=0),
    )


def tables_by_policy(cells: CellSums) -> dict[tuple[str, str], list[pa.Table]]:
    """Return the sums of the cells of each store and scheduler, one for each seed."""
    tables: dict[tuple[str, str], list[pa.Table]] = {}
    for cell, sums in cells:
        tables.setdefault((cell.store, cell.policy), []).append(sums)
    return tables


def is_everywhere(
    plan: SchedulePlan, tables: Mapping[tuple[str, str], Sequence[pa.Table]], tier: str
) -> bool:
    """Whether each store has tasks of a tier: then its mean over the stores is one of the same kind of tasks."""
    name = name_of(plan.members[0])
    return all(len(rows_of(tables[store, name], tier)) for store in plan.stores)


def rows_of_cell(plan: SchedulePlan, cell: Cell, sums: pa.Table) -> list[Row]:
    """Return the rows of a cell, one for each tier with tasks."""
    rows = []
    for tier in plan.tiers:
        if not len(rows_of([sums], tier)):
            continue
        blocks = JobBlocks.of([([sums], tier)])
        row: Row = {
            "store": cell.store,
            "tier": tier,
            "family": cell.family,
            "policy": cell.policy,
            "seed": cell.seed,
            "jobs": int(blocks.n_jobs[0]),
            "tasks": int(blocks.sums["attempts"].sum()),
            "pending": float(blocks.means("pending")[0]),
        }
        for name, summed in MEASURES.items():
            ends = margins(covariance(blocks.influences(summed), blocks.job, blocks.period))
            row |= measure_with_ends(name, float(blocks.means(summed)[0]), float(ends[0]))
        rows.append(row)
    return rows


def measure_with_ends(name: str, value: float, margin: float) -> Row:
    """Return the columns of a wait or of evictions, whose interval does not end below 0."""
    row = estimate_with_ends(name, value, margin)
    low = row[f"{name}_low"]
    if low is not None:
        row[f"{name}_low"] = max(low, 0.0)
    return row


def means_and_margins(of_stores: Sequence[JobBlocks], summed: str) -> tuple[Numbers, Numbers]:
    """Return the means over stores of each estimate, and half the widths of their intervals."""
    means = np.mean([blocks.means(summed) for blocks in of_stores], axis=0)
    of_means = mean_covariance(
        [covariance(blocks.influences(summed), blocks.job, blocks.period) for blocks in of_stores]
    )
    ends = margins(of_means)
    # What does not vary has a rounding error of what varies beside it.
    return means, np.where(ends < NOTHING, 0.0, ends)


def rows_of_policies(
    plan: SchedulePlan, tiers: Sequence[str], of_stores: Sequence[JobBlocks]
) -> list[Row]:
    """Return the rows of the schedulers for each tier: means over the stores."""
    if not of_stores:
        return []
    measured = {name: means_and_margins(of_stores, summed) for name, summed in MEASURES.items()}
    pending = np.mean([blocks.means("pending") for blocks in of_stores], axis=0)
    n_jobs = np.sum([blocks.n_jobs for blocks in of_stores], axis=0)
    n_tasks = np.sum([blocks.sums["attempts"].sum(axis=0) for blocks in of_stores], axis=0)
    rows: list[Row] = []
    for tier in tiers:
        of_tier: list[Row] = []
        for family, members in plan.schedulers.items():
            for member in members:
                place = len(rows) + len(of_tier)
                row: Row = {
                    "tier": tier,
                    "family": family,
                    "policy": name_of(member),
                    "stores": len(of_stores),
                    "jobs": int(n_jobs[place]),
                    "tasks": int(n_tasks[place]),
                    "pending": float(pending[place]),
                }
                for name, (means, ends) in measured.items():
                    row |= measure_with_ends(name, float(means[place]), float(ends[place]))
                of_tier.append(row)
        mark_front(of_tier)
        rows += of_tier
    return rows


def mark_front(rows: Sequence[Row]) -> None:
    """Mark the rows of one tier that are on Pareto's front: no other waits as little with fewer evictions."""
    waits = np.array([row["wait"] for row in rows])
    evictions = np.array([row["evictions"] for row in rows])
    for row, on_front in zip(rows, is_on_front(waits, -evictions), strict=True):
        row["is_on_front"] = on_front


def compare_waits(of_stores: Sequence[JobBlocks], n_policies: int) -> Comparisons | None:
    """Compare the mean waits of each two schedulers of a tier; None where no store has tasks of any.

    Parameters
    ----------
    of_stores
        Their estimates are tiers × schedulers.
    n_policies
        Number of schedulers.
    """
    if not of_stores:
        return None
    waits = np.mean([blocks.means("waited") for blocks in of_stores], axis=0)
    of_waits = mean_covariance(
        [covariance(blocks.influences("waited"), blocks.job, blocks.period) for blocks in of_stores]
    )
    return compare_all(waits, of_waits, np.arange(len(waits)) // n_policies)


def rows_of_pairs(policies: Sequence[Row], pairs: Comparisons | None) -> list[Row]:
    """Return a row for each pair; the scheduler under which tasks wait less comes first.

    Parameters
    ----------
    policies
        Rows of all schedulers, in the order of the estimates.
    pairs
        Their differences.
    """
    if pairs is None:
        return []
    rows = []
    for place in range(len(pairs.first)):
        pair = ordered_pair(pairs, place)
        longer, shorter = policies[pair.larger], policies[pair.smaller]
        row: Row = {
            "tier": shorter["tier"],
            "policy": shorter["policy"],
            "other": longer["policy"],
            "wait": shorter["wait"],
            "other_wait": longer["wait"],
        }
        rows.append(row | pair.columns)
    return rows
