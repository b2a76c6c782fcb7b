"""An experiment with peak policies: its stores open, its cells, and what these say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from borgtrace.errors import UsageError
from borgtrace.experiments.cells import Cell, CellSums
from borgtrace.experiments.peaks.analysis import analyze
from borgtrace.experiments.peaks.cells import SCHEMA, CellRunner, key_of
from borgtrace.experiments.peaks.plan import PeakPlan, name_of
from borgtrace.experiments.peaks.sentences import sentences
from borgtrace.experiments.peaks.tables import COMPARISONS, POLICIES, RUNS
from borgtrace.experiments.results import result_of
from borgtrace.experiments.running import Answers, PreparedExperiment
from borgtrace.forecast import walks
from borgtrace.notation import with_stored_sizes
from borgtrace.overcommit import PeakPolicy, ReplayInput, ReplayOptions, open_replay
from borgtrace.overcommit.replay_question import named_policies, why_nothing_can_be_replayed
from borgtrace.question import EngineTables, NotApplicable
from borgtrace.question.store_question import Report
from borgtrace.question.study_times import StudyTimes, study_times
from borgtrace.schema.time import WINDOW, write_time
from borgtrace.store import open as open_store


@dataclass(frozen=True, eq=False)
class PeakExperiment(PreparedExperiment):
    """An experiment with peak policies whose stores are open.

    Attributes
    ----------
    plan
        What it is.
    options
        Of the replays, by store.
    policies
        By store and policy as the plan names it.
    times
        What suits the shortest store.
    """

    schema = SCHEMA
    plan: PeakPlan
    options: Mapping[str, ReplayOptions]
    policies: Mapping[tuple[str, str], PeakPolicy]
    times: StudyTimes

    @property
    def horizon(self) -> int:
        """How far ahead peaks are predicted, µs."""
        return self.plan.horizon or self.times.horizon

    def runner(self, missing: Sequence[Cell], report: Report) -> CellRunner:
        """Open the replays of the stores that have missing cells; see the base.

        Raises
        ------
        UsageError
            Seeds change nothing in a store.
        NotApplicable
            A store has nothing to replay.
        """
        inputs = {
            label: _open_input(self, label, report)
            for label in {cell.store: None for cell in missing}
        }
        return CellRunner(inputs, self.policies, self.options, self.plan.machines)

    def answers(self, finished: CellSums) -> Answers:
        """Return what the cells say.

        Raises
        ------
        NotApplicable
            No slot has a whole horizon.
        """
        labels = {key: policy.label for key, policy in self.policies.items()}
        analysis = analyze(self.plan, finished, labels, self.horizon // WINDOW)
        if not analysis.runs:
            raise NotApplicable(
                f"no slot has a whole horizon ({write_time(self.horizon)}) before the trace ends: "
                "name a shorter horizon"
            )
        words = sentences(self.plan, analysis)
        return Answers(
            result_of(RUNS, analysis.runs, self),
            result_of(
                replace(POLICIES, sentence=lambda _: words),
                analysis.policies,
                self,
            ),
            result_of(COMPARISONS, analysis.comparisons, self),
        )

    @property
    def parameters(self) -> dict[str, Any]:
        """What the provenance names."""
        plan = self.plan
        return {
            "seeds": list(plan.seeds),
            "machines": plan.machines,
            "target": plan.target,
            "horizon": self.horizon,
            "resources": list(plan.resources),
            "tasks": list(plan.tasks),
        }

    @property
    def code(self) -> Mapping[str, Any]:
        """The policies by name, those of a maximum one by one."""
        named: dict[str, Any] = {}
        for options in self.options.values():
            named |= named_policies(options)
        return named


def prepare_peaks(plan: PeakPlan, memory: str = "4GB") -> PeakExperiment:
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
    return PeakExperiment(stores, cells, plan, options, policies, times)


def _options_of(plan: PeakPlan, times: StudyTimes) -> ReplayOptions:
    members = [member for family in plan.policies.values() for member in family]
    return ReplayOptions(
        policies=tuple(members),
        tasks=tuple(plan.tasks),
        resources=tuple(plan.resources),
        metrics=tuple(plan.metrics),
        horizon=plan.horizon or times.horizon,
        most_warmup=times.warmup,
    )


def _open_input(prepared: PeakExperiment, label: str, report: Report) -> ReplayInput:
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
