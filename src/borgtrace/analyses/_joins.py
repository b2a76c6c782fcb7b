"""Joins that keep one copy of the key."""

from __future__ import annotations

from collections.abc import Sequence

import ibis.expr.types as ir


def lookup(rows: ir.Table, index: ir.Table, key: Sequence[str]) -> ir.Table:
    """Add the columns of `index` to `rows` by `key`; NULL where `index` does not know it.

    Parameters
    ----------
    rows
        Rows that all stay.
    index
        At most one row per key, else rows multiply.
    key
        Columns of both.
    """
    joined = rows.left_join(index, list(key))
    return joined.drop(*(f"{name}_right" for name in key if f"{name}_right" in joined.columns))
