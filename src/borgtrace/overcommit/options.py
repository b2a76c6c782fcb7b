"""The options of a replay: which policies, on which machines, judged how."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from borgtrace.errors import UsageError, check_names
from borgtrace.extensions import kind_of
from borgtrace.lifecycle.by_machine import Metric, default_metric, find_metric
from borgtrace.overcommit.policies import PeakPolicy, parse_policy
from borgtrace.overcommit.replay import RESOURCES
from borgtrace.schema import Dialect
from borgtrace.schema.bounds import (
    HORIZON,
    PROBABILITY,
    PROCESSES,
    SAMPLE_OR_ALL,
    SEED,
    TIME,
    UNIT_OPTIONS,
    UNIT_SIZE,
    check_fields,
)
from borgtrace.schema.time import WINDOW, Microseconds

DEFAULTS = (
    "limit",
    "borg",
    "max",
    "average",
    "task-percentile",
    "machine-percentile",
    "nsigma",
    "nsigma+task-percentile",
    "gpa",
    "katalyst-realtime",
    "koordinator-batch",
)
"""Policies of the table where none is named."""

_HISTORIES = ("2h", "10h", "1d")


def _sweep() -> tuple[str, ...]:
    policies = [f"borg:phi={phi}" for phi in (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)]
    for history in _HISTORIES:
        policies += [f"nsigma:n={n},history={history}" for n in (1, 2, 3, 5, 7.5, 10)]
    for name in ("task", "machine"):
        for history in _HISTORIES:
            for q in (50, 90, 95, 99, 100):
                policies.append(f"{name}-percentile:q={q},history={history}")
    for history in _HISTORIES:
        policies += [f"gpa:rho={rho},history={history}" for rho in (0.1, 0.01, 0.001, 1e-6)]
    return tuple(policies)


SWEEP = _sweep()
"""History × parameter of every family that has a safety parameter."""


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """Options of a replay.

    Attributes
    ----------
    policies
        Policies as text, or objects of :class:`~borgtrace.overcommit.PeakPolicy`; `DEFAULTS` by default.
    tasks
        Whose peak is predicted: ``all``, ``high`` (high priority) or a tier.
    resources
        ``cpu``, ``memory`` or both.
    horizon
        Length of the oracle's horizon, µs.
    machines
        Size of a random sample of machines; 0 takes all.
    metrics
        What is taken as usage, at most one of each resource; the dialect's default elsewhere.
    shapes
        Whether there are rows for each shape of machine, too.
    is_capped
        Whether policies see usage as at most its limit.
    is_literal
        Whether samples, history and oracle are those of Google's simulator.
    cores, gib
        Cores and GiB of the largest machine, for policies whose buckets are cores and bytes; 0 for what the store
        knows.
    target
        Violation rate that an advice must keep.
    period
        Length of the periods on which an advice is judged, µs.
    most_warmup
        Longest warm-up of policies that name none, µs, for short traces; 0 leaves each its own.
    model
        File of trained forecasters, for the policy forecast; empty for none.
    seed
        Of the sample of machines.
    jobs
        Processes.
    """

    policies: Sequence[str | PeakPolicy] = DEFAULTS
    tasks: Sequence[str] = ("all",)
    resources: Sequence[str] = RESOURCES
    horizon: Annotated[Microseconds, HORIZON] = 288 * WINDOW
    machines: Annotated[int, SAMPLE_OR_ALL] = 0
    metrics: Sequence[str] = ()
    shapes: bool = False
    is_capped: bool = True
    is_literal: bool = False
    cores: Annotated[float, UNIT_SIZE] = 0.0
    gib: Annotated[float, UNIT_SIZE] = 0.0
    target: Annotated[float, PROBABILITY] = 0.01
    period: Annotated[Microseconds, HORIZON] = 288 * WINDOW
    most_warmup: Annotated[Microseconds, TIME] = 0
    model: str = ""
    seed: Annotated[int, SEED] = 0
    jobs: Annotated[int, PROCESSES] = 1

    def __post_init__(self) -> None:
        check_names("--resource", self.resources, RESOURCES)
        check_fields(self, UNIT_OPTIONS)
        self.parsed()

    @property
    def horizon_slots(self) -> int:
        """Length of the oracle's horizon in slots."""
        return self.horizon // WINDOW

    @property
    def period_slots(self) -> int:
        """Length of the periods of an advice in slots."""
        return self.period // WINDOW

    def parsed(self) -> list[PeakPolicy]:
        """Return the policies, each once; refuse unknown ones."""
        return [self._parse(policy) for policy in dict.fromkeys(self.policies)]

    def _parse(self, policy: str | PeakPolicy) -> PeakPolicy:
        if isinstance(policy, PeakPolicy):
            return policy
        if not isinstance(policy, str):
            raise UsageError(
                "policies",
                "not a policy",
                expected="names, and objects of classes derived from borgtrace.overcommit.PeakPolicy",
                got=kind_of(policy),
            )
        return parse_policy(
            policy,
            {"cores": self.cores, "gib": self.gib},
            is_literal=self.is_literal,
            most_warmup=self.most_warmup // WINDOW,
        )

    def metric(self, dialect: Dialect, resource: str) -> Metric:
        """Return what is taken as the usage of a resource: the last one named, else the dialect's default."""
        chosen = default_metric(dialect, resource)
        for name in self.metrics:
            metric = find_metric(name)
            if metric.name.endswith(resource):
                chosen = metric
        return chosen


def policies_by_tasks(options: ReplayOptions) -> dict[str, list[PeakPolicy]]:
    """Return the policies that are judged, by the tasks they are judged on.

    A policy of high-priority tasks is judged on them alone.

    Parameters
    ----------
    options
        Tasks and policies.
    """
    policies = options.parsed()
    high_only = [policy for policy in policies if policy.high_only]
    others = [policy for policy in policies if not policy.high_only]
    by_tasks: dict[str, list[PeakPolicy]] = {}
    for tasks in options.tasks:
        judged = policies if tasks == "high" else others
        if judged:
            by_tasks[tasks] = judged
    if high_only:
        by_tasks.setdefault("high", high_only)
    return by_tasks
