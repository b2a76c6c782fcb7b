"""Run an experiment from its beginning, or from where it stopped, and say what it found."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from borgtrace.experiments.analysis import analyze
from borgtrace.experiments.plan import ExperimentPlan, plan_of
from borgtrace.experiments.plan_file import read_plan
from borgtrace.experiments.running import PreparedExperiment, finished_cells, prepare, run_missing
from borgtrace.experiments.sentences import sentences
from borgtrace.experiments.tables import COMPARISONS, POLICIES, RUNS
from borgtrace.overcommit import PeakPolicy
from borgtrace.question import NotApplicable, Provenance, Question, Result, Row
from borgtrace.question.conforming import conform
from borgtrace.question.store_question import Report, no_report
from borgtrace.report.answer_files import write_result
from borgtrace.schema.time import WINDOW, write_time


@dataclass(frozen=True, eq=False)
class ExperimentResult:
    """What an experiment found.

    Attributes
    ----------
    plan
        The experiment.
    cells, policies, comparisons
        Its tables, each an answer with ``.table``, ``.plot()`` and ``.to_pandas()``.
    n_computed
        Cells that this run has computed; the others were finished before.
    """

    plan: ExperimentPlan
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
    out: str | Path | None = None,
    jobs: int = 1,
    engine: str = "duckdb",
    backend: str = "",
    memory: str = "4GB",
    report: Report = no_report,
    **settings: Any,
) -> ExperimentResult:
    """Replay policies × parameters on stores × seeds, and compare what they save at the same risk.

    Parameters
    ----------
    file
        A TOML file that describes the experiment; else the other arguments do.
    stores
        Folders of stores, or a mapping of names to them.
    policies
        Families of policies by name: each a mapping of parameters to a value or several, or a list of policies, as
        text or as objects.  In a list of policies each is a family.
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
        Other fields of :class:`~borgtrace.experiments.ExperimentPlan`: ``seeds``, ``machines``, ``target``,
        ``horizon``, ``resources``, ``tasks``, ``metrics``.

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
    described = {"stores": stores, "policies": policies, **settings}
    plan = plan_of(described) if file is None else read_plan(file)
    prepared = prepare(plan, memory)
    with ExitStack() as stack:
        if out is None:
            out = stack.enter_context(tempfile.TemporaryDirectory(prefix="borgtrace-"))
        return run_prepared(
            prepared, Path(out), jobs=jobs, engine=engine, backend=backend, report=report
        )


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
    labels = {key: policy.label for key, policy in prepared.policies.items()}
    cells = list(finished_cells(prepared, out))
    analysis = analyze(prepared.plan, cells, labels, prepared.horizon // WINDOW)
    if not analysis.runs:
        horizon = write_time(prepared.horizon)
        raise NotApplicable(
            f"no slot has a whole horizon ({horizon}) before the trace ends: name a shorter horizon"
        )
    words = sentences(prepared.plan, analysis)
    result = ExperimentResult(
        plan=prepared.plan,
        cells=result_of(RUNS, analysis.runs, prepared),
        policies=result_of(
            replace(POLICIES, sentence=lambda _: words), analysis.policies, prepared
        ),
        comparisons=result_of(COMPARISONS, analysis.comparisons, prepared),
        n_computed=n_computed,
    )
    result.write(out)
    return result


def result_of(question: Question, rows: list[Row], prepared: PreparedExperiment) -> Result:
    """Return rows as an answer, checked against its declaration."""
    plan = prepared.plan
    keys = "".join(cell.key for cell in prepared.cells)
    generations = {store.manifest.generation for store in prepared.stores.values()}
    provenance = Provenance(
        store=", ".join(plan.stores),
        digest=hashlib.sha256(keys.encode()).hexdigest(),
        generation=", ".join(sorted(generations)),
        parameters={
            "seeds": list(plan.seeds),
            "machines": plan.machines,
            "target": plan.target,
            "horizon": prepared.horizon,
            "resources": list(plan.resources),
            "tasks": list(plan.tasks),
        },
    )
    return Result(question, conform(rows, question.schema), provenance)
