"""Columns of an answer: no two share a name, and what its carrier cannot hold comes as DuckDB's own text.

Arrow has no type for some of DuckDB's and would change their values without a word: an unsigned HUGEINT becomes −1, a
time loses its zone, a BIT its length.  Files of text, JSON and Python lack more types, and dates beyond the year 9999.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, get_args

import duckdb

from borgtrace.engine.identifiers import number, quoted

Carrier = Literal["arrow", "parquet", "text"]
"""Who takes an answer: Arrow itself, a Parquet file, or what knows numbers, texts, lists and records only."""
CARRIERS: tuple[Carrier, ...] = get_args(Carrier)
_NOT_IN_ARROW = frozenset(
    {
        "bignum",
        "bit",
        "geometry",
        "time with time zone",
        "type",
        "uhugeint",
        "union",
        "variant",
    }
)
_NOT_IN_PARQUET = _NOT_IN_ARROW | {"interval"}
_NOT_IN_TEXT = _NOT_IN_PARQUET | {
    "blob",
    "date",
    "enum",
    "time",
    "time_ns",
    "timestamp",
    "timestamp with time zone",
    "timestamp_ms",
    "timestamp_ns",
    "timestamp_s",
    "timestamptz_ns",
    "uuid",
}
_UNKNOWN: dict[Carrier, frozenset[str]] = {
    "arrow": _NOT_IN_ARROW,
    "parquet": _NOT_IN_PARQUET,
    "text": _NOT_IN_TEXT,
}


def for_carrier(
    answer: duckdb.DuckDBPyRelation, carrier: Carrier = "arrow"
) -> duckdb.DuckDBPyRelation:
    """Return an answer as its carrier can hold it.

    Parameters
    ----------
    answer
        A query that has not run yet.
    carrier
        Who takes its rows.

    Examples
    --------
    >>> answer = duckdb.sql("select 1 as n, 2 as n, [interval 1 day] as days, date '2011-05-01' as day")
    >>> for_carrier(answer, "text").fetchall()
    [(1, 2, ['1 day'], '2011-05-01')]
    >>> for_carrier(answer).columns
    ['n', 'n_1', 'days', 'day']
    """
    names = distinct_names(answer.columns)
    columns_sql = []
    is_changed = names != answer.columns
    for position, (name, type_) in enumerate(zip(names, answer.types, strict=True), 1):
        type_sql = carried_type(type_, _UNKNOWN[carrier])
        is_changed |= type_sql is not None
        # By position, which tells columns of one name apart.
        value_sql = f"#{number(position)}"
        if type_sql is not None:
            value_sql = f"CAST({value_sql} AS {type_sql})"
        columns_sql.append(f"{value_sql} AS {quoted(name)}")
    return answer.project(", ".join(columns_sql)) if is_changed else answer


def distinct_names(names: Sequence[str]) -> list[str]:
    """Number the names that were there before, as DuckDB numbers those of an inner query.

    Examples
    --------
    >>> distinct_names(["n", "n", "n_1", "n"])
    ['n', 'n_2', 'n_1', 'n_3']
    """
    taken = set(names)
    seen: set[str] = set()
    distinct = []
    for name in names:
        number = 0
        numbered = name
        while numbered in seen or (number and numbered in taken):
            number += 1
            numbered = f"{name}_{number}"
        seen.add(numbered)
        distinct.append(numbered)
    return distinct


def carried_type(type_: Any, unknown: Iterable[str]) -> str | None:
    """Return the type to which a column is cast, in SQL; None where it can stay as it is.

    Parameters
    ----------
    type_
        Type of DuckDB.
    unknown
        Types that the carrier lacks.
    """
    kind = type_.id
    if kind in unknown:
        return "VARCHAR"
    if kind in ("list", "array", "struct", "map", "tuple"):
        return _carried_nested_type(type_, unknown)
    return None


def _carried_nested_type(type_: Any, unknown: Iterable[str]) -> str | None:
    parts = dict(enumerate(type_.children))
    size = parts.pop(1)[1] if type_.id == "array" else None
    carried = {position: carried_type(part, unknown) for position, (_, part) in parts.items()}
    if not any(carried.values()):
        return None
    types_sql = [carried[position] or str(part) for position, (_, part) in parts.items()]
    if type_.id == "list":
        return f"{types_sql[0]}[]"
    if type_.id == "array":
        return f"{types_sql[0]}[{size}]"
    if type_.id == "map":
        return f"MAP({types_sql[0]}, {types_sql[1]})"
    if type_.id == "struct":
        fields = zip(parts.values(), types_sql, strict=True)
        return f"STRUCT({', '.join(f'{quoted(name)} {sql}' for (name, _), sql in fields)})"
    # The parts of a tuple have no names by which a cast could tell them apart.
    return "VARCHAR"
