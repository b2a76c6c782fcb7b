"""What the experiments on the common grid share: their table, how their cells are run, summaries for claims."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from borgtrace.colocation import ColocationOptions, GridCell, Study
from borgtrace.colocation.experiments.shared.answers import Row, grouped, rows_where
from borgtrace.colocation.experiments.shared.columns import OUTCOME, WAY_OF_PACKING
from borgtrace.colocation.packing.grid import PackingOutcome
from borgtrace.placement import Estimator, estimators
from borgtrace.question import Answer, NotApplicable

PAPER = ("average", "percentile", "cantelli", "gpa")
"""Estimators of the paper."""
OUTCOMES = Answer(grain="way of packing and instance", key=WAY_OF_PACKING, columns=OUTCOME)
"""What the common grid tells of each way of packing and instance."""
_WAY_NAMES = tuple(column.name for column in WAY_OF_PACKING if column.name != "instance")
"""Columns that tell a way of packing."""


def to_table(outcomes: Iterable[PackingOutcome], answer: Answer = OUTCOMES) -> pa.Table:
    """Return outcomes as rows of an answer.

    Parameters
    ----------
    outcomes
        Outcomes of the common grid.
    answer
        Columns of the answer, each an attribute of an outcome.
    """
    rows = [outcome_row(outcome, answer.names) for outcome in outcomes]
    return pa.Table.from_pylist(rows, schema=answer.empty().schema)


def outcome_row(outcome: PackingOutcome, names: Iterable[str]) -> Row:
    """Return columns of an outcome: its attributes, those of its cell, and name and parameter of the estimator."""
    cell = outcome.cell
    row: Row = {
        "estimator": cell.estimator.name,
        "parameter": float(cell.estimator.parameter),
    }
    for name in _WAY_NAMES:
        if name not in row:
            row[name] = getattr(cell, name)
    for name in names:
        if name not in row:
            row[name] = getattr(outcome, name)
    return row


def pack_cells(
    cells: Callable[[], Sequence[GridCell]], answer: Answer
) -> Callable[[Study, ColocationOptions], pa.Table]:
    """Return the `compute` of an experiment that packs every instance of a study in each of these ways.

    Parameters
    ----------
    cells
        Makes the ways of packing.
    answer
        Columns of the experiment's answer.
    """

    def compute(study: Study, options: ColocationOptions) -> pa.Table:
        return to_table(study.grid(options).outcomes(cells()), answer)

    return compute


def paper_estimators() -> list[Estimator]:
    """The 16 estimators of the paper."""
    kinds = estimators()
    return [estimator for name in PAPER for estimator in kinds[name].family()]


def summaries(result: pa.Table) -> list[Row]:
    """Average every cell of a result over its instances.

    Returns
    -------
    list of dict
        The cell's columns, ``label``, and the means ``m_abs``, ``machines`` (one more for every unplaceable task),
        ``m``, ``q`` (over all machines of all instances), ``q_error`` (its standard error over the instances),
        ``m_low``, ``m_high`` (extremes), ``q_low``, ``q_high``, ``n_unplaceable``, ``predicted``, ``trials``.
    """
    return [
        cell | _mean(rows) | {"label": f"{cell['estimator']} {cell['parameter']:g}"}
        for cell, rows in grouped(result, *_WAY_NAMES)
    ]


def _mean(rows: list[Row]) -> Row:
    trials = sum(row["trials"] for row in rows)
    m = [row["m"] for row in rows]
    q = [row["q"] for row in rows]
    promises = [row["predicted"] for row in rows if row["predicted"] is not None]
    return {
        "m_abs": float(np.mean([row["m_abs"] for row in rows])),
        "m_abs_median": float(np.median([row["m_abs"] for row in rows])),
        "machines": float(np.mean([row["m_abs"] + row["n_unplaceable"] for row in rows])),
        "m": float(np.mean(m)),
        "m_low": min(m),
        "m_high": max(m),
        # Over all machines and draws together: an instance with more machines has more of them.
        "q": sum(row["overflows"] for row in rows) / trials if trials else 0.0,
        "q_error": float(np.std(q) / np.sqrt(len(q))),
        "q_low": min(q),
        "q_high": max(q),
        "trials": trials,
        "n_unplaceable": float(np.mean([row["n_unplaceable"] for row in rows])),
        "n_tasks": rows[0]["n_tasks"],
        "predicted": float(np.mean(promises)) if promises else None,
    }


def find(result: pa.Table, **cell: Any) -> list[Row]:
    """Summaries of the cells with these values; NotApplicable where there is none."""
    return rows_where(summaries(result), "not among the cells that were run", **cell)


def rare(result: pa.Table, published: float, **cell: Any) -> float:
    """Q of the one cell with these values, unless the draws are too few to see what was published.

    Parameters
    ----------
    result
        Outcomes of the common grid.
    published
        The q that was published.
    cell
        Values by column.

    Raises
    ------
    NotApplicable
        No overflow was seen, and fewer than three were to be expected.
    """
    row = find(result, **cell)[0]
    # With fewer than 3 expected, seeing none has a probability above 5 % (e⁻³), and refutes nothing.
    if row["q"] == 0 and published * row["trials"] < 3:
        raise NotApplicable(
            f"none seen in {row['trials']:.1e} draws, {published * row['trials']:.1f} expected"
        )
    return float(row["q"])
