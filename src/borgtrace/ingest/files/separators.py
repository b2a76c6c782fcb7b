"""What separates the fields of delimited text, and its first lines."""

import csv
from collections.abc import Sequence

COMMA = ","
SEPARATORS = (COMMA, ";", "\t", "|")
"""All that are known, the most usual first."""
_LINES = 20


def separator_of(lines: Sequence[str]) -> str:
    """Return what separates the fields of some lines: what cuts all of them into most fields, equally many in each.

    A comma where nothing does.

    Examples
    --------
    >>> separator_of(["time;cpu", "2026-11-01 00:00;0,5"]), separator_of(["time,cpu", "0,5"])
    (';', ',')
    """
    best = COMMA
    most_fields = 1
    for separator in SEPARATORS:
        counts = {len(split_fields(line, separator)) for line in lines[:_LINES]}
        n_fields = min(counts, default=0)
        if len(counts) == 1 and n_fields > most_fields:
            best, most_fields = separator, n_fields
    return best


def split_fields(line: str, separator: str = COMMA) -> list[str]:
    """Return the fields of a line, without the quotes around them.

    Examples
    --------
    >>> split_fields('"web;1";0,5', ";")
    ['web;1', '0,5']
    """
    try:
        return next(csv.reader([line], delimiter=separator), [])
    # A "field" of more than 128 KB, or a return inside it: no header of ours.
    except csv.Error:
        return []


def whole_lines(head: bytes) -> list[str]:
    """Return the whole lines at the start of a file (its only line even without a newline)."""
    lines = head.decode("utf-8", "replace").split("\n")
    whole = [line.removesuffix("\r") for line in lines[:-1] if line.strip()]
    return whole or lines[:1]
