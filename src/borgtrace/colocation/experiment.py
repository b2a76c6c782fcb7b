"""What an experiment is: a function of a study, with its declared result, its chart and its claims."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from borgtrace.colocation.options import ColocationOptions
from borgtrace.colocation.packing.grid import GridCell
from borgtrace.colocation.study import Study
from borgtrace.colocation.study_in_task import AskedExperiment, StudyInTask, study_of
from borgtrace.colocation.tasks.pool import TaskPool
from borgtrace.colocation.tasks.preparation import stages
from borgtrace.engine.memory import return_large_arrays
from borgtrace.placement import ESTIMATOR_KINDS
from borgtrace.question import Question, Result
from borgtrace.schema.bounds import Declaration, declarations_of

POOL = ("tasks", "seed")
"""Options of an experiment that looks at the pool alone."""
PACKING = ("tasks", "realizations", "instances", "size", "seed")
"""Options of an experiment that packs random instances."""
SUMS = ("tasks", "realizations", "samples", "seed", "instantaneous")
"""Options of an experiment about sums of random tasks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment(Question):
    """A question about tasks that share machines, answered by a study: ``compute(study, options)``.

    Attributes
    ----------
    options
        Names of the options that it takes.
    defaults
        Defaults of its own.
    cells
        The ways of packing it runs on the common grid, or None where it has a design of its own.
    """

    reads: Sequence[str] = ("tasks", "instance_usage")
    options: Sequence[str] = POOL
    defaults: Mapping[str, Any] = field(default_factory=dict)
    cells: Callable[[], Sequence[GridCell]] | None = None

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Options with their defaults."""
        return {
            name: self.defaults.get(name, getattr(ColocationOptions, name)) for name in self.options
        }

    @property
    def declarations(self) -> Mapping[str, Declaration]:
        """What each option may be, as the fields of the options say."""
        declared = declarations_of(ColocationOptions)
        return {name: declared[name] for name in self.options}

    @property
    def time_units(self) -> Mapping[str, int]:
        """No unit: no option is a time on the trace's clock."""
        return {}

    @property
    def group(self) -> str:
        """Of the common grid, of the sums of random tasks, or none."""
        if self.cells is not None:
            return "grid"
        return "sums" if self.options == SUMS else self.name

    def subject(self, tables: Any) -> Study:
        """Return the study of a store, of its tables, or of a pool; a study is its own."""
        if isinstance(tables, Study):
            return tables
        if isinstance(tables, TaskPool):
            return Study(tables)
        return study_of(tables)

    def plan(
        self, subject: Study, questions: Sequence[Question], parameters: Mapping[str, Any]
    ) -> None:
        """Let a study run the ways of packing of all experiments in one pass over the instances."""
        plan_cells(subject, questions, parameters)
        if isinstance(subject, StudyInTask):
            experiments = [one for one in questions if isinstance(one, Experiment)]
            subject.plan_experiments([one.asked(parameters) for one in experiments])

    def asked(self, parameters: Mapping[str, Any]) -> AskedExperiment:
        """Return the experiment as a task computes it, with its own among some parameters."""
        own = {name: value for name, value in parameters.items() if name in self.options}
        return AskedExperiment(self.compute, ColocationOptions(**self.with_defaults(own)))

    def run(self, store: Any, engine: str | None = None, **parameters: Any) -> Result:
        """Run the experiment.

        Parameters
        ----------
        store
            A :class:`Study` (which several experiments may share), a :class:`TaskPool`, a store or its tables.
        engine
            Where relational work runs; only for a store.
        parameters
            Options of the experiment.

        Raises
        ------
        UsageError
            For an option the experiment does not have, or a value outside its range.
        """
        values = self.with_defaults(parameters)
        options = ColocationOptions(**values)
        study = self.subject(store) if engine is None else Study.of_store(store, engine)
        # Draws of all tasks of an instance come and go, several at a time.
        return_large_arrays()
        if isinstance(study, StudyInTask):
            asked = AskedExperiment(self.compute, options)
            compute, coverage = partial(study.rows, asked), partial(study.coverage_of, asked)
        else:
            compute, coverage = (
                partial(self.compute, study, options),
                partial(study.coverage, options),
            )
        return self.result(
            study.source,
            values,
            compute,
            coverage,
            # An experiment may try all of those that the user named.
            code={name: ESTIMATOR_KINDS[name] for name in ESTIMATOR_KINDS.named},
        )

    def stages(self, generation: str = "2011", /, **parameters: Any) -> dict[str, Any]:
        """Return the relational stages that prepare the pool; all the rest is arithmetic on arrays."""
        return stages(generation)


def plan_cells(
    study: Study,
    chosen: Iterable[Question],
    parameters: Mapping[str, Any],
) -> None:
    """Let the ways of packing of several experiments run in one pass over the instances.

    Parameters
    ----------
    study
        Keeps the outcomes for the experiments.
    chosen
        Questions; those without ways on the common grid are skipped.
    parameters
        Options that were set, by name.
    """
    on_grid: list[Experiment] = []
    cells: list[GridCell] = []
    for experiment in chosen:
        if isinstance(experiment, Experiment) and experiment.cells is not None:
            on_grid.append(experiment)
            cells += experiment.cells()
    if len(on_grid) < 2:
        return
    # Experiments on the grid share options and defaults, so the first speaks for all.
    values = dict(on_grid[0].parameters)
    for name, value in parameters.items():
        if name in values:
            values[name] = value
    study.plan(ColocationOptions(**values), cells)
