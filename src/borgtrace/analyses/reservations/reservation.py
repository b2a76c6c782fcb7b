"""How much of the reserved capacity can be reclaimed, and how often would the rest be too little?

Every task of a job is replayed window by window under several policies: *limit* (its request,
always), *previous* (usage of the window before × (1 + margin)), *quantile* (the same, with the
margin set to a quantile of the tier's own increases from window to window) and *borg* (the request
for 300 s, then decaying with a half-life toward previous usage × (1 + margin), and rising to it at
once). No policy reserves more than the request. The first window after a start, a gap of 300 s or a
change of machine reserves the request. *Reclaimed* is the part of the requests that is not
reserved, *violated* the share of time in windows whose usage exceeds the reservation, *overload* by
how much, as a share of usage. A reservation is too small for one of two reasons, which are counted
apart: usage exceeds the request, which breaks policy *limit* as often (*above_request*), or it
exceeds the past usage and its margin (*above_margin*, of the time for which a margin decides, as if
reservations could exceed requests). *Added* is what the policy violates and *limit* does not. A
policy is on the Pareto front if no other reclaims more and violates less.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, NamedTuple

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from borgtrace.analyses.reservations import reservation_policies as kernel
from borgtrace.analyses.shared import window_blocks as blocks
from borgtrace.analyses.shared.window_passes import result_of_pass
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
from borgtrace.question.window_passes import WindowPass
from borgtrace.schema.bounds import Bounds
from borgtrace.schema.time import DAY, SECOND, Seconds

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
            "above_request",
            "float64",
            "fraction",
            "Share of time whose usage exceeds the request: what policy limit violates.",
        ),
        Column(
            "added",
            "float64",
            "fraction",
            "Share of time that the policy violates and limit does not.",
        ),
        Column(
            "above_margin",
            "float64",
            "fraction",
            "Share of the time with a past usage whose usage exceeds it and the margin, "
            "whatever the request; NULL where no margin decides.",
            nullable=True,
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


class PolicySetting(NamedTuple):
    """A reservation policy with its margin, or the quantile that the margin comes from."""

    policy: str
    value: float


SETTINGS = (
    PolicySetting("limit", 0.0),
    *(PolicySetting("previous", margin) for margin in MARGINS),
    *(PolicySetting("borg", margin) for margin in MARGINS),
    *(PolicySetting("quantile", quantile) for quantile in QUANTILES),
)
"""Policies and their settings, in the order of the kernel's sums."""
CODES = {
    "limit": kernel.LIMIT,
    "previous": kernel.PREVIOUS,
    "quantile": kernel.PREVIOUS,
    "borg": kernel.BORG,
}
POLICY_CODES = np.array([CODES[setting.policy] for setting in SETTINGS])
NO_MACHINE = -1
"""Stands for NULL, which equals nothing: a task on a dedicated machine would start over at every window."""


HalfLife = Annotated[Seconds, Bounds(1, 366 * DAY // SECOND)]
"""Seconds in which the distance of policy *borg* to its target halves."""


def compute(tables: Tables, *, half_life: HalfLife = 3600.0) -> list[Row]:
    """Return reclaimed resources and violations per policy, tier and resource."""
    increases, replay = passes(tables, half_life=half_life)
    margins = margins_of_resources(result_of_pass(tables, increases))
    totals = result_of_pass(tables, replay)

    tiers = blocks.tier_names(tables)
    rows: list[Row] = []
    for resource, resource_totals, resource_margins in zip(RESOURCES, totals, margins, strict=True):
        rows += judge_policies(resource, tiers, resource_totals, resource_margins)
    if not rows:
        raise NotApplicable("no task has both usage and a request")
    return rows


def passes(tables: Tables, *, half_life: float) -> tuple[WindowPass, WindowPass]:
    """Return the pass that learns margins, and the one that replays policies with them."""
    columns = ("machine_id", "average_cpu", "average_memory")
    increases = WindowPass(
        question="reservation",
        stage="increases",
        columns=columns,
        of_tasks=requests_of_tasks,
        kernel=lambda tables: partial(count_increases, n_tiers=len(blocks.tier_names(tables))),
    )
    replay = WindowPass(
        question="reservation",
        stage="windows",
        parameters=(half_life,),
        columns=columns,
        of_tasks=requests_of_tasks,
        # Learned and judged on the same trace: the best margin that such a policy could have known.
        kernel=lambda tables, learned: partial(
            replay_policies, margins=margins_of_resources(learned), half_life=half_life
        ),
        after=[increases],
    )
    return increases, replay


def requests_of_tasks(tables: Tables) -> dict[str, ir.Value]:
    """Return the columns of tasks that windows are compared with."""
    return {
        "cpu_request": tables.tasks.cpu_request,
        "memory_request": tables.tasks.memory_request,
    }


def margins_of_resources(increases: Index) -> Numbers:
    """Return the margins of each resource, shape (resources, settings, tiers)."""
    return np.stack([margins_of_settings(of_resource) for of_resource in increases])


def count_increases(block: pa.Table, n_tiers: int) -> Index:
    """Add up the seconds of windows by resource, tier and increase over the window before, in whole percent.

    Margins are learned only where the replay uses them.
    """
    windows = windows_of_resources(block, n_tiers)
    return np.stack([kernel.count_increases(of_resource, n_tiers) for of_resource in windows])


def windows_of_resources(block: pa.Table, n_tiers: int) -> list[kernel.LimitedWindows]:
    """Return the windows of a block with usage and request of each resource."""
    task = blocks.task_numbers(block)
    machine = blocks.integers(block, "machine_id", NO_MACHINE)
    start = blocks.seconds_since_start(block)
    seconds = blocks.integers(block, "seconds")
    tier = blocks.integers(block, "tier", n_tiers - 1)
    return [
        kernel.LimitedWindows(
            task=task,
            machine=machine,
            start=start,
            seconds=seconds,
            usage=blocks.column(block, f"average_{resource}"),
            limit=blocks.column(block, f"{resource}_request"),
            group=tier,
        )
        for resource in RESOURCES
    ]


def margins_of_settings(increases: Index) -> Numbers:
    """Return the margin of each setting for each tier, shape (settings, tiers)."""
    n_tiers = len(increases)
    learned = dict(zip(QUANTILES, quantiles_of_increases(increases).T, strict=True))
    return np.array(
        [
            learned[value] if policy == "quantile" else np.full(n_tiers, value)
            for policy, value in SETTINGS
        ]
    )


def quantiles_of_increases(increases: Index) -> Numbers:
    """Return the quantiles of the increase between consecutive windows, shape (tiers, quantiles)."""
    totals = increases.sum(axis=1, keepdims=True)
    seconds_so_far = np.cumsum(increases, axis=1)[:, :, None]
    # argmax finds the first bin that reaches the quantile; a tier without windows gets 0.
    is_reached = np.asarray(seconds_so_far >= totals[:, :, None] * np.array(QUANTILES))
    return np.asarray(is_reached.argmax(axis=1) / 100.0)


def replay_policies(block: pa.Table, margins: Numbers, half_life: float) -> Index:
    """Replay all settings for both resources, with margins of shape (resources, settings, tiers)."""
    n_tiers = margins.shape[2]
    totals = []
    for windows, of_resource in zip(windows_of_resources(block, n_tiers), margins, strict=True):
        totals.append(kernel.replay(windows, n_tiers, POLICY_CODES, of_resource, half_life))
    return np.stack(totals)


def judge_policies(
    resource: str, tiers: Sequence[str], totals: Index, margins: Numbers
) -> list[Row]:
    """Return the rows of each tier, and of all together; totals have shape (settings, tiers, sums)."""
    rows = []
    for position, tier in enumerate(tiers):
        # A format without tiers has one of the name "all"; the rows of all together stand for it.
        if tier != "all":
            rows += rows_of_tier(resource, tier, totals[:, position], margins[:, position])
    # Where tiers have margins of their own, all of them together have none; a limit has no margin.
    is_common = (margins == margins[:, :1]).all(axis=1)
    common_margins = np.where(is_common, margins[:, 0], np.nan)
    common_margins = np.where(POLICY_CODES == kernel.LIMIT, 0.0, common_margins)
    return rows + rows_of_tier(resource, "all", totals.sum(axis=1), common_margins)


def rows_of_tier(resource: str, tier: str, totals: Index, margins: Numbers) -> list[Row]:
    """Return the rows of a tier; none where no time was replayed."""
    if totals[0, kernel.SECONDS] == 0:
        return []
    return [
        {"resource": resource, "tier": tier, **row} for row in rows_of_settings(totals, margins)
    ]


def rows_of_settings(totals: Index, margins: Numbers) -> list[Row]:
    """Turn the totals of one tier, shape (settings, sums), into rows, and mark the Pareto front."""
    # Only windows with a request are replayed, and tiers without time left out: no total is 0.
    reclaimed = 1.0 - totals[:, kernel.RESERVED] / totals[:, kernel.LIMITED]
    seconds = totals[:, kernel.SECONDS]
    violated = totals[:, kernel.VIOLATED] / seconds
    above_request = totals[:, kernel.ABOVE_LIMIT] / seconds
    # No policy reserves more than the request: its violations contain those of the limit.
    added = (totals[:, kernel.VIOLATED] - totals[:, kernel.ABOVE_LIMIT]) / seconds
    # Usage is the same under every policy: that of the first stands for all.
    used = totals[0, kernel.USED]
    is_dominated = dominated(reclaimed, violated)
    rows = []
    for k, (policy, value) in enumerate(SETTINGS):
        under_margin = totals[k, kernel.UNDER_MARGIN]
        above_margin = totals[k, kernel.ABOVE_MARGIN]
        rows.append(
            {
                "policy": policy,
                "setting": value,
                "margin": None if np.isnan(margins[k]) else float(margins[k]),
                "reclaimed": float(reclaimed[k]),
                "violated": float(violated[k]),
                "above_request": float(above_request[k]),
                "added": float(added[k]),
                "above_margin": float(above_margin / under_margin) if under_margin else None,
                "overload": float(totals[k, kernel.OVERLOAD] / used) if used else None,
                "seconds": int(seconds[k]),
                "is_on_front": not bool(is_dominated[k]),
            }
        )
    return rows


def dominated(reclaimed: Numbers, violated: Numbers) -> Flags:
    """Return which settings another one beats: no worse in both numbers, and better in one."""
    reclaims_no_less = reclaimed[None] >= reclaimed[:, None]
    violates_no_more = violated[None] <= violated[:, None]
    # Equal policies do not push each other off the front.
    is_better_in_one = (reclaimed[None] > reclaimed[:, None]) | (violated[None] < violated[:, None])
    beats = reclaims_no_less & violates_no_more & is_better_in_one
    return np.asarray(beats.any(axis=1))


def chart(answer: pa.Table) -> alt.FacetChart:
    """Draw each policy by what it reclaims and how often it is violated; the Pareto front is filled."""
    import altair as alt

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
            select above_margin
            from answer
            where resource = 'cpu' and tier = 'all' and policy = 'previous' and setting = 0.2
            """,
            otherwise="no task has two windows in a row",
        ),
        criterion=below(0.1, published="< 0.1 of the time above it"),
    ),
    Claim(
        "S4-measure1-violated-memory",
        statement="20 % above the previous memory usage is enough in over 90 % of the time",
        source="Zhu et al., Measure 1",
        scope=LIKE_2011,
        measure=sql(
            """
            select above_margin
            from answer
            where resource = 'memory' and tier = 'all' and policy = 'previous' and setting = 0.2
            """,
            otherwise="no task has two windows in a row",
        ),
        criterion=below(0.1, published="< 0.1 of the time above it"),
    ),
    Claim(
        "S4-measure1-reclaimed",
        statement=(
            "20 % above the previous usage reclaims about half of the CPU that production requests"
        ),
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
    passes=passes,
    reference="Zhu et al., Measure 1; Verma et al., EuroSys'15, §5.5 (resource reclamation)",
)
