"""Printing values on stdout as data: CSV and JSON."""

import json
import math
from collections.abc import Mapping
from typing import Any

from borgtrace.cli.terminal import data_stream


def print_json(value: Any, indent: int | None = None) -> None:
    """Print a value as JSON."""
    # Flushed, so that a reader of the pipe gets each answer as soon as it is there.
    print(json.dumps(json_value(value), indent=indent, default=str), flush=True)


def json_value(value: Any) -> Any:
    """Return a value that JSON can hold: what is not finite becomes null.

    Examples
    --------
    >>> json_value({"mean": float("nan"), "bounds": (0.5, float("inf"))})
    {'mean': None, 'bounds': [0.5, None]}
    """
    if isinstance(value, dict):
        return {key: json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def print_csv(text: str) -> None:
    """Print CSV as it is: for a program that reads it, a control character is data."""
    out = data_stream()
    out.write(text.encode())
    out.flush()


def print_columns(columns: Mapping[str, Any], shape: str) -> None:
    """Print equally long arrays as ``csv`` or ``json``; NaN is empty in CSV, null in JSON."""
    if shape == "json":
        plain = {}
        for name, values in columns.items():
            plain[name] = [plain_number(value) for value in values]
        print_json(plain)
        return
    lists = [values.tolist() for values in columns.values()]
    rows = [[csv_number(value) for value in row] for row in zip(*lists, strict=True)]
    # Inside: to import the engine takes longer than to print.
    from borgtrace.engine.csv_text import csv_text

    print_csv(csv_text([list(columns), *rows]))


def csv_number(value: Any) -> str:
    """Write a number with the seven digits that a float32 has; nothing for NaN.

    Examples
    --------
    >>> csv_number(0.123456789), csv_number(12), csv_number(float("nan"))
    ('0.1234568', '12', '')
    """
    if isinstance(value, float) and math.isnan(value):
        return ""
    return f"{value:.7g}" if isinstance(value, float) else str(value)


def plain_number(value: Any) -> Any:
    """Return what JSON shows of a NumPy number: the shortest text that reads back as the same float32."""
    # A float32 widened directly would print as 0.24930000305175781.
    return float(str(value)) if value.dtype.kind == "f" else value.item()
