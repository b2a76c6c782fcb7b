"""How accurately does a sketch that each machine keeps measure changes in usage?

The distribution of |change| from one 300 s slot to the next (as in *window_change*) is stored as
counts in buckets that grow by two percent; sketches of machines, hours or files merge by adding
their counts. Each quantile of the merged sketch is shown beside the exact one, which a second pass
finds in the single bucket that holds it. The error is at most a share alpha of the exact value,
whatever the data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Annotated, NamedTuple

import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from borgtrace.analyses.changes.machine_changes import over_machines
from borgtrace.analyses.changes.relative_change import GROWN
from borgtrace.analyses.changes.task_changes import ChangeSummary, over_tasks, pass_of_changes
from borgtrace.analyses.shared.machine_slots import SLOT_SUMS
from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    NotApplicable,
    Question,
    Row,
    Tables,
    at_most,
    charts,
    sql,
)
from borgtrace.question.scopes import EXACT
from borgtrace.question.window_passes import WindowPass

if TYPE_CHECKING:
    import altair as alt

from borgtrace.schema.bounds import Bounds

ANSWER = Answer(
    grain="level, resource and quantile",
    key=[
        Column("level", "string", "id", "Level at which usage is summed: machine or task."),
        Column("resource", "string", "id", "Resource: cpu or memory."),
        Column(
            "quantile", "float64", "fraction", "Share of the changes that are smaller or equal."
        ),
    ],
    columns=[
        Column(
            "sketched",
            "float64",
            "fraction",
            "Quantile by the sketch; NULL for a change from zero.",
            nullable=True,
        ),
        Column(
            "exact",
            "float64",
            "fraction",
            "Quantile by sorting; NULL for a change from zero.",
            nullable=True,
        ),
        Column(
            "relative_error",
            "float64",
            "fraction",
            "Distance of the two, relative to the exact one.",
            nullable=True,
        ),
        Column("bound", "float64", "fraction", "Largest error the sketch can make."),
        Column("n_changes", "int64", "count", "Changes in the sketch."),
        Column("n_buckets", "int64", "count", "Buckets in use."),
    ],
)


# With α = 0.0001, the least that is allowed, float64 reaches from bucket −3,722,200 to 3,548,914: these two are free.
ZERO_BUCKET = -4_000_000
"""The bucket of 0, which is exact."""
INFINITE_BUCKET = 4_000_000
"""The bucket of changes from zero to something."""
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
FROM_ZERO = 0.1 * GROWN
"""Larger changes are those from zero to something."""
SKETCH_KEY = ("level", "resource", "bucket")


class Place(NamedTuple):
    """Where a quantile lies: the bucket, and which of its sorted values it is, from 1."""

    level: str
    resource: str
    bucket: int
    rank_in_bucket: int


class SketchedQuantile(NamedTuple):
    """A quantile of a merged sketch."""

    quantile: float
    place: Place
    n_changes: int
    n_buckets: int


def compute(tables: Tables, *, alpha: Annotated[float, Bounds(0.0001, 0.5)] = 0.01) -> list[Row]:
    """Return quantiles of the change by sketch and exactly."""
    sketches = fetch_sketches(tables, alpha)
    quantiles = quantiles_of_sketches(sketches)
    exact_values = fetch_exact_values(tables, alpha, [quantile.place for quantile in quantiles])
    if not quantiles:
        raise NotApplicable("no two consecutive windows")
    return [compare_quantile(quantile, exact_values, alpha) for quantile in quantiles]


def passes(tables: Tables, *, alpha: float) -> tuple[WindowPass]:
    """Return the pass that fills the sketches of tasks; what a second one looks for is known after it."""
    return (pass_of_changes("change_sketch", "task_counts", bucket_counts(alpha), alpha),)


def bucket_counts(alpha: float) -> ChangeSummary:
    """Return the summary that counts changes by bucket."""

    def count_by_bucket(changes: ir.Table) -> ir.Table:
        changes = with_buckets(changes, alpha)
        return changes.group_by(["resource", "bucket"]).aggregate(n=changes.count())

    def count_buckets(resource: str, changes: Numbers, seconds: Index) -> dict[str, Index]:
        return count_numbers(buckets_of(changes, math.log(growth(alpha))))

    return ChangeSummary(count_by_bucket, count_buckets)


def fetch_sketches(tables: Tables, alpha: float) -> pa.Table:
    """Return the merged sketches: how many changes each bucket holds, by level and resource."""
    summary = bucket_counts(alpha)
    (counting,) = passes(tables, alpha=alpha)
    counts = tables.fetch(query_levels(tables, summary, summary, counting), "sketch")
    # Each block of tasks has counts of its own.
    merged = counts.group_by(list(SKETCH_KEY)).aggregate([("n", "sum")])
    merged = merged.rename_columns([*SKETCH_KEY, "n"])
    return merged.sort_by([("level", "ascending"), ("resource", "ascending")])


def query_levels(
    tables: Tables,
    of_machines: ChangeSummary,
    of_tasks: ChangeSummary,
    over_windows: WindowPass,
) -> ir.Table:
    """Return the rows of summaries of the changes of machines and of those of tasks, with their ``level``."""
    machine_rows = over_machines(tables, of_machines, f"machine_{over_windows.stage}")
    task_rows = over_tasks(tables, of_tasks, over_windows)
    return ibis.union(
        machine_rows.mutate(level=ibis.literal("machine")),
        task_rows.select(*machine_rows.columns, level=ibis.literal("task")),
    )


def with_buckets(changes: ir.Table, alpha: float) -> ir.Table:
    """Add the ``bucket`` of each change."""
    # Without the 0: its logarithm is −∞ on DuckDB, NULL on Spark and an error on BigQuery, and an engine may compute
    # it where another case applies.
    logarithm = changes.change.nullif(0.0).ln()
    bucket = (logarithm / math.log(growth(alpha))).ceil().cast("int64")
    return changes.mutate(
        bucket=ibis.cases(
            (changes.change == 0.0, ibis.literal(ZERO_BUCKET, "int64")),
            (changes.change > FROM_ZERO, ibis.literal(INFINITE_BUCKET, "int64")),
            else_=bucket,
        )
    )


@compiled()
def buckets_of(changes: Numbers, log_growth: float) -> Index:
    """Return the bucket of each change, as :func:`with_buckets` does in SQL.

    Parameters
    ----------
    changes
        Shape (n,), at least 0.
    log_growth
        Logarithm of the ratio of neighboring bucket edges.

    Examples
    --------
    >>> buckets_of(np.array([0.0, 0.5, 1.0, 9.5, GROWN]), math.log(3.0)).tolist()
    [-4000000, 0, 0, 3, 4000000]
    """
    buckets = np.empty(len(changes), np.int64)
    for i in range(len(changes)):
        if changes[i] == 0.0:
            buckets[i] = ZERO_BUCKET
        elif changes[i] > FROM_ZERO:
            buckets[i] = INFINITE_BUCKET
        else:
            buckets[i] = math.ceil(math.log(changes[i]) / log_growth)
    return buckets


def count_numbers(buckets: Index) -> dict[str, Index]:
    """Return the buckets in use and how many changes each holds, without sorting them.

    Examples
    --------
    >>> counts = count_numbers(np.array([7, ZERO_BUCKET, 5, 7]))
    >>> {name: numbers.tolist() for name, numbers in counts.items()}
    {'bucket': [-4000000, 5, 7], 'n': [1, 1, 2]}
    """
    numbers = []
    counts = []
    is_special = (buckets == ZERO_BUCKET) | (buckets == INFINITE_BUCKET)
    for bucket in (ZERO_BUCKET, INFINITE_BUCKET):
        n = np.count_nonzero(buckets == bucket)
        if n:
            numbers.append(np.array([bucket]))
            counts.append(np.array([n]))
    others = buckets[~is_special]
    if len(others):
        # Changes within a few powers of ten lie in a few thousand buckets: the two special ones are far from these.
        lowest = others.min()
        counts_from_lowest = np.bincount(others - lowest)
        in_use = np.flatnonzero(counts_from_lowest)
        numbers.append(in_use + lowest)
        counts.append(counts_from_lowest[in_use])
    none = np.zeros(0, np.int64)
    return {"bucket": np.concatenate([*numbers, none]), "n": np.concatenate([*counts, none])}


def growth(alpha: float) -> float:
    """Return γ, the ratio of neighboring bucket edges for a relative error `alpha`.

    Examples
    --------
    >>> growth(0.5)
    3.0
    """
    return (1.0 + alpha) / (1.0 - alpha)


def quantiles_of_sketches(sketches: pa.Table) -> list[SketchedQuantile]:
    """Return where each quantile of each merged sketch lies."""
    quantiles = []
    rows = sketches.to_pylist()
    for (level, resource), group in groupby(rows, itemgetter("level", "resource")):
        sketch = list(group)
        buckets = np.array([row["bucket"] for row in sketch], dtype=np.int64)
        counts = np.array([row["n"] for row in sketch], dtype=np.int64)
        for quantile in QUANTILES:
            bucket, rank_in_bucket = locate(buckets, counts, quantile)
            quantiles.append(
                SketchedQuantile(
                    quantile=quantile,
                    place=Place(level, resource, bucket, rank_in_bucket),
                    n_changes=int(counts.sum()),
                    n_buckets=buckets.size,
                )
            )
    return quantiles


def locate(buckets: Index, counts: Index, quantile: float) -> tuple[int, int]:
    """Return the bucket that holds a quantile, and which of its sorted values it is, from 1.

    Parameters
    ----------
    buckets, counts
        Buckets in any order, each once, and how many values each holds.
    quantile
        Share of the values, 0 to 1.

    Examples
    --------
    >>> locate(np.array([3, 7]), np.array([2, 2]), 0.75)
    (7, 1)
    """
    order = np.argsort(buckets)
    n_so_far = np.cumsum(counts[order])
    rank_of_quantile = rank(quantile, int(n_so_far[-1]))
    position = int(np.searchsorted(n_so_far, rank_of_quantile))
    n_before = int(n_so_far[position - 1]) if position else 0
    return int(buckets[order[position]]), rank_of_quantile - n_before


def rank(quantile: float, total: int) -> int:
    """Return which of `total` sorted values is the quantile: the smallest k with k ≥ q · total, from 1.

    Parameters
    ----------
    quantile
        Share of the values, 0 to 1.
    total
        Number of values, at least 1.

    Examples
    --------
    >>> rank(0.5, 4), rank(0.9, 3), rank(0.0, 3)
    (2, 3, 1)
    """
    # The product may lie a hair above a whole number: 0.07 · 100 is 7.000000000000001.
    return max(1, math.ceil(quantile * total - 1e-9))


def fetch_exact_values(tables: Tables, alpha: float, places: Sequence[Place]) -> dict[Place, float]:
    """Return the exact values at some places, sorting only the buckets of these."""
    of_machines = changes_near_quantiles(alpha, places, "machine")
    of_tasks = changes_near_quantiles(alpha, places, "task")
    finding = pass_of_changes("change_sketch", "task_values", of_tasks, alpha, *places)
    changes = query_levels(tables, of_machines, of_tasks, finding)
    # Equal changes are equal values: which of them comes first does not matter.
    order = ibis.row_number().over(group_by=list(SKETCH_KEY), order_by="change")
    ranked = changes.mutate(rank_in_bucket=order + 1)
    ranks = sorted({place.rank_in_bucket for place in places}) or [1]
    ranked = ranked.filter(ranked.rank_in_bucket.isin(ranks))
    rows = tables.fetch(ranked.select(*Place._fields, "change"), "exact").to_pylist()
    return {Place(*(row[name] for name in Place._fields)): row["change"] for row in rows}


def changes_near_quantiles(alpha: float, places: Sequence[Place], level: str) -> ChangeSummary:
    """Return the summary that keeps the changes of a level that lie in the bucket of one of its quantiles."""
    # Of each level and resource only its own buckets, for all these changes are in memory at once.
    buckets_by_resource = buckets_to_sort(places, level)
    log_growth = math.log(growth(alpha))

    def query_near_quantiles(changes: ir.Table) -> ir.Table:
        changes = with_buckets(changes, alpha).select("resource", "bucket", "change")
        conditions = [
            (changes.resource == resource) & changes.bucket.isin(buckets)
            for resource, buckets in buckets_by_resource.items()
        ]
        return changes.filter(ibis.or_(*conditions))

    def find_near_quantiles(
        resource: str, changes: Numbers, seconds: Index
    ) -> dict[str, Index | Numbers]:
        chosen_buckets = np.array(buckets_by_resource.get(resource, []), dtype=np.int64)
        # Few changes are near an edge or between two: only these need a logarithm.
        candidates = changes_within(changes, *edges_of(chosen_buckets, log_growth))
        buckets = buckets_of(candidates, log_growth)
        is_chosen = np.isin(buckets, chosen_buckets)
        return {"bucket": buckets[is_chosen], "change": candidates[is_chosen]}

    return ChangeSummary(query_near_quantiles, find_near_quantiles)


def edges_of(buckets: Index, log_growth: float) -> tuple[Numbers, Numbers]:
    """Return edges a hair below and above all that some buckets hold, however logarithms are rounded.

    Examples
    --------
    >>> low, high = edges_of(np.array([1, 3]), math.log(2.0))
    >>> low.round(5).tolist(), high.round(5).tolist()
    ([1.0, 4.0], [2.0, 8.00001])
    """
    # The narrowest bucket is 0.0002 of its value wide, and a logarithm off by less than 10⁻¹² of it.
    low = np.exp((buckets - 1) * log_growth) * (1.0 - 1e-6)
    high = np.exp(buckets * log_growth) * (1.0 + 1e-6)
    return low, high


@compiled()
def changes_within(changes: Numbers, low: Numbers, high: Numbers) -> Numbers:
    """Return the changes that lie in one of a few intervals, ends included, in their order.

    Examples
    --------
    >>> changes = np.array([0.5, 3.0, 1.0, 2.5, 9.0])
    >>> changes_within(changes, np.array([1.0, 2.5]), np.array([2.0, 3.0])).tolist()
    [3.0, 1.0, 2.5]
    """
    inside = np.empty(len(changes))
    n_inside = 0
    for i in range(len(changes)):
        is_inside = False
        # Without branches: each quantile lies between others of its kind, which no processor foresees.
        for k in range(len(low)):
            is_inside |= (changes[i] >= low[k]) & (changes[i] <= high[k])
        inside[n_inside] = changes[i]
        n_inside += is_inside
    return inside[:n_inside]


def buckets_to_sort(places: Sequence[Place], level: str) -> dict[str, list[int]]:
    """Return the buckets of the quantiles of a level that hold different values, by resource."""
    buckets_by_resource: dict[str, set[int]] = {}
    for place in places:
        # The buckets of 0 and of changes from zero hold one value each: there is nothing to sort.
        is_sorted = place.bucket in (ZERO_BUCKET, INFINITE_BUCKET)
        if place.level == level and not is_sorted:
            buckets_by_resource.setdefault(place.resource, set()).add(place.bucket)
    # A plan has no places, and still needs the query.
    if not buckets_by_resource:
        return {"": [0]}
    return {resource: sorted(buckets) for resource, buckets in sorted(buckets_by_resource.items())}


def compare_quantile(
    quantile: SketchedQuantile, exact_values: dict[Place, float], alpha: float
) -> Row:
    """Return the row of a quantile; a change from zero has no values."""
    bucket = quantile.place.bucket
    sketched = exact = error = None
    if bucket != INFINITE_BUCKET:
        sketched = middle(bucket, alpha)
        exact = 0.0 if bucket == ZERO_BUCKET else exact_values[quantile.place]
        error = abs(sketched - exact) / exact if exact else 0.0
    return {
        "level": quantile.place.level,
        "resource": quantile.place.resource,
        "quantile": quantile.quantile,
        "sketched": sketched,
        "exact": exact,
        "relative_error": error,
        "bound": alpha,
        "n_changes": quantile.n_changes,
        "n_buckets": quantile.n_buckets,
    }


def middle(bucket: int, alpha: float) -> float:
    """Return the value that stands for a bucket, at most a share `alpha` from all that it may hold.

    Parameters
    ----------
    bucket
        Number of the bucket.
    alpha
        Relative error of the sketch, 0 < α < 1.

    Examples
    --------
    >>> middle(1, 0.5), middle(ZERO_BUCKET, 0.5)
    (1.5, 0.0)
    """
    if bucket == ZERO_BUCKET:
        return 0.0
    if bucket == INFINITE_BUCKET:
        return math.inf
    ratio = growth(alpha)
    return float(2.0 * ratio**bucket / (ratio + 1.0))


def chart(answer: pa.Table) -> alt.LayerChart:
    """Draw the error of every quantile against the bound."""
    import altair as alt

    rows = answer.to_pylist()
    errors = (
        charts.base(rows)
        .mark_point(filled=True, size=60)
        .encode(
            x=alt.X("quantile:Q", title="quantile of the change"),
            y=alt.Y("relative_error:Q", title="relative error"),
            color=alt.Color("level:N", title="level"),
            shape=alt.Shape("resource:N", title="resource", legend=charts.legend("resource")),
            tooltip=charts.tooltips(rows),
        )
    )
    bound = charts.rule_at(y=rows[0]["bound"])
    return alt.layer(errors, bound).properties(
        title="Relative error of the sketch (dashed: its bound)"
    )


CLAIMS = [
    # The computed bound may differ in the last digit.
    Claim(
        "SKETCH-bound",
        statement="no quantile of the sketch is further off than its bound",
        source="Masson et al., DDSketch, VLDB 2019",
        kind="criterion",
        scope=EXACT,
        measure=sql(
            "select max(relative_error) from answer",
            otherwise="every quantile is a change from zero",
        ),
        criterion=at_most(0.010000000001, published="≤ 0.01"),
    ),
]

QUESTION = Question(
    name="change_sketch",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=["instance_usage"],
    # For the sketch, and again for the exact values.
    shares=[SLOT_SUMS, SLOT_SUMS],
    passes=passes,
    reference="Zhu et al., future work; Masson et al., DDSketch, VLDB 2019",
)
