"""How accurately does a sketch that each machine keeps measure changes in usage?

The distribution of |change| from one 300 s slot to the next (as in *window_change*) is kept as
counts in buckets that grow by two percent; sketches of machines, hours or files merge by adding
their counts. Each quantile of the merged sketch is shown beside the exact one, which a second pass
finds in the single bucket that holds it. The error is at most a share alpha of the exact value,
whatever the data.

Reference: Zhu et al., future work; Masson et al., DDSketch, VLDB 2019.
"""

import math
from itertools import groupby
from typing import Any

import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from borgtrace.analyses._claims import EXACT, largest
from borgtrace.analyses._ddsketch import INFINITE_BUCKET, ZERO_BUCKET, growth, locate, middle
from borgtrace.analyses._relative_change import by_resource, slot_pairs, task_pairs
from borgtrace.analyses._results import RESULTS
from borgtrace.analyses._windows import regular
from borgtrace.recipe import Claims, NotApplicable, Recipe, Row, Tables, at_most
from borgtrace.recipe.charts import Chart, Plot, axis, point, rule

_PLACE = ("level", "resource", "bucket", "place")
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
_INFINITE = 1e17
"""Larger changes are those from zero to something, which :func:`relative` writes as 1e18."""
RESULT = RESULTS["change_sketch"]


def compute(tables: Tables, *, alpha: float = 0.01) -> list[Row]:
    """Return quantiles of the change by sketch and exactly."""
    changes = _changes(regular(tables.instance_usage), alpha)
    counted = tables.fetch(changes.group_by([*_PLACE[:3]]).aggregate(n=changes.count()), "sketch")
    found = _locate(counted.sort_by([("level", "ascending"), ("resource", "ascending")]))
    # The two buckets of 0 and of infinity hold one value each: nothing in them is to be sorted.
    wanted = sorted({row["bucket"] for row in found} - {ZERO_BUCKET, INFINITE_BUCKET}) or [0]
    # Asked before the test for emptiness, so that a plan without rows shows this stage as well.
    exact = _exact(tables, changes.filter(changes.bucket.isin(wanted)), found)
    NotApplicable.unless(found, "no two consecutive windows")
    return [_row(row, exact, alpha) for row in found]


def _changes(usage: ir.Table, alpha: float) -> ir.Table:
    """Return ``level``, ``resource``, ``change`` and its ``bucket``, one row per pair of slots."""
    levels = {"machine": slot_pairs(usage, ["machine_id"]), "task": task_pairs(usage, "slot")}
    parts = [by_resource(rows).mutate(level=ibis.literal(name)) for name, rows in levels.items()]
    every = ibis.union(*(part.select("level", "resource", "change") for part in parts))
    # Without the 0: its logarithm is −∞ on DuckDB, NULL on Spark and an error on BigQuery, and an engine may compute
    # it where another case applies.
    logarithm = (every.change.nullif(0.0).ln() / math.log(growth(alpha))).ceil().cast("int64")
    return every.mutate(
        bucket=ibis.cases(
            (every.change == 0.0, ibis.literal(ZERO_BUCKET, "int64")),
            (every.change > _INFINITE, ibis.literal(INFINITE_BUCKET, "int64")),
            else_=logarithm,
        )
    )


def _locate(counted: pa.Table) -> list[Row]:
    """Return the bucket and the place in it of every quantile of every merged sketch."""
    rows = []
    for (level, resource), group in groupby(counted.to_pylist(), lambda row: (row["level"], row["resource"])):
        found, counts = np.array([(row["bucket"], row["n"]) for row in group], dtype=np.int64).T
        key = {"level": level, "resource": resource, "n_changes": int(counts.sum()), "n_buckets": found.size}
        for quantile in QUANTILES:
            bucket, place = locate(found, counts, quantile)
            rows.append({**key, "quantile": quantile, "bucket": bucket, "place": place})
    return rows


def _exact(tables: Tables, inside: ir.Table, found: list[Row]) -> dict[tuple[Any, ...], float]:
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
        true = 0.0 if found["bucket"] == ZERO_BUCKET else exact[tuple(found[name] for name in _PLACE)]
        error = abs(sketched - true) / true if true else 0.0
    kept = {name: found[name] for name in ("level", "resource", "quantile", "n_changes", "n_buckets")}
    return {**kept, "sketched": sketched, "exact": true, "relative_error": error, "bound": alpha}


def plot(result: pa.Table) -> Chart:
    """Draw the error of every quantile against the bound."""
    x, y = axis("quantile", "quantile of the change"), axis("relative_error", "relative error")
    plotted = Plot(result, RESULT).add(point(60), x=x, y=y, color="level", shape="resource")
    plotted.add(rule(dashed=True), y=result["bound"][0].as_py())
    return plotted.draw("Relative error of the sketch (dashed: its bound)")


CLAIMS = Claims("Masson et al., DDSketch, VLDB 2019", kind="criterion", scope=EXACT)


# The bound itself, computed, may end in another digit.
@CLAIMS.add("SKETCH-bound", at_most(0.01 + 1e-12, "≤ 0.01"))
def _bound(result: pa.Table) -> float:
    """no quantile of the sketch is further off than its bound"""
    # NULL is a quantile that is a change from zero, exactly so in both ways.
    return largest("relative_error", "every quantile is a change from zero")(result)


RECIPE = Recipe(RESULT, compute, plot, tuple(CLAIMS), reads=("instance_usage",), order=72)
