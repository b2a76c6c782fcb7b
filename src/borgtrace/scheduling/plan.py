"""What tasks were measured to take instead of what they ask for: estimators of `borgtrace.placement` as the room test.

A size (average, cantelli, percentile, request, reservation) takes the place of what a task asks for.  With gpa means
and variances of the tasks of a machine are summed, and mean + z·√variance may be at most its capacity, z = Φ⁻¹(1 − ρ).
CPU and memory are tested each by itself.  All windows of a task are looked at, later ones too: a forecast that is
perfect.

With overcommit:POLICY a task takes what a policy of `borgtrace.overcommit` predicts for it after its last slot, or
after the last one that had ended at a moment; at most what it asks for.

With reclaimed a task takes what it asks for when it starts, and from 300 s on less and less, down to what reservation
plans (:mod:`borgtrace.scheduling.transitions`); what runs when the trace begins takes that from the start.  Production
must also fit by what production asks for: it never relies on room that is reclaimed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from statistics import NormalDist
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from borgtrace.errors import UsageError
from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.question import NotApplicable, Tables
from borgtrace.scheduling.machines import EXTENDED, NOTHING, UNIT, Demand, to_units
from borgtrace.scheduling.neighbors import slowdown
from borgtrace.scheduling.workload import Tasks, values_of

if TYPE_CHECKING:
    from borgtrace.placement import Estimator

_SIZES = ("average", "cantelli", "percentile", "request")
_RESERVATION = "reservation"
"""Usage and a margin, at most what a task asks for."""
_RECLAIMED = "reclaimed"
"""The same after a while, beside production by its limits: Verma et al., EuroSys'15, section 5.5."""
_OVERCOMMIT = "overcommit"
"""What a policy of that command predicts for a task by itself."""
_COVERED = 0.9
"""Share of the tasks that must have usage for these two."""
_CPI = "+cpi"
"""Behind any of them: more CPU for tasks that their neighbors slow down (:mod:`borgtrace.scheduling.neighbors`)."""
_MOST = 0.5
"""Above this ρ less than the mean would stay free."""


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
    """

    label: str
    estimator: Estimator
    is_limited: bool = False
    is_decaying: bool = False
    is_cpi_aware: bool = False
    policy: Any = None


@dataclass(frozen=True, eq=False)
class Plan:
    """What tasks are planned with.

    Attributes
    ----------
    label
        The estimator and its parameter.
    sizes, variances
        int64 (n, 2): expected CPU and memory in units, and their variances in squared units.
    safety
        As of :class:`borgtrace.scheduling.machines.Cell`.
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
        limited = [part for part in (demand.extended, self.limits) if len(part)]
        planned = replace(
            demand,
            sizes=self.sizes,
            variances=self.variances,
            safety=self.safety,
        )
        return replace(planned, extended=np.hstack(limited)) if limited else planned

    def of_machines(self, capacity: Index) -> Index:
        """Return the capacities of machines for what :meth:`of` returns."""
        return np.hstack([capacity, capacity[:, :EXTENDED]]) if self.is_decaying else capacity


def parse_plan(text: str) -> Planner:
    """Read an estimator such as ``gpa:0.01``, ``percentile:95`` or ``reservation:0.25+cpi``.

    Raises
    ------
    UsageError
        For one that is unknown, or that no scheduler here tests room by.
    """
    # Compiled code that takes long to read: only who asks for an estimator waits.
    from borgtrace.placement import parse_estimator

    if text.endswith(_CPI):
        body = parse_plan(text.removesuffix(_CPI))
        return replace(body, label=f"{body.label} with CPI", is_cpi_aware=True)
    name, _, number = text.partition(":")
    if name == _OVERCOMMIT:
        from borgtrace.overcommit.reservations import parse_task_policy

        policy = parse_task_policy(number)
        return Planner(f"{name} {policy.label}", parse_estimator("average:1"), True, policy=policy)
    if name in (_RESERVATION, _RECLAIMED):
        try:
            margin = float(number)
        except ValueError:
            margin = -1.0
        if not 0 <= margin < np.inf:
            raise UsageError("--plan", "no margin", expected=f"{name}:SHARE, 0 or more", got=text)
        return Planner(
            f"{name} {margin:g}", parse_estimator(f"average:{1 + margin}"), True, name == _RECLAIMED
        )
    estimator = parse_estimator(text)
    if estimator.name not in _SIZES and not (
        estimator.name == "gpa" and estimator.parameter <= _MOST
    ):
        expected = f"{', '.join(_SIZES)}, {_RESERVATION}, {_RECLAIMED}, {_OVERCOMMIT}:POLICY, or gpa up to {_MOST:g}"
        raise UsageError("--plan", "no room test of a scheduler", expected=expected, got=text)
    return Planner(estimator.label, estimator)


def plan_of(
    planner: Planner,
    tables: Tables,
    tasks: Tasks,
    store: Any = None,
    until: int | None = None,
) -> Plan:
    """Return what an estimator plans tasks with.

    Parameters
    ----------
    planner
        As :func:`parse_plan` returns it.
    tables, tasks, store
        Of one store, of which only a policy reads more than tables.
    until
        What a policy looks at has ended by then, µs; None: it looks at all, as estimators do.
    """
    estimator = planner.estimator
    sizes = tasks.sizes.copy()
    variances = np.zeros_like(tasks.sizes)
    is_gpa = estimator.name == "gpa"
    is_measured = np.ones(len(tasks), np.bool_)
    if planner.policy:
        from borgtrace.overcommit.reservations import reservations

        predicted = values_of(reservations(store, tables, planner.policy, until), tasks)
    for place, resource in enumerate(("cpu", "memory")):
        values = (
            predicted[:, [place] * 4]
            if planner.policy
            else _values(estimator, tables, tasks, resource)
        )
        is_known: Flags = ~np.isnan(values.sum(axis=1))
        request = np.where(
            tasks.sizes[is_known, place] > 0, tasks.sizes[is_known, place] / UNIT, np.nan
        )
        mean, std, most, quantile = values[is_known].T
        seen: Any = SimpleNamespace(
            mean=mean,
            std=std,
            variance=np.square(std),
            request=request,
        )
        seen.moments = np.column_stack([mean] * 5 + [most])
        seen.percentile = lambda level, found=quantile: found
        items = estimator.items(seen, 1.0)
        taken = np.fmin(items[:, 0], request) if planner.is_limited else items[:, 0]
        sizes[is_known, place] = to_units(taken)
        if is_gpa:
            variances[is_known, place] = np.rint(items[:, 1] * UNIT**2)
        is_measured &= is_known
    safety = NormalDist().inv_cdf(1 - estimator.parameter) ** 2 if is_gpa else 0.0
    unmeasured = int((~is_measured).sum())
    plan = Plan(
        planner.label,
        sizes,
        variances,
        safety,
        unmeasured,
        sizes,
        by_policy=bool(planner.policy),
    )
    if planner.is_decaying or planner.policy:
        NotApplicable.unless(
            is_measured.mean() >= _COVERED, f"{planner.label} needs usage of nine tasks in ten"
        )
    if planner.is_decaying:
        ran = tasks.times["schedule_time"] == 0
        limits = np.where(tasks.is_production[:, None], tasks.sizes, 0)
        plan = replace(plan, sizes=np.where(ran[:, None], sizes, tasks.sizes), limits=limits)
    if planner.is_cpi_aware:
        more = slowdown(tables, tasks)
        grown = (
            np.rint(part * np.column_stack([1 + more, 0 * more + 1]))
            for part in (plan.sizes, plan.lasting)
        )
        sizes, lasting = (part.astype(np.int64) for part in grown)
        plan = replace(
            plan,
            sizes=sizes,
            lasting=lasting,
            slowed=int((more > 0).sum()),
        )
    return plan


def _values(
    estimator: Estimator,
    tables: Tables,
    tasks: Tasks,
    resource: str,
) -> Numbers:
    """Return mean, standard deviation, maximum and the percentile asked for of each task: float64 (n, 4), or NaN."""
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
