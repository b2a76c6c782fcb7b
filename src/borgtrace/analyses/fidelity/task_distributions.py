"""Distributions of requests, usage and lives of a store's tasks, as parameters of a synthetic cell."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from borgtrace.analyses.fidelity.usage_measures import LONG, MOST_ROWS
from borgtrace.analyses.fidelity.weighted_measures import fetch_sorted, renamed, times, words
from borgtrace.analyses.shared.attempts import TASK, of_jobs
from borgtrace.analyses.shared.quantiles import Counts, kaplan_meier
from borgtrace.analyses.shared.trends import spearman
from borgtrace.analyses.shared.window_blocks import column
from borgtrace.analyses.shared.windows import task_tiers
from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.kernels.normal import normal_probability
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
"""Jobs (or values) of the smallest group with a distribution of its own."""
CURVE_SHARES = np.array([0.0, 0.01, 0.05, *np.arange(1, 10) / 10, 0.95, 0.98, 0.99, 0.995, 1.0])
MEDIAN_USE = {"cpu": 0.29, "memory": 0.62}
"""Medians of used ÷ requested, from which the request of a task without one is inferred."""
AUTOCORRELATION_STEADY = 0.15
"""Autocorrelation over 5 minutes of the generator's tasks whose level stays."""
AUTOCORRELATION_DRIFTING = 0.92
"""The same of its tasks whose level wanders."""
N_LEVELS = 8
"""Groups of long tasks by their mean CPU; each is halved by variation."""
LETTERS = "abcdefghijklmnop"
LETTER_OF_SHORT_TASKS = "q"
N_REQUESTS = 60
"""Steps of the distribution of requests."""
N_LIFE_STEPS = 40


def columns(table: pa.Table) -> Columns:
    """Return all columns as arrays: texts as texts, NULL and times after the trace as NaN, whole numbers exactly."""
    return {name: column_values(table, name) for name in table.column_names}


def column_values(table: pa.Table, name: str) -> NDArray[Any]:
    """Return one column as an array; see :func:`columns`."""
    if name.endswith("time"):
        return times(table, name)
    type_ = table[name].type
    # Ids of own data have 63 bits, which a float does not hold.
    if pa.types.is_integer(type_) and not table[name].null_count:
        return np.asarray(table[name].to_numpy())
    if pa.types.is_integer(type_) or pa.types.is_floating(type_):
        return column(table, name)
    return words(table, name)


def merged_ends(values: NDArray[Any]) -> NDArray[Any]:
    """Return values in order; the ten smallest and the ten largest count as their means, so that none stands alone."""
    ordered = np.sort(values)
    low = ordered[:FEWEST].mean()
    high = ordered[-FEWEST:].mean()
    ordered[:FEWEST] = low
    ordered[-FEWEST:] = high
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
    merged = merged_ends(values.astype(float))
    quantiles = np.quantile(merged, CURVE_SHARES, method="inverted_cdf")
    quantiles = np.maximum(quantiles, 1e-4)
    return QuantileCurve(tuple(CURVE_SHARES.tolist()), tuple(quantiles.tolist()))


def tier_like(tier: Tier, runs: Columns, jobs: Columns, use: Columns, machines: int) -> Tier:
    """Return a tier with the parameters that a store has of it.

    Parameters
    ----------
    tier
        The tier as it was published.
    runs, jobs, use
        Attempts, jobs that arrive and tasks with usage, each with their ``tier``.
    machines
        Machines of the store.
    """
    is_below_production = use["tier"] != "production"
    uses_little = tier.failing_use_little and failing_use_little(
        select_rows(use, is_below_production)
    )
    runs = select_rows(runs, runs["tier"] == tier.name)
    jobs = select_rows(jobs, jobs["tier"] == tier.name)
    use = select_rows(use, use["tier"] == tier.name)
    fields: dict[str, Any] = {
        **fields_of_runs(tier, runs),
        **fields_of_start(tier, runs, use, machines),
        **fields_of_jobs(tier, jobs),
        "memory_use": share_of_request(use, "memory", tier.memory_use),
        "cpu_use": share_of_request(use, "cpu", tier.cpu_use) if tier.cpu_use else 0.0,
        "failing_use_little": uses_little,
        # How usage moves is in the classes; that it stays within twice the request is not measured.
        "gain": 1.0,
        "need": 1.0,
        "overuse": math.inf,
        "steady": 0.0,
    }
    # The lives of 2011 would take the place of the store's own run times.
    return replace(tier, lives=None, is_steady=False, **fields)


def failing_use_little(use: Columns) -> bool:
    """Return whether long tasks that fail use their CPU request like short tasks, not like the other long ones."""
    share = use["cpu"] / use["cpu_request"]
    is_used = share > 0.0
    is_long = use["n_windows"] >= LONG
    fails = use["failures"] > 0
    groups = [is_used & is_long & fails, is_used & ~is_long, is_used & is_long & ~fails]
    if min(group.sum() for group in groups) < FEWEST:
        return False
    failing, short, ending_well = (np.log(np.median(share[group])) for group in groups)
    return bool(abs(failing - short) < abs(failing - ending_well))


def select_rows(rows: Columns, condition: Flags) -> Columns:
    """Keep the rows that meet a condition, shape (n,)."""
    return {name: values[condition] for name, values in rows.items()}


def fields_of_runs(tier: Tier, runs: Columns) -> dict[str, Any]:
    """Return lives, ends and waits of the attempts that are scheduled inside the trace."""
    is_new = runs["schedule_time"] > TRACE_START
    ready_time = np.fmax(runs["submit_time"], runs["enable_time"])
    wait = (runs["schedule_time"] - ready_time) / SECOND
    has_wait = is_new & (runs["submit_time"] >= TRACE_START) & (wait >= 0.0)
    wait = wait[has_wait]
    return {
        # Where events were derived from usage, no task waits.
        "delay": curve(wait, tier.delay) if wait.any() else tier.delay,
        "duration": life_curve(runs, is_new, tier.duration),
        "outcomes": shares_of_ends_by_length(runs, is_new, tier.outcomes),
    }


def fields_of_start(tier: Tier, runs: Columns, use: Columns, machines: int) -> dict[str, Any]:
    """Return how many tasks run and wait when the trace begins, their jobs, requests, lives and ends."""
    is_running = runs["schedule_time"] <= TRACE_START
    is_waiting = ~is_running & (runs["submit_time"] <= TRACE_START)
    running = select_rows(runs, is_running)
    _, sizes = np.unique(running["collection_id"], return_counts=True)
    fields: dict[str, Any] = {
        "snapshot_sizes": curve(sizes, tier.snapshot_sizes),
        "running": float(is_running.sum() / machines),
        "pending": float(is_waiting.sum() / machines),
        "residual": life_curve(runs, is_running, tier.residual),
        "residual_outcomes": shares_of_values(running["end_type"], tier.residual_outcomes),
        "snapshot_classes": shares_of_values(running["scheduling_class"], tier.snapshot_classes),
    }
    for resource in MEDIAN_USE:
        requests = running[f"{resource}_request"]
        if not (requests > 0.0).any():
            requests = use[f"{resource}_request"]
        fields[resource] = weighted_requests(requests, getattr(tier, resource))
    return fields


def fields_of_jobs(tier: Tier, jobs: Columns) -> dict[str, Any]:
    """Return number, sizes and classes of the jobs that arrive."""
    size = jobs["size"][jobs["size"] > 0]
    fields: dict[str, Any] = {
        "jobs": float(len(jobs["tier"])),
        "sizes": curve(size[size > 1], tier.sizes),
        "classes": shares_of_values(jobs["class_"], tier.classes),
    }
    if len(size) >= FEWEST:
        fields["single"] = float((size == 1).mean())
        fields["largest"] = 1_000_000
    return fields


def life_curve(runs: Columns, chosen: Flags, default: QuantileCurve) -> QuantileCurve:
    """Return the Kaplan–Meier curve of lives, whose unseen end is that of the default."""
    seconds = runs["seconds"][chosen]
    has_ended = runs["is_over"][chosen]
    if has_ended.sum() < FEWEST:
        return default
    ended = merged_ends(seconds[has_ended])
    censored = seconds[~has_ended]
    life_times, shares = kaplan_meier(counted_once(ended), counted_once(censored))
    even_shares = np.linspace(0.0, shares[-1], N_LIFE_STEPS)[1:]
    chosen_steps = np.unique(np.searchsorted(shares, even_shares))
    longest = life_times[-1]
    if shares[-1] < 1.0:
        longest = max(default.values[-1], 2.0 * life_times[-1])
    return QuantileCurve(
        (0.0, *shares[chosen_steps].tolist(), 1.0),
        (float(life_times[0]), *life_times[chosen_steps].tolist(), float(longest)),
    )


def counted_once(values: Numbers) -> Counts:
    """Return values that count once each."""
    return Counts(values, np.ones(len(values), np.int64))


def shares_of_ends_by_length(
    runs: Columns, chosen: Flags, default: Mapping[str, Sequence[float]]
) -> dict[str, list[float]]:
    """Return the shares of ends by length; a length that never occurs has the default's."""
    length = np.digitize(runs["seconds"], LENGTHS)
    has_ended = chosen & runs["is_over"]
    counts = {}
    for kind in default:
        is_kind = has_ended & (runs["end_type"] == kind)
        counts[kind] = np.bincount(length[is_kind], minlength=6)
    total = sum(counts.values())
    return {
        kind: np.where(total, n / np.maximum(total, 1), default[kind]).tolist()
        for kind, n in counts.items()
    }


def shares_of_values(values: NDArray[Any], default: Any) -> Any:
    """Return the shares of the default's values; the default where none of them occurs."""
    counts = {value: float((values == value).sum()) for value in default}
    total = sum(counts.values())
    if not total:
        return default
    return {value: n / total for value, n in counts.items()}


def weighted_requests(requests: Numbers, default: Mapping[float, float]) -> Mapping[float, float]:
    """Return requests and their weights, in even steps of their distribution."""
    requests = requests[requests > 0.0]
    if len(requests) < FEWEST:
        return default
    shares = (np.arange(N_REQUESTS) + 0.5) / N_REQUESTS
    steps = np.quantile(merged_ends(requests), shares, method="inverted_cdf")
    values, weights = np.unique(steps, return_counts=True)
    return dict(zip(values.tolist(), weights.tolist(), strict=True))


def share_of_request(use: Columns, resource: str, default: float) -> float:
    """Return the median, over windows, of used ÷ requested."""
    share = use[resource] / use[f"{resource}_request"]
    known = np.flatnonzero(share > 0.0)
    if len(known) < FEWEST:
        return default
    order = known[np.argsort(share[known], kind="stable")]
    windows_so_far = np.cumsum(use["n_windows"][order])
    middle = np.searchsorted(windows_so_far, windows_so_far[-1] / 2)
    return float(share[order[middle]])


def with_lives(runs: Columns, machines: Columns) -> Columns:
    """Add to attempts their ``seconds`` inside the trace, and whether each ``is_over`` by itself.

    Parameters
    ----------
    runs
        Attempts.
    machines
        Changes of machines.
    """
    schedule = runs["schedule_time"]
    left = runs["left_time"]
    end = runs["end_time"]
    last = float(np.nanmax(np.concatenate([schedule, end, [TRACE_START]])))
    until = np.where(np.isnan(left), last, np.minimum(left, last))
    seconds = (until - np.maximum(schedule, TRACE_START)) / SECOND
    # What ends with the removal of its machine would do so in the cell as well, and a second time by its life.
    is_removal = machines["type"] == "REMOVE"
    removals = set(
        zip(machines["machine_id"][is_removal], machines["time"][is_removal], strict=True)
    )
    ends_with_machine = [
        machine_and_time in removals
        for machine_and_time in zip(runs["machine_id"], end, strict=True)
    ]
    return {
        **runs,
        "seconds": np.maximum(seconds, 1.0),
        "is_over": ~np.isnan(end) & ~np.array(ends_with_machine, bool),
    }


def tasks_with_usage(tables: Tables, names: Mapping[str, str]) -> Columns:
    """Return tasks of jobs with usage and requests; a missing request is inferred from usage.

    Parameters
    ----------
    tables
        The store's tables.
    names
        Names of its tiers in the cell.
    """
    tasks = of_jobs(tables.tasks).filter(tables.tasks.n_windows > 0)
    rows = tasks.select(
        *TASK,
        "n_windows",
        "std_average_cpu",
        "max_average_cpu",
        cpu=tasks.mean_average_cpu,
        memory=tasks.mean_average_memory,
        failures=tasks.n_evict + tasks.n_fail + tasks.n_kill + tasks.n_lost,
    )
    rows = rows.inner_join(task_tiers(tables, "cpu_request", "memory_request"), list(TASK))
    use = dict(columns(renamed(fetch_sorted(tables, rows, "use", TASK), names)))
    for resource, usual_share in MEDIAN_USE.items():
        request = use[f"{resource}_request"]
        inferred = np.maximum(use[resource] / usual_share, 1e-6)
        use[f"{resource}_request"] = np.where(request > 0.0, request, inferred)
    return use


def usage_like(store: Store, use: Columns) -> dict[str, Any]:
    """Return the classes of tasks, and the parameters that go with them.

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
    n_parts = max(1, int(-(-use["n_windows"].sum() // MOST_ROWS)))
    is_chosen = use["collection_id"] % n_parts == 0
    is_used = (use["cpu"] > 0.0) & (use["max_average_cpu"] <= 1.0) & is_chosen
    is_long = use["n_windows"] >= LONG
    long_tasks = select_rows(use, is_used & (is_long & (use["failures"] == 0)))
    short_tasks = select_rows(use, is_used & ~is_long)
    if n_jobs(long_tasks) < FEWEST:
        return {}
    defaults = [CLASSES.rows[position] for position in CLASSES.order]
    classes = classes_of_long_tasks(store, long_tasks, defaults)
    fields: dict[str, Any] = {}
    short_use = curves_of_short_tasks(use, is_long)
    if short_use and n_jobs(short_tasks) >= FEWEST:
        fields["short_use"] = short_use
        of_short_tasks = task_class(
            fetch_windows(store, short_tasks),
            short_tasks["cpu"],
            LETTER_OF_SHORT_TASKS,
            defaults[0],
        )
        classes.append(replace(of_short_tasks, share=0.0, median=0.0, drifting=0.0))
    fields["classes"] = TaskClasses(tuple(classes), float(merged_ends(long_tasks["cpu"])[-1]))
    if np.ptp(long_tasks["cpu_request"]) > 0.0:
        correlation = spearman(long_tasks["cpu_request"], long_tasks["cpu"])
        fields["likeness"] = float(np.clip(correlation, 0.0, 0.99))
    for resource in MEDIAN_USE:
        share = use[resource] / use[f"{resource}_request"]
        logarithms = np.log(share[is_long & (share > 0.0)])
        if len(logarithms) >= FEWEST:
            fields[f"{resource}_spread"] = float(logarithms.std())
    return fields


def n_jobs(rows: Columns) -> int:
    """Return how many jobs tasks belong to."""
    return len(np.unique(rows["collection_id"]))


def classes_of_long_tasks(
    store: Store, tasks: Columns, defaults: Sequence[TaskClass]
) -> list[TaskClass]:
    """Return the classes of long tasks; each has the letter and the forms of the default of its rank."""
    variation = tasks["std_average_cpu"] / tasks["cpu"]
    number = class_numbers(tasks["cpu"], variation, tasks["collection_id"])
    classes = []
    ranks = zip(np.unique(number), LETTERS, defaults, strict=False)
    for class_number, letter, default in ranks:
        members = select_rows(tasks, number == class_number)
        windows = fetch_windows(store, members)
        classes.append(task_class(windows, members["cpu"], letter, default))
    return classes


def curves_of_short_tasks(use: Columns, is_long: Flags) -> tuple[Any, ...] | None:
    """Return the distributions of used ÷ requested of short tasks; None where one of them is unknown."""
    curves = []
    for resource in MEDIAN_USE:
        share = use[resource] / use[f"{resource}_request"]
        curves.append(curve(share[~is_long & (share >= 0.0)], None))
    return tuple(curves) if all(curves) else None


class CpuOfWindows(NamedTuple):
    """CPU of the windows of tasks, in order of time; those of task k are ``offsets[k]`` … ``offsets[k + 1]`` − 1."""

    offsets: Index
    average_cpu: NDArray[Any]
    sampled_cpu: NDArray[Any]


def fetch_windows(store: Store, tasks: Columns) -> CpuOfWindows:
    """Read the windows of tasks."""
    keys = np.stack([tasks[name] for name in TASK], axis=1)
    traces = store.traces(store.task_rows(keys), ("average_cpu", "sampled_cpu"))
    return CpuOfWindows(traces.offsets, traces.average_cpu, traces.sampled_cpu)


def task_class(windows: CpuOfWindows, mean: Numbers, letter: str, default: TaskClass) -> TaskClass:
    """Return the class of some tasks, with a form of the default where the store has none.

    Parameters
    ----------
    windows
        Of all tasks.
    mean
        Mean CPU of each task.
    letter
        Name of the class.
    default
        A published class.
    """
    task = np.repeat(np.arange(len(mean)), np.diff(windows.offsets))
    # Averages of windows over the mean of their task, and seconds over the average of their window.
    between = windows.average_cpu / mean[task]
    is_used = between > 0.0
    within = windows.sampled_cpu[is_used] / windows.average_cpu[is_used]
    logarithms = np.log(mean)
    drift = (autocorrelation(between, task) - AUTOCORRELATION_STEADY) / (
        AUTOCORRELATION_DRIFTING - AUTOCORRELATION_STEADY
    )
    return TaskClass(
        letter=letter,
        share=float(len(mean)),
        median=float(np.exp(logarithms.mean())),
        spread=float(logarithms.std()),
        between=shape_of_ratios(between, default.between),
        within=shape_of_ratios(within, default.within),
        drifting=min(max(drift, 0.0), 1.0),
    )


def autocorrelation(between: NDArray[Any], task: Index) -> float:
    """Return how alike neighboring windows of a task are: near 1 where the level wanders over hours."""
    is_same_task = task[1:] == task[:-1]
    is_known = np.isfinite(between[1:] + between[:-1])
    pairs = np.flatnonzero(is_same_task & is_known)
    deviation = between[pairs] - 1.0
    next_deviation = between[pairs + 1] - 1.0
    if not deviation.any():
        return 0.0
    return float(np.mean(deviation * next_deviation) / np.mean(deviation**2))


def class_numbers(mean: Numbers, variation: Numbers, job: Index) -> Index:
    """Return the class of each task; one of fewer than ten jobs is merged into the one before (the first: the next)."""
    rank = np.argsort(np.argsort(mean, kind="stable"), kind="stable") / len(mean)
    # The upper tenth uses as much as half of the others, and so is divided more finely.
    level = (N_LEVELS * (1.0 - np.sqrt(1.0 - rank))).astype(np.int64)
    number = 2 * level
    for class_number in np.unique(number):
        is_member = number == class_number
        number[is_member] += variation[is_member] > np.median(variation[is_member])
    descending = np.unique(number)[::-1]
    for class_number in (*descending, np.min(number)):
        is_member = number == class_number
        if len(np.unique(job[is_member])) < FEWEST and not is_member.all():
            is_first = class_number <= number.min()
            number[is_member] = (
                number[number > class_number].min()
                if is_first
                else number[number < class_number].max()
            )
    return number


def shape_of_ratios(ratios: NDArray[Any], default: Shape) -> Shape:
    """Return a distribution by its quantiles; the default where nothing is known, or all is 0."""
    known = ratios[np.isfinite(ratios)]
    if len(known) < FEWEST or not known.any():
        return default
    quantiles = np.quantile(merged_ends(known), normal_probability(GRID))
    return Tabulated(tuple(quantiles.tolist()))
