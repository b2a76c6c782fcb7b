"""What best-effort work finds room in reclaimed resources, and at what price in evictions?

Production tasks keep a reservation: their limit for the first 300 s, then decaying with a half-life toward their usage
and a margin, rising to it at once. What their limits hold beyond it is reclaimed. Best-effort tasks (every tier below
production) are admitted into what production does not reserve, where and while the trace has them, each by its limit:
the highest priority first, and of one priority the longest there. Where the reservations grow into admitted work, or
all usage exceeds the machine, tasks are evicted until it fits: the lowest priority first, and of one the youngest; an
evicted task may return in a later slot. Usage that was not measured counts as the limit. *Machines saved* is what is
admitted beyond the row of *limit*, which reclaims nothing, in mean machines. The trace goes on as it was: a task
that is not admitted runs no longer for it, and nothing moves to another machine.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.overcommit.block import Block, Columns, Samples
from borgtrace.overcommit.oracle import SLACK
from borgtrace.overcommit.policies import Limit, Policy, Prediction, Reservation
from borgtrace.overcommit.priorities import LOWEST, serving
from borgtrace.overcommit.replay import Part
from borgtrace.overcommit.study import ReplayQuestion, Setting
from borgtrace.overcommit.table import SLOTS_PER_DAY
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
        Column("margin", "float64", "1", "Margin above usage; NULL for limit.", nullable=True),
        Column(
            "half_life", "float64", "h", "Half-life of the decay; NULL for limit.", nullable=True
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
)


MARGINS = (0.0, 0.1, 0.2, 0.5, 1.0)
HALF_LIVES = (1, 12, 144)
"""Slots: 5 min, 1 h and 12 h."""
POLICIES = (
    Limit(),
    *(
        Reservation(margin=margin, half_life=half_life)
        for half_life in HALF_LIVES
        for margin in MARGINS
    ),
)
N_SUMS = 9
_SLOTS, _CAPACITY, _LIMITS, _RESERVED, _EXCEEDED, _ASKED, _ADMITTED, _TASK_SLOTS, _EVICTIONS = (
    range(N_SUMS)
)


def priced(
    block: Block,
    horizon: int,
    predictions: Sequence[Prediction],
    *,
    policies: Sequence[Policy],
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
    # What was not measured may have been anything up to the limit.
    usage = np.where(block.is_known, block.all.usage, block.all.limit)
    block = replace(
        block, all=replace(block.all, usage=usage), is_known=np.ones(len(usage), np.bool_)
    )
    serves, slots = block.priority >= lowest, block.all.slots
    production, rest = block.take(serves), block.take(~serves)
    held = production.all
    limits, used = _at(slots, held, held.limit), _at(slots, held, held.usage)
    place = np.searchsorted(rest.all.slots, slots)
    columns = rest.all.columns
    offsets = np.append(columns.offsets[np.minimum(place, len(rest.all.slots))], len(rest.all))
    out = np.zeros((len(policies), N_SUMS))
    for sums, policy in zip(out, policies, strict=True):
        machine = np.stack(
            [block.capacity, limits, used, _at(slots, held, _in_force(held, policy))]
        )
        _admit(columns._replace(offsets=offsets), rest.priority, machine, sums)
    return out


def _at(slots: Index, samples: Samples, values: Numbers) -> Numbers:
    """Return the sums of values of samples in some slots, 0 where there are none."""
    out = np.zeros(len(slots))
    out[np.searchsorted(slots, samples.slots)] = samples.sums(values)
    return out


def _in_force(samples: Samples, policy: Policy) -> Numbers:
    """Return what each task has reserved during each slot: what it had at the end of the slot before."""
    out = samples.limit.copy()
    if isinstance(policy, Reservation) and len(samples):
        goes_on = np.flatnonzero((np.diff(samples.task) == 0) & (np.diff(samples.slot) == 1)) + 1
        out[goes_on] = np.minimum(out[goes_on], policy.of_tasks(samples)[goes_on - 1])
    return out


@compiled()
def _admit(columns: Columns, priority: Index, machine: Numbers, sums: Numbers) -> None:
    """Admit and evict best-effort tasks slot by slot, and add up what the answer needs.

    Parameters
    ----------
    columns, priority
        Samples of best-effort tasks (n,), with offsets for each slot of the machine (m + 1,).
    machine
        Capacity, and limits, usage and reservations of the production tasks: shape (4, m).
    sums
        Added to: shape (N_SUMS,).
    """
    task, slot, usage, limit = columns.task, columns.slot, columns.usage, columns.limit
    capacity, limits, used, reserved = machine[0], machine[1], machine[2], machine[3]
    is_in, since = np.zeros(task.size, np.bool_), np.zeros(task.size, np.int64)
    for j in range(capacity.size):
        present = columns.order[columns.offsets[j] : columns.offsets[j + 1]]
        held, running, out = 0.0, 0.0, 0
        for i in present:
            goes_on = i > 0 and task[i] == task[i - 1] and slot[i] == slot[i - 1] + 1
            since[i] = since[i - 1] if goes_on else slot[i]
            is_in[i] = goes_on and is_in[i - 1]
            held += limit[i] * is_in[i]
        if not capacity[j] > 0:
            is_in[present] = False
            continue
        was_in = is_in[present].copy()
        room = (capacity[j] - reserved[j]) + SLACK * capacity[j]
        while held > room:
            worst = _last(present, is_in, priority, since)
            if worst < 0:
                break
            is_in[worst], out, held = False, out + 1, held - limit[worst]
        # The best first; one that was evicted in this slot waits for the next.
        for i in present[
            np.argsort(-priority[present] * 2.0**31 + since[present], kind="mergesort")
        ]:
            fresh = not was_in[np.searchsorted(present, i)] if present.size else True
            if not is_in[i] and fresh and held + limit[i] <= room:
                is_in[i], held = True, held + limit[i]
        for i in present:
            running += usage[i] * is_in[i]
        while used[j] + running > capacity[j] * (1 + SLACK):
            worst = _last(present, is_in, priority, since)
            if worst < 0:
                break
            is_in[worst], out, running = False, out + 1, running - usage[worst]
        sums[_SLOTS] += 1
        sums[_CAPACITY] += capacity[j]
        sums[_LIMITS] += limits[j]
        sums[_RESERVED] += reserved[j]
        sums[_EXCEEDED] += used[j] > reserved[j] * (1 + SLACK)
        sums[_EVICTIONS] += out
        for i in present:
            sums[_ASKED] += limit[i]
            sums[_ADMITTED] += limit[i] * is_in[i]
            sums[_TASK_SLOTS] += is_in[i]


@compiled(inline=True)
def _last(present: Index, is_in: Flags, priority: Index, since: Index) -> int:
    """Return the admitted task that goes first: the lowest priority, of it the youngest, of those the last; or −1."""
    worst = -1
    for i in present:
        if is_in[i] and (worst < 0 or (priority[i], -since[i]) <= (priority[worst], -since[worst])):
            worst = i
    return worst


def all_tasks(options: Setting) -> dict[str, list[Policy]]:
    """Return all tasks; what production reserves is `POLICIES`, whatever is named."""
    return {"all": []}


def compute(part: Part, policies: Sequence[Policy], options: Setting) -> list[Row]:
    """Return a row for each of `POLICIES`, whatever is named.

    Parameters
    ----------
    part
        What is replayed.
    policies, options
        Not looked at.

    Raises
    ------
    NotApplicable
        Where the trace has no best-effort tasks.
    """
    lowest = serving(part.cell.dialect)
    if lowest <= LOWEST:
        raise NotApplicable("the trace has no tier production, so nothing in it is best effort")
    score = partial(priced, policies=POLICIES, lowest=lowest)
    return trade_off(part.replay((), 1, score), part.resource)


def trade_off(found: Numbers, resource: str) -> list[Row]:
    """Return the rows of one resource.

    Parameters
    ----------
    found
        What :func:`priced` returns, of each machine: float64 (machines, policies, N_SUMS).
    resource
        Its name.
    """
    judged = found[found[:, 0, _SLOTS] > 0]
    if not len(judged):
        return []
    sums = judged.sum(axis=0)
    return [
        {
            "resource": resource,
            "policy": policy.label,
            "margin": getattr(policy, "margin", None),
            "half_life": policy.half_life * WINDOW / HOUR
            if isinstance(policy, Reservation)
            else None,
            "machines": len(judged),
            "reclaimed": float((of[_LIMITS] - of[_RESERVED]) / of[_CAPACITY]),
            "exceeded": float(of[_EXCEEDED] / of[_SLOTS]),
            "admitted": float(of[_ADMITTED] / of[_ASKED]) if of[_ASKED] else None,
            "saved": float((of[_ADMITTED] - sums[0, _ADMITTED]) / of[_CAPACITY] * len(judged)),
            "evictions": float(of[_EVICTIONS] / of[_TASK_SLOTS] * SLOTS_PER_DAY)
            if of[_TASK_SLOTS]
            else None,
        }
        for policy, of in zip(POLICIES, sums, strict=True)
    ]


def chart(answer: pa.Table) -> charts.Chart:
    """Draw: best-effort work in reclaimed resources: what it saves, and its evictions."""
    import altair as alt

    # Evictions over what is saved: a curve for each half-life.
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
    reference=(
        "Zhu et al., Measure 1; Verma et al., EuroSys'15, §5.5 (resource reclamation). "
        "The price is our simulation"
    ),
    too_short="no machine with a known capacity has tasks",
    policies_by_tasks=all_tasks,
)
"""The trade-off: ``RECLAIMED.run(store, resources=("cpu",))``."""
