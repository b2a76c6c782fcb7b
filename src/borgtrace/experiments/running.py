"""Run the cells of an experiment that are not finished, each kept as soon as it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import pyarrow as pa

from borgtrace.engine import tasks_on
from borgtrace.engine.joblib_backends import map_backend
from borgtrace.engine.workers import map_workers
from borgtrace.errors import UsageError
from borgtrace.experiments.cells import Cell, CellSums, read_cell, write_cell
from borgtrace.question import Result
from borgtrace.question.store_question import Report, no_report
from borgtrace.storage import INCOMPLETE, remove
from borgtrace.store import Store

CELLS = "cells"
"""Folder of finished cells in that of an experiment."""
Runner = Callable[[Cell], tuple[Cell, pa.Table]]
"""Computes the sums of a cell; it is pickled, and works where the stores can be read."""


class Answers(NamedTuple):
    """The three tables of an experiment."""

    cells: Result
    policies: Result
    comparisons: Result


@dataclass(frozen=True, eq=False)
class PreparedExperiment(ABC):
    """An experiment whose stores are open: its cells are known, and none is computed.

    Attributes
    ----------
    stores
        Open, by label.
    cells
        All of them: stores, then policies, then seeds, in the order of the plan.
    """

    schema: ClassVar[pa.Schema]
    """Of the sums of a cell."""
    stores: Mapping[str, Store]
    cells: Sequence[Cell]

    @property
    @abstractmethod
    def parameters(self) -> Mapping[str, Any]:
        """What it was asked with, for the provenance."""

    @property
    @abstractmethod
    def code(self) -> Mapping[str, Any]:
        """Classes and functions that took part, by name: the provenance names those of others."""

    @abstractmethod
    def runner(self, missing: Sequence[Cell], report: Report) -> Runner:
        """Read what missing cells need, and return what computes them.

        Parameters
        ----------
        missing
            Cells that are not finished.
        report
            Told the step, how much of it is done, and how much there is.
        """

    @abstractmethod
    def answers(self, finished: CellSums) -> Answers:
        """Return what the cells say."""

    def missing(self, out: Path) -> list[Cell]:
        """Return the cells that are not finished in a folder; of those with one key the first."""
        by_key: dict[str, Cell] = {}
        for cell in self.cells:
            by_key.setdefault(cell.key, cell)
        return [
            cell for cell in by_key.values() if read_cell(out / CELLS, cell, self.schema) is None
        ]


def run_missing(
    prepared: PreparedExperiment,
    out: Path,
    *,
    jobs: int = 1,
    engine: str = "duckdb",
    backend: str = "",
    report: Report = no_report,
) -> int:
    """Compute the cells that are not finished, and return how many these were.

    Parameters
    ----------
    prepared
        The experiment.
    out
        Folder of its results.
    jobs
        Processes, or workers of a backend.
    engine
        ``"duckdb"``, or a master of Spark whose tasks compute cells.
    backend
        A backend of joblib that the caller has registered, such as ``"dask"`` or ``"ray"``; processes of this machine
        where empty.
    report
        Told the step, how much of it is done, and how much there is.

    Raises
    ------
    UsageError
        Seeds that change nothing; or code of others failed.
    NotApplicable
        A store has nothing to replay.
    """
    missing = prepared.missing(out)
    remove_drafts(out / CELLS)
    if not missing:
        return 0
    runner = prepared.runner(missing, report)
    report("cells", 0, len(missing))
    workers = tasks_on(engine) or jobs
    results: Iterable[tuple[Cell, pa.Table]]
    if backend:
        results = map_backend(runner, missing, workers=jobs, backend=backend)
    else:
        results = map_workers(runner, missing, workers, place=str(out))
    for n_done, (cell, sums) in enumerate(results, 1):
        write_cell(out / CELLS, cell, sums)
        report("cells", n_done, len(missing))
    return len(missing)


def remove_drafts(folder: Path) -> None:
    """Remove what a killed experiment was writing: no name of it would ever be read."""
    for draft in folder.glob(f"*{INCOMPLETE}"):
        remove(draft)


def finished_cells(prepared: PreparedExperiment, out: Path) -> Iterator[tuple[Cell, pa.Table]]:
    """Yield each cell with its sums, as its file holds them.

    Raises
    ------
    UsageError
        A cell is missing: somebody removed its file meanwhile.
    """
    for cell in prepared.cells:
        sums = read_cell(out / CELLS, cell, prepared.schema)
        if sums is None:
            raise UsageError(
                str(out / CELLS / f"{cell.key}.parquet"),
                "a finished cell has gone or was changed",
                way_out="run the experiment again",
            )
        yield cell, sums
