"""An experiment with schedulers: its stores open, its cells, and what these say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from borgtrace.errors import check_names
from borgtrace.experiments.cells import Cell, CellSums
from borgtrace.experiments.results import result_of
from borgtrace.experiments.running import Answers, PreparedExperiment
from borgtrace.experiments.schedules.analysis import analyze
from borgtrace.experiments.schedules.cells import SCHEMA, ScheduleRunner, StoreTrace, key_of
from borgtrace.experiments.schedules.plan import ALL, SchedulePlan, name_of, policy_of
from borgtrace.experiments.schedules.sentences import sentences
from borgtrace.experiments.schedules.tables import COMPARISONS, POLICIES, RUNS
from borgtrace.question import EngineTables, NotApplicable
from borgtrace.question.store_question import Report
from borgtrace.scheduling import SIMULATE, PlacementPolicy, ScheduleInput
from borgtrace.scheduling.plan import parse_plan, plan_of
from borgtrace.scheduling.policies import attributes_of, scores_of
from borgtrace.scheduling.replay import calibrated
from borgtrace.store import Store
from borgtrace.store import open as open_store


@dataclass(frozen=True, eq=False)
class ScheduleExperiment(PreparedExperiment):
    """An experiment with schedulers whose stores are open.

    Attributes
    ----------
    plan
        What it is.
    policies
        By name; None for what was recorded.
    """

    schema = SCHEMA
    plan: SchedulePlan
    policies: Mapping[str, PlacementPolicy | None]

    @property
    def parameters(self) -> dict[str, Any]:
        """What the provenance names."""
        plan = self.plan
        return {
            "seeds": list(plan.seeds),
            "tiers": list(plan.tiers),
            "factor": plan.factor,
            "plan": plan.plan,
            "whole_jobs": plan.whole_jobs,
        }

    @property
    def code(self) -> Mapping[str, Any]:
        """Scores of schedulers that are not ours, by name."""
        return scores_of(policy for policy in self.policies.values() if policy)

    def runner(self, missing: Sequence[Cell], report: Report) -> ScheduleRunner:
        """Read the traces of the stores that have missing cells; see the base.

        Raises
        ------
        NotApplicable
            A store has nothing to schedule.
        """
        labels = list({cell.store: None for cell in missing})
        inputs = {}
        for n_done, label in enumerate(labels):
            report("reading", n_done, len(labels))
            inputs[label] = self._read(label)
        return ScheduleRunner(inputs, self.policies, self.plan.whole_jobs)

    def _read(self, label: str) -> StoreTrace:
        store = self.stores[label]
        tables = EngineTables.of(store, None, memory=store.memory)
        try:
            tables.require(*SIMULATE.reads)
            trace = ScheduleInput.of(
                tables,
                store.manifest.time_range["instance_events"][1],
                attributes_of(self.policies.values()),
            )
            if self.plan.plan:
                tasks = plan_of(parse_plan(self.plan.plan), tables, trace.tasks, store)
                return StoreTrace(trace, 1.0, tasks)
        except NotApplicable as reason:
            raise NotApplicable(f"store {label}: {reason}") from reason
        return StoreTrace(trace, self.plan.factor or calibrated(trace), None)

    def answers(self, finished: CellSums) -> Answers:
        """Return what the cells say."""
        analysis = analyze(self.plan, finished)
        words = sentences(self.plan, analysis)
        return Answers(
            result_of(RUNS, analysis.runs, self),
            result_of(replace(POLICIES, sentence=lambda _: words), analysis.policies, self),
            result_of(COMPARISONS, analysis.comparisons, self),
        )


def prepare_schedules(plan: SchedulePlan, memory: str = "4GB") -> ScheduleExperiment:
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
        A scheduler or a tier is unknown.
    """
    policies = {name_of(member): policy_of(member) for member in plan.members}
    stores = {label: open_store(path, memory=memory) for label, path in plan.stores.items()}
    cells = []
    for label, store in stores.items():
        check_tiers(plan, label, store)
        for family, members in plan.schedulers.items():
            for member in members:
                name = name_of(member)
                for seed in plan.seeds:
                    key = key_of(plan, policies[name], seed, store.digest)
                    cells.append(Cell(label, family, name, seed, key))
    return ScheduleExperiment(stores, cells, plan, policies)


def check_tiers(plan: SchedulePlan, label: str, store: Store) -> None:
    """Refuse tiers that a store does not know.

    Raises
    ------
    UsageError
        One is unknown.
    """
    known = [ALL, *(name for name, _, _ in store.manifest.dialect.tiers)]
    check_names("tiers", plan.tiers, known, f"no such tier in store {label}")
