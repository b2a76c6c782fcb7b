"""How much of the reserved capacity can be reclaimed, and how often would the rest be too little?

Every task of a job is replayed window by window under several policies: *limit* (its request,
always), *previous* (usage of the window before × (1 + margin)), *quantile* (the same with the
margin that a quantile of the tier's own increases from window to window gives) and *borg* (the
request for 300 s, then sinking with a half-life towards previous usage × (1 + margin), rising to it
at once). No policy reserves more than the request. The first window after a start, a gap of 300 s
or a change of machine reserves the request. *Reclaimed* is the part of the requests that is not
reserved, *violated* the share of time in windows whose usage exceeds the reservation, *overload* by
how much, as a share of usage. A policy is on the front where no other reclaims more and violates
less.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from borgtrace.analyses import _reservation as kernel
from borgtrace.analyses._blocks import (
    ORDER,
    column,
    integers,
    seconds_since_start,
    sum_blocks,
    task_numbers,
    task_windows,
    tier_names,
)
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table
from borgtrace.schema.time import Seconds

if TYPE_CHECKING:
    import altair as alt

MARGINS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0)
QUANTILES = (0.5, 0.9, 0.95, 0.99)
_HIGHEST = 1000
_GAP = 300
_NO_MACHINE = -1

RESULT = Table(
    "reservation",
    "resource, tier, policy and setting",
    ("resource", "tier", "policy", "setting"),
    (
        Column("resource", "string", "id", "Resource: cpu or memory.", nullable=False),
        Column("tier", "string", "id", "Tier of the tasks, or all.", nullable=False),
        Column("policy", "string", "id", "Reservation policy: limit, previous, quantile or borg.", nullable=False),
        Column("setting", "float64", "1", "The margin, or the quantile that it comes from.", nullable=False),
        Column("margin", "float64", "fraction", "Margin over the previous usage; NULL where tiers differ."),
        Column("reclaimed", "float64", "fraction", "Share of the requests that is not reserved.", nullable=False),
        Column("violated", "float64", "fraction", "Share of time whose usage exceeds the reservation.", nullable=False),
        Column("overload", "float64", "fraction", "Usage above the reservation, as a share of usage."),
        Column("seconds", "int64", "s", "Task time replayed.", nullable=False),
        Column("is_on_front", "bool", "1", "Whether no other policy is better in both.", nullable=False),
    ),
)


def compute(tables: Tables, *, half_life: Seconds = 3600.0) -> pa.Table:
    """Return reclaimed resources and violations per policy, tier and resource."""
    rows: list[dict[str, Any]] = []
    for resource in ("cpu", "memory"):
        rows += _replayed(tables, resource, half_life)
    if not rows and not tables.is_plan:
        raise NotApplicable("no task has both usage and a request")
    return pa.Table.from_pylist(rows, schema=_schema())


def _schema() -> pa.Schema:
    from borgtrace.schema.arrow import arrow_schema

    return arrow_schema(RESULT)


def _windows(tables: Tables, resource: str) -> ir.Table:
    request = tables.tasks[f"{resource}_request"]
    rows = task_windows(tables, "machine_id", f"average_{resource}", request=request)
    rows = rows.filter(rows[f"average_{resource}"].notnull() & (rows.request > 0))
    return rows.select(
        *ORDER,
        "seconds",
        "tier",
        "request",
        machine_id=rows.machine_id.fill_null(_NO_MACHINE),
        usage=rows[f"average_{resource}"],
    )


def _replayed(tables: Tables, resource: str, half_life: float) -> list[dict[str, Any]]:
    windows, names = _windows(tables, resource), tier_names(tables.generation)
    learnt = _increases(tables, windows, resource, len(names))
    settings = [("limit", 0.0), *((name, m) for name in ("previous", "borg") for m in MARGINS)]
    settings += [("quantile", q) for q in QUANTILES]
    codes = {"limit": kernel.LIMIT, "previous": kernel.PREVIOUS, "quantile": kernel.PREVIOUS, "borg": kernel.BORG}
    policy = np.array([codes[name] for name, _ in settings])
    margins = np.array(
        [learnt[:, QUANTILES.index(x)] if name == "quantile" else np.full(len(names), x) for name, x in settings]
    )

    def replay(block: pa.Table) -> NDArray[np.int64]:
        start, seconds = seconds_since_start(block), integers(block, "seconds")
        return kernel.replay(
            _continues(block, start, seconds),
            start,
            seconds,
            column(block, "usage"),
            column(block, "request"),
            integers(block, "tier"),
            len(names),
            policy,
            margins,
            half_life,
        )

    sums = sum_blocks(tables, windows, replay, f"windows_{resource}")
    shown = [(name, sums[:, code], margins[:, code]) for code, name in enumerate(names)]
    shown.append(("all", sums.sum(axis=1), np.where(policy == kernel.LIMIT, 0.0, _common(margins))))
    return [
        row
        for tier, of_tier, margin in shown
        if of_tier[0, kernel.SECONDS] > 0
        for row in _rows(resource, tier, settings, of_tier, margin)
    ]


def _common(margins: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the margin of each policy where all tiers have the same, else NaN."""
    same = (margins == margins[:, :1]).all(axis=1)
    return np.where(same, margins[:, 0], np.nan)


def _continues(block: pa.Table, start: NDArray[np.int64], seconds: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which windows follow the one before in the same run of the same task."""
    if not start.size:
        return np.zeros(0, dtype=np.bool_)
    task, machine = task_numbers(block), integers(block, "machine_id")
    near = start[1:] - (start[:-1] + seconds[:-1]) < _GAP
    follows = (task[1:] == task[:-1]) & (machine[1:] == machine[:-1]) & near
    return np.concatenate([[False], follows])


def _increases(tables: Tables, windows: ir.Table, resource: str, n_tiers: int) -> NDArray[np.float64]:
    """Return the quantiles of the increase between consecutive windows: shape (tiers, quantiles).

    In whole percent, weighted by the length of the later window; what exceeds 1000 % counts as that.
    """
    life = ibis.window(group_by=["collection_id", "instance_index"], order_by=list(ORDER[2:]))
    end = windows.start_time + windows.seconds * 1_000_000
    rows = windows.mutate(
        before=windows.usage.cast("float64").lag().over(life),
        machine_before=windows.machine_id.lag().over(life),
        gap=windows.start_time - end.lag().over(life),
    )
    rows = rows.filter((rows.machine_before == rows.machine_id) & (rows.gap < _GAP * 1_000_000))
    usage = rows.usage.cast("float64")
    percent = (usage - rows.before) * 100.0 / rows.before.nullif(0.0)
    grown = (usage > 0.0).ifelse(float(_HIGHEST), 0.0)
    percent = ibis.greatest(ibis.least(percent.fill_null(grown), float(_HIGHEST)), 0.0).ceil().cast("int64")
    bins = rows.select("tier", "seconds", percent=percent)
    counted = tables.fetch(
        bins.group_by(["tier", "percent"]).aggregate(seconds=bins.seconds.sum().cast("int64")), f"increases_{resource}"
    )
    counts = np.zeros((n_tiers, _HIGHEST + 1), dtype=np.int64)
    np.add.at(counts, (integers(counted, "tier"), integers(counted, "percent")), integers(counted, "seconds"))
    totals = counts.sum(axis=1, keepdims=True)
    upto = np.cumsum(counts, axis=1)[:, :, None]
    reached = np.asarray(upto >= totals[:, :, None] * np.array(QUANTILES))
    return reached.argmax(axis=1) / 100.0


def _rows(
    resource: str, tier: str, settings: list[tuple[str, float]], sums: NDArray[np.int64], margin: NDArray[np.float64]
) -> list[dict[str, Any]]:
    """Turn the sums of one tier into rows, and mark the front."""
    reclaimed = 1.0 - sums[:, kernel.RESERVED] / sums[:, kernel.LIMITED]
    violated = sums[:, kernel.VIOLATED] / sums[:, kernel.SECONDS]
    used = sums[0, kernel.USED]
    better = (reclaimed[None] >= reclaimed[:, None]) & (violated[None] <= violated[:, None])
    strictly = (reclaimed[None] > reclaimed[:, None]) | (violated[None] < violated[:, None])
    dominated = np.asarray((better & strictly).any(axis=1))
    return [
        {
            "resource": resource,
            "tier": tier,
            "policy": name,
            "setting": setting,
            "margin": None if np.isnan(margin[k]) else float(margin[k]),
            "reclaimed": float(reclaimed[k]),
            "violated": float(violated[k]),
            "overload": float(sums[k, kernel.OVERLOAD] / used) if used else None,
            "seconds": int(sums[k, kernel.SECONDS]),
            "is_on_front": not bool(dominated[k]),
        }
        for k, (name, setting) in enumerate(settings)
    ]


def plot(result: pa.Table) -> alt.Chart:
    """Draw violations against what is reclaimed; the Pareto front is filled."""
    import altair as alt

    from borgtrace.analyses._charts import WIDTH, rows, spoken_header

    return (
        alt.Chart(rows(result), title="Reclaimed resources against violations (filled: Pareto front)")
        .mark_point(size=45)
        .encode(
            x=alt.X("reclaimed:Q", title="reclaimed share"),
            y=alt.Y("violated:Q", title="share of time in violation"),
            color=alt.Color("policy:N"),
            fillOpacity=alt.condition("datum.is_on_front", alt.value(0.9), alt.value(0.0)),
            fill=alt.Fill("policy:N"),
            row=alt.Row("resource:N", title=None, header=spoken_header()),
            column=alt.Column("tier:N", title=None),
            tooltip=["policy:N", "setting:Q", "margin:Q", "reclaimed:Q", "violated:Q", "overload:Q"],
        )
        .properties(width=WIDTH // 2, height=160)
        .resolve_scale(y="independent")
    )


def _value(result: pa.Table, value: str, **where: Any) -> float:
    for row in result.to_pylist():
        if all(row[name] == wanted for name, wanted in where.items()):
            return float(row[value])
    raise NotApplicable("no such task")


_TWENTY = {"policy": "previous", "setting": 0.2, "tier": "all"}
CLAIMS = (
    Claim(
        "S4-measure1-violated-cpu",
        "20 % above the previous CPU usage is enough in over 90 % of the time",
        "< 0.1 violated",
        lambda r: _value(r, "violated", resource="cpu", **_TWENTY),
        lambda v: v < 0.1,
        "Zhu et al., Measure 1",
    ),
    Claim(
        "S4-measure1-violated-memory",
        "20 % above the previous memory usage is enough in over 90 % of the time",
        "< 0.1 violated",
        lambda r: _value(r, "violated", resource="memory", **_TWENTY),
        lambda v: v < 0.1,
        "Zhu et al., Measure 1",
    ),
    Claim(
        "S4-measure1-reclaimed",
        "production leaves about half of its CPU to be reclaimed",
        "≈ 0.5",
        lambda r: _value(r, "reclaimed", resource="cpu", policy="previous", setting=0.2, tier="production"),
        lambda v: v >= 0.4,
        "Zhu et al., Fig. 9 and Measure 1",
    ),
)

RECIPE = Recipe(
    "reservation",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("instance_usage", "tasks"),
    reference="Zhu et al., Measure 1; Verma et al., EuroSys'15, §5.5 (resource reclamation)",
    order=80,
    topic="Reservations and sampling",
)
