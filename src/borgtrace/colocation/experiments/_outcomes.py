"""What the packing experiments share: their table, how cells are run on a store, and summaries for claims."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from borgtrace.colocation.experiments._grids import Scale, grid_of
from borgtrace.colocation.grid import Cell, Outcome
from borgtrace.placement.estimators.estimator import Estimator
from borgtrace.placement.estimators.registry import estimators
from borgtrace.recipe import NotApplicable, Tables
from borgtrace.schema import Column, Table
from borgtrace.schema.arrow import arrow_schema

PAPER = ("average", "percentile", "cantelli", "gpa")
"""Estimators of the paper."""

_KEY = (
    Column("estimator", "string", "id", "Name of the estimator.", nullable=False),
    Column("parameter", "float64", "1", "Its parameter.", nullable=False),
    Column("packer", "string", "id", "Name of the packer.", nullable=False),
    Column("is_rebalanced", "bool", "1", "Whether the last machine was filled up.", nullable=False),
    Column("data", "string", "id", "What the estimator saw: inst or avg.", nullable=False),
    Column("capacity", "float64", "fraction", "Capacity of every machine.", nullable=False),
    Column("clairvoyance", "float64", "fraction", "Share of realizations seen.", nullable=False),
    Column("instance", "int64", "id", "Number of the instance.", nullable=False),
)
_VALUES = (
    Column("m_abs", "int64", "1", "Machines in use.", nullable=False),
    Column("lower_bound", "int64", "1", "Mean usage of the placed tasks in machines, rounded up.", nullable=False),
    Column("m", "float64", "1", "Machines in use over the lower bound.", nullable=False),
    Column("q", "float64", "fraction", "Share of overflows.", nullable=False),
    Column("overflows", "int64", "1", "Pairs of machine and realization that overflow.", nullable=False),
    Column("trials", "int64", "1", "Pairs of machine and realization.", nullable=False),
    Column("n_tasks", "int64", "1", "Tasks of the instance.", nullable=False),
    Column("n_unplaceable", "int64", "1", "Tasks that fit no machine alone.", nullable=False),
    Column("n_moved", "int64", "1", "Tasks moved by rebalancing.", nullable=False),
    Column("predicted", "float64", "fraction", "Overflow the estimator predicts before rebalancing."),
)


def outcome_table(name: str) -> Table:
    """Declare the result of an experiment: one row per cell and instance."""
    key = tuple(column.name for column in _KEY)
    return Table(name, "way of packing and instance", key, (*_KEY, *_VALUES))


def to_table(outcomes: Iterable[Outcome], declared: Table) -> pa.Table:
    """Outcomes as rows of a declared table."""
    rows = [
        {
            "estimator": outcome.cell.estimator.name,
            "parameter": float(outcome.cell.estimator.parameter),
            "packer": outcome.cell.packer,
            "is_rebalanced": outcome.cell.is_rebalanced,
            "data": outcome.cell.data,
            "capacity": outcome.cell.capacity,
            "clairvoyance": outcome.cell.clairvoyance,
            "instance": outcome.instance,
            "m_abs": outcome.m_abs,
            "lower_bound": outcome.lower_bound,
            "m": outcome.m,
            "q": outcome.q,
            "overflows": outcome.overflows,
            "trials": outcome.trials,
            "n_tasks": outcome.n_tasks,
            "n_unplaceable": outcome.n_unplaceable,
            "n_moved": outcome.n_moved,
            "predicted": outcome.predicted,
        }
        for outcome in outcomes
    ]
    return pa.Table.from_pylist(rows, schema=arrow_schema(declared))


def packing(cells: Callable[[], Sequence[Cell]], declared: Table) -> Callable[..., pa.Table]:
    """Make the computation of an experiment that packs every instance of a store in each of these ways."""

    def compute(
        tables: Tables,
        *,
        tasks: int = 100_000,
        realizations: int = 10_000,
        instances: int = 10,
        size: int = 1_000,
        seed: int = 0,
    ) -> pa.Table:
        scale = Scale(tasks, realizations, instances, size, seed)
        return to_table(grid_of(tables, scale).outcomes(cells()), declared)

    return compute


def paper_estimators() -> list[Estimator]:
    """The 16 estimators of the paper."""
    kinds = estimators()
    return [estimator for name in PAPER for estimator in kinds[name].family()]


Summary = dict[str, Any]


def summaries(result: pa.Table, *, size: int | None = None) -> list[Summary]:
    """Average every cell of a result over its instances.

    Returns
    -------
    list of dict
        The cell's columns, ``label``, and the means ``m_abs``, ``m``, ``q`` (over all machines of all instances),
        ``m_low``, ``m_high`` (extremes), ``q_low``, ``q_high``, ``n_unplaceable``, ``predicted``, ``trials``.
    """
    names = [column.name for column in _KEY[:-1]]
    cells: dict[tuple[Any, ...], list[Summary]] = {}
    for row in result.to_pylist():
        cells.setdefault(tuple(row[name] for name in names), []).append(row)
    return [
        dict(zip(names, key, strict=True)) | _mean(rows) | {"label": f"{key[0]} {key[1]:g}"}
        for key, rows in cells.items()
    ]


def _mean(rows: list[Summary]) -> Summary:
    trials = sum(row["trials"] for row in rows)
    m, q = [row["m"] for row in rows], [row["q"] for row in rows]
    promises = [row["predicted"] for row in rows if row["predicted"] is not None]
    return {
        "m_abs": float(np.mean([row["m_abs"] for row in rows])),
        "m_abs_median": float(np.median([row["m_abs"] for row in rows])),
        "m": float(np.mean(m)),
        "m_low": min(m),
        "m_high": max(m),
        "q": sum(row["overflows"] for row in rows) / trials if trials else 0.0,
        "q_low": min(q),
        "q_high": max(q),
        "trials": trials,
        "n_unplaceable": float(np.mean([row["n_unplaceable"] for row in rows])),
        "n_tasks": rows[0]["n_tasks"],
        "predicted": float(np.mean(promises)) if promises else None,
    }


def find(result: pa.Table, **cell: Any) -> list[Summary]:
    """Summaries of the cells with these values; parameters match to nine digits.

    Raises
    ------
    NotApplicable
        There is none.
    """
    found = [row for row in summaries(result) if all(_same(row[name], value) for name, value in cell.items())]
    if not found:
        raise NotApplicable("not among the cells that were run")
    return found


def value(result: pa.Table, column: str, **cell: Any) -> float:
    """One number of the one cell with these values."""
    return float(find(result, **cell)[0][column])


def _same(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, float):
        return abs(float(found) - wanted) <= 1e-9 * max(1.0, abs(wanted))
    return bool(found == wanted)


def cells_of(module: str) -> list[Cell]:
    """Cells that an experiment's module runs on the shared grid; none if it has a design of its own."""
    cells = getattr(sys.modules[module], "cells", None)
    return list(cells()) if cells is not None else []
