"""What separates the fields of delimited text, and its first lines."""

import csv
import re
from collections.abc import Sequence

COMMA = ","
SEPARATORS = (COMMA, ";", "\t", "|")
"""All that are known, the most usual first."""
DOUBLE_QUOTE = '"'
SINGLE_QUOTE = "'"
_SINGLE_QUOTES = re.compile(r"(^|[,;\t|]) *'([^']|'')*' *($|[,;\t|])")
"""A whole field between single quotes."""
_LINES = 20


def quote_of(lines: Sequence[str]) -> str:
    """Return what stands around the fields of some lines: single quotes where all have them and none has double ones.

    Examples
    --------
    >>> quote_of(["pod,cpu", "'web,1',0.5"]), quote_of(["pod,cpu", "it's,0.5"])
    ("'", '"')
    """
    rows = lines[1:_LINES] or lines[:1]
    has_double = any(DOUBLE_QUOTE in line for line in lines[:_LINES])
    are_single = bool(rows) and all(_SINGLE_QUOTES.search(line) for line in rows)
    return SINGLE_QUOTE if are_single and not has_double else DOUBLE_QUOTE


def separator_of(lines: Sequence[str]) -> str:
    """Return what separates the fields of some lines: what cuts all of them into most fields, equally many in each.

    A comma where nothing does.

    Examples
    --------
    >>> separator_of(["time;cpu", "2026-11-01 00:00;0,5"]), separator_of(["time,cpu", "0,5"])
    (';', ',')
    """
    first_lines = lines[:_LINES]
    quote = quote_of(first_lines)
    # A last line of its own kind, such as "(12 rows)", says nothing.
    return _best_separator(first_lines, quote) or _best_separator(first_lines[:-1], quote) or COMMA


def _best_separator(lines: Sequence[str], quote: str) -> str:
    best = ""
    most_fields = 1
    for separator in SEPARATORS:
        counts = {len(split_fields(line, separator, quote)) for line in lines}
        n_fields = min(counts, default=0)
        if len(counts) == 1 and n_fields > most_fields:
            best, most_fields = separator, n_fields
    return best


def split_fields(
    line: str,
    separator: str = COMMA,
    quote: str = DOUBLE_QUOTE,
) -> list[str]:
    """Return the fields of a line, without the quotes around them.

    Examples
    --------
    >>> split_fields('"web;1";0,5', ";")
    ['web;1', '0,5']
    """
    try:
        return next(csv.reader([line], delimiter=separator, quotechar=quote), [])
    # A "field" of more than 128 KB, or a return inside it: no header of ours.
    except csv.Error:
        return []


def whole_lines(head: bytes) -> list[str]:
    """Return the whole lines at the start of a file (its only line even without a newline)."""
    lines = head.decode("utf-8", "replace").split("\n")
    whole = [line.removesuffix("\r") for line in lines[:-1] if line.strip()]
    return whole or lines[:1]
