"""The base of the questions that replay the machines of a store, and what a replay reads."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from borgtrace.engine import tasks_on
from borgtrace.errors import UsageError, check_names
from borgtrace.lifecycle.by_machine import MachineUsage, machine_usage, machine_usage_of_cluster
from borgtrace.notation import with_stored_sizes
from borgtrace.overcommit.options import ReplayOptions, policies_by_tasks
from borgtrace.overcommit.policies import PeakPolicy
from borgtrace.overcommit.policies.policy import Maximum
from borgtrace.overcommit.pools import POOLS
from borgtrace.overcommit.replay import Capacities, ReplayInput, ReplayPart
from borgtrace.question import EngineTables, NotApplicable, Row, Tables
from borgtrace.question.store_question import NamedCode, Report, StoreQuestion
from borgtrace.question.study_times import in_words, study_times
from borgtrace.schema.time import TRACE_START, WINDOW, write_time
from borgtrace.store import Store
from borgtrace.store.manifest import Manifest

Forecasts = Callable[[Store, str, str], Mapping[str, Any]]
"""From a store, a resource and a file of trained forecasters (empty for none) to forecasters by name, which make means
and deviations of the next slots from the tasks, slots and usage of samples: :func:`borgtrace.forecast.walks`."""


def named_policies(options: ReplayOptions) -> dict[str, PeakPolicy]:
    """Return the policies of a replay by name, those of a maximum one by one.

    Parameters
    ----------
    options
        Of the replay.
    """
    named = {}
    for policy in options.parsed():
        parts = policy.policies if isinstance(policy, Maximum) else (policy,)
        named.update({part.name: part for part in parts})
    return named


def no_forecasts(
    store: Store,
    resource: str,
    model: str,
) -> Mapping[str, Any]:
    """Return no forecasters, with the arguments that :data:`Forecasts` take."""
    return {}


def open_replay(
    store: Store,
    tables: Tables,
    options: ReplayOptions,
    report: Report,
    forecasts: Forecasts = no_forecasts,
) -> ReplayInput:
    """Return what a replay of a store reads; usage by machine is computed first where it is not kept.

    Parameters
    ----------
    store, tables
        An open store and its tables.
    options
        Metrics, and how samples and history are made.
    report
        Called with the step, how much of it is done, and how much there is.
    forecasts
        Forecasters that policies may name.

    Raises
    ------
    UsageError
        Where a policy names another forecaster, or looks beyond slots that have no time.
    """
    dialect = store.manifest.dialect
    pools = {}
    for resource in options.resources:
        pools[resource] = _read_pools(store, resource, options, forecasts)
    return ReplayInput(
        usage=_usage_by_machine(store, tables, options, report),
        capacities=Capacities.of(tables),
        dialect=dialect,
        is_capped=options.is_capped,
        is_literal=options.is_literal,
        pools=pools,
        first_slot=first_measured_slot(store.manifest),
    )


def _usage_by_machine(
    store: Store,
    tables: Tables,
    options: ReplayOptions,
    report: Report,
) -> MachineUsage:
    """Return usage by machine; workers of Spark make that of a store in a bucket, which is all that they share."""
    dialect = store.manifest.dialect
    cpu = options.metric(dialect, "cpu")
    memory = options.metric(dialect, "memory")
    workers = tasks_on(tables.engine, store.memory)
    if workers and store.bucket_keeper and tables.has("instance_usage"):
        return machine_usage_of_cluster(
            store,
            store.bucket_keeper,
            workers,
            cpu,
            memory,
            is_whole=options.is_literal,
            report=report,
        )
    return machine_usage(
        store,
        tables.instance_events,
        tables.instance_attempts,
        cpu,
        memory,
        is_whole=options.is_literal,
        report=report,
    )


def first_measured_slot(manifest: Manifest) -> int:
    """Return the first slot of which usage was measured; 0 where it was from the beginning, or none was.

    Parameters
    ----------
    manifest
        Of a store: one that was cut from another by time has events from before its usage.
    """
    first, _ = manifest.time_range.get("instance_usage") or (TRACE_START, TRACE_START)
    return max(int(first) - TRACE_START, 0) // WINDOW


def _read_pools(
    store: Store,
    resource: str,
    options: ReplayOptions,
    forecasts: Forecasts,
) -> dict[str, Any]:
    """Return what the policies know beyond a machine's past, by name."""
    policies = [policy for policy in options.parsed() if policy.pools]
    if policies and options.is_literal:
        raise UsageError(
            "--compat",
            "its slots have no time",
            expected="policies that need none",
            got=", ".join(policy.label for policy in policies),
            way_out="leave out these policies, or --compat crf",
        )
    names: set[str] = set()
    for policy in policies:
        names.update(policy.pools)
    named_forecasters = sorted(names - POOLS.keys())
    forecasters = forecasts(store, resource, options.model) if named_forecasters else {}
    check_names("--policy", named_forecasters, forecasters, "no such forecaster")
    metric = options.metric(store.manifest.dialect, resource)
    pools = {}
    for name in sorted(names):
        if name in forecasters:
            pools[name] = forecasters[name]
        else:
            pools[name] = POOLS[name](store, metric)
    return pools


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
)
class ReplayQuestion(StoreQuestion):
    """A question that replays the machines of a store: ``compute(part, policies, options)``, rows of one part.

    A part is some tasks and one resource.

    Attributes
    ----------
    too_short
        The reason why it is not applicable where nothing could be judged.
    forecasts
        Forecasters that policies may name; none by default.
    policies_by_tasks
        Returns the policies that are judged, by the tasks they are judged on.
    looks_ahead
        Whether a slot is judged by the whole horizon after it.
    """

    options: type[Any] = ReplayOptions
    code: NamedCode = field(default=named_policies, compare=False)
    reads: Sequence[str] = ("instance_usage", "instance_events")
    too_short: str = "no slot has a whole horizon before the trace ends"
    forecasts: Forecasts = field(default=no_forecasts, compare=False)
    policies_by_tasks: Callable[[ReplayOptions], dict[str, list[PeakPolicy]]] = policies_by_tasks
    looks_ahead: bool = False

    def recorded_parameters(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """Name policies that were given as objects by their labels."""
        policies = [
            policy.label if isinstance(policy, PeakPolicy) else policy
            for policy in parameters["policies"]
        ]
        return {**parameters, "policies": policies}

    def rows_of_store(
        self, store: Store, tables: EngineTables, options: ReplayOptions, /
    ) -> list[Row]:
        """Replay the machines of a store; see the base."""
        options = with_stored_sizes(options, store.manifest)
        replay_input = open_replay(
            store,
            tables,
            options,
            self.report,
            self.forecasts,
        )
        n_machines = len(replay_input.usage.machines)
        places = sample_machines(n_machines, options.machines, options.seed)
        if not places:
            raise NotApplicable(why_nothing_can_be_replayed(replay_input.usage.facts))
        span = study_times(store).span
        # Before machines are replayed, which may take minutes.
        if self.looks_ahead and not options.is_literal and span <= options.horizon:
            raise NotApplicable(too_short_for(self.too_short, store, options))
        rows = []
        workers = tasks_on(tables.engine, store.memory) or options.jobs
        for resource in options.resources:
            for tasks, policies in self.policies_by_tasks(options).items():
                part = ReplayPart(
                    input=replay_input,
                    tasks=tasks,
                    resource=resource,
                    places=places,
                    jobs=workers,
                    report=self.report,
                )
                rows += self.compute(part, policies, options)
        if not rows:
            raise NotApplicable(too_short_for(self.too_short, store, options))
        return rows


def too_short_for(reason: str, store: Store, options: ReplayOptions) -> str:
    """Return why nothing was judged, with the horizon that suits the store, or how much usage would do."""
    times = study_times(store)
    spans = f"usage spans {in_words(times.span)}, the horizon is {in_words(options.horizon)}"
    if times.horizon < options.horizon:
        return f"{reason} ({spans}): try --horizon {write_time(times.horizon)}"
    return f"{reason} ({spans}): a longer trace is needed"


def why_nothing_can_be_replayed(facts: Mapping[str, Any]) -> str:
    """Return the sentence that names what usage lacks where none of it belongs to a machine."""
    reasons = []
    if facts["without_machine"]:
        windows = count_of_windows(facts["without_machine"])
        reasons.append(f"{windows} without a machine (column machine_id) or inside an alloc set")
    if facts["without_limit"]:
        reasons.append(f"{count_of_windows(facts['without_limit'])} of tasks without requests")
    return f"no usage can be replayed: {', '.join(reasons) or 'there is none'}"


def count_of_windows(n: int) -> str:
    """Return how many windows there are, in words.

    Examples
    --------
    >>> count_of_windows(1), count_of_windows(2000)
    ('1 window', '2,000 windows')
    """
    return "1 window" if n == 1 else f"{n:,} windows"


def sample_machines(
    n: int,
    size: int,
    seed: int,
) -> list[int]:
    """Return positions of a random sample of machines, ascending; all of them where `size` is 0 or too large.

    Parameters
    ----------
    n
        Number of machines.
    size
        How many are wanted.
    seed
        Of the sample.
    """
    if not 0 < size < n:
        return list(range(n))
    rng = np.random.default_rng(seed)
    return np.sort(rng.choice(n, size, replace=False)).tolist()
