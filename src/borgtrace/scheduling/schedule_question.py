"""Questions that schedule a trace again: their options, the schedules to make, and notes about the trace."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, NamedTuple

from borgtrace.engine import tasks_on
from borgtrace.engine.workers import map_workers
from borgtrace.errors import UsageError
from borgtrace.kernels.arrays import Index
from borgtrace.question import EngineTables, Row
from borgtrace.question.store_question import NamedCode, StoreQuestion
from borgtrace.scheduling.event_log import write_event_log
from borgtrace.scheduling.lifetimes import JobLabels, predictions_of, read_labels
from borgtrace.scheduling.plan import TaskPlan, parse_plan, plan_of
from borgtrace.scheduling.policies import (
    PlacementPolicy,
    as_policy,
    attributes_of,
    label_of,
    scores_of,
)
from borgtrace.scheduling.replay import (
    RECORDED,
    ScheduleInput,
    calibrated,
    impossible,
    recorded,
    replayed,
    with_factor,
)
from borgtrace.scheduling.scheduler import Scheduler
from borgtrace.scheduling.variants import costliest, parse_machines, parse_upgrade, variants
from borgtrace.schema.bounds import PROCESSES, SEED, SHARE, check_fields
from borgtrace.store import Store

BEST_FIT = "best-fit"
DEFAULTS = (RECORDED, BEST_FIT, f"{BEST_FIT}+preempt")
DEFAULTS_OF_EMPTY = (RECORDED, BEST_FIT, "nilas", "lava")
"""Where it is asked for empty machines."""


@dataclass(frozen=True, slots=True)
class SimulateOptions:
    """Options of a simulation.

    Attributes
    ----------
    policies
        Policies as text, or objects of :class:`borgtrace.Scheduler`; `DEFAULTS` by default.
    factor
        Share of their requests that tasks below production take; 0 calibrates it.
    plan
        Estimator of what all tasks take, such as ``gpa:0.01``, instead of the factor; none where empty.
    whole_jobs
        Whether tasks of a job that arrive together start together or not at all.
    seed
        Of random orders of machines.
    each_constraint
        Whether the constraints on each attribute are dropped in turn, too.
    add_machines
        Machines to add, as text; each is a what-if of its own.
    upgrade_machines
        Shapes of machines to replace, as text; each is a what-if of its own.
    event_log
        Folder of a store to write of the schedule; none where empty.
    jobs
        Processes: each replays one policy at a time.
    """

    policies: Sequence[str | Scheduler | PlacementPolicy] = DEFAULTS
    factor: Annotated[float, SHARE] = 0.0
    plan: str = ""
    whole_jobs: bool = False
    seed: Annotated[int, SEED] = 0
    each_constraint: bool = False
    add_machines: Sequence[str] = ()
    upgrade_machines: Sequence[str] = ()
    event_log: str = ""
    jobs: Annotated[int, PROCESSES] = 1

    def __post_init__(self) -> None:
        if self.event_log and (len(self.policies) != 1 or RECORDED in self.policies):
            raise UsageError(
                "--event-log",
                "not one schedule",
                expected="one --policy, not recorded",
                got=", ".join(label_of(policy) for policy in self.policies),
            )
        for text in self.add_machines:
            parse_machines(text)
        for text in self.upgrade_machines:
            parse_upgrade(text)
        if self.plan and self.factor:
            raise UsageError(
                "--factor",
                "not beside --plan",
                expected="one of the two",
                got=f"--plan {self.plan} --factor {self.factor:g}",
            )
        if self.plan:
            parse_plan(self.plan)
        check_fields(self)
        policies = self.parsed_policies()
        if self.whole_jobs:
            refuse_lifetimes(policies)

    def parsed_policies(self) -> dict[str, PlacementPolicy | None]:
        """Return the policies by name, None for the trace itself; refuse unknown ones."""
        parsed: dict[str, PlacementPolicy | None] = {}
        for value in self.policies:
            policy = None if value == RECORDED else as_policy(value)
            parsed[label_of(value)] = policy
        return parsed


def refuse_lifetimes(policies: Mapping[str, PlacementPolicy | None]) -> None:
    """Refuse policies that know lifetimes, where tasks of a job start together.

    Raises
    ------
    UsageError
        There is one.
    """
    for name, policy in policies.items():
        if policy is not None and policy.lifetimes:
            raise UsageError(
                "--whole-jobs",
                "not beside a policy that knows lifetimes",
                expected=f"one without, such as {BEST_FIT}",
                got=name,
            )


def named_schedulers(options: SimulateOptions) -> dict[str, Callable[..., Any]]:
    """Return the scores of schedulers that are not ours, by their names.

    Parameters
    ----------
    options
        Of the simulation.
    """
    return scores_of(policy for policy in options.parsed_policies().values() if policy)


class PolicyRun(NamedTuple):
    """One schedule to make.

    Attributes
    ----------
    label
        Name of the policy, and of the change of the trace.
    policy
        None: what was recorded.
    trace
        As it is, or changed.
    is_logged
        Whether the schedule is written as a store of its own.
    """

    label: str
    policy: PlacementPolicy | None
    trace: ScheduleInput
    is_logged: bool


class PolicyRows(NamedTuple):
    """Rows of one schedule, and the schedule itself where it is written as a store of its own."""

    rows: list[Row]
    submissions: Index | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleQuestion(StoreQuestion):
    """A question that schedules a trace again.

    ``compute(trace, submissions, policy, planned, impossible)`` returns the rows of one policy.

    Attributes
    ----------
    note
        Called with what has to be known of the trace.
    """

    options: type[Any] = SimulateOptions
    code: NamedCode = field(default=named_schedulers, compare=False)
    reads: Sequence[str] = ("machine_events", "instance_events")
    note: Callable[[str], None] = field(default=lambda text: None, compare=False)

    def recorded_parameters(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """Name schedulers that were given as objects by their labels."""
        policies = [label_of(policy) for policy in parameters["policies"]]
        return {**parameters, "policies": policies}

    def rows_of_store(
        self,
        store: Store,
        tables: EngineTables,
        options: SimulateOptions,
        /,
    ) -> list[Row]:
        """Schedule the trace again with each policy; see the base."""
        self.report("reading", 0, len(options.policies))
        trace = ScheduleInput.of(
            tables,
            store.manifest.time_range["instance_events"][1],
            attributes_of(options.parsed_policies().values()),
        )
        plan = None
        factor = 1.0
        if options.plan:
            plan = plan_of(parse_plan(options.plan), tables, trace.tasks, store)
        else:
            factor = options.factor or calibrated(trace)
        self.note(describe_input(trace, plan))
        runs = list(runs_of(trace, tables, options))
        labels = None
        if any(run.policy and run.policy.lifetimes for run in runs):
            labels = read_labels(tables, trace.tasks)
        schedule = partial(
            rows_of_run,
            options=options,
            plan=plan,
            factor=factor,
            compute=self.compute,
            labels=labels,
        )
        rows: list[Row] = []
        for result in map_workers(
            schedule,
            self._report_each(runs),
            tasks_on(tables.engine, store.memory) or options.jobs,
            place=str(store.path),
        ):
            rows += result.rows
            if result.submissions is not None:
                log_schedule(store, trace, result.submissions, options)
        for sentence in costliest(rows):
            self.note(sentence)
        return rows

    def _report_each(self, runs: Sequence[PolicyRun]) -> Iterator[PolicyRun]:
        """Yield the schedules to make, reporting each before."""
        for done, run in enumerate(runs):
            self.report(run.label, done, len(runs))
            yield run


def log_schedule(
    store: Store,
    trace: ScheduleInput,
    submissions: Index,
    options: SimulateOptions,
) -> None:
    """Write the one schedule that was asked for as a store."""
    write_event_log(
        store,
        trace,
        submissions,
        policy=label_of(options.policies[0]),
        seed=options.seed,
        out=options.event_log,
    )


def runs_of(
    trace: ScheduleInput,
    tables: EngineTables,
    options: SimulateOptions,
) -> Iterator[PolicyRun]:
    """Yield the schedules to make: each policy on each variant of the trace."""
    traces = list(
        variants(
            trace,
            tables,
            each_constraint=options.each_constraint,
            machines=options.add_machines,
            upgrades=options.upgrade_machines,
        )
    )
    for name, policy in options.parsed_policies().items():
        # What was recorded cannot change.
        for variant in traces if policy else traces[:1]:
            yield PolicyRun(
                label=f"{name}{variant.suffix}",
                policy=policy,
                trace=variant.trace,
                is_logged=bool(options.event_log) and not variant.suffix,
            )


def rows_of_run(
    run: PolicyRun,
    *,
    options: SimulateOptions,
    plan: TaskPlan | None,
    factor: float,
    compute: Callable[..., list[Row]],
    labels: JobLabels | None,
) -> PolicyRows:
    """Make one schedule, and return its rows."""
    trace = run.trace
    if run.policy is None:
        submissions = recorded(trace)
        planned = with_factor(trace.tasks, 1.0)
        never_fit = impossible(trace)
    else:
        predictions = None
        if run.policy.lifetimes:
            predictions = predictions_of(run.policy.lifetimes, trace.runs, labels)
        submissions = replayed(
            trace,
            run.policy,
            factor,
            seed=options.seed,
            plan=plan,
            whole_jobs=options.whole_jobs,
            predictions=predictions,
        )
        planned = plan.lasting if plan else with_factor(trace.tasks, factor)
        never_fit = impossible(trace, plan)
    rows = compute(trace, submissions, run.label, planned, never_fit)
    return PolicyRows(rows, submissions if run.is_logged else None)


def describe_input(trace: ScheduleInput, plan: TaskPlan | None) -> str:
    """Say what of the trace could not be used as it is."""
    tasks = trace.tasks
    machines = trace.machines
    never_fit = impossible(trace, plan)
    names = [f"{tasks.collection[k]}/{tasks.instance[k]}" for k in never_fit[:3].tolist()]
    examples = f" ({', '.join(names)} …)" if names else ""
    oddities = {
        "without SUBMIT": trace.without_submit,
        "without request": tasks.without_request,
        "on machines that are not known": trace.unknown_machine,
        f"that fit no machine{examples}": len(never_fit),
    }
    parts = [f"{number:,} {words}" for words, number in oddities.items() if number]
    noun = "attempt" if len(tasks) == 1 else "attempts"
    sentence = f"{len(tasks):,} {noun}"
    if parts:
        sentence += f": {', '.join(parts)}"
    noun = "machine" if len(machines.ids) == 1 else "machines"
    sentence += f"; {len(machines.ids):,} {noun}"
    if machines.without_capacity:
        sentence += f", {machines.without_capacity:,} others without a capacity"
    if plan:
        unmeasured = f"{plan.unmeasured:,} attempts without usage take what they ask for"
        sentence += f"; {plan.label}: {unmeasured}"
    if plan and plan.slowed:
        sentence += f"; {plan.slowed:,} attempts take more CPU, slowed down by neighbors"
    return sentence
