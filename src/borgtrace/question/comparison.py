"""Several stores side by side: answers aligned by their keys, and distances between their jobs with intervals."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from borgtrace.engine.guard import open_values
from borgtrace.engine.identifiers import quoted
from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.question.answer import Answer, Row
from borgtrace.question.answer import AnswerColumn as Column
from borgtrace.question.question import Result
from borgtrace.schema.arrow import arrow_schema
from borgtrace.store import Manifest, Store

Curve: TypeAlias = dict[float, float]
"""Seconds by percent."""
BLOCKS = 100
"""Blocks of jobs, by a hash of the id: a job that two stores have is in the same block of both."""
DRAWS = 400
_LOW_QUANTILE = 0.025
_HIGH_QUANTILE = 0.975
_DEVIATIONS = 1.96
"""Standard deviations on each side that hold 95 % of a normal distribution."""
_POINTS = 2048
"""Values at which distribution functions are compared in each draw: more change an interval by less than 0.0005."""

MEASURES = {
    "tasks of a job": ("count(*)", "count"),
    "windows of a job": ("sum(n_windows)", "count"),
    "hours measured of a job": ("sum(seconds) / 3600", "h"),
    "CPU-hours of a job": ("sum(weighted_mean_average_cpu * seconds) / 3600", "capacity × h"),
    "memory-hours of a job": ("sum(weighted_mean_average_memory * seconds) / 3600", "capacity × h"),
    "mean CPU of a job's tasks": ("avg(mean_average_cpu)", "capacity"),
    "mean memory of a job's tasks": ("avg(mean_average_memory)", "capacity"),
    "CPU request of a job's tasks": ("avg(cpu_request)", "capacity"),
    "memory request of a job's tasks": ("avg(memory_request)", "capacity"),
}
"""What is measured of each job: SQL over its tasks, and the unit.  A capacity is that of the largest machine."""

DISTANCES = Answer(
    grain="measure and store, against the first one",
    key=[
        Column("measure", "string", "", "What is measured of each job.", nullable=True),
        Column("store", "string", "id", "The store.", nullable=True),
    ],
    columns=[
        Column("against", "string", "id", "The first store.", nullable=True),
        Column("jobs", "int64", "count", "Jobs of the store that have a value.", nullable=True),
        Column(
            "jobs_against",
            "int64",
            "count",
            "Jobs of the first store that have a value.",
            nullable=True,
        ),
        Column(
            "unit",
            "string",
            "",
            "Unit of both; 'own mean' where capacities differ, so that only shapes compare.",
            nullable=True,
        ),
        Column(
            "ratio",
            "float64",
            "1",
            "Mean of the store over that of the first; NULL where only shapes compare.",
            nullable=True,
        ),
        Column(
            "ratio_low",
            "float64",
            "1",
            "Lower end of its 95 % interval, over blocks of jobs.",
            nullable=True,
        ),
        Column("ratio_high", "float64", "1", "Upper end of it.", nullable=True),
        Column(
            "distance",
            "float64",
            "1",
            "Largest distance of the two distribution functions (Kolmogorov-Smirnov).",
            nullable=True,
        ),
        Column(
            "distance_low",
            "float64",
            "1",
            "Lower end of its 95 % interval, over blocks of jobs.",
            nullable=True,
        ),
        Column("distance_high", "float64", "1", "Upper end of it.", nullable=True),
    ],
).table("distances")


class JobValues(NamedTuple):
    """A measure of the jobs that have one, float64 (n,), and the block of each job."""

    values: Numbers
    blocks: Index


def aligned(results: Mapping[str, Result]) -> pa.Table:
    """Put the answers of one question side by side: a row per key that any of them has.

    Values stand beside each other and are neither added nor subtracted, for their units may differ.

    Parameters
    ----------
    results
        Answers by the label of their store.

    Returns
    -------
    pyarrow.Table
        The key, then each column as ``NAME LABEL``; NULL where a store has no such row.
    """
    first = next(iter(results.values()))
    key_names = first.question.answer.key_names
    key = ", ".join(quoted(name) for name in key_names)
    columns = [key]
    # Labels are names of folders, which may come from anyone: they never reach SQL.
    labeled_names = list(key_names)
    for name in first.table.column_names:
        if name not in key_names:
            for number, label in enumerate(results):
                labeled_names.append(f"{name} {label}")
                place = quoted(f"column{len(labeled_names)}")
                columns.append(f"{quoted(f'answer{number}', name)} as {place}")
    joined = "answer0"
    for number in range(1, len(results)):
        joined += f" full join {quoted(f'answer{number}')} using ({key})"

    # In DuckDB: Arrow joins no lists.
    with open_values(threads=None) as connection:
        for number, result in enumerate(results.values()):
            connection.register(f"answer{number}", result.table)
        query = f"select {', '.join(columns)} from {joined} order by {key}"
        table = connection.sql(query).to_arrow_table()
    return table.rename_columns(labeled_names)


def crossings(results: Mapping[str, Result]) -> pa.Table:
    """Return where the quantile curves of stores cross those of the first for the last time, of one question.

    Beyond it lies the tail, where the order of the two is reversed: waits may be shorter for most jobs and longer for
    the last ones.  Only where the answer has quantiles of seconds by percent.

    Parameters
    ----------
    results
        Answers by the label of their store.

    Returns
    -------
    pyarrow.Table
        The rest of the key, ``store``, ``against``, ``percent`` (between two published ones along the line; NULL where
        the curves do not cross), and whether the ``tail_is_longer`` in the store.
    """
    (against, first), *others = results.items()
    key_names = first.question.answer.key_names
    if "percent" not in key_names or "seconds" not in first.table.column_names:
        return pa.table({})
    group_names = [name for name in key_names if name != "percent"]
    curves_against = _curves(first, group_names)
    rows: list[Row] = []
    for label, result in others:
        for group, curve in _curves(result, group_names).items():
            crossing = _last_crossing(curve, curves_against.get(group, {}))
            keys = dict(zip(group_names, group, strict=True))
            rows.append({**keys, "store": label, "against": against, **crossing})
    return pa.Table.from_pylist(rows)


def _curves(result: Result, group_names: list[str]) -> dict[tuple[Any, ...], Curve]:
    curves: dict[tuple[Any, ...], Curve] = {}
    for row in result.table.to_pylist():
        if row["seconds"] is not None:
            group = tuple(row[name] for name in group_names)
            curves.setdefault(group, {})[row["percent"]] = row["seconds"]
    return curves


def _last_crossing(curve: Curve, against: Curve) -> Row:
    """Return at which percent a curve last crosses another, and whether it is above it beyond."""
    gaps = []
    for percent in sorted(curve.keys() & against.keys()):
        gap = curve[percent] - against[percent]
        if gap:
            gaps.append((percent, gap))
    crossed_at = None
    for (low, before), (high, after) in pairwise(gaps):
        if before * after < 0:
            crossed_at = low + (high - low) * before / (before - after)
    tail_is_longer = gaps[-1][1] > 0 if gaps else None
    return {"percent": crossed_at, "tail_is_longer": tail_is_longer}


def distances(stores: Mapping[str, Store], *, seed: int = 0) -> pa.Table:
    """Compare the jobs of stores with those of the first: ratios of means and distances, with intervals.

    Intervals come from a bootstrap: blocks of jobs are drawn with replacement, the same ones of both stores, so that
    jobs which both have (before and after, real and simulated) are compared with themselves.  Of ratios they are
    percentiles of the draws, of distances 1.96 of their standard deviations on each side.  Amounts whose
    units differ (capacities of two traces) are divided by the mean of their own store first: shapes are compared, and
    no ratio is given.

    Parameters
    ----------
    stores
        Two or more, by label.
    seed
        Of the draws.

    Returns
    -------
    pyarrow.Table
        As :data:`DISTANCES` declares it.
    """
    (against, base), *others = stores.items()
    base_jobs = _jobs(base)
    # How often each block is drawn: the same draws for all measures and stores.
    equal_chances = np.full(BLOCKS, 1 / BLOCKS)
    drawn = np.random.default_rng(seed).multinomial(BLOCKS, equal_chances, DRAWS).astype(float)
    rows: list[Row] = []
    for label, store in others:
        jobs = _jobs(store)
        has_other_units = not share_units(base.manifest, store.manifest)
        for measure, (_, unit) in MEASURES.items():
            reference = _values(base_jobs, measure)
            sample = _values(jobs, measure)
            if not (len(reference.values) and len(sample.values)):
                continue
            is_shape = unit.startswith("capacity") and has_other_units
            row = {
                "measure": measure,
                "store": label,
                "against": against,
                "unit": "own mean" if is_shape else unit,
                "jobs": len(sample.values),
                "jobs_against": len(reference.values),
            }
            if is_shape:
                reference = _over_own_mean(reference)
                sample = _over_own_mean(sample)
            else:
                row |= _ratio(reference, sample, drawn)
            rows.append(row | _distance(reference, sample, drawn))
    return pa.Table.from_pylist(rows, arrow_schema(DISTANCES))


def share_units(one: Manifest, other: Manifest) -> bool:
    """Return whether amounts of two stores are fractions of the same machine: of one trace, on one basis."""
    return (one.generation, one.basis) == (other.generation, other.basis)


def _jobs(store: Store) -> pa.Table:
    block = f"(md5_number_lower(collection_id::varchar) % {BLOCKS})::bigint as block"
    measures = [f"({sql})::double as {quoted(name)}" for name, (sql, _) in MEASURES.items()]
    # In order, so that sums of equal stores are equal to the last bit.
    query = f"""
        select {", ".join([block, *measures])}
        from tasks
        where collection_type = 'JOB'
        group by collection_id
        order by collection_id
    """
    return store.sql(query)


def _values(jobs: pa.Table, measure: str) -> JobValues:
    """Return the values of the jobs that have one."""
    values = jobs.column(measure).to_numpy()
    is_known = np.isfinite(values)
    return JobValues(values[is_known], jobs.column("block").to_numpy()[is_known])


def _over_own_mean(sample: JobValues) -> JobValues:
    return sample._replace(values=sample.values / (sample.values.mean() or 1))


def _ratio(reference: JobValues, sample: JobValues, drawn: Numbers) -> Row:
    """Return the mean of `sample` over that of `reference`, with its interval."""
    # A drawn set may hold no job of a small store, or none that used anything.
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = _drawn_means(sample, drawn) / _drawn_means(reference, drawn)
    ratios = ratios[np.isfinite(ratios)]
    low, high = None, None
    if len(ratios):
        low, high = np.quantile(ratios, (_LOW_QUANTILE, _HIGH_QUANTILE)).tolist()
    base = reference.values.mean()
    ratio = sample.values.mean() / base if base else None
    return {"ratio": ratio, "ratio_low": low, "ratio_high": high}


def _drawn_means(sample: JobValues, drawn: Numbers) -> Numbers:
    sums = np.bincount(sample.blocks, sample.values, BLOCKS)
    counts = np.bincount(sample.blocks, minlength=BLOCKS)
    return (drawn @ sums) / (drawn @ counts)


def _distance(reference: JobValues, sample: JobValues, drawn: Numbers) -> Row:
    """Return the largest distance of two distribution functions, with its interval."""
    distance = _farthest(reference.values, sample.values)
    # Drawing can hardly bring two samples nearer: percentiles of the draws would leave out the distance itself.
    drawn_distances = _drawn_farthest(reference, sample, drawn)
    # A draw may hold no job of a small store.
    is_known = np.isfinite(drawn_distances)
    spread = _DEVIATIONS * float(drawn_distances[is_known].std())
    return {
        "distance": distance,
        "distance_low": max(distance - spread, 0.0),
        "distance_high": min(distance + spread, 1.0),
    }


def _farthest(reference: Numbers, sample: Numbers) -> float:
    """Return the largest distance of two distribution functions: that of Kolmogorov and Smirnov."""
    points = np.concatenate((reference, sample))
    shares_below = [
        np.searchsorted(np.sort(values), points, side="right") / len(values)
        for values in (reference, sample)
    ]
    return float(np.abs(shares_below[0] - shares_below[1]).max())


def _drawn_farthest(reference: JobValues, sample: JobValues, drawn: Numbers) -> Numbers:
    """Return the same for each draw, where a job counts as often as its block was drawn, shape (draws,)."""
    points = np.unique(np.concatenate((reference.values, sample.values)))
    # Of many values some serve, evenly by rank, up to the largest: an interval needs no more.
    n_points = min(len(points), _POINTS)
    points = points[np.linspace(0, len(points) - 1, n_points).astype(np.int64)]
    shares_below = []
    for values, blocks in (reference, sample):
        cells = blocks * n_points + np.searchsorted(points, values)
        counts = np.bincount(cells, minlength=BLOCKS * n_points).reshape(BLOCKS, -1)
        counts_below = counts.cumsum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            n_drawn = (drawn @ counts_below[:, -1])[:, np.newaxis]
            shares_below.append((drawn @ counts_below) / n_drawn)
    return np.abs(shares_below[0] - shares_below[1]).max(axis=1)
