"""How much of the reserved capacity can be reclaimed, and how often would the rest be too little?

Every task of a job is replayed window by window under several policies: *limit* (its request,
always), *previous* (usage of the window before × (1 + margin)), *quantile* (the same, with the
margin set to a quantile of the tier's own increases from window to window) and *borg* (the request
for 300 s, then decaying with a half-life toward previous usage × (1 + margin), and rising to it at
once). No policy reserves more than the request. The first window after a start, a gap of 300 s or a
change of machine reserves the request. *Reclaimed* is the part of the requests that is not
reserved, *violated* the share of time in windows whose usage exceeds the reservation, *overload* by
how much, as a share of usage. A policy is on the Pareto front if no other reclaims more and
violates less.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from borgtrace.analyses.reservations import reservation_policies as kernel
from borgtrace.analyses.shared import window_blocks as blocks
from borgtrace.analyses.shared.windows import RESOURCES
from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    NotApplicable,
    Question,
    Row,
    Tables,
    below,
    charts,
    near,
    sql,
)
from borgtrace.question.scopes import LIKE_2011
from borgtrace.schema.time import Seconds

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="resource, tier, policy and setting",
    key=[
        Column("resource", "string", "id", "Resource: cpu or memory."),
        Column("tier", "string", "id", "Tier of the tasks, or all."),
        Column("policy", "string", "id", "Reservation policy: limit, previous, quantile or borg."),
        Column("setting", "float64", "1", "The margin, or the quantile that it comes from."),
    ],
    columns=[
        Column(
            "margin",
            "float64",
            "fraction",
            "Margin over the previous usage; NULL where tiers differ.",
            nullable=True,
        ),
        Column("reclaimed", "float64", "fraction", "Share of the requests that is not reserved."),
        Column(
            "violated", "float64", "fraction", "Share of time whose usage exceeds the reservation."
        ),
        Column(
            "overload",
            "float64",
            "fraction",
            "Usage above the reservation, as a share of usage.",
            nullable=True,
        ),
        Column("seconds", "int64", "s", "Task time replayed."),
        Column("is_on_front", "bool", "1", "Whether no other policy is better in both."),
    ],
)


MARGINS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0)
QUANTILES = (0.5, 0.9, 0.95, 0.99)
SETTINGS = (
    ("limit", 0.0),
    *((policy, margin) for policy in ("previous", "borg") for margin in MARGINS),
    *(("quantile", quantile) for quantile in QUANTILES),
)
"""Policies and their settings, in the order of the kernel's sums."""
_CODES = {
    "limit": kernel.LIMIT,
    "previous": kernel.PREVIOUS,
    "quantile": kernel.PREVIOUS,
    "borg": kernel.BORG,
}
_POLICIES = np.array([_CODES[policy] for policy, _ in SETTINGS])
_HIGHEST = 1000
"""Largest increase that is told apart, %."""
_GAP = 300
"""Seconds without a window after which a task starts over: its history is lost."""
_Series = tuple[Flags, Index, Index, Numbers, Numbers, Index]
"""Whether each window follows the one before, start, seconds, usage, request, tier."""
_NO_MACHINE = -1
"""NULL equals nothing, not even NULL: a task on a dedicated machine would start over at every window."""


def compute(tables: Tables, *, half_life: Seconds = 3600.0) -> list[Row]:
    """Return reclaimed resources and violations per policy, tier and resource."""
    names, windows = blocks.tier_names(tables), _windows(tables)
    # Learned and judged on the same trace: the margin is the best that such a policy could have known.
    counts = blocks.sum_blocks(
        tables, *windows, partial(_increases, n_tiers=len(names)), "increases"
    )
    margins = np.stack([_margins(each) for each in counts])
    sums = blocks.sum_blocks(
        tables, *windows, partial(_replay, margins=margins, half_life=half_life), "windows"
    )
    rows = [
        row for each in zip(RESOURCES, sums, margins, strict=True) for row in _judged(*each, names)
    ]
    if not rows:
        raise NotApplicable("no task has both usage and a request")
    return rows


def _windows(tables: Tables) -> tuple[ir.Table, ir.Table]:
    """Return the windows with both resources, so that each is read once."""
    requests = {
        name: tables.tasks[name] for name in (f"{resource}_request" for resource in RESOURCES)
    }
    return blocks.task_windows(
        tables, "machine_id", *(f"average_{name}" for name in RESOURCES), **requests
    )


def _series(block: pa.Table, n_tiers: int) -> Iterator[_Series]:
    """Yield of each resource the windows with usage and request: what `kernel.replay` takes first."""
    start, seconds = blocks.seconds_since_start(block), blocks.integers(block, "seconds")
    task, machine = blocks.task_numbers(block), blocks.integers(block, "machine_id", _NO_MACHINE)
    tier = blocks.integers(block, "tier", n_tiers - 1)
    for name in RESOURCES:
        usage, request = (
            blocks.column(block, f"average_{name}"),
            blocks.column(block, f"{name}_request"),
        )
        # A request of nothing, or so small that the sums round it to nothing, has no part that could be reclaimed.
        kept = np.flatnonzero(~np.isnan(usage) & (request >= kernel.LEAST))
        begin, length = start[kept], seconds[kept]
        follows = _follows(task[kept], machine[kept], begin, begin + length)
        yield follows, begin, length, usage[kept], request[kept], tier[kept]


def _follows(task: Index, machine: Index, start: Index, end: Index) -> Flags:
    """Tell which windows follow the one before in the same run of the same task."""
    # A gap means that the task was away, or that its records are missing: either way the past is no guide.
    near = start[1:] - end[:-1] < _GAP
    follows = np.zeros(len(task), dtype=np.bool_)
    follows[1:] = (task[1:] == task[:-1]) & (machine[1:] == machine[:-1]) & near
    return follows


def _margins(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the margin of each setting for each tier: shape (settings, tiers)."""
    learned = dict(zip(QUANTILES, _quantiles(counts).T, strict=True))
    return np.array(
        [learned[x] if name == "quantile" else np.full(len(counts), x) for name, x in SETTINGS]
    )


def _judged(resource: str, sums: Index, margins: Numbers, names: Sequence[str]) -> Iterator[Row]:
    """Yield the rows of each tier, and of all together."""
    shown = [(name, sums[:, code], margins[:, code]) for code, name in enumerate(names)]
    # Where tiers have margins of their own, all of them together have none; a limit has no margin.
    common = np.where((margins == margins[:, :1]).all(axis=1), margins[:, 0], np.nan)
    shown.append(("all", sums.sum(axis=1), np.where(_POLICIES == kernel.LIMIT, 0.0, common)))
    for tier, of_tier, margin in shown:
        if of_tier[0, kernel.SECONDS] > 0:
            yield from (
                {"resource": resource, "tier": tier, **row} for row in _rows(of_tier, margin)
            )


def _replay(block: pa.Table, margins: NDArray[np.float64], half_life: float) -> NDArray[np.int64]:
    """Replay both resources, with margins of shape (resources, settings, tiers): then by what is summed."""
    n_tiers = margins.shape[2]
    each = zip(_series(block, n_tiers), margins, strict=True)
    return np.stack(
        [kernel.replay(*series, n_tiers, _POLICIES, margin, half_life) for series, margin in each]
    )


def _increases(block: pa.Table, n_tiers: int) -> NDArray[np.int64]:
    """Add up the seconds of windows by resource, tier and increase, in whole percent; above 1000 % counts as that.

    Margins are learned only where the replay uses them.
    """
    return np.stack([_increased(series, n_tiers) for series in _series(block, n_tiers)])


def _increased(series: _Series, n_tiers: int) -> NDArray[np.int64]:
    follows, _, seconds, usage, _, tier = series
    later = np.flatnonzero(follows)
    before, now = usage[later - 1], usage[later]
    # From 0 to something no finite margin is enough; from 0 to 0 none is needed.
    grown = np.where(now > 0.0, float(_HIGHEST), 0.0)
    percent = np.divide((now - before) * 100.0, before, out=grown, where=before != 0.0)
    place = tier[later] * (_HIGHEST + 1) + np.ceil(np.clip(percent, 0.0, _HIGHEST)).astype(np.int64)
    # Sums of whole seconds are exact in the 53 bits of its floats.
    counts = np.bincount(place, seconds[later], n_tiers * (_HIGHEST + 1))
    return counts.astype(np.int64).reshape(n_tiers, -1)


def _quantiles(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the quantiles of the increase between consecutive windows: shape (tiers, quantiles)."""
    totals = counts.sum(axis=1, keepdims=True)
    upto = np.cumsum(counts, axis=1)[:, :, None]
    # argmax finds the first bin that reaches the quantile; a tier without windows gets 0.
    reached = np.asarray(upto >= totals[:, :, None] * np.array(QUANTILES))
    return reached.argmax(axis=1) / 100.0


def _rows(sums: NDArray[np.int64], margin: NDArray[np.float64]) -> list[Row]:
    """Turn the sums of one tier into rows, and mark the front."""
    # Only windows with a request are replayed and tiers without time left out: there is something to divide by.
    reclaimed = 1.0 - sums[:, kernel.RESERVED] / sums[:, kernel.LIMITED]
    violated = sums[:, kernel.VIOLATED] / sums[:, kernel.SECONDS]
    # Usage is the same under every policy: that of the first stands for all.
    used = sums[0, kernel.USED]
    better = (reclaimed[None] >= reclaimed[:, None]) & (violated[None] <= violated[:, None])
    # Equal policies do not push each other off the front.
    strictly = (reclaimed[None] > reclaimed[:, None]) | (violated[None] < violated[:, None])
    dominated = np.asarray((better & strictly).any(axis=1))
    return [
        {
            "policy": name,
            "setting": setting,
            "margin": None if np.isnan(margin[k]) else float(margin[k]),
            "reclaimed": float(reclaimed[k]),
            "violated": float(violated[k]),
            "overload": float(sums[k, kernel.OVERLOAD] / used) if used else None,
            "seconds": int(sums[k, kernel.SECONDS]),
            "is_on_front": not bool(dominated[k]),
        }
        for k, (name, setting) in enumerate(SETTINGS)
    ]


def chart(answer: pa.Table) -> alt.FacetChart:
    """Draw: reclaimed resources against violations (filled: Pareto front)."""
    import altair as alt

    # The Pareto front is filled.
    rows = answer.to_pylist()
    return (
        charts.base(rows, width=210, height=160)
        .mark_point(filled=False, size=45)
        .encode(
            x=alt.X("reclaimed:Q", title="reclaimed share"),
            y=alt.Y("violated:Q", title="share of time in violation"),
            color=alt.Color("policy:N", title="policy"),
            fill=alt.Fill("policy:N", title="policy"),
            fillOpacity=alt.condition("datum.is_on_front", alt.value(0.9), alt.value(0.0)),
            tooltip=charts.tooltips(rows),
        )
        .facet(
            row=charts.rows_of_panels("resource"),
            column=charts.columns_of_panels("tier"),
        )
        .resolve_scale(y="independent")
        .properties(title="Reclaimed resources against violations (filled: Pareto front)")
    )


CLAIMS = [
    Claim(
        "S4-measure1-violated-cpu",
        statement="20 % above the previous CPU usage is enough in over 90 % of the time",
        source="Zhu et al., Measure 1",
        scope=LIKE_2011,
        measure=sql(
            """
            select violated
            from answer
            where resource = 'cpu' and tier = 'all' and policy = 'previous' and setting = 0.2
            """,
            otherwise="no such task",
        ),
        criterion=below(0.1, published="< 0.1 violated"),
    ),
    Claim(
        "S4-measure1-violated-memory",
        statement="20 % above the previous memory usage is enough in over 90 % of the time",
        source="Zhu et al., Measure 1",
        scope=LIKE_2011,
        measure=sql(
            """
            select violated
            from answer
            where resource = 'memory' and tier = 'all' and policy = 'previous' and setting = 0.2
            """,
            otherwise="no such task",
        ),
        criterion=below(0.1, published="< 0.1 violated"),
    ),
    Claim(
        "S4-measure1-reclaimed",
        statement="about half of the CPU of production tasks can be reclaimed",
        source="Zhu et al., Fig. 9 and Measure 1",
        scope=LIKE_2011,
        measure=sql(
            """
            select reclaimed
            from answer
            where resource = 'cpu'
                and tier = 'production'
                and policy = 'previous'
                and setting = 0.2
            """,
            otherwise="no such task",
        ),
        criterion=near(0.5, within=0.1, published="≈ 0.5"),
    ),
]

QUESTION = Question(
    name="reservation",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=["instance_usage", "tasks"],
    reference="Zhu et al., Measure 1; Verma et al., EuroSys'15, §5.5 (resource reclamation)",
)
