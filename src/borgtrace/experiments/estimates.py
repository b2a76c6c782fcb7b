"""An estimate and the ends of its interval, as tables of experiments have them."""

from __future__ import annotations

from typing import Any

import numpy as np

from borgtrace.errors import UsageError
from borgtrace.question import Column, Row
from borgtrace.schema.types import Unit


def estimate_columns(name: str, doc: str, unit: Unit = "fraction") -> list[Column]:
    """Return the columns of an estimate and the ends of its 95 % interval.

    Parameters
    ----------
    name, doc, unit
        Of the estimate.
    """
    ends = "end of its 95 % interval over blocks; NULL where too few tell one."
    return [
        Column(name, "float64", unit, doc, nullable=True),
        Column(f"{name}_low", "float64", unit, f"Lower {ends}", nullable=True),
        Column(f"{name}_high", "float64", unit, f"Upper {ends}", nullable=True),
    ]


def estimate_with_ends(name: str, value: float, margin: float) -> Row:
    """Return the columns of an estimate and the ends of its interval, NULL where they are not known."""
    if not np.isfinite(value):
        return {name: None, f"{name}_low": None, f"{name}_high": None}
    is_known = bool(np.isfinite(margin))
    return {
        name: float(value),
        f"{name}_low": float(value - margin) if is_known else None,
        f"{name}_high": float(value + margin) if is_known else None,
    }


def not_asked(tables: Any) -> Any:
    """Refuse to be computed from a store: rows come from the cells of an experiment.

    Raises
    ------
    UsageError
        Always.
    """
    raise UsageError(
        "QUESTION",
        "this table is the result of an experiment, and cannot be asked of a store",
        way_out="write an experiment: borgtrace experiment FILE.toml --out DIR",
    )
