"""Several stores side by side: answers aligned by their keys, and distances between their jobs with intervals."""

from collections.abc import Mapping
from itertools import islice, pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from borgtrace.engine.embedded import raw_connection
from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.question.answer import Answer
from borgtrace.question.answer import AnswerColumn as Column
from borgtrace.question.question import Result
from borgtrace.schema.arrow import arrow_schema
from borgtrace.store import Manifest, Store

BLOCKS = 100
"""Blocks of jobs, by a hash of the id: a job that two stores have is in the same block of both."""
DRAWS = 400
_LOW, _HIGH, _TWO_SIDED = 0.025, 0.975, 1.96
"""Quantiles that 95 % lie between, and the standard deviations of a normal distribution that hold them."""
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
    (first, *_) = results.values()
    key = list(first.question.answer.key_names)
    values = [name for name in first.table.column_names if name not in key]
    # In DuckDB: Arrow joins no lists.
    with raw_connection() as connection:
        for number, result in enumerate(results.values()):
            connection.register(f"answer{number}", result.table)
        using = ", ".join(f'"{name}"' for name in key)
        joined = " full join ".join(
            f"answer{n}" + (f" using ({using})" if n else "") for n in range(len(results))
        )
        columns = ", ".join(
            f'answer{number}."{name}" as "{name} {label}"'
            for name in values
            for number, label in enumerate(results)
        )
        query = f"select {using}{', ' if columns else ''}{columns} from {joined} order by {using}"
        return connection.sql(query).to_arrow_table()


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
    key = [name for name in first.question.answer.key_names if name != "percent"]
    if (
        "percent" not in first.question.answer.key_names
        or "seconds" not in first.table.column_names
    ):
        return pa.table({})
    rows: list[dict[str, Any]] = []
    base = _curves(first, key)
    for label, result in others:
        for group, curve in _curves(result, key).items():
            shared = sorted(curve.keys() & base.get(group, {}).keys())
            gaps = [curve[percent] - base[group][percent] for percent in shared]
            known = [(percent, gap) for percent, gap in zip(shared, gaps, strict=True) if gap]
            turns = [pair for pair in pairwise(known) if pair[0][1] * pair[1][1] < 0]
            row = {
                **dict(zip(key, group, strict=True)),
                "store": label,
                "against": against,
                "percent": None,
            }
            if turns:
                (low, before), (high, after) = turns[-1]
                row["percent"] = low + (high - low) * before / (before - after)
            rows.append(row | {"tail_is_longer": known[-1][1] > 0 if known else None})
    return pa.Table.from_pylist(rows)


def _curves(result: Result, key: list[str]) -> dict[tuple[Any, ...], dict[float, float]]:
    found: dict[tuple[Any, ...], dict[float, float]] = {}
    for row in result.table.to_pylist():
        if row["seconds"] is not None:
            found.setdefault(tuple(row[name] for name in key), {})[row["percent"]] = row["seconds"]
    return found


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
    (against, base), *_ = stores.items()
    reference = _jobs(base)
    # How often each block is drawn: the same draws for all measures and stores.
    drawn = (
        np.random.default_rng(seed)
        .multinomial(BLOCKS, np.full(BLOCKS, 1 / BLOCKS), DRAWS)
        .astype(float)
    )
    rows = []
    for label, store in islice(stores.items(), 1, None):
        jobs = _jobs(store)
        for name, (_, unit) in MEASURES.items():
            is_shape = unit.startswith("capacity") and not share_units(
                base.manifest, store.manifest
            )
            one, other = _values(reference, name), _values(jobs, name)
            if not (len(one[0]) and len(other[0])):
                continue
            row: dict[str, Any] = {
                "measure": name,
                "store": label,
                "against": against,
                "unit": "own mean" if is_shape else unit,
            }
            row |= {"jobs": len(other[0]), "jobs_against": len(one[0])}
            rows.append(row | _compared(one, other, drawn, is_shape=is_shape))
    return pa.Table.from_pylist(rows, arrow_schema(DISTANCES))


def share_units(one: Manifest, other: Manifest) -> bool:
    """Return whether amounts of two stores are fractions of the same machine: of one trace, on one basis."""
    return (one.generation, one.basis) == (other.generation, other.basis)


def _jobs(store: Store) -> pa.Table:
    columns = ", ".join(f'({sql})::double as "{name}"' for name, (sql, _) in MEASURES.items())
    block = f"(md5_number_lower(collection_id::varchar) % {BLOCKS})::bigint as block"
    # In order, so that sums of equal stores are equal to the last bit.
    jobs = "where collection_type = 'JOB' group by collection_id order by collection_id"
    return store.sql(f"select {block}, {columns} from tasks {jobs}")


def _values(jobs: pa.Table, name: str) -> tuple[Numbers, Index]:
    """Return the values of the jobs that have one, and their blocks."""
    values = jobs.column(name).to_numpy()
    known = np.isfinite(values)
    return values[known], jobs.column("block").to_numpy()[known]


def _compared(
    one: tuple[Numbers, Index], other: tuple[Numbers, Index], drawn: Numbers, *, is_shape: bool
) -> dict[str, Any]:
    """Compare the values of `other` with those of `one`."""
    if is_shape:
        one, other = ((values / (values.mean() or 1), blocks) for values, blocks in (one, other))
    found: dict[str, Any] = {}
    if not is_shape:
        base, mean = one[0].mean(), other[0].mean()
        # A drawn set may hold no job of a small store, or none that used anything.
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = _means(other, drawn) / _means(one, drawn)
        known = ratios[np.isfinite(ratios)]
        low, high = np.quantile(known, (_LOW, _HIGH)).tolist() if len(known) else (None, None)
        found = {"ratio": mean / base if base else None, "ratio_low": low, "ratio_high": high}
    distance = _farthest(one[0], other[0])
    # Drawing can hardly bring two samples nearer: percentiles of the draws would leave out the distance itself.
    draws = _drawn_farthest(one, other, drawn)
    # A draw may hold no job of a small store.
    spread = _TWO_SIDED * float(draws[np.isfinite(draws)].std())
    ends = {
        "distance_low": max(distance - spread, 0.0),
        "distance_high": min(distance + spread, 1.0),
    }
    return found | {"distance": distance} | ends


def _means(sample: tuple[Numbers, Index], drawn: Numbers) -> Numbers:
    values, blocks = sample
    sums, counts = (np.bincount(blocks, weights, BLOCKS) for weights in (values, None))
    return (drawn @ sums) / (drawn @ counts)


def _farthest(one: Numbers, other: Numbers) -> float:
    """Return the largest distance of two distribution functions: that of Kolmogorov and Smirnov."""
    points = np.concatenate((one, other))
    steps = (
        np.searchsorted(np.sort(values), points, side="right") / len(values)
        for values in (one, other)
    )
    return float(np.abs(np.subtract(*steps)).max())


def _drawn_farthest(
    one: tuple[Numbers, Index], other: tuple[Numbers, Index], drawn: Numbers
) -> Numbers:
    """Return the same for each draw, where a job counts as often as its block was drawn, shape (draws,)."""
    points = np.unique(np.concatenate((one[0], other[0])))
    # Of many values some serve, evenly by rank, up to the largest: an interval needs no more.
    points = points[np.linspace(0, len(points) - 1, min(len(points), _POINTS)).astype(np.int64)]
    shares = []
    for values, blocks in (one, other):
        cells = blocks * len(points) + np.searchsorted(points, values)
        counts = (
            np.bincount(cells, minlength=BLOCKS * len(points)).reshape(BLOCKS, -1).cumsum(axis=1)
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            shares.append((drawn @ counts) / (drawn @ counts[:, -1])[:, np.newaxis])
    return np.abs(shares[0] - shares[1]).max(axis=1)
