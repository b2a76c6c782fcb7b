"""How accurately does a sketch that each machine keeps measure changes in usage?

The distribution of |change| from one 300 s slot to the next (as in *window_change*) is kept as
counts in buckets that grow by two percent; sketches of machines, hours or files merge by adding
their counts. Each quantile of the merged sketch is shown beside the exact one, which a second pass
finds in the single bucket that holds it. The error is at most a share alpha of the exact value,
whatever the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

import ibis
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from borgtrace.analyses.changes.relative_change import GROWN, by_resource, slot_pairs
from borgtrace.analyses.changes.task_changes import over_tasks
from borgtrace.analyses.shared.windows import regular
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

if TYPE_CHECKING:
    import altair as alt

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


# With α = 0.01 all of float64 lies within ± 37,300 buckets, so that these two are free.
ZERO_BUCKET, INFINITE_BUCKET = -100_000, 100_000
"""Buckets of 0 (exact) and of infinity; how many others there are does not depend on the number of values."""


def growth(alpha: float) -> float:
    """Return γ, the ratio of neighboring bucket edges for a relative error `alpha`.

    Examples
    --------
    >>> growth(0.5)
    3.0
    """
    return (1.0 + alpha) / (1.0 - alpha)


def middle(bucket: int, alpha: float) -> float:
    """Return the value that stands for a bucket, at most a share `alpha` from all it may hold.

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


def locate(found: NDArray[np.int64], counts: NDArray[np.int64], quantile: float) -> tuple[int, int]:
    """Return the bucket that holds a quantile, and which of its sorted values it is, from 1.

    Parameters
    ----------
    found, counts
        Buckets in any order, each once, and how many values each holds.

    Examples
    --------
    >>> locate(np.array([3, 7]), np.array([2, 2]), 0.75)
    (7, 1)
    """
    order = np.argsort(found)
    upto = np.cumsum(counts[order])
    wanted = rank(quantile, int(upto[-1]))
    place = int(np.searchsorted(upto, wanted))
    before = int(upto[place - 1]) if place else 0
    return int(found[order[place]]), wanted - before


_PLACE = ("level", "resource", "bucket", "place")
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
_INFINITE = 0.1 * GROWN
"""Larger changes are those from zero to something."""


def compute(tables: Tables, *, alpha: float = 0.01) -> list[Row]:
    """Return quantiles of the change by sketch and exactly."""
    counted = tables.fetch(_of_levels(tables, partial(_counted, alpha=alpha), "counts"), "sketch")
    # A block of tasks has counts of its own.
    counted = (
        counted.group_by(_PLACE[:3]).aggregate([("n", "sum")]).rename_columns([*_PLACE[:3], "n"])
    )
    found = _locate(counted.sort_by([("level", "ascending"), ("resource", "ascending")]))
    # Asked before the test for emptiness, so that a plan without rows shows this stage as well.
    exact = _exact(
        tables, _of_levels(tables, partial(_chosen, alpha=alpha, found=found), "values"), found
    )
    if not found:
        raise NotApplicable("no two consecutive windows")
    return [_row(row, exact, alpha) for row in found]


def _of_levels(tables: Tables, query: Callable[..., ibis.Table], stage: str) -> ibis.Table:
    """Return the rows of a query over changes and the name of their level, at both levels, with their ``level``."""
    _, machines = slot_pairs(regular(tables.instance_usage))
    levels = {"machine": query(by_resource(machines), level="machine")}
    levels["task"] = over_tasks(tables, partial(query, level="task"), f"task_{stage}")
    return ibis.union(*(rows.mutate(level=ibis.literal(name)) for name, rows in levels.items()))


def _counted(changes: ibis.Table, alpha: float, level: str) -> ibis.Table:
    return _bucketed(changes, alpha).group_by(["resource", "bucket"]).aggregate(n=ibis._.count())


def _chosen(changes: ibis.Table, alpha: float, level: str, found: list[Row]) -> ibis.Table:
    """Keep what lies in the buckets of quantiles: of each level and resource its own, for all is in memory at once."""
    rows = _bucketed(changes, alpha).select("resource", "bucket", "change")
    places = {(row["resource"], row["bucket"]) for row in found if row["level"] == level}
    # The two buckets of 0 and of infinity hold one value each: nothing in them is to be sorted.
    inside = sorted(
        place for place in places if place[1] not in (ZERO_BUCKET, INFINITE_BUCKET)
    ) or [("", 0)]
    wanted = {
        name: [bucket for _, bucket in group]
        for name, group in groupby(inside, lambda place: place[0])
    }
    return rows.filter(
        ibis.or_(*((rows.resource == name) & rows.bucket.isin(of) for name, of in wanted.items()))
    )


def _bucketed(changes: ibis.Table, alpha: float) -> ibis.Table:
    """Add the ``bucket`` of each change."""
    # Without the 0: its logarithm is −∞ on DuckDB, NULL on Spark and an error on BigQuery, and an engine may compute
    # it where another case applies.
    logarithm = (changes.change.nullif(0.0).ln() / math.log(growth(alpha))).ceil().cast("int64")
    return changes.mutate(
        bucket=ibis.cases(
            (changes.change == 0.0, ibis.literal(ZERO_BUCKET, "int64")),
            (changes.change > _INFINITE, ibis.literal(INFINITE_BUCKET, "int64")),
            else_=logarithm,
        )
    )


def _locate(counted: pa.Table) -> list[Row]:
    """Return the bucket and the place in it of every quantile of every merged sketch."""
    rows = []
    for (level, resource), group in groupby(
        counted.to_pylist(), lambda row: (row["level"], row["resource"])
    ):
        found, counts = np.array([(row["bucket"], row["n"]) for row in group], dtype=np.int64).T
        key = {
            "level": level,
            "resource": resource,
            "n_changes": int(counts.sum()),
            "n_buckets": found.size,
        }
        for quantile in QUANTILES:
            bucket, place = locate(found, counts, quantile)
            rows.append({**key, "quantile": quantile, "bucket": bucket, "place": place})
    return rows


def _exact(tables: Tables, inside: ibis.Table, found: list[Row]) -> dict[tuple[Any, ...], float]:
    """Return the exact values at the wanted places of the wanted buckets, sorting only these."""
    # Equal changes are equal values: which of them comes first does not matter.
    placed = inside.mutate(place=ibis.row_number().over(group_by=_PLACE[:3], order_by="change") + 1)
    places = sorted({row["place"] for row in found}) or [1]
    rows = tables.fetch(placed.filter(placed.place.isin(places)).select(*_PLACE, "change"), "exact")
    return {tuple(row[name] for name in _PLACE): row["change"] for row in rows.to_pylist()}


def _row(found: Row, exact: dict[tuple[Any, ...], float], alpha: float) -> Row:
    sketched = true = error = None
    if found["bucket"] != INFINITE_BUCKET:
        sketched = middle(found["bucket"], alpha)
        true = (
            0.0 if found["bucket"] == ZERO_BUCKET else exact[tuple(found[name] for name in _PLACE)]
        )
        error = abs(sketched - true) / true if true else 0.0
    kept = {
        name: found[name] for name in ("level", "resource", "quantile", "n_changes", "n_buckets")
    }
    return {**kept, "sketched": sketched, "exact": true, "relative_error": error, "bound": alpha}


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
    # The bound itself, computed, may end in another digit.
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
    reference="Zhu et al., future work; Masson et al., DDSketch, VLDB 2019",
)
