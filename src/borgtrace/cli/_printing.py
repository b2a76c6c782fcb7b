"""Printing columns of numbers as a table, CSV or JSON."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np


def print_columns(columns: Mapping[str, Any], shape: str) -> None:
    """Print equally long arrays; NaN is empty in CSV and tables, null in JSON."""
    if shape == "json":
        print(json.dumps({name: [_plain(v) for v in values] for name, values in columns.items()}))
        return
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    if shape == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([_text(value) for value in row] for row in rows)
        return
    widths = [max(len(name), 12) for name in columns]
    print("  ".join(name.rjust(width) for name, width in zip(columns, widths, strict=True)))
    for row in rows:
        print("  ".join(_text(value).rjust(width) for value, width in zip(row, widths, strict=True)))


def _plain(value: Any) -> Any:
    """Return the number JSON shall show: the shortest text that reads back as the same float32."""
    number = float(str(value)) if isinstance(value, np.floating) else value.item()
    return None if isinstance(number, float) and math.isnan(number) else number


def _text(value: Any) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.7g}"
    return str(value)
