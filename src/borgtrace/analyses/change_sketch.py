"""How accurately can a sketch that each machine keeps measure changes of usage?

The distribution of |change| from one 300 s slot to the next (as in *window_change*) is kept as
counts in buckets that grow by two percent; sketches of machines, hours or files merge by adding
their counts. Beside each quantile of the merged sketch stands the exact one, found by a second pass
over the single bucket that holds it. The error is at most a share alpha of the exact value,
whatever the data.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from borgtrace.analyses._change import by_resource, slot_pairs, task_pairs
from borgtrace.analyses._sketch import INFINITE_BUCKET, ZERO_BUCKET, growth, locate, middle
from borgtrace.analyses._windows import regular
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table
from borgtrace.schema.arrow import arrow_schema

if TYPE_CHECKING:
    import altair as alt

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
_INFINITE = 1e17

RESULT = Table(
    "change_sketch",
    "level, resource and quantile",
    ("level", "resource", "quantile"),
    (
        Column("level", "string", "id", "Level at which usage is summed: machine or task.", nullable=False),
        Column("resource", "string", "id", "Resource: cpu or memory.", nullable=False),
        Column("quantile", "float64", "fraction", "Share of the changes that are smaller or equal.", nullable=False),
        Column("sketched", "float64", "fraction", "Quantile by the sketch; NULL for from nothing to something."),
        Column("exact", "float64", "fraction", "Quantile by sorting; NULL for from nothing to something."),
        Column("relative_error", "float64", "fraction", "Distance of the two, relative to the exact one."),
        Column("bound", "float64", "fraction", "Largest error the sketch can make.", nullable=False),
        Column("n_changes", "int64", "count", "Changes in the sketch.", nullable=False),
        Column("n_buckets", "int64", "count", "Buckets in use.", nullable=False),
    ),
)


def compute(tables: Tables, *, alpha: float = 0.01) -> pa.Table:
    """Return quantiles of the change by sketch and exactly."""
    changes = _changes(regular(tables.instance_usage), alpha)
    counted = tables.fetch(changes.group_by(["level", "resource", "bucket"]).aggregate(n=changes.count()), "sketch")
    found = _locate(counted)
    if not found and not tables.is_plan:
        raise NotApplicable("no two consecutive windows")
    wanted = sorted({row["bucket"] for row in found} - {ZERO_BUCKET, INFINITE_BUCKET}) or [0]
    exact = _exact(tables, changes.filter(changes.bucket.isin(wanted)), found)
    rows = [_row(row, exact, alpha) for row in found]
    return pa.Table.from_pylist(rows, schema=arrow_schema(RESULT))


def _changes(usage: ir.Table, alpha: float) -> ir.Table:
    """Return ``level``, ``resource``, ``change`` and its ``bucket``, one row per pair of slots."""
    levels = {"machine": slot_pairs(usage, ["machine_id"]), "task": task_pairs(usage, "slot")}
    parts = [by_resource(rows).mutate(level=ibis.literal(name)) for name, rows in levels.items()]
    every = ibis.union(*(part.select("level", "resource", "change") for part in parts))
    logarithm = (every.change.nullif(0.0).ln() / math.log(growth(alpha))).ceil().cast("int64")
    return every.mutate(
        bucket=ibis.cases(
            (every.change == 0.0, ibis.literal(ZERO_BUCKET, "int64")),
            (every.change > _INFINITE, ibis.literal(INFINITE_BUCKET, "int64")),
            else_=logarithm,
        )
    )


def _locate(counted: pa.Table) -> list[dict[str, Any]]:
    """Return the bucket and the place in it of every quantile of every merged sketch."""
    groups: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for row in counted.to_pylist():
        groups.setdefault((row["level"], row["resource"]), []).append((row["bucket"], row["n"]))
    rows = []
    for (level, resource), pairs_ in sorted(groups.items()):
        found, counts = (np.array(column, dtype=np.int64) for column in zip(*pairs_, strict=True))
        key = {"level": level, "resource": resource, "n_changes": int(counts.sum()), "n_buckets": found.size}
        for quantile in QUANTILES:
            bucket, place = locate(found, counts, quantile)
            rows.append({**key, "quantile": quantile, "bucket": bucket, "place": place})
    return rows


def _exact(tables: Tables, inside: ir.Table, found: list[dict[str, Any]]) -> dict[tuple[Any, ...], float]:
    """Return the exact values at the wanted places of the wanted buckets, sorting only these."""
    key = ["level", "resource", "bucket"]
    window = ibis.window(group_by=key, order_by="change")
    placed = inside.mutate(place=ibis.row_number().over(window) + 1)
    places = sorted({row["place"] for row in found}) or [1]
    rows = tables.fetch(placed.filter(placed.place.isin(places)).select(*key, "place", "change"), "exact")
    return {tuple(row[name] for name in (*key, "place")): row["change"] for row in rows.to_pylist()}


def _row(found: dict[str, Any], exact: dict[tuple[Any, ...], float], alpha: float) -> dict[str, Any]:
    row = {name: found[name] for name in ("level", "resource", "quantile", "n_changes", "n_buckets")}
    if found["bucket"] == INFINITE_BUCKET:
        return {**row, "sketched": None, "exact": None, "relative_error": None, "bound": alpha}
    sketched = middle(found["bucket"], alpha)
    key = tuple(found[name] for name in ("level", "resource", "bucket", "place"))
    true = 0.0 if found["bucket"] == ZERO_BUCKET else exact[key]
    error = abs(sketched - true) / true if true else 0.0
    return {**row, "sketched": sketched, "exact": true, "relative_error": error, "bound": alpha}


def plot(result: pa.Table) -> alt.Chart:
    """Draw the error of every quantile against the bound."""
    import altair as alt

    from borgtrace.analyses._charts import HEIGHT, WIDTH, rows, spoken_legend

    base = alt.Chart(rows(result), title="Relative error of the sketch (dashed: its bound)")
    points = base.mark_point(filled=True, size=60).encode(
        x=alt.X("quantile:Q", title="quantile of the change"),
        y=alt.Y("relative_error:Q", title="relative error"),
        color=alt.Color("level:N"),
        shape=alt.Shape("resource:N", legend=spoken_legend()),
        tooltip=["level:N", "resource:N", "quantile:Q", "sketched:Q", "exact:Q", "relative_error:Q"],
    )
    bound = base.mark_rule(strokeDash=[5, 3]).encode(y="bound:Q")
    return (points + bound).properties(width=WIDTH, height=HEIGHT)


def _largest_error(result: pa.Table) -> float:
    errors = [error for error in result["relative_error"].to_pylist() if error is not None]
    if not errors:
        raise NotApplicable("every quantile is a change from zero")
    return max(errors)


CLAIMS = (
    Claim(
        "SKETCH-bound",
        "no quantile of the sketch is further off than its bound",
        "≤ 0.01",
        _largest_error,
        lambda v: v <= 0.01 + 1e-12,
        "Masson et al., DDSketch, VLDB 2019",
    ),
)

RECIPE = Recipe(
    "change_sketch",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("instance_usage",),
    reference="Zhu et al., future work; Masson et al., DDSketch, VLDB 2019",
    order=72,
    topic="How usage changes",
)
