"""The question behind the table: a store replayed under many policies."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from borgtrace.errors import UsageError, check_names
from borgtrace.lifecycle.by_machine import Metric, default_metric, find_metric, machine_usage
from borgtrace.overcommit.policies import Policy, parse_policy
from borgtrace.overcommit.pools import POOLS
from borgtrace.overcommit.replay import RESOURCES, Capacities, Cell, Part
from borgtrace.question import EngineTables, NotApplicable, Row, Tables
from borgtrace.question.store_question import Report, StoreQuestion
from borgtrace.schema import Dialect
from borgtrace.schema.time import WINDOW
from borgtrace.store import Store

DEFAULTS = (
    *(
        "limit",
        "borg",
        "max",
        "average",
        "task-percentile",
        "machine-percentile",
        "nsigma",
        "nsigma+task-percentile",
    ),
    *("gpa", "katalyst-realtime", "koordinator-batch"),
)
"""Policies of the table where none is named."""
_HISTORIES = ("2h", "10h", "1d")
SWEEP = (
    *(f"borg:phi={phi}" for phi in (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)),
    *(f"nsigma:n={n},history={history}" for history in _HISTORIES for n in (1, 2, 3, 5, 7.5, 10)),
    *(
        f"{name}-percentile:q={q},history={history}"
        for name in ("task", "machine")
        for history in _HISTORIES
        for q in (50, 90, 95, 99, 100)
    ),
    *(
        f"gpa:rho={rho},history={history}"
        for history in _HISTORIES
        for rho in (0.1, 0.01, 0.001, 1e-6)
    ),
)
"""History × parameter of every family that has a safety parameter."""
Forecasts = Callable[[Store, str, str], Mapping[str, Any]]
"""From a store, a resource and a file of trained forecasters (empty for none) to forecasters by name, which make means
and deviations of the next slots from the tasks, slots and usage of samples: :func:`borgtrace.forecast.walks`."""


def _no_forecasts(store: Store, resource: str, model: str) -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True, slots=True)
class Setting:
    """What a replay may be told.

    Attributes
    ----------
    policies
        Policies as text; `DEFAULTS` by default.
    tasks
        Whose peak is predicted: ``all``, ``high`` (high priority) or a tier.
    resources
        ``cpu``, ``memory`` or both.
    horizon
        Length of the oracle's horizon, µs.
    machines
        A random sample of so many machines; 0 takes all.
    metrics
        What is taken as usage, at most one of each resource; the dialect's default elsewhere.
    shapes
        Whether there are rows for each shape of machine, too.
    is_capped
        Whether policies see usage as at most its limit.
    is_literal
        Whether slots and history are those of Google's simulator.
    cores, gib
        Cores and GiB of the largest machine, for policies whose buckets are cores and bytes; 0 where not known.
    target
        Violation rate that an advice must keep.
    model
        File of trained forecasters, for the policy forecast; empty for none.
    seed
        Of the sample of machines.
    jobs
        Processes.
    """

    policies: Sequence[str] = DEFAULTS
    tasks: Sequence[str] = ("all",)
    resources: Sequence[str] = RESOURCES
    horizon: int = 288 * WINDOW
    machines: int = 0
    metrics: Sequence[str] = ()
    shapes: bool = False
    is_capped: bool = True
    is_literal: bool = False
    cores: float = 0.0
    gib: float = 0.0
    target: float = 0.01
    model: str = ""
    seed: int = 0
    jobs: int = 1

    def __post_init__(self) -> None:
        check_names("--resource", self.resources, RESOURCES)
        if self.horizon < WINDOW:
            raise UsageError(
                "--horizon", "shorter than a slot", expected="5m or more", got=f"{self.horizon} µs"
            )
        if not 0 < self.target < 1:
            raise UsageError(
                "--target", "not a rate", expected="above 0 and below 1", got=f"{self.target:g}"
            )
        if self.machines < 0:
            raise UsageError(
                "--machines", "negative", expected="0 (all) or more", got=str(self.machines)
            )
        self.parsed()

    def parsed(self) -> list[Policy]:
        """Return the policies, each once; refuse those that there are not."""
        return [
            parse_policy(text, {"cores": self.cores, "gib": self.gib})
            for text in dict.fromkeys(self.policies)
        ]

    def metric(self, dialect: Dialect, resource: str) -> Metric:
        """Return what is taken as the usage of a resource."""
        chosen = [
            metric for metric in map(find_metric, self.metrics) if metric.name.endswith(resource)
        ]
        return chosen[-1] if chosen else default_metric(dialect, resource)


def open_cell(
    store: Store,
    tables: Tables,
    setting: Setting,
    report: Report,
    forecasts: Forecasts = _no_forecasts,
) -> Cell:
    """Return what a replay of a store reads, dealt to machines first where it is not kept.

    Parameters
    ----------
    store, tables
        An open store and its tables.
    setting
        Metrics, and how slots and history are made.
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
    pools = {
        resource: _pools(store, resource, setting, forecasts) for resource in setting.resources
    }
    cpu, memory = (setting.metric(dialect, resource) for resource in RESOURCES)
    given = store, tables.instance_events, tables.instance_attempts, cpu, memory
    usage = machine_usage(*given, is_whole=setting.is_literal, report=report)
    return Cell(usage, Capacities.of(tables), dialect, setting.is_capped, setting.is_literal, pools)


def _pools(store: Store, resource: str, setting: Setting, forecasts: Forecasts) -> Row:
    asked = [policy for policy in setting.parsed() if policy.pools]
    if asked and setting.is_literal:
        got = ", ".join(policy.label for policy in asked)
        expected, way_out = "policies that need none", "leave out these policies, or --compat crf"
        raise UsageError(
            "--compat", "its slots have no time", expected=expected, got=got, way_out=way_out
        )
    needed = {name for policy in asked for name in policy.pools}
    told = forecasts(store, resource, setting.model) if needed - POOLS.keys() else {}
    check_names("--policy", sorted(needed - POOLS.keys()), told, "no such forecaster")
    metric = setting.metric(store.manifest.dialect, resource)
    return {
        name: told[name] if name in told else POOLS[name](store, metric) for name in sorted(needed)
    }


def by_tasks(options: Setting) -> dict[str, list[Policy]]:
    """Return the policies that are judged, by the tasks they are judged on.

    Parameters
    ----------
    options
        Tasks and policies.
    """
    return _by_tasks(options.tasks, options.parsed())


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayQuestion(StoreQuestion):
    """A question that replays the machines of a store: ``compute(part, policies, options)``, rows of one part.

    A part is some tasks and one resource.

    Attributes
    ----------
    too_short
        What is said where nothing could be judged.
    forecasts
        Forecasters that policies may name; none by default.
    policies_by_tasks
        Returns what is judged, by the tasks it is judged on.
    """

    options: type[Any] = Setting
    reads: Sequence[str] = ("instance_usage", "instance_events")
    too_short: str = (
        "no slot has a whole horizon before the trace ends: choose a shorter one (--horizon)"
    )
    forecasts: Forecasts = field(default=_no_forecasts, compare=False)
    policies_by_tasks: Callable[[Setting], dict[str, list[Policy]]] = by_tasks

    def rows_of_store(self, store: Store, tables: EngineTables, options: Setting, /) -> list[Row]:
        """Replay the machines of a store; see the base."""
        cell = open_cell(store, tables, options, self.report, self.forecasts)
        places = sample(len(cell.usage.machines), options.machines, options.seed)
        if not places:
            raise NotApplicable(_nothing(cell.usage.facts))
        rows = []
        for resource in options.resources:
            for tasks, policies in self.policies_by_tasks(options).items():
                part = Part(cell, tasks, resource, places, options.jobs, self.report)
                rows += self.compute(part, policies, options)
        if not rows:
            raise NotApplicable(self.too_short)
        return rows


def _nothing(facts: Mapping[str, Any]) -> str:
    """Say which column usage lacks where none of it could be dealt to a machine."""
    return (
        f"no usage can be replayed: {facts['without_machine']:,} windows name no machine (column machine_id) or "
        f"belong to tasks of an alloc set, {facts['without_limit']:,} are of tasks without requests"
    )


def _by_tasks(tasks: Sequence[str], policies: Sequence[Policy]) -> dict[str, list[Policy]]:
    """Return what is replayed on which tasks: a policy of high-priority tasks is judged on them alone."""
    chosen = {
        name: [policy for policy in policies if name == "high" or not policy.high_only]
        for name in tasks
    }
    high = [policy for policy in policies if policy.high_only]
    if high:
        chosen.setdefault("high", high)
    return {name: found for name, found in chosen.items() if found}


def sample(n: int, size: int, seed: int) -> list[int]:
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
    return np.sort(np.random.default_rng(seed).choice(n, size, replace=False)).tolist()
