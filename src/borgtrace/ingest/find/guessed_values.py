"""What a guess makes of the texts of a file, read by the same queries that read the file itself."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from borgtrace.engine.guard import open_values
from borgtrace.engine.identifiers import quoted
from borgtrace.errors import UsageError
from borgtrace.ingest.files.raw_layout import Field, raw_layout
from borgtrace.ingest.find.draft import Draft, DraftedColumn
from borgtrace.ingest.read.text_fields import text_field, text_name
from borgtrace.schema import Dialect
from borgtrace.schema.dialects import declare
from borgtrace.schema.records.shared_columns import LENGTHS
from borgtrace.schema.time import write_time

REFUSED = "refused"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_BINARY = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10), ("bytes", 1))
_RESOURCES = {"cores": "cpu", "bytes": "memory"}


def columns_with_values(draft: Draft, time_zone: str = "") -> tuple[DraftedColumn, ...]:
    """Return the columns of a draft, each of their samples with what it becomes.

    Parameters
    ----------
    draft
        The guess; where a question is open, its samples become nothing yet.
    time_zone
        Zone of dates that name none; that of the draft where empty.
    """
    try:
        dialect = declare(draft.declaration, "draft")
    except UsageError:
        return tuple(draft.columns)
    field_of_column: dict[tuple[str, str], Field] = {}
    for section in dialect.tables:
        for field in raw_layout(dialect, section).fields:
            # A name that several columns make up together is the text of each.
            if not field.raw.joined:
                column_of_file = (section, field.raw.name)
                field_of_column.setdefault(column_of_file, _in_zone(field, time_zone))
    columns = []
    for column in draft.columns:
        texts = [text for text, _ in column.samples]
        values = [""] * len(texts)
        named_field = field_of_column.get((column.section, column.name))
        if named_field:
            values = _values(named_field, texts, dialect)
        columns.append(column._replace(samples=tuple(zip(texts, values, strict=True))))
    return tuple(columns)


def _in_zone(field: Field, time_zone: str) -> Field:
    if not (field.is_dated and time_zone):
        return field
    return replace(field, raw=replace(field.raw, zone=time_zone))


def _values(field: Field, texts: Sequence[str], dialect: Dialect) -> list[str]:
    """Return in words what is stored of texts of a field."""
    read_field = text_field(field, "text")
    cases_sql = " ".join(f"WHEN {test.condition_sql} THEN true" for test in read_field.tests)
    is_refused_sql = f"CASE {cases_sql} ELSE false END" if cases_sql else "false"
    text_sql, value_sql = text_name(field.name), quoted(field.name)
    with open_values(threads=1) as connection:
        rows = connection.execute(
            f"""
            WITH given AS (
                SELECT unnest($texts::VARCHAR[]) AS text, generate_subscripts($texts::VARCHAR[], 1) AS place
            ),
            texts AS (SELECT place, {read_field.text_sql} AS {text_sql} FROM given),
            typed AS (SELECT place, {text_sql}, {read_field.value_sql} AS {value_sql} FROM texts)
            SELECT {value_sql}, {is_refused_sql}
            FROM typed
            ORDER BY place
            """,
            {"texts": list(texts)},
        ).fetchall()
    return [
        REFUSED if is_refused else _in_words(field, value, dialect) for value, is_refused in rows
    ]


def _in_words(field: Field, value: Any, dialect: Dialect) -> str:
    """Return a stored value with its unit."""
    conversion = dialect.conversion
    if value is None or conversion is None:
        return "no value"
    unit = field.column.unit
    share_of = conversion.share_of.get(_RESOURCES.get(unit, ""), "")
    if share_of:
        whole = "the largest machine" if share_of == "largest" else f"its {share_of}"
        return f"{value:.4g} of {whole}"
    if unit == "us":
        is_date = conversion.clock == "epoch" and field.name not in LENGTHS
        return _date(value, field.raw.zone) if is_date else write_time(value)
    return _amount(value, unit)


def _amount(value: Any, unit: str) -> str:
    match unit:
        case "cores":
            return f"{value:.6g} core" if value == 1 else f"{value:.6g} cores"
        case "bytes":
            return _bytes(value)
        case "s":
            return f"{value:.6g} s of CPU"
    return str(value)


def _date(microseconds: int, zone: str) -> str:
    moment = (_EPOCH + timedelta(microseconds=microseconds)).astimezone(ZoneInfo(zone or "UTC"))
    return f"{moment:%Y-%m-%d %H:%M:%S %Z}"


def _bytes(amount: float) -> str:
    unit, size = next(((unit, size) for unit, size in _BINARY if amount >= size), _BINARY[-1])
    return f"{amount / size:.6g} {unit}"
