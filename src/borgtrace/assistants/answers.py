"""An answer for an assistant: rows that fit, with units, scope, provenance and what must be said of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from borgtrace.assistants.scope import notices_of, scope_of
from borgtrace.engine.answer_text import browser_value, short_floats
from borgtrace.errors import harmless
from borgtrace.question import Provenance
from borgtrace.schema.types import Column
from borgtrace.store import Store

MOST_CHARACTERS = 60_000
"""Of the rows of an answer, as JSON: some 20,000 tokens."""
MOST_TEXT = 2_000
"""Characters of one text."""
MOST_ITEMS = 200
"""Items of one list."""

PlainRows = list[dict[str, Any]]


def answer_about(
    store: Store,
    content: Mapping[str, Any],
    *,
    units: Mapping[str, Any],
    provenance: Provenance,
    notices: Iterable[str] = (),
) -> dict[str, Any]:
    """Return an answer with all that has to be known of it; what must be said with it comes first.

    Parameters
    ----------
    store
        What it is about.
    content
        The answer itself.
    units
        Of its columns.
    provenance
        What it was computed from.
    notices
        What must be said of this answer, beyond what goes with every answer about the store.
    """
    answer = {
        "notices": [*notices_of(store), *notices],
        **content,
        "units": units,
        "scope": scope_of(store),
        "provenance": asdict(provenance),
    }
    return {name: safe_value(value) for name, value in answer.items()}


def safe_value(value: Any) -> Any:
    r"""Return a value that JSON holds, with large integers as text and nothing that a terminal would obey.

    Examples
    --------
    >>> safe_value({"id": 2**60, "name": "web\x1b[2J", "share": float("nan")})
    {'id': '1152921504606846976', 'name': 'web\\u001b[2J', 'share': None}
    """
    if isinstance(value, Mapping):
        return {harmless(str(key)): safe_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [safe_value(item) for item in value]
    plain = browser_value(value)
    if isinstance(plain, int | float | bool | None):
        return plain
    return harmless(str(plain))


def shortened(value: Any) -> Any:
    """Return a value of a row with long texts and lists cut, each with how much there was.

    Examples
    --------
    >>> shortened(list(range(1_000)))[-2:]
    [199, '… and 800 more']
    """
    if isinstance(value, Mapping):
        return {key: shortened(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        items = [shortened(item) for item in value[:MOST_ITEMS]]
        n_more = len(value) - len(items)
        return [*items, f"… and {n_more:,} more"] if n_more else items
    if isinstance(value, str) and len(value) > MOST_TEXT:
        return f"{value[:MOST_TEXT]}… ({len(value):,} characters)"
    return value


def rows_that_fit(table: pa.Table, limit: int) -> PlainRows:
    """Return the first rows of a table, as many as are asked for and fit into an answer.

    Parameters
    ----------
    table
        The rows.
    limit
        How many are asked for.
    """
    rows: PlainRows = []
    n_characters = 0
    for batch in table.slice(0, limit).to_batches(max_chunksize=100):
        for row in short_floats(batch).to_pylist():
            plain = safe_value(shortened(row))
            n_characters += len(json.dumps(plain, ensure_ascii=False))
            # One row at least: an answer without rows would say that there are none.
            if rows and n_characters > MOST_CHARACTERS:
                return rows
            rows.append(plain)
    return rows


def cut_notice(name: str, n_shown: int, n_rows: int) -> list[str]:
    """Say that rows are missing, where some are.

    Examples
    --------
    >>> cut_notice("events", 2, 3), cut_notice("events", 3, 3)
    (['events: the first 2 of 3 rows; do not count or sum what is shown'], [])
    """
    if n_shown >= n_rows:
        return []
    return [f"{name}: the first {n_shown:,} of {n_rows:,} rows; do not count or sum what is shown"]


def units_of(columns: Sequence[Column]) -> dict[str, str]:
    """Return the unit and the meaning of each column, by its name."""
    return {column.name: f"{column.unit}: {column.doc}" for column in columns}
