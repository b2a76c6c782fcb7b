"""Several stores side by side: answers aligned by their keys, and where their quantile curves cross."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, TypeAlias

import pyarrow as pa

from borgtrace.engine.guard import open_values
from borgtrace.engine.identifiers import quoted
from borgtrace.question.answer import Row
from borgtrace.question.question import Result

Curve: TypeAlias = dict[float, float]
"""Seconds by percent."""


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
