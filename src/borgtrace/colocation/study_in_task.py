"""Experiments on a store in a bucket, computed by a task of Spark: the windows of a pool may be half of a store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from borgtrace.colocation.options import ColocationOptions
from borgtrace.colocation.packing.grid import GridCell
from borgtrace.colocation.study import Study
from borgtrace.engine import SparkTasks, tasks_on
from borgtrace.errors import BorgtraceError
from borgtrace.question import EngineTables, NotApplicable, Rows, Tables
from borgtrace.storage import BUCKETS
from borgtrace.store import Store
from borgtrace.store.coverage import StoreCoverage

Compute = Callable[[Study, ColocationOptions], Rows]


class AskedExperiment(NamedTuple):
    """An experiment that was asked for: what computes it, and its options."""

    compute: Compute
    options: ColocationOptions


class TaskAnswer(NamedTuple):
    """What a task has computed of an experiment.

    Attributes
    ----------
    rows
        The answer; none where there is an error.
    error
        Why there is no answer.
    n_tasks
        Tasks of the pool.
    """

    rows: Rows
    error: BorgtraceError | NotApplicable | None
    n_tasks: int


class StudyInTask(Study):
    """A study of a store in a bucket whose experiments a task of Spark computes: all that are planned at once.

    Parameters
    ----------
    tables
        Tables of the store, on Spark.
    tasks
        Where the task runs.
    """

    def __init__(self, tables: EngineTables, tasks: SparkTasks) -> None:
        super().__init__(tables)
        self._tables = tables
        self._tasks = tasks
        self._planned_experiments: list[AskedExperiment] = []
        self._answers: dict[AskedExperiment, TaskAnswer] = {}

    def plan_experiments(self, experiments: Sequence[AskedExperiment]) -> None:
        """Take note of what will be asked for, so that one task makes the pool for all of it."""
        self._planned_experiments = list(experiments)

    def rows(self, asked: AskedExperiment) -> Rows:
        """Return the answer of an experiment.

        Raises
        ------
        NotApplicable, BorgtraceError
            What the experiment raised.
        """
        answer = self._answer(asked)
        if answer.error is not None:
            raise answer.error
        return answer.rows

    def coverage_of(self, asked: AskedExperiment) -> StoreCoverage:
        """Return how much of the whole trace an answer was computed from, with the number of tasks of its pool."""
        return replace(self._tables.coverage, n_tasks=self._answer(asked).n_tasks)

    def _answer(self, asked: AskedExperiment) -> TaskAnswer:
        if asked not in self._answers:
            is_planned = asked in self._planned_experiments
            experiments = self._planned_experiments if is_planned else [asked]
            origin = self._tables.origin
            compute = partial(
                compute_all, origin.store, origin.where, self._tables.memory, self._planned
            )
            (answers,) = self._tasks.map(compute, [experiments])
            self._answers |= dict(zip(experiments, answers, strict=True))
        return self._answers[asked]


def study_of(tables: Tables | Store | str | Path) -> Study:
    """Return the study of a store or its tables: made by a task where Spark reads the store from a bucket."""
    study = Study.of_store(tables)
    source = study.source
    if not isinstance(source, EngineTables) or not source.origin.store.startswith(BUCKETS):
        return study
    tasks = tasks_on(source.origin.engine, f"{source.memory}B")
    return StudyInTask(source, tasks) if tasks else study


def compute_all(
    store: str,
    where: str,
    memory: int,
    cells: Mapping[ColocationOptions, Sequence[GridCell]],
    experiments: Sequence[AskedExperiment],
) -> list[TaskAnswer]:
    """Compute experiments on a store, on one core.

    Parameters
    ----------
    store
        Its path.
    where
        SQL predicate over ``tasks`` that chooses the tasks; all of them where empty.
    memory
        Bytes that may be used.
    cells
        Ways of packing that several of them share.
    experiments
        What to compute.
    """
    tables = EngineTables.of(store, where=where, memory=f"{memory}B", threads=1)
    study = Study(tables)
    study.workers = 1
    for options, of_options in cells.items():
        study.plan(options, of_options)
    return [_computed(study, experiment) for experiment in experiments]


def _computed(study: Study, experiment: AskedExperiment) -> TaskAnswer:
    try:
        rows = experiment.compute(study, experiment.options)
        return TaskAnswer(rows, None, len(study.pool(experiment.options)))
    except (BorgtraceError, NotApplicable) as error:
        return TaskAnswer([], error, 0)
