"""How one canonical column is read from text, and what can be wrong with that text: SQL pieces."""

from __future__ import annotations

from dataclasses import dataclass

from borgtrace.ingest.columns2011 import TIMES, RawColumn
from borgtrace.schema import Column, Dialect

_INTEGER = r"regexp_full_match({text}, '[+-]?[0-9]+')"
_BASE = {"int64": "BIGINT", "int32": "INTEGER", "float32": "FLOAT", "string": "VARCHAR"}


@dataclass(frozen=True)
class TextField:
    """One canonical column as SQL over text.

    ``text`` finds the text (NULL where there is none), ``value`` turns it into the column, and
    ``tests`` lists (reason code, SQL that is true when the row must be refused), in order.
    """

    name: str
    text: str
    value: str
    tests: tuple[tuple[str, str], ...]


def csv_field(raw: RawColumn, position: int) -> TextField:
    """Return how the `position`-th (1-based) CSV field fills its column."""
    text = f"fields[{position}]" if raw.keeps_empty else f"nullif(fields[{position}], '')"
    return text_field(raw.column, text, raw.dialect, is_mandatory=raw.is_mandatory and not raw.keeps_empty)


def text_field(column: Column, text: str, dialect: Dialect, *, is_mandatory: bool) -> TextField:
    """Return how a column is read from the SQL text `text`."""
    found = f'"text_{column.name}"'
    value, tests = _reading(column, found, dialect)
    absent = (("null_in_mandatory_field", f"{found} IS NULL"),) if is_mandatory else ()
    return TextField(column.name, text, value, (*absent, *tests))


def _reading(column: Column, text: str, dialect: Dialect) -> tuple[str, tuple[tuple[str, str], ...]]:
    if column.type == "string":
        return text, (("unparsable_value", f"contains({text}, '�') OR contains({text}, chr(0))"),)
    if column.type == "bool":
        return _flag(text)
    if column.type == "enum":
        return _code(column, text, dialect)
    if column.type == "float32":
        return _amount(column, text)
    return _whole_number(column, text)


def _flag(text: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    value = f"CASE WHEN {text} IN ('1', 'true') THEN true WHEN {text} IN ('0', 'false') THEN false END"
    return value, (("unparsable_value", f"{text} NOT IN ('0', '1', 'true', 'false')"),)


def _code(column: Column, text: str, dialect: Dialect) -> tuple[str, tuple[tuple[str, str], ...]]:
    codes, null_codes = dialect.codes[column.enum or ""], dialect.null_codes.get(column.enum or "", ())
    number = f"TRY_CAST({text} AS BIGINT)"
    cases = " ".join(f"WHEN {code} THEN '{name}'" for code, name in codes.items())
    known = ", ".join(map(str, (*codes, *null_codes)))
    return f"CASE {number} {cases} END", (
        ("unparsable_value", f"NOT {_INTEGER.format(text=text)}"),
        ("unknown_enum_code", f"{text} IS NOT NULL AND coalesce({number} NOT IN ({known}), true)"),
    )


def _amount(column: Column, text: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    value = f"TRY_CAST({text} AS FLOAT)"
    return value, (
        ("unparsable_value", f"{text} IS NOT NULL AND coalesce(NOT isfinite({value}), true)"),
        ("negative_resource", f"{value} < 0"),
    )


def _whole_number(column: Column, text: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    kind = _BASE[column.type]
    value = f"TRY_CAST({text} AS {kind})"
    if column.name in TIMES:
        value = f"CASE WHEN {text} = '18446744073709551615' THEN 9223372036854775807 ELSE {value} END"
    tests = [
        ("unparsable_value", f"NOT {_INTEGER.format(text=text)}"),
        ("integer_out_of_range", f"{text} IS NOT NULL AND coalesce(({value}) < 0, true)"),
    ]
    if column.unit == "class":
        tests.append(("unknown_enum_code", f"({value}) > 3"))
    return value, tuple(tests)
