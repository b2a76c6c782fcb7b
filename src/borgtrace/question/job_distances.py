"""How far the jobs of stores lie apart: ratios of means and distances of distributions, with intervals."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from borgtrace.engine.identifiers import quoted
from borgtrace.kernels.arrays import Numbers
from borgtrace.question.answer import Answer, Row
from borgtrace.question.answer import AnswerColumn as Column
from borgtrace.question.block_draws import (
    BLOCKS,
    NO_INTERVAL,
    JobValues,
    drawn_blocks,
    fill_enough_blocks,
    ratio_draws,
    ratio_interval,
)
from borgtrace.question.curve_distance import distance_interval, farthest
from borgtrace.schema.arrow import arrow_schema
from borgtrace.store import Manifest, Store

_SCALE = 2**30


def _sum_sql(value: str) -> str:
    """Return the sum of a value, added up in whole numbers: the same in whatever order an engine takes the rows.

    It is NULL where a value is not finite.
    """
    whole = f"round(if(isfinite({value}), {value}, 0) * {_SCALE})::hugeint"
    return f"if(bool_and(isfinite({value})), sum({whole}) / {_SCALE}, NULL)"


def _mean_sql(value: str) -> str:
    return f"{_sum_sql(value)} / count({value})"


MEASURES = {
    "tasks of a job": ("count(*)", "count"),
    "windows of a job": ("sum(n_windows)", "count"),
    "hours measured of a job": ("sum(seconds) / 3600", "h"),
    "CPU-hours of a job": (
        f"{_sum_sql('weighted_mean_average_cpu * seconds')} / 3600",
        "capacity × h",
    ),
    "memory-hours of a job": (
        f"{_sum_sql('weighted_mean_average_memory * seconds')} / 3600",
        "capacity × h",
    ),
    "mean CPU of a job's tasks": (_mean_sql("mean_average_cpu"), "capacity"),
    "mean memory of a job's tasks": (_mean_sql("mean_average_memory"), "capacity"),
    "CPU request of a job's tasks": (_mean_sql("cpu_request"), "capacity"),
    "memory request of a job's tasks": (_mean_sql("memory_request"), "capacity"),
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
            "Lower end of its 95 % interval, over blocks of jobs; NULL of jobs in fewer than ten blocks.",
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
            "Lower end of the 95 % interval of the distance of the two cells, over blocks of jobs: it is corrected "
            "for noise, which makes samples of one distribution lie apart.",
            nullable=True,
        ),
        Column("distance_high", "float64", "1", "Upper end of it.", nullable=True),
    ],
).table("distances")


def distances(stores: Mapping[str, Store], *, seed: int = 0) -> pa.Table:
    """Compare the jobs of stores with those of the first: ratios of means and distances, with intervals.

    Intervals come from a bootstrap: blocks of jobs are drawn with replacement, the same ones of both stores, so that
    jobs which both have (before and after, real and simulated) are compared with themselves.  See
    :func:`~borgtrace.question.block_draws.ratio_interval` and
    :func:`~borgtrace.question.curve_distance.plausible_distances` for how they are found.  Amounts whose units differ
    (capacities of two traces) are divided by the mean of their own store first: shapes are compared, and no ratio is
    given.

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
    # The same draws for all measures and stores.
    drawn = drawn_blocks(seed)
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
            rows.append(row | compare_jobs(reference, sample, drawn, is_shape=is_shape))
    return pa.Table.from_pylist(rows, arrow_schema(DISTANCES))


def compare_jobs(
    reference: JobValues, sample: JobValues, drawn: Numbers, *, is_shape: bool = False
) -> Row:
    """Return the ratio of the means and the largest distance of two sets of jobs, each with its interval.

    Parameters
    ----------
    reference, sample
        Values of the jobs of two stores.
    drawn
        How often each block is drawn, as :func:`~borgtrace.question.block_draws.drawn_blocks` returns it.
    is_shape
        Whether each is divided by its own mean, and no ratio is given.  That mean is uncertain, so it is drawn anew.
    """
    if is_shape:
        reference = _over_own_mean(reference)
        sample = _over_own_mean(sample)
    draws = ratio_draws(reference, sample, drawn)
    ratio = None
    ratio_ends, distance_ends = NO_INTERVAL, NO_INTERVAL
    if not is_shape:
        base = reference.values.mean()
        ratio = float(sample.values.mean() / base) if base else None
    if fill_enough_blocks(reference, sample):
        scales = np.ones(len(drawn))
        if is_shape:
            scales = np.nan_to_num(np.exp(draws.deviations * draws.error), nan=1.0)
        else:
            ratio_ends = ratio_interval(draws)
        distance_ends = distance_interval(reference, sample, drawn, scales)
    return {
        "ratio": ratio,
        "ratio_low": ratio_ends.low,
        "ratio_high": ratio_ends.high,
        "distance": farthest(reference.values, sample.values),
        "distance_low": distance_ends.low,
        "distance_high": distance_ends.high,
    }


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
