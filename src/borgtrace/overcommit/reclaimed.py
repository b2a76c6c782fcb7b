"""What best-effort work finds room in reclaimed resources, and at what price in evictions?

Production tasks keep a reservation: their limit for the first 300 s, then decaying with a half-life toward their usage
plus a margin, and rising to it at once. The part of their limits beyond the reservation is reclaimed. Best-effort tasks
(every tier below production) are admitted into what production does not reserve, each by its limit, on the machine and
in the time where the trace has them: the highest priority first, and of one priority the task that has been there
longest. Where the reservations grow into admitted work, or all usage exceeds the machine, tasks are evicted until the
rest fits: the lowest priority first, and of one priority the youngest. An evicted task may return in a later slot.
Usage that was not measured counts as the limit. *Machines saved* is what is admitted beyond the row of *limit*, which
reclaims nothing, in mean machines. The trace goes on as it was: a task that is not admitted loses that time, and no
task moves to another machine.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.notation import percent
from borgtrace.overcommit.block import MachineBlock, SampleColumns, Samples, continues_run
from borgtrace.overcommit.options import ReplayOptions
from borgtrace.overcommit.oracle import SLACK
from borgtrace.overcommit.policies import Limit, PeakPolicy, Prediction, Reservation
from borgtrace.overcommit.priorities import LOWEST, serving
from borgtrace.overcommit.rates import SLOTS_PER_DAY, share
from borgtrace.overcommit.replay import ReplayPart
from borgtrace.overcommit.replay_question import ReplayQuestion
from borgtrace.question import Answer, Column, NotApplicable, Row, charts, query_answer
from borgtrace.schema.time import HOUR, WINDOW

ANSWER = Answer(
    grain="resource and policy",
    key=[
        Column("resource", "string", "id", "Resource: cpu or memory."),
        Column(
            "policy",
            "string",
            "id",
            "What production reserves: limit, or reservation with its margin and half-life.",
        ),
    ],
    columns=[
        Column(
            "margin",
            "float64",
            "1",
            "Margin above usage; NULL for limit.",
            nullable=True,
        ),
        Column(
            "half_life",
            "float64",
            "h",
            "Half-life of the decay; NULL for limit.",
            nullable=True,
        ),
        Column(
            "machines",
            "int64",
            "count",
            "Machines with production or best-effort tasks and a known capacity.",
        ),
        Column(
            "reclaimed",
            "float64",
            "fraction",
            "Limits of production that are not reserved, as a share of the capacity.",
        ),
        Column(
            "exceeded",
            "float64",
            "fraction",
            "Share of the slots in which production uses more than it reserves.",
        ),
        Column(
            "admitted",
            "float64",
            "fraction",
            "Limits of best-effort tasks that are admitted, as a share of all of theirs.",
            nullable=True,
        ),
        Column(
            "saved",
            "float64",
            "machines",
            "What is admitted beyond the row of limit, in mean machines.",
        ),
        Column(
            "evictions",
            "float64",
            "1/d",
            "Evictions per admitted task and day; NULL where none is admitted.",
            nullable=True,
        ),
    ],
    most_important=[
        "policy",
        "exceeded",
        "saved",
        "evictions",
        "resource",
        "admitted",
        "reclaimed",
    ],
)


MARGINS = (0.0, 0.1, 0.2, 0.5, 1.0)
HALF_LIVES = (1, 12, 144)
"""Slots: 5 min, 1 h and 12 h."""


def _reservation_policies() -> list[PeakPolicy]:
    policies: list[PeakPolicy] = [Limit()]
    for half_life in HALF_LIVES:
        for margin in MARGINS:
            policies.append(Reservation(margin=margin, half_life=half_life))
    return policies


POLICIES = _reservation_policies()
"""What production tasks may reserve."""

N_SUMS = 9
SLOTS, CAPACITY, LIMITS, RESERVED, EXCEEDED, REQUESTED, ADMITTED, TASK_SLOTS, EVICTIONS = range(
    N_SUMS
)
"""Columns of the sums of a machine and policy: slots, and Σ over them of capacity, of limits and reservations of
production, of slots in which it exceeds its reservations, of limits that best-effort tasks have and that are admitted,
of admitted tasks, and of evictions."""


def compute(
    part: ReplayPart,
    policies: Sequence[PeakPolicy],
    options: ReplayOptions,
) -> list[Row]:
    """Return a row for each of `POLICIES`, whatever is named.

    Parameters
    ----------
    part
        What is replayed.
    policies, options
        Not used.

    Raises
    ------
    NotApplicable
        Where the trace has no best-effort tasks, or no machine has windows that follow each other.
    """
    lowest = serving(part.input.dialect)
    if lowest <= LOWEST:
        raise NotApplicable(
            "the trace has no tier production, so nothing in it is best effort: "
            "it takes tasks with priorities"
        )
    score = partial(admit_best_effort, policies=POLICIES, lowest=lowest)
    return trade_off(part.replay((), 1, score), part.resource)


def admit_best_effort(
    block: MachineBlock,
    horizon: int,
    predictions: Sequence[Prediction],
    *,
    policies: Sequence[PeakPolicy],
    lowest: int,
) -> Numbers:
    """Return what a machine admits under each policy: float64 (policies, N_SUMS).

    Parameters
    ----------
    block
        The machine with all its tasks.
    horizon, predictions
        Not used: a reservation holds for the next slot.
    policies
        What production tasks reserve.
    lowest
        Lowest priority of production.
    """
    block = _assume_limits(block)
    is_production = block.priority >= lowest
    production = block.take(is_production).all
    best_effort = block.take(~is_production)
    slots = block.all.slots
    limits = _sum_in_slots(slots, production, production.limit)
    used = _sum_in_slots(slots, production, production.usage)
    columns = _columns_of_slots(best_effort.all, slots)
    out = np.zeros((len(policies), N_SUMS))
    for sums, policy in zip(out, policies, strict=True):
        reserved = _sum_in_slots(slots, production, reservations_in_force(production, policy))
        machine = MachineSeries(
            block.capacity,
            limits,
            used,
            reserved,
        )
        _admit(
            columns,
            best_effort.priority,
            machine,
            sums,
        )
    return out


def _assume_limits(block: MachineBlock) -> MachineBlock:
    """Return a machine on which all usage is known: a task that was not measured may have used all of its limit."""
    return replace(
        block,
        all=replace(block.all, usage=block.assumed_usage),
        is_known=np.ones(len(block.all), np.bool_),
    )


def _sum_in_slots(
    slots: Index,
    samples: Samples,
    values: Numbers,
) -> Numbers:
    """Return the sums of values of samples in some slots, 0 where there are none."""
    out = np.zeros(len(slots))
    out[np.searchsorted(slots, samples.slots)] = samples.sums(values)
    return out


def _columns_of_slots(samples: Samples, slots: Index) -> SampleColumns:
    """Return the columns of samples with offsets for each of some slots, whether they have samples or not."""
    columns = samples.columns
    place = np.minimum(np.searchsorted(samples.slots, slots), len(samples.slots))
    offsets = np.append(columns.offsets[place], len(samples))
    return columns._replace(offsets=offsets)


def reservations_in_force(samples: Samples, policy: PeakPolicy) -> Numbers:
    """Return what each task has reserved during each slot: what it had at the end of the slot before.

    Parameters
    ----------
    samples
        Of production tasks.
    policy
        What they reserve.
    """
    out = samples.limit.copy()
    if isinstance(policy, Reservation) and len(samples):
        is_same_task = np.diff(samples.task) == 0
        is_next_slot = np.diff(samples.slot) == 1
        before = np.flatnonzero(is_same_task & is_next_slot)
        out[before + 1] = np.minimum(out[before + 1], policy.of_tasks(samples)[before])
    return out


class MachineSeries(NamedTuple):
    """Capacity, and limits, usage and reservations of production tasks, in each slot of a machine: (m,)."""

    capacity: Numbers
    limits: Numbers
    used: Numbers
    reserved: Numbers


@compiled()
def _admit(
    columns: SampleColumns,
    priority: Index,
    machine: MachineSeries,
    sums: Numbers,
) -> None:
    """Admit and evict best-effort tasks slot by slot, and add up what the answer needs.

    Parameters
    ----------
    columns, priority
        Samples of best-effort tasks (n,), with offsets for each slot of the machine (m + 1,).
    machine
        The machine and its production tasks.
    sums
        Added to: shape (N_SUMS,).
    """
    limit = columns.limit
    is_in = np.zeros(columns.task.size, np.bool_)
    since = np.zeros(columns.task.size, np.int64)
    for j in range(machine.capacity.size):
        capacity = machine.capacity[j]
        present = columns.order[columns.offsets[j] : columns.offsets[j + 1]]
        admitted_limits = _carry_over(columns, present, is_in, since)
        if not capacity > 0:
            is_in[present] = False
            continue
        was_in = is_in[present].copy()
        room = (capacity - machine.reserved[j]) + SLACK * capacity
        tasks = _AdmittedTasks(is_in, priority, since)
        n_for_limits, admitted_limits = _evict(present, tasks, limit, admitted_limits, 0.0, room)
        _admit_waiting(present, tasks, was_in, limit, admitted_limits, room)
        running = 0.0
        for i in present:
            running += columns.usage[i] * is_in[i]
        n_for_usage, _ = _evict(
            present,
            tasks,
            columns.usage,
            running,
            machine.used[j],
            capacity * (1 + SLACK),
        )
        _add_slot(machine, j, sums)
        sums[EVICTIONS] += n_for_limits + n_for_usage
        for i in present:
            sums[REQUESTED] += limit[i]
            sums[ADMITTED] += limit[i] * is_in[i]
            sums[TASK_SLOTS] += is_in[i]


@compiled()
def _add_slot(
    machine: MachineSeries,
    j: int,
    sums: Numbers,
) -> None:
    """Add up a slot of a machine and its production tasks."""
    sums[SLOTS] += 1
    sums[CAPACITY] += machine.capacity[j]
    sums[LIMITS] += machine.limits[j]
    sums[RESERVED] += machine.reserved[j]
    sums[EXCEEDED] += machine.used[j] > machine.reserved[j] * (1 + SLACK)


@compiled()
def _carry_over(
    columns: SampleColumns,
    present: Index,
    is_in: Flags,
    since: Index,
) -> float:
    """Keep the tasks admitted that were in the slot before, and return the sum of their limits."""
    limits = 0.0
    for i in present:
        was_there = continues_run(columns.task, columns.slot, i)
        since[i] = since[i - 1] if was_there else columns.slot[i]
        is_in[i] = was_there and is_in[i - 1]
        limits += columns.limit[i] * is_in[i]
    return limits


class _AdmittedTasks(NamedTuple):
    """Which samples are of admitted tasks, their priorities, and since when they are there: (n,)."""

    is_in: Flags
    priority: Index
    since: Index


@compiled()
def _admit_waiting(
    present: Index,
    tasks: _AdmittedTasks,
    was_in: Flags,
    limit: Numbers,
    admitted_limits: float,
    room: float,
) -> None:
    """Admit tasks into the room that is left, the best first; one evicted in this slot waits for the next."""
    rank = -tasks.priority[present] * 2.0**31 + tasks.since[present]
    for p in np.argsort(rank, kind="mergesort"):
        i = present[p]
        if not tasks.is_in[i] and not was_in[p] and admitted_limits + limit[i] <= room:
            tasks.is_in[i] = True
            admitted_limits += limit[i]


@compiled()
def _evict(
    present: Index,
    tasks: _AdmittedTasks,
    amounts: Numbers,
    total: float,
    others: float,
    bound: float,
) -> tuple[int, float]:
    """Evict tasks until what they and others take is within a bound; return how many, and what the rest takes."""
    n_evicted = 0
    while others + total > bound:
        worst = _next_to_evict(present, tasks.is_in, tasks.priority, tasks.since)
        if worst < 0:
            break
        tasks.is_in[worst] = False
        n_evicted += 1
        total -= amounts[worst]
    return n_evicted, total


@compiled(inline=True)
def _next_to_evict(
    present: Index,
    is_in: Flags,
    priority: Index,
    since: Index,
) -> int:
    """Return the admitted task that goes first: the lowest priority, of it the youngest, of those the last; or −1."""
    worst = -1
    for i in present:
        if not is_in[i]:
            continue
        if worst < 0 or (priority[i], -since[i]) <= (priority[worst], -since[worst]):
            worst = i
    return worst


def all_tasks(options: ReplayOptions) -> dict[str, list[PeakPolicy]]:
    """Return all tasks; what production reserves is `POLICIES`, whatever is named."""
    return {"all": []}


def trade_off(sums_of_machines: Numbers, resource: str) -> list[Row]:
    """Return the rows of one resource.

    Parameters
    ----------
    sums_of_machines
        What :func:`admit_best_effort` returns, of each machine: float64 (machines, policies, N_SUMS).
    resource
        Its name.

    Raises
    ------
    NotApplicable
        Where no machine has more than one slot.
    """
    has_slots = sums_of_machines[:, 0, SLOTS] > 0
    judged = sums_of_machines[has_slots]
    if not len(judged):
        return []
    NotApplicable.unless(
        judged[:, 0, SLOTS].max() > 1,
        "no machine has usage of more than one window: what production reserves follows from its usage in the window "
        "before, so this takes a trace of at least two",
    )
    n_machines = len(judged)
    totals = judged.sum(axis=0)
    admitted_without_reclaiming = totals[0, ADMITTED]
    rows = []
    for policy, total in zip(POLICIES, totals, strict=True):
        margin = None
        half_life = None
        if isinstance(policy, Reservation):
            margin = policy.margin
            half_life = policy.half_life * WINDOW / HOUR
        more_admitted = total[ADMITTED] - admitted_without_reclaiming
        reclaimed = total[LIMITS] - total[RESERVED]
        rows.append(
            {
                "resource": resource,
                "policy": policy.label,
                "margin": margin,
                "half_life": half_life,
                "machines": n_machines,
                "reclaimed": float(reclaimed / total[CAPACITY]),
                "exceeded": float(total[EXCEEDED] / total[SLOTS]),
                "admitted": share(total[ADMITTED], total[REQUESTED]),
                "saved": float(more_admitted / total[CAPACITY] * n_machines),
                "evictions": evictions_per_day(total),
            }
        )
    return rows


def evictions_per_day(total: Numbers) -> float | None:
    """Return evictions per admitted task and day; None where none is admitted."""
    if not total[TASK_SLOTS]:
        return None
    return float(total[EVICTIONS] / total[TASK_SLOTS] * SLOTS_PER_DAY)


def most_saved(answer: pa.Table) -> str:
    """Return a sentence for each resource: what reserving usage instead of limits saves, and its price.

    From the policy that production exceeds least to the one that saves most: what lies between is a choice.

    Parameters
    ----------
    answer
        Rows of this question.
    """
    rows_by_resource: dict[str, list[Row]] = {}
    for row in answer.to_pylist():
        rows_by_resource.setdefault(row["resource"], []).append(row)
    sentences = []
    for resource, rows in rows_by_resource.items():
        saving = [row for row in rows if row["saved"] > 0 and row["evictions"] is not None]
        if not saving:
            sentences.append(f"{resource}: {why_nothing_is_saved(rows)}.")
            continue
        safest = min(saving, key=lambda row: row["exceeded"])
        most = max(saving, key=lambda row: row["saved"])
        sentences.append(
            f"{resource}: of {safest['machines']:,} machines, room for best-effort work of {price_of(safest)}"
            + (f", to {price_of(most)}." if most is not safest else ".")
        )
    return "\n".join(sentences)


def why_nothing_is_saved(rows: Sequence[Row]) -> str:
    """Say why no policy admits more best-effort work than limits do.

    Parameters
    ----------
    rows
        Of the answer, of one resource.
    """
    by_limits = next(row for row in rows if row["margin"] is None)
    if by_limits["admitted"] is None:
        return "no best-effort task ran, so none could use what production leaves"
    if by_limits["admitted"] >= 1:
        return (
            "all best-effort tasks that ran fit beside the limits of production, "
            "so reserving usage instead admits no more of them"
        )
    return "reserving usage instead of limits admitted no more best-effort tasks in this trace"


def price_of(row: Row) -> str:
    """Say how many machines a policy saves, how often production exceeds it, and what is evicted.

    Parameters
    ----------
    row
        Of the answer.
    """
    return (
        f"{row['saved']:.3g} machines ({row['policy']}: production uses more than it reserves in "
        f"{percent(row['exceeded'])} of the slots, {row['evictions']:.3g} evictions per task and day)"
    )


def chart(answer: pa.Table) -> charts.Chart:
    """Draw evictions over what best-effort work in reclaimed resources saves: a curve for each half-life."""
    import altair as alt

    rows = query_answer(
        answer,
        """
        select *, if(half_life is null, 'limit', format('half-life {:.2g} h', half_life))
            as reservation from answer
        where evictions is not null
        """,
    )
    base = charts.base(rows, height=200).encode(
        x=alt.X("saved:Q", title="machines saved"),
        y=alt.Y("evictions:Q", title="evictions per task and day"),
    )
    lines = base.mark_line(strokeWidth=1, opacity=0.5).encode(
        detail="reservation:N",
        tooltip=charts.tooltips(rows, "saved", "evictions", "reservation"),
    )
    points = base.mark_point(filled=True, size=40).encode(
        color=alt.Color("reservation:N", title="reservation"),
        tooltip=charts.tooltips(rows),
    )
    return (
        alt.layer(lines, points)
        .facet(
            row=charts.rows_of_panels("resource"),
        )
        .properties(
            title="Best-effort work in reclaimed resources: what it saves, and its evictions"
        )
    )


RECLAIMED = ReplayQuestion(
    name="reclaimed",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    sentence=most_saved,
    reference=(
        "Zhu et al., Measure 1; Verma et al., EuroSys'15, §5.5 (resource reclamation). "
        "The price is our simulation"
    ),
    too_short="no machine with a known capacity has tasks",
    policies_by_tasks=all_tasks,
)
"""The trade-off: ``RECLAIMED.run(store, resources=("cpu",))``."""
