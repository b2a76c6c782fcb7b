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

Reference: Zhu et al., Measure 1; Verma et al., EuroSys'15, §5.5 (resource reclamation).
"""

from functools import partial

import ibis
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from borgtrace.analyses import _reservation_policies as kernel
from borgtrace.analyses import _window_blocks as blocks
from borgtrace.analyses._windows import RESOURCES
from borgtrace.recipe import NotApplicable, Recipe, Row, Tables
from borgtrace.schema.time import Seconds

MARGINS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0)
QUANTILES = (0.5, 0.9, 0.95, 0.99)
SETTINGS = (
    ("limit", 0.0),
    *((policy, margin) for policy in ("previous", "borg") for margin in MARGINS),
    *(("quantile", quantile) for quantile in QUANTILES),
)
"""Policies and their settings, in the order of the kernel's sums."""
_CODES = {"limit": kernel.LIMIT, "previous": kernel.PREVIOUS, "quantile": kernel.PREVIOUS, "borg": kernel.BORG}
_POLICIES = np.array([_CODES[policy] for policy, _ in SETTINGS])
_HIGHEST = 1000
"""Largest increase that is told apart, %."""
_GAP = 300
"""Seconds without a window after which a task starts over: its history is lost."""
_NO_MACHINE = -1


def compute(tables: Tables, *, half_life: Seconds = 3600.0) -> list[Row]:
    """Return reclaimed resources and violations per policy, tier and resource."""
    rows = [row for resource in RESOURCES for row in _replayed(tables, resource, half_life)]
    NotApplicable.unless(rows, "no task has both usage and a request")
    return rows


def _windows(tables: Tables, resource: str) -> ibis.Table:
    usage, request = f"average_{resource}", tables.tasks[f"{resource}_request"]
    rows = blocks.task_windows(tables, "machine_id", usage, request=request)
    # A request of nothing, or so small that the sums round it to nothing, has no part that could be reclaimed.
    rows = rows.filter(rows[usage].notnull() & (rows.request >= kernel.LEAST))
    # NULL equals nothing, not even NULL: a task on a dedicated machine would start over at every window.
    machine = rows.machine_id.fill_null(_NO_MACHINE)
    return rows.select(*blocks.ORDER, "seconds", "tier", "request", machine_id=machine, usage=rows[usage])


def _replayed(tables: Tables, resource: str, half_life: float) -> list[Row]:
    windows, names = _windows(tables, resource), blocks.tier_names(tables)
    # Learned and judged on the same trace: the margin is the best that such a policy could have known.
    counts = blocks.sum_blocks(tables, windows, partial(_increases, n_tiers=len(names)), f"increases_{resource}")
    learned = _quantiles(counts)
    of_quantile = dict(zip(QUANTILES, learned.T, strict=True))
    margins = np.array([of_quantile[x] if name == "quantile" else np.full(len(names), x) for name, x in SETTINGS])
    replay = partial(_replay, margins=margins, half_life=half_life)
    sums = blocks.sum_blocks(tables, windows, replay, f"windows_{resource}")
    shown = [(name, sums[:, code], margins[:, code]) for code, name in enumerate(names)]
    # Where tiers have margins of their own, all of them together have none; a limit has no margin.
    common = np.where((margins == margins[:, :1]).all(axis=1), margins[:, 0], np.nan)
    shown.append(("all", sums.sum(axis=1), np.where(_POLICIES == kernel.LIMIT, 0.0, common)))
    return [
        {"resource": resource, "tier": tier, **row}
        for tier, of_tier, margin in shown
        if of_tier[0, kernel.SECONDS] > 0
        for row in _rows(of_tier, margin)
    ]


def _replay(block: pa.Table, margins: NDArray[np.float64], half_life: float) -> NDArray[np.int64]:
    start, seconds = blocks.seconds_since_start(block), blocks.integers(block, "seconds")
    return kernel.replay(
        _continues(block, start, seconds),
        start,
        seconds,
        blocks.column(block, "usage"),
        blocks.column(block, "request"),
        blocks.integers(block, "tier"),
        margins.shape[1],
        _POLICIES,
        margins,
        half_life,
    )


def _continues(block: pa.Table, start: NDArray[np.int64], seconds: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which windows follow the one before in the same run of the same task."""
    if not start.size:
        return np.zeros(0, dtype=np.bool_)
    task, machine = blocks.task_numbers(block), blocks.integers(block, "machine_id")
    # A gap means that the task was away, or that its records are missing: either way the past is no guide.
    near = start[1:] - (start[:-1] + seconds[:-1]) < _GAP
    follows = (task[1:] == task[:-1]) & (machine[1:] == machine[:-1]) & near
    return np.concatenate([[False], follows])


def _increases(block: pa.Table, n_tiers: int) -> NDArray[np.int64]:
    """Add up the seconds of windows by tier and increase, in whole percent; what exceeds 1000 % counts as that.

    Margins are learned only where the replay uses them.
    """
    start, seconds = blocks.seconds_since_start(block), blocks.integers(block, "seconds")
    later = np.flatnonzero(_continues(block, start, seconds))
    usage = blocks.column(block, "usage")
    before, now = usage[later - 1], usage[later]
    # From 0 to something no finite margin is enough; from 0 to 0 none is needed.
    grown = np.where(now > 0.0, float(_HIGHEST), 0.0)
    percent = np.divide((now - before) * 100.0, before, out=grown, where=before != 0.0)
    counts = np.zeros((n_tiers, _HIGHEST + 1), dtype=np.int64)
    place = blocks.integers(block, "tier")[later], np.ceil(np.clip(percent, 0.0, _HIGHEST)).astype(np.int64)
    np.add.at(counts, place, seconds[later])
    return counts


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


RECIPE = Recipe.declared(compute, reads=("instance_usage", "tasks"), order=80)
