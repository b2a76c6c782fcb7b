"""Printing rows on stdout: aligned text, CSV and JSON."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from borgtrace.cli.terminal import data_stream

NARROWEST = 12
"""Narrowest column: numbers stay below one another when a table is printed piece by piece."""


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


def print_aligned(names: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows of text below their headings, all to the right."""
    widths = [max(len(name), NARROWEST) for name in names]
    for row in (names, *rows):
        cells = [value.rjust(width) for value, width in zip(row, widths, strict=True)]
        print("  ".join(cells))


def print_csv(text: str) -> None:
    """Print CSV as it is: for a program that reads it, a control character is data."""
    out = data_stream()
    out.write(text.encode())
    out.flush()


def print_columns(columns: Mapping[str, Any], shape: str) -> None:
    """Print equally long arrays; NaN is empty in CSV and tables, null in JSON."""
    if shape == "json":
        plain = {}
        for name, values in columns.items():
            plain[name] = [plain_number(value) for value in values]
        print_json(plain)
        return
    lists = [values.tolist() for values in columns.values()]
    rows = [[number(value) for value in row] for row in zip(*lists, strict=True)]
    if shape == "csv":
        # Inside: to import the engine takes longer than to print.
        from borgtrace.engine.csv_text import csv_text

        print_csv(csv_text([list(columns), *rows]))
    else:
        print_aligned(list(columns), rows)


def number(value: Any, digits: int = 7, missing: str = "") -> str:
    """Write a number with so many significant digits.

    Examples
    --------
    >>> number(0.123456789), number(12), number(float("nan")), number(None, missing="–")
    ('0.1234568', '12', '', '–')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return missing
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


def plain_number(value: Any) -> Any:
    """Return what JSON shows of a NumPy number: the shortest text that reads back as the same float32."""
    # A float32 widened directly would print as 0.24930000305175781.
    return float(str(value)) if value.dtype.kind == "f" else value.item()
