"""Run an experiment from its beginning, or from where it stopped, and say what it found."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from borgtrace.experiments.peaks.experiment import prepare_peaks
from borgtrace.experiments.peaks.plan import PeakPlan
from borgtrace.experiments.plan_file import ExperimentPlan, plan_of, read_plan
from borgtrace.experiments.running import PreparedExperiment, finished_cells, run_missing
from borgtrace.experiments.schedules.experiment import prepare_schedules
from borgtrace.overcommit import PeakPolicy
from borgtrace.question import Result
from borgtrace.question.store_question import Report, no_report
from borgtrace.report.answer_files import write_result
from borgtrace.scheduling import Scheduler


@dataclass(frozen=True, eq=False)
class ExperimentResult:
    """What an experiment found.

    Attributes
    ----------
    cells, policies, comparisons
        Its tables, each an answer with ``.table``, ``.plot()`` and ``.to_pandas()``.
    n_computed
        Cells that this run has computed; the others were finished before.
    """

    cells: Result
    policies: Result
    comparisons: Result
    n_computed: int

    @property
    def sentence(self) -> str:
        """The answer in words, a line for each sentence."""
        return self.policies.sentence

    @property
    def answers(self) -> tuple[Result, ...]:
        """The three tables."""
        return (self.cells, self.policies, self.comparisons)

    def write(self, out: Path, *, png: bool = False, raw: bool = False) -> None:
        """Write tables and charts into a folder.

        Parameters
        ----------
        out
            The folder.
        png, raw
            As for :func:`borgtrace.report.answer_files.write_result`.
        """
        for answer in self.answers:
            write_result(answer, out, png=png, raw=raw)


def experiment(
    file: str | Path | None = None,
    *,
    stores: Mapping[str, str | Path] | Sequence[str | Path] = (),
    policies: Mapping[str, Any] | Sequence[str | PeakPolicy] = (),
    schedulers: Mapping[str, Any] | Sequence[str | Scheduler] = (),
    out: str | Path | None = None,
    jobs: int = 1,
    engine: str = "duckdb",
    backend: str = "",
    memory: str = "4GB",
    report: Report = no_report,
    **settings: Any,
) -> ExperimentResult:
    """Replay policies or schedulers × parameters on stores × seeds, and compare them.

    Parameters
    ----------
    file
        A TOML file that describes the experiment; else the other arguments do.
    stores
        Folders of stores, or a mapping of names to them.
    policies
        Families of policies by name: each a mapping of parameters to a value or several, or a list of policies, as
        text or as objects.  In a list of policies each is a family.  What they save is compared at the same risk.
    schedulers
        In place of policies: families of schedulers, likewise, as ``borgtrace simulate`` names them, or as objects.
        What tasks wait under them is compared.
    out
        Folder of finished cells and results; started again with it, an experiment goes on where it stopped.
    jobs
        Processes, or workers of `backend`.
    engine
        ``"duckdb"``, or a master of Spark that computes the cells.
    backend
        A backend of joblib that you have registered, such as ``"dask"`` or ``"ray"``.
    memory
        Budget of the engine for each store.
    report
        Told the step, how much of it is done, and how much there is.
    settings
        Other fields of :class:`~borgtrace.experiments.PeakPlan` (``seeds``, ``machines``, ``target``, ``horizon``,
        ``resources``, ``tasks``, ``metrics``), or of :class:`~borgtrace.experiments.SchedulePlan` (``seeds``,
        ``tiers``, ``factor``, ``plan``, ``whole_jobs``).

    Raises
    ------
    UsageError
        For an unknown name or a value that makes no sense.
    NotApplicable
        A store has nothing to replay, or is too short for the horizon.

    Examples
    --------
    ::

        result = borgtrace.experiment(
            stores={"a": "cell-a", "b": "cell-b"},
            policies={"nsigma": {"n": [2, 3, 5]}, "mine": [MyPolicy(0.1), MyPolicy(0.2)]},
            horizon="1h",
            out="nsigma-or-mine",
            jobs=4,
        )
        print(result.sentence)
        result.policies.plot()
    """
    described = {"stores": stores, **settings}
    if policies or not schedulers:
        described["policies"] = policies
    if schedulers:
        described["schedulers"] = schedulers
    plan = plan_of(described) if file is None else read_plan(file)
    prepared = prepare(plan, memory)
    with ExitStack() as stack:
        if out is None:
            out = stack.enter_context(tempfile.TemporaryDirectory(prefix="borgtrace-"))
        return run_prepared(
            prepared, Path(out), jobs=jobs, engine=engine, backend=backend, report=report
        )


def prepare(plan: ExperimentPlan, memory: str = "4GB") -> PreparedExperiment:
    """Open the stores of an experiment, and return it with its cells.

    Parameters
    ----------
    plan
        The experiment.
    memory
        Budget of the engine for each store.
    """
    if isinstance(plan, PeakPlan):
        return prepare_peaks(plan, memory)
    return prepare_schedules(plan, memory)


def run_prepared(
    prepared: PreparedExperiment,
    out: Path,
    *,
    jobs: int = 1,
    engine: str = "duckdb",
    backend: str = "",
    report: Report = no_report,
) -> ExperimentResult:
    """Compute the cells that are not finished, analyze all of them, and write the results beside them.

    Parameters
    ----------
    prepared
        The experiment.
    out, jobs, engine, backend, report
        As for :func:`experiment`.
    """
    n_computed = run_missing(
        prepared, out, jobs=jobs, engine=engine, backend=backend, report=report
    )
    answers = prepared.answers(list(finished_cells(prepared, out)))
    result = ExperimentResult(
        cells=answers.cells,
        policies=answers.policies,
        comparisons=answers.comparisons,
        n_computed=n_computed,
    )
    result.write(out)
    return result
