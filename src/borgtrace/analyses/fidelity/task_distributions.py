"""Distributions of what tasks of a store ask for, use and live, as a synthetic cell takes them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import special, stats

from borgtrace.analyses.fidelity.usage_measures import LONG, MOST_ROWS
from borgtrace.analyses.fidelity.weighted_measures import fetch_sorted, renamed, times, words
from borgtrace.analyses.shared.attempts import TASK, of_jobs
from borgtrace.analyses.shared.quantiles import Counts, kaplan_meier
from borgtrace.analyses.shared.window_blocks import column
from borgtrace.analyses.shared.windows import task_tiers
from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.question import Tables
from borgtrace.schema.time import SECOND, TRACE_START
from borgtrace.store import Store
from borgtrace.synth.model.classes import CLASSES, TaskClass, TaskClasses
from borgtrace.synth.model.draws import QuantileCurve
from borgtrace.synth.model.profile import LENGTHS, Tier
from borgtrace.synth.model.shapes import GRID, Shape, Tabulated

Columns = Mapping[str, NDArray[Any]]
"""Arrays by the names of columns, each of shape (rows,)."""
FEWEST = 10
"""Jobs (or values) of the smallest group that is told apart."""
_SHARES = np.array([0.0, 0.01, 0.05, *np.arange(1, 10) / 10, 0.95, 0.98, 0.99, 0.995, 1.0])
_USED = {"cpu": 0.29, "memory": 0.62}
"""Medians of used ÷ requested: what a task without a request is taken to ask for."""
_STAYS, _WANDERS = 0.15, 0.92
"""Autocorrelation over 5 minutes of the generator's tasks whose level stays, and of those whose level wanders."""


def columns(table: pa.Table) -> Columns:
    """Return all columns as arrays: texts as texts, NULL and times after the trace as NaN, whole numbers exactly."""
    return {name: _array(table, name) for name in table.column_names}


def _array(table: pa.Table, name: str) -> NDArray[Any]:
    kind, is_time = table[name].type, name.endswith("time")
    # Ids of own data have 63 bits, which a float does not hold.
    if pa.types.is_integer(kind) and not table[name].null_count and not is_time:
        return table[name].to_numpy()
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    return (times if is_time else column if is_number else words)(table, name)


def merged_ends(values: NDArray[Any]) -> NDArray[Any]:
    """Return values in order; the ten smallest and the ten largest count as their means, so that none stands alone."""
    ordered = np.sort(values)
    low, high = ordered[:FEWEST].mean(), ordered[-FEWEST:].mean()
    ordered[:FEWEST], ordered[-FEWEST:] = low, high
    return np.sort(ordered)


def curve(values: NDArray[Any], default: Any) -> Any:
    """Return the distribution of values, from .0001 on; the default where there are fewer than ten.

    Parameters
    ----------
    values
        In any order, shape (n,).
    default
        A curve, or None.
    """
    if len(values) < FEWEST:
        return default
    found = np.maximum(
        np.quantile(merged_ends(values.astype(float)), _SHARES, method="inverted_cdf"), 1e-4
    )
    return QuantileCurve(tuple(_SHARES.tolist()), tuple(found.tolist()))


def tier_like(tier: Tier, runs: Columns, jobs: Columns, use: Columns, machines: int) -> Tier:
    """Return a tier with what a store tells of it.

    Parameters
    ----------
    tier
        The tier as it was published.
    runs, jobs, use
        Attempts, jobs that arrive and tasks with usage, each with their ``tier``.
    machines
        Machines of the store.
    """
    runs, jobs, use = (
        {k: v[rows["tier"] == tier.name] for k, v in rows.items()} for rows in (runs, jobs, use)
    )
    new, stock = runs["schedule_time"] > TRACE_START, runs["schedule_time"] <= TRACE_START
    is_waiting = ~stock & (runs["submit_time"] <= TRACE_START)
    wait = (runs["schedule_time"] - np.fmax(runs["submit_time"], runs["enable_time"])) / SECOND
    wait = wait[new & (runs["submit_time"] >= TRACE_START) & (wait >= 0.0)]
    size = jobs["size"][jobs["size"] > 0]
    fields: dict[str, Any] = {
        "sizes": curve(size[size > 1], tier.sizes),
        "snapshot_sizes": curve(
            np.unique(runs["collection_id"][stock], return_counts=True)[1], tier.snapshot_sizes
        ),
        "running": float(stock.sum() / machines),
        "pending": float(is_waiting.sum() / machines),
        # Where events were derived from usage, no task waits.
        "delay": curve(wait, tier.delay) if wait.any() else tier.delay,
        "duration": _life(runs, new, tier.duration),
        "residual": _life(runs, stock, tier.residual),
        "outcomes": _outcomes(runs, new, tier.outcomes),
        "residual_outcomes": _weights(runs["end_type"][stock], tier.residual_outcomes),
        "classes": _weights(jobs["class_"], tier.classes),
        "snapshot_classes": _weights(runs["scheduling_class"][stock], tier.snapshot_classes),
        "memory_use": _of_request(use, "memory", tier.memory_use),
        "cpu_use": _of_request(use, "cpu", tier.cpu_use) if tier.cpu_use else 0.0,
    }
    for name in _USED:
        asked = runs[f"{name}_request"][stock]
        fields[name] = _requests(
            asked if (asked > 0.0).any() else use[f"{name}_request"], getattr(tier, name)
        )
    if len(size) >= FEWEST:
        fields |= {"single": float((size == 1).mean()), "largest": 1_000_000}
    return replace(tier, jobs=float(len(jobs["tier"])), **fields)


def _life(runs: Columns, which: Flags, default: QuantileCurve) -> QuantileCurve:
    """Return the Kaplan–Meier curve of lives, whose unseen end is that of the default."""
    seconds, ended = runs["seconds"][which], runs["is_over"][which]
    if ended.sum() < FEWEST:
        return default
    counts = (
        Counts(values, np.ones(len(values), np.int64))
        for values in (merged_ends(seconds[ended]), seconds[~ended])
    )
    times, share = kaplan_meier(*counts)
    at = np.unique(np.searchsorted(share, np.linspace(0.0, share[-1], 40)[1:]))
    longest = times[-1] if share[-1] >= 1.0 else max(default.values[-1], 2.0 * times[-1])
    return QuantileCurve(
        (0.0, *share[at].tolist(), 1.0), (float(times[0]), *times[at].tolist(), float(longest))
    )


def _outcomes(
    runs: Columns, which: Flags, default: Mapping[str, Sequence[float]]
) -> dict[str, list[float]]:
    """Return the shares of ends by length; a length that never came up keeps the default's."""
    length, ends = np.digitize(runs["seconds"], LENGTHS), which & runs["is_over"]
    counts = {
        kind: np.bincount(length[ends & (runs["end_type"] == kind)], minlength=6)
        for kind in default
    }
    total = sum(counts.values())
    return {
        kind: np.where(total, n / np.maximum(total, 1), default[kind]).tolist()
        for kind, n in counts.items()
    }


def _weights(values: NDArray[Any], default: Any) -> Any:
    """Return the shares of the default's values; the default where none of them occurs."""
    found = {value: float((values == value).sum()) for value in default}
    total = sum(found.values())
    return {value: n / total for value, n in found.items()} if total else default


def _requests(values: Numbers, default: Mapping[float, float]) -> Mapping[float, float]:
    """Return requests and their weights, in 60 even steps of their distribution."""
    values = values[values > 0.0]
    if len(values) < FEWEST:
        return default
    steps = np.quantile(merged_ends(values), (np.arange(60) + 0.5) / 60, method="inverted_cdf")
    return dict(
        zip(*(found.tolist() for found in np.unique(steps, return_counts=True)), strict=True)
    )


def _of_request(use: Columns, name: str, default: float) -> float:
    """Return the median, over windows, of used ÷ requested."""
    ratio = use[name] / use[f"{name}_request"]
    known = np.flatnonzero(ratio > 0.0)
    if len(known) < FEWEST:
        return default
    order = known[np.argsort(ratio[known], kind="stable")]
    windows = np.cumsum(use["n_windows"][order])
    return float(ratio[order[np.searchsorted(windows, windows[-1] / 2)]])


def with_lives(runs: Columns, machines: Columns) -> Columns:
    """Add to attempts their ``seconds`` inside the trace, and whether each ``is_over`` by itself.

    Parameters
    ----------
    runs
        Attempts.
    machines
        Changes of machines.
    """
    schedule, left, end = (runs[f"{name}_time"] for name in ("schedule", "left", "end"))
    last = float(np.nanmax(np.concatenate([schedule, end, [TRACE_START]])))
    until = np.where(np.isnan(left), last, np.minimum(left, last))
    # What ends as its machine goes would do so in the cell as well, and once more by its life.
    gone = machines["type"] == "REMOVE"
    removed = set(zip(machines["machine_id"][gone], machines["time"][gone], strict=True))
    with_machine = [pair in removed for pair in zip(runs["machine_id"], end, strict=True)]
    seconds = np.maximum((until - np.maximum(schedule, TRACE_START)) / SECOND, 1.0)
    return {**runs, "seconds": seconds, "is_over": ~np.isnan(end) & ~np.array(with_machine, bool)}


def tasks_with_usage(tables: Tables, names: Mapping[str, str]) -> Columns:
    """Return tasks of jobs: their usage, and what they ask for, which follows from it where they do not say.

    Parameters
    ----------
    tables
        The store's tables.
    names
        What its tiers are called.
    """
    tasks = of_jobs(tables.tasks).filter(tables.tasks.n_windows > 0)
    used = {"cpu": tasks.mean_average_cpu, "memory": tasks.mean_average_memory}
    failures = tasks.n_evict + tasks.n_fail + tasks.n_kill + tasks.n_lost
    rows = tasks.select(
        *TASK, "n_windows", "std_average_cpu", "max_average_cpu", **used, failures=failures
    )
    rows = rows.inner_join(task_tiers(tables, "cpu_request", "memory_request"), list(TASK))
    found = columns(renamed(fetch_sorted(tables, rows, "use", TASK), names))
    asked = {f"{name}_request": found[f"{name}_request"] for name in _USED}
    filled = {
        f"{name}_request": np.maximum(found[name] / usual, 1e-6) for name, usual in _USED.items()
    }
    return {
        **found,
        **{name: np.where(asked[name] > 0.0, asked[name], filled[name]) for name in asked},
    }


def usage_like(store: Store, use: Columns) -> dict[str, Any]:
    """Return the classes of tasks, and what goes with them.

    Long tasks that did not fail: by their mean, halved by how much they vary.  Short ones are the last class: what they
    use of their requests is a distribution of its own.

    Parameters
    ----------
    store
        The store, whose windows are read.
    use
        Its tasks.
    """
    # Whole jobs, as for the targets.
    parts = max(1, int(-(-use["n_windows"].sum() // MOST_ROWS)))
    is_used = (
        (use["cpu"] > 0.0) & (use["max_average_cpu"] <= 1.0) & (use["collection_id"] % parts == 0)
    )
    is_long = use["n_windows"] >= LONG
    long, short = (
        _chosen(use, is_used & which) for which in (is_long & (use["failures"] == 0), ~is_long)
    )
    if len(np.unique(long["collection_id"])) < FEWEST:
        return {}
    kinds = _kinds(long["cpu"], long["std_average_cpu"] / long["cpu"], long["collection_id"])
    groups = [_chosen(long, kinds == kind) for kind in np.unique(kinds)]
    defaults = [CLASSES.rows[place] for place in CLASSES.order]
    classes = [
        _class(store, *each) for each in zip(groups, "abcdefghijklmnop", defaults, strict=False)
    ]
    ratios = {name: use[name] / use[f"{name}_request"] for name in _USED}
    fields: dict[str, Any] = {}
    of_short = tuple(curve(ratio[~is_long & (ratio >= 0.0)], None) for ratio in ratios.values())
    if all(of_short) and len(np.unique(short["collection_id"])) >= FEWEST:
        fields["short_use"] = of_short
        classes.append(
            replace(_class(store, short, "q", defaults[0]), share=0.0, median=0.0, drifting=0.0)
        )
    fields["classes"] = TaskClasses(tuple(classes), float(merged_ends(long["cpu"])[-1]))
    if np.ptp(long["cpu_request"]) > 0.0:
        alike = stats.spearmanr(long["cpu_request"], long["cpu"]).statistic
        fields["likeness"] = float(np.clip(alike, 0.0, 0.99))
    for name, ratio in ratios.items():
        logs = np.log(ratio[is_long & (ratio > 0.0)])
        fields |= {f"{name}_spread": float(logs.std())} if len(logs) >= FEWEST else {}
    return fields


def _chosen(rows: Columns, which: Flags) -> Columns:
    return {name: values[which] for name, values in rows.items()}


def _class(store: Store, use: Columns, letter: str, default: TaskClass) -> TaskClass:
    """Return the class of some tasks, with a form of the default where the store does not tell it."""
    level, keys = use["cpu"], np.stack([use[name] for name in TASK], axis=1)
    windows = store.traces(store.task_rows(keys), ("average_cpu", "sampled_cpu"))
    task = np.repeat(np.arange(len(level)), np.diff(windows.offsets))
    between = windows.average_cpu / level[task]
    within = windows.sampled_cpu[between > 0.0] / windows.average_cpu[between > 0.0]
    pairs = np.flatnonzero((task[1:] == task[:-1]) & np.isfinite(between[1:] + between[:-1]))
    now, after = between[pairs] - 1.0, between[pairs + 1] - 1.0
    # Near 1 where the level wanders over hours.
    alike = float(np.mean(now * after) / np.mean(now**2)) if now.any() else 0.0
    logs = np.log(level)
    return TaskClass(
        *(letter, float(len(level)), float(np.exp(logs.mean())), float(logs.std())),
        *(_shape(between, default.between), _shape(within, default.within)),
        drifting=min(max((alike - _STAYS) / (_WANDERS - _STAYS), 0.0), 1.0),
    )


def _kinds(level: Numbers, variation: Numbers, job: Index) -> Index:
    """Return the class of each task; one of fewer than ten jobs is put to the one before (the first to the next)."""
    rank = np.argsort(np.argsort(level, kind="stable"), kind="stable") / len(level)
    # Eight groups by level.  The upper tenth uses as much as half of the others, and so is divided more finely.
    kinds = 2 * (8 * (1.0 - np.sqrt(1.0 - rank))).astype(np.int64)
    for kind in np.unique(kinds):
        mine = kinds == kind
        kinds[mine] += variation[mine] > np.median(variation[mine])
    for kind in (*np.unique(kinds)[::-1], np.min(kinds)):
        mine = kinds == kind
        if len(np.unique(job[mine])) < FEWEST and not mine.all():
            kinds[mine] = (
                kinds[kinds < kind].max() if kind > kinds.min() else kinds[kinds > kind].min()
            )
    return kinds


def _shape(ratios: NDArray[np.float32], default: Shape) -> Shape:
    """Return a distribution by its quantiles; the default where nothing is known, or all is 0."""
    known = ratios[np.isfinite(ratios)]
    if len(known) < FEWEST or not known.any():
        return default
    return Tabulated(tuple(np.quantile(merged_ends(known), special.ndtr(GRID)).tolist()))
