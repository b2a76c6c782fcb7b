"""Run the cells of an experiment that are not finished, each kept as soon as it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from borgtrace.engine import tasks_on
from borgtrace.engine.joblib_backends import map_backend
from borgtrace.engine.workers import map_workers
from borgtrace.errors import UsageError
from borgtrace.experiments.cells import Cell, CellRunner, key_of, read_cell, write_cell
from borgtrace.experiments.plan import ExperimentPlan
from borgtrace.forecast import walks
from borgtrace.notation import with_stored_sizes
from borgtrace.overcommit import PeakPolicy, ReplayInput, ReplayOptions, open_replay
from borgtrace.overcommit.replay_question import why_nothing_can_be_replayed
from borgtrace.question import EngineTables, NotApplicable
from borgtrace.question.store_question import Report, no_report
from borgtrace.question.study_times import StudyTimes, study_times
from borgtrace.storage import INCOMPLETE, remove
from borgtrace.store import Store
from borgtrace.store import open as open_store

CELLS = "cells"
"""Folder of finished cells in that of an experiment."""
Prepared = Mapping[tuple[str, str], PeakPolicy]


@dataclass(frozen=True, eq=False)
class PreparedExperiment:
    """An experiment whose stores are open: its cells are known, and none is computed.

    Attributes
    ----------
    plan
        What it is.
    stores
        Open, by label.
    options
        Of the replays, by store.
    policies
        By store and policy as the plan names it.
    cells
        All of them: stores, then policies, then seeds, in the order of the plan.
    times
        What suits the shortest store.
    """

    plan: ExperimentPlan
    stores: Mapping[str, Store]
    options: Mapping[str, ReplayOptions]
    policies: Prepared
    cells: Sequence[Cell]
    times: StudyTimes

    @property
    def horizon(self) -> int:
        """How far ahead peaks are predicted, µs."""
        return self.plan.horizon or self.times.horizon

    def missing(self, out: Path) -> list[Cell]:
        """Return the cells that are not finished in a folder; of those with one key the first."""
        by_key = {cell.key: cell for cell in self.cells}
        return [
            cell
            for cell in self.cells
            if by_key[cell.key] is cell and read_cell(out / CELLS, cell) is None
        ]


def prepare(plan: ExperimentPlan, memory: str = "4GB") -> PreparedExperiment:
    """Open the stores of an experiment, and return it with its cells.

    Parameters
    ----------
    plan
        The experiment.
    memory
        Budget of the engine for each store.

    Raises
    ------
    StoreError
        A store cannot be opened.
    UsageError
        A policy, a parameter, a resource or a metric is unknown.
    """
    stores = {label: open_store(path, memory=memory) for label, path in plan.stores.items()}
    times = min((study_times(store) for store in stores.values()), key=lambda one: one.span)
    options: dict[str, ReplayOptions] = {}
    policies: dict[tuple[str, str], PeakPolicy] = {}
    cells = []
    for label, store in stores.items():
        of_store = with_stored_sizes(_options_of(plan, times), store.manifest)
        options[label] = replace(of_store, policies=tuple(of_store.parsed()))
        for family, members in plan.policies.items():
            for member in members:
                name = name_of(member)
                (policy,) = replace(of_store, policies=(member,)).parsed()
                policies[label, name] = policy
                for seed in plan.seeds:
                    key = key_of(plan, options[label], policy, seed, store.digest)
                    cells.append(Cell(label, family, name, seed, key))
    return PreparedExperiment(plan, stores, options, policies, cells, times)


def _options_of(plan: ExperimentPlan, times: StudyTimes) -> ReplayOptions:
    members = [member for family in plan.policies.values() for member in family]
    return ReplayOptions(
        policies=tuple(members),
        tasks=tuple(plan.tasks),
        resources=tuple(plan.resources),
        metrics=tuple(plan.metrics),
        horizon=plan.horizon or times.horizon,
        most_warmup=times.warmup,
    )


def name_of(member: str | PeakPolicy) -> str:
    """Return what a policy of a plan is called: as it was written, or by its label."""
    return member if isinstance(member, str) else member.label


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
    runner = _runner(prepared, missing, report)
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


def _runner(prepared: PreparedExperiment, missing: Sequence[Cell], report: Report) -> CellRunner:
    """Open the replays of the stores that have missing cells."""
    inputs = {
        label: _open_input(prepared, label, report)
        for label in {cell.store: None for cell in missing}
    }
    return CellRunner(inputs, prepared.policies, prepared.options, prepared.plan.machines)


def _open_input(prepared: PreparedExperiment, label: str, report: Report) -> ReplayInput:
    """Return what the replays of a store read, once it is sure that each seed draws another sample."""
    store = prepared.stores[label]
    tables = EngineTables.of(store, None, memory=store.memory)
    replay_input = open_replay(store, tables, prepared.options[label], report, walks)
    n_machines = len(replay_input.usage.machines)
    if not n_machines:
        reason = why_nothing_can_be_replayed(replay_input.usage.facts)
        raise NotApplicable(f"store {label}: {reason}")
    plan = prepared.plan
    if len(plan.seeds) > 1 and plan.machines >= n_machines:
        raise UsageError(
            "seeds",
            f"they change nothing in store {label}: each sample would have all of its machines",
            expected=f"machines below {n_machines:,}, or one seed",
            got=f"machines = {plan.machines:,}",
        )
    return replay_input


def finished_cells(prepared: PreparedExperiment, out: Path) -> Iterator[tuple[Cell, pa.Table]]:
    """Yield each cell with its sums, as its file holds them.

    Raises
    ------
    UsageError
        A cell is missing: somebody removed its file meanwhile.
    """
    for cell in prepared.cells:
        sums = read_cell(out / CELLS, cell)
        if sums is None:
            raise UsageError(
                str(out / CELLS / f"{cell.key}.parquet"),
                "a finished cell has gone or was changed",
                way_out="run the experiment again",
            )
        yield cell, sums
