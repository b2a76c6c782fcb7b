"""Plan tasks by measured usage instead of their requests: estimators of `borgtrace.placement` as the room test.

A size (average, cantelli, percentile, request, reservation) replaces the request of a task.  With gpa, means and
variances of the tasks of a machine are summed, and mean + z·√variance may be at most its capacity, z = Φ⁻¹(1 − ρ).
CPU and memory are tested each by itself.  All windows of a task count, later ones too: a perfect forecast.

With share:CPU,MEMORY a task takes these shares of what it asks for, as on machines that promise no more.

With overcommit:POLICY a task takes what a policy of `borgtrace.overcommit` predicts for it after its last slot, or
after the last one that had ended at a moment; at most what it asks for.

With reclaimed a task takes what it asks for when it starts, and from 300 s on less and less, down to what reservation
plans (:mod:`borgtrace.scheduling.transitions`); tasks that run when the trace begins take that from the start.
Production must also fit by what production asks for: it never relies on reclaimed room.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from borgtrace.errors import UsageError
from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.question import NotApplicable, Tables
from borgtrace.scheduling.machines import EXTENDED, NOTHING, UNIT, Demand, to_units
from borgtrace.scheduling.neighbors import slowdown
from borgtrace.scheduling.workload import TaskAttempts, values_of
from borgtrace.schema.bounds import MARGIN, POSITIVE_SHARE, check_number

if TYPE_CHECKING:
    from borgtrace.placement import Estimator

SIZES = ("average", "cantelli", "percentile", "request")
RESERVATION = "reservation"
"""Usage and a margin, at most what a task asks for."""
RECLAIMED = "reclaimed"
"""The same after a while, beside production by its limits: Verma et al., EuroSys'15, section 5.5."""
SHARE = "share"
"""Shares of what a task asks for, of CPU and of memory: what machines promise of it."""
OVERCOMMIT = "overcommit"
"""What a policy of that command predicts for a task by itself."""
COVERED = 0.9
"""Share of the tasks that must have usage for these two."""
CPI = "+cpi"
"""Behind any of them: more CPU for tasks that their neighbors slow down (:mod:`borgtrace.scheduling.neighbors`)."""
LARGEST_RHO = 0.5
"""Above this ρ, GPA plans less than the mean."""


@dataclass(frozen=True, slots=True)
class Planner:
    """What plans tasks.

    Attributes
    ----------
    label, estimator
        Its name and parameter, and what they stand for.
    is_limited, is_decaying
        Whether a task takes at most what it asks for, and whether it takes that first.
    is_cpi_aware
        Whether it takes more CPU where its neighbors slow it down.
    policy
        What predicts for each task what stands for its mean; None: its windows tell.
    shares
        Shares of CPU and memory of the requests that a task takes, whatever it uses; None: an estimator says it.
    """

    label: str
    estimator: Estimator
    is_limited: bool = False
    is_decaying: bool = False
    is_cpi_aware: bool = False
    policy: Any = None
    shares: tuple[float, float] | None = None

    @property
    def is_gpa(self) -> bool:
        """Whether the estimator is the Gaussian one, which tests room by variances, too."""
        return self.estimator.name == "gpa"


@dataclass(frozen=True, eq=False)
class TaskPlan:
    """What tasks are planned with.

    Attributes
    ----------
    label
        The estimator and its parameter.
    sizes, variances
        int64 (n, 2): expected CPU and memory in units, and their variances in squared units.
    safety
        As of :class:`borgtrace.scheduling.machines.CellState`.
    unmeasured
        How many tasks have no usage and take what they ask for.
    lasting
        int64 (n, 2): what they take at last; `sizes` where nothing decays.
    limits
        int64 (n, 2): what production asks for, 0 for others: their sum is at most the capacity of a machine, whatever
        is reserved.  No tasks where nothing decays.
    slowed
        How many take more CPU, as their neighbors slow them down.
    by_policy
        Whether an overcommit policy says what they take.
    """

    label: str
    sizes: Index
    variances: Index
    safety: float
    unmeasured: int
    lasting: Index
    limits: Index = field(default_factory=lambda: NOTHING)
    slowed: int = 0
    by_policy: bool = False

    @property
    def is_decaying(self) -> bool:
        """Whether tasks take less after a while."""
        return len(self.limits) > 0

    def of(self, demand: Demand) -> Demand:
        """Return tasks with what they are planned with."""
        planned = replace(
            demand,
            sizes=self.sizes,
            variances=self.variances,
            safety=self.safety,
        )
        extended = [amounts for amounts in (demand.extended, self.limits) if len(amounts)]
        if not extended:
            return planned
        return replace(planned, extended=np.hstack(extended))

    def of_machines(self, capacity: Index) -> Index:
        """Return the capacities of machines for what :meth:`of` returns."""
        if not self.is_decaying:
            return capacity
        return np.hstack([capacity, capacity[:, :EXTENDED]])

    def slowed_by(self, share: Numbers) -> TaskPlan:
        """Return the plan with so much more CPU for each task: float64 (n,)."""
        factors = np.column_stack([1 + share, np.ones_like(share)])
        return replace(
            self,
            sizes=np.rint(self.sizes * factors).astype(np.int64),
            lasting=np.rint(self.lasting * factors).astype(np.int64),
            slowed=int((share > 0).sum()),
        )


@dataclass(frozen=True, eq=False)
class UsageSummary:
    """What estimators ask of an observation, from a summary of each task's windows: float64 (n,)."""

    mean: Numbers
    std: Numbers
    peak: Numbers
    quantile: Numbers
    request: Numbers

    @property
    def variance(self) -> Numbers:
        """Square of the deviation."""
        return np.square(self.std)

    @property
    def moments(self) -> Numbers:
        """Of the moments only the mean and the last, the maximum, are known."""
        return np.column_stack([self.mean] * 5 + [self.peak])

    def percentile(self, level: float) -> Numbers:
        """Return the one percentile that is known."""
        return self.quantile


def parse_plan(text: str) -> Planner:
    """Read an estimator such as ``gpa:0.01``, ``percentile:95`` or ``reservation:0.25+cpi``.

    Raises
    ------
    UsageError
        For one that is unknown, or that no scheduler here tests room by.
    """
    planner = _parse_planner(text.removesuffix(CPI))
    if not text.endswith(CPI):
        return planner
    return replace(
        planner,
        label=f"{planner.label} with CPI",
        is_cpi_aware=True,
    )


def _parse_planner(text: str) -> Planner:
    # Compiled code that takes long to read: only who asks for an estimator waits.
    from borgtrace.placement import parse_estimator

    name, _, parameter = text.partition(":")
    if name == OVERCOMMIT:
        from borgtrace.overcommit.reservations import parse_task_policy

        policy = parse_task_policy(parameter)
        return Planner(
            label=f"{name} {policy.label}",
            estimator=parse_estimator("average:1"),
            is_limited=True,
            policy=policy,
        )
    if name == SHARE:
        return Planner(
            label=f"{name} {parameter}",
            estimator=parse_estimator("request:1"),
            shares=parse_shares(text, parameter),
        )
    if name in (RESERVATION, RECLAIMED):
        margin = parse_margin(text, name, parameter)
        return Planner(
            label=f"{name} {margin:g}",
            estimator=parse_estimator(f"average:{1 + margin}"),
            is_limited=True,
            is_decaying=name == RECLAIMED,
        )
    estimator = None
    if name in (*SIZES, "gpa"):
        estimator = parse_estimator(text, "--plan")
        check_number("--plan", estimator.parameter, MARGIN)
    if estimator is None or (name == "gpa" and estimator.parameter > LARGEST_RHO):
        others = f"{RESERVATION}, {RECLAIMED}, {SHARE}:CPU,MEMORY, {OVERCOMMIT}:POLICY, or gpa up to {LARGEST_RHO:g}"
        raise UsageError(
            "--plan",
            "no room test of a scheduler",
            expected=f"{', '.join(SIZES)}, {others}",
            got=text,
        )
    return Planner(estimator.label, estimator)


def parse_margin(text: str, name: str, parameter: str) -> float:
    """Read the margin of a plan by reservations."""
    try:
        margin = float(parameter)
    except ValueError:
        margin = -1.0
    if not MARGIN.contain(margin):
        raise UsageError(
            "--plan",
            "no margin",
            expected=f"{name}:SHARE, {MARGIN.describe()}",
            got=text,
        )
    return margin


def parse_shares(text: str, parameter: str) -> tuple[float, float]:
    """Read what machines promise of CPU and of memory, such as ``0.57,0.8``."""
    try:
        cpu, memory = (float(part) for part in parameter.split(","))
    except ValueError:
        cpu = memory = -1.0
    if not (POSITIVE_SHARE.contain(cpu) and POSITIVE_SHARE.contain(memory)):
        raise UsageError(
            "--plan",
            "no shares of requests",
            expected=f"{SHARE}:CPU,MEMORY, each {POSITIVE_SHARE.describe()}",
            got=text,
        )
    return cpu, memory


def plan_of(
    planner: Planner,
    tables: Tables,
    tasks: TaskAttempts,
    store: Any = None,
    until: int | None = None,
) -> TaskPlan:
    """Return what an estimator plans tasks with.

    Parameters
    ----------
    planner
        As :func:`parse_plan` returns it.
    tables, tasks, store
        Of one store, of which only a policy reads more than tables.
    until
        A policy sees what has ended by then, µs; None: it sees all, as estimators do.
    """
    if planner.shares:
        return plan_by_shares(planner, tasks)
    predicted = None
    if planner.policy:
        from borgtrace.overcommit.reservations import reservations

        predicted = values_of(reservations(store, tables, planner.policy, until), tasks)
    estimated = estimated_sizes(planner, tables, tasks, predicted)
    safety = 0.0
    if planner.is_gpa:
        safety = NormalDist().inv_cdf(1 - planner.estimator.parameter) ** 2
    plan = TaskPlan(
        label=planner.label,
        sizes=estimated.sizes,
        variances=estimated.variances,
        safety=safety,
        unmeasured=int((~estimated.is_measured).sum()),
        lasting=estimated.sizes,
        by_policy=bool(planner.policy),
    )
    if planner.is_decaying or planner.policy:
        share = estimated.is_measured.mean()
        NotApplicable.unless(share >= COVERED, f"{planner.label} needs usage of nine tasks in ten")
    if planner.is_decaying:
        plan = decaying(plan, tasks)
    if planner.is_cpi_aware:
        plan = plan.slowed_by(slowdown(tables, tasks))
    return plan


def plan_by_shares(planner: Planner, tasks: TaskAttempts) -> TaskPlan:
    """Return the plan by which tasks take shares of what they ask for."""
    # Rounded up: what is promised is never less than the share.
    sizes = np.ceil(tasks.sizes * np.array(planner.shares)).astype(np.int64)
    return TaskPlan(
        label=planner.label,
        sizes=sizes,
        variances=np.zeros_like(sizes),
        safety=0.0,
        unmeasured=0,
        lasting=sizes,
    )


class EstimatedSizes(NamedTuple):
    """What an estimator says that tasks take.

    Attributes
    ----------
    sizes, variances
        Of CPU and memory, int64 (n, 2), in units and in squared units.  Where nothing is known a task takes what it
        asks for.
    is_measured
        Whether both are known, bool (n,).
    """

    sizes: Index
    variances: Index
    is_measured: Flags


def estimated_sizes(
    planner: Planner,
    tables: Tables,
    tasks: TaskAttempts,
    predicted: Numbers | None,
) -> EstimatedSizes:
    """Estimate what tasks take, from their usage or from predictions.

    Parameters
    ----------
    planner
        With the estimator.
    tables, tasks
        Of one store.
    predicted
        What a policy predicts of CPU and memory, float64 (n, 2); None: there is no policy, and usage says it.
    """
    sizes = tasks.sizes.copy()
    variances = np.zeros_like(tasks.sizes)
    is_measured = np.ones(len(tasks), np.bool_)
    for place, resource in enumerate(("cpu", "memory")):
        if predicted is not None:
            # A prediction stands for mean, deviation, maximum and percentile.
            values = predicted[:, [place] * 4]
        else:
            values = usage_values(planner.estimator, tables, tasks, resource)
        is_known: Flags = ~np.isnan(values.sum(axis=1))
        items = estimated_items(planner, values[is_known], tasks.sizes[is_known, place])
        sizes[is_known, place] = to_units(items[:, 0])
        if planner.is_gpa:
            variances[is_known, place] = np.rint(items[:, 1] * UNIT**2)
        is_measured &= is_known
    return EstimatedSizes(sizes, variances, is_measured)


def estimated_items(planner: Planner, values: Numbers, requested: Index) -> Numbers:
    """Return what an estimator says of tasks; the first column is what they take.

    Parameters
    ----------
    planner
        With the estimator.
    values
        Mean, deviation, maximum and percentile of each task: float64 (n, 4).
    requested
        What they ask for, in units: int64 (n,); 0 where nothing is known.
    """
    request = np.where(requested > 0, requested / UNIT, np.nan)
    mean, std, peak, quantile = values.T
    usage: Any = UsageSummary(mean, std, peak, quantile, request)
    items = planner.estimator.items(usage, 1.0)
    if planner.is_limited:
        items[:, 0] = np.fmin(items[:, 0], request)
    return items


def decaying(plan: TaskPlan, tasks: TaskAttempts) -> TaskPlan:
    """Return the plan by which tasks take at first what they ask for, unless they run when the trace begins."""
    ran_before = tasks.times["schedule_time"] == 0
    return replace(
        plan,
        sizes=np.where(ran_before[:, None], plan.sizes, tasks.sizes),
        limits=np.where(tasks.is_production[:, None], tasks.sizes, 0),
    )


def usage_values(
    estimator: Estimator,
    tables: Tables,
    tasks: TaskAttempts,
    resource: str,
) -> Numbers:
    """Return mean, standard deviation, maximum and the estimator's percentile of each task: float64 (n, 4), or NaN."""
    usage = tables.instance_usage
    column = usage[f"average_{resource}"].cast("float64")
    level = estimator.parameter / 100 if estimator.name == "percentile" else 1.0
    by_task = usage.group_by("collection_id", "instance_index").aggregate(
        mean=column.mean(),
        std=column.std(how="pop"),
        most=column.max(),
        quantile=column.quantile(level),
    )
    return values_of(tables.fetch(by_task), tasks)
