"""Rows of answers beside the values that a test expects of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def chosen_columns(row: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return some columns of a row, by name."""
    return {name: row[name] for name in names}
