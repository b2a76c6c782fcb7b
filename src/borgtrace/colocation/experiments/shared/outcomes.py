"""The experiments on the common grid: their table, how their cells are run, and summaries for claims."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from borgtrace.colocation import ColocationOptions, GridCell, Study
from borgtrace.colocation.experiments.shared.answers import Row, grouped, rows_where
from borgtrace.colocation.experiments.shared.columns import OUTCOME, WAY_OF_PACKING
from borgtrace.colocation.packing.grid import PackingOutcome
from borgtrace.placement import Estimator, estimators
from borgtrace.question import Answer, Measure, NotApplicable

PAPER = ("average", "percentile", "cantelli", "gpa")
"""Estimators of the paper."""
OUTCOMES = Answer(grain="way of packing and instance", key=WAY_OF_PACKING, columns=OUTCOME)
"""What the common grid tells of each way of packing and instance."""
_WAY_NAMES = tuple(column.name for column in WAY_OF_PACKING if column.name != "instance")
"""Columns that identify a way of packing."""


def to_table(outcomes: Iterable[PackingOutcome], answer: Answer = OUTCOMES) -> pa.Table:
    """Return outcomes as rows of an answer.

    Parameters
    ----------
    outcomes
        Outcomes of the common grid.
    answer
        Columns of the answer, each an attribute of an outcome.
    """
    return pa.Table.from_pylist(outcome_rows(outcomes, answer), schema=answer.empty().schema)


def outcome_rows(outcomes: Iterable[PackingOutcome], answer: Answer = OUTCOMES) -> list[Row]:
    """Return outcomes as rows, for who summarizes them and needs no table.

    Parameters
    ----------
    outcomes, answer
        As for :func:`to_table`.
    """
    names = answer.names
    return [outcome_row(outcome, names) for outcome in outcomes]


def outcome_row(outcome: PackingOutcome, names: Iterable[str]) -> Row:
    """Return columns of an outcome: its way of packing, and the attributes called like the others.

    Parameters
    ----------
    outcome
        Of one way of packing on one instance.
    names
        Columns of the answer.
    """
    cell = outcome.cell
    row: Row = {
        "estimator": cell.estimator.name,
        "parameter": float(cell.estimator.parameter),
        "packer": cell.packer,
        "is_rebalanced": cell.is_rebalanced,
        "data": cell.data,
        "capacity": cell.capacity,
        "clairvoyance": cell.clairvoyance,
        "fill": cell.fill,
    }
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
    """Return the 16 estimators of the paper."""
    kinds = estimators()
    listed: list[Estimator] = []
    for name in PAPER:
        listed += kinds[name].family()
    return listed


def summaries(result: pa.Table | Iterable[Row]) -> list[Row]:
    """Average every cell of a result over its instances.

    Parameters
    ----------
    result
        Outcomes of the common grid, as a table or as rows.

    Returns
    -------
    list of dict
        The cell's columns, ``label``, and the means ``m_abs``, ``machines`` (one more for every unplaceable task),
        ``m``, ``q`` (over all machines of all instances), ``q_error`` (its standard error over the instances),
        ``m_low``, ``m_high`` (extremes), ``q_low``, ``q_high``, ``n_unplaceable``, ``predicted``, ``trials``.
    """
    listed = []
    for way, rows in grouped(result, *_WAY_NAMES):
        label = f"{way['estimator']} {way['parameter']:g}"
        listed.append(way | summarize_instances(rows) | {"label": label})
    return listed


def summarize_instances(rows: list[Row]) -> Row:
    """Average one way of packing over its instances; see :func:`summaries`.

    Parameters
    ----------
    rows
        Outcomes of one way of packing, one for each instance.
    """
    m_abs = [row["m_abs"] for row in rows]
    n_unplaceable = [row["n_unplaceable"] for row in rows]
    m = [row["m"] for row in rows]
    q = [row["q"] for row in rows]
    overflows = sum(row["overflows"] for row in rows)
    trials = sum(row["trials"] for row in rows)
    predictions = [row["predicted"] for row in rows if row["predicted"] is not None]
    return {
        "m_abs": float(np.mean(m_abs)),
        "m_abs_median": float(np.median(m_abs)),
        "machines": float(np.mean(np.add(m_abs, n_unplaceable))),
        "m": float(np.mean(m)),
        "m_low": min(m),
        "m_high": max(m),
        # Over all machines and draws together: an instance with more machines has more of them.
        "q": overflows / trials if trials else 0.0,
        "q_error": float(np.std(q) / np.sqrt(len(q))),
        "q_low": min(q),
        "q_high": max(q),
        "trials": trials,
        "n_unplaceable": float(np.mean(n_unplaceable)),
        "n_tasks": rows[0]["n_tasks"],
        "predicted": float(np.mean(predictions)) if predictions else None,
    }


def find(result: pa.Table, **cell: Any) -> list[Row]:
    """Return the summaries of the ways of packing with these values.

    Parameters
    ----------
    result
        Outcomes of the common grid.
    cell
        Values by column.

    Raises
    ------
    NotApplicable
        There is none.
    """
    return rows_where(summaries(result), "not among the cells that were run", **cell)


def rare_overflow(published: float, **cell: Any) -> Measure:
    """Measure the q of one way of packing, unless the draws are too few to see what was published.

    Parameters
    ----------
    published
        The q that was published.
    cell
        Values by column.
    """

    def measure(result: pa.Table) -> float:
        row = find(result, **cell)[0]
        n_expected = published * row["trials"]
        # With fewer than 3 expected, seeing none has a probability above 5 % (e⁻³), and refutes nothing.
        if row["q"] == 0 and n_expected < 3:
            raise NotApplicable(
                f"none seen in {row['trials']:.1e} draws, {n_expected:.1f} expected"
            )
        return float(row["q"])

    return measure
