"""The careful path for v3 records: every line is stored right or refused with a reason.

A Parquet shard that trips is turned into JSON lines first, so that both formats are judged by the
same SQL and the quarantine shows text in both cases.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

import duckdb
import pyarrow as pa

from borgtrace.ingest.careful import Sifted, line_blocks, sift
from borgtrace.ingest.columns2019 import CONSTRAINT, MACHINE, SENTINELS, V3Column, has_machine, read_types, v3_columns
from borgtrace.ingest.fields import TextField, text_field
from borgtrace.ingest.pipes import plain_file
from borgtrace.ingest.sources import Source
from borgtrace.ingest.streams import open_stream
from borgtrace.schema.dialects import GOOGLE_2019

_CONSTRAINT_TYPE = "STRUCT(name VARCHAR, value VARCHAR, relation INTEGER)[]"


def sift_shard(source: Source) -> Iterator[tuple[Sifted, pa.ChunkedArray]]:
    """Sift a shard; yields blocks, each with its constraint lists (empty where there are none)."""
    with _lines(source) as stream:
        yield from sift_records(source.table, line_blocks(stream))


def sift_records(table: str, blocks: Iterable[pa.Table]) -> Iterator[tuple[Sifted, pa.ChunkedArray]]:
    """Sift records of a v3 table, given as tables of (source_row, line of JSON)."""
    columns = v3_columns(table)
    fields = [_field(v3, position) for position, v3 in enumerate(columns, 1)]
    if has_machine(table):
        fields.append(_dedicated(columns))
    if table == "instance_events":
        fields.append(_constraints(len(columns) + 1))
    names = [field.name for field in fields if field.name != CONSTRAINT]
    for block in sift(blocks, fields, _prelude(table, columns), "parsed.fault"):
        rows = block.rows.select([*names, "source_row"])
        lists = block.rows.column(CONSTRAINT) if table == "instance_events" else pa.chunked_array([[]])
        yield Sifted(rows, block.refused), lists


def _prelude(table: str, columns: tuple[V3Column, ...]) -> str:
    paths = [f"$.{'.'.join(v3.path)}" for v3 in columns]
    if table == "instance_events":
        paths.append(f"$.{CONSTRAINT}")
    listed = ", ".join(f"'{path}'" for path in paths)
    return f"""
        SELECT source_row, line, json_extract_string(doc, [{listed}]) AS fields, {_record_fault(table)} AS fault
        FROM (SELECT source_row, line,
                     CASE WHEN json_valid(line) AND json_type(line) = 'OBJECT' THEN line END AS doc
              FROM lines)
    """


def _record_fault(table: str) -> str:
    """SQL for what is wrong with a record as a whole: not JSON, unknown or repeated keys, no record."""
    known = ", ".join(f"'{name}'" for name in read_types(table))
    keys = f"len(list_filter(json_keys(doc), lambda key: key NOT IN ({known}))) > 0"
    repeated = "len(json_keys(doc)) != len(list_distinct(json_keys(doc)))"
    records = dict.fromkeys(field.path[0] for field in GOOGLE_2019.tables[table].fields if len(field.path) > 1)
    broken = " ".join(_broken_record(name) for name in records)
    return (
        "CASE WHEN doc IS NULL THEN 'unparsable_value' "
        f"WHEN {keys} OR {repeated} THEN 'wrong_column_count' {broken} END"
    )


def _broken_record(name: str) -> str:
    kind = f"json_type(doc, '$.{name}')"
    inner = f"json_keys(doc, '$.{name}')"
    return (
        f"WHEN {kind} NOT IN ('OBJECT', 'NULL') THEN 'unparsable_value' "
        f"WHEN len(list_filter({inner}, lambda key: key NOT IN ('cpus', 'memory'))) > 0 "
        f"OR len({inner}) != len(list_distinct({inner})) THEN 'wrong_column_count' "
    )


def _field(v3: V3Column, position: int) -> TextField:
    text = f"fields[{position}]"
    column = v3.column
    if column.type.startswith("list<"):
        return _list_field(v3, text)
    plain = text_field(column, text, GOOGLE_2019, is_mandatory=v3.is_mandatory)
    if column.name in SENTINELS:
        return _sentinel_field(v3, text, plain)
    if column.type == "enum" and not column.nullable and not v3.is_mandatory:
        default = GOOGLE_2019.codes[column.enum or ""][0]
        return TextField(plain.name, plain.text, f"coalesce({plain.value}, '{default}')", plain.tests)
    if column.type == "bool":
        return TextField(plain.name, plain.text, f"coalesce({plain.value}, false)", plain.tests)
    return plain


def _sentinel_field(v3: V3Column, text: str, plain: TextField) -> TextField:
    """A number some of whose values mean NULL."""
    found = f'"text_{v3.column.name}"'
    listed = ", ".join(f"'{code}'" for code in SENTINELS[v3.column.name])
    value = f"CASE WHEN {found} NOT IN ({listed}) THEN {plain.value} END"
    tests = tuple((reason, f"{found} NOT IN ({listed}) AND ({test})") for reason, test in plain.tests)
    return TextField(v3.column.name, text, value, tests)


def _dedicated(columns: tuple[V3Column, ...]) -> TextField:
    position = next(i for i, v3 in enumerate(columns, 1) if v3.column.name == MACHINE)
    return TextField(
        "is_on_dedicated_machine", f"fields[{position}]", "coalesce(\"text_is_on_dedicated_machine\" = '-1', false)", ()
    )


def _list_field(v3: V3Column, text: str) -> TextField:
    kind = "FLOAT[]" if v3.column.type == "list<float32>" else "BIGINT[]"
    found = f'"text_{v3.column.name}"'
    value = f"TRY_CAST(TRY_CAST({found} AS JSON) AS {kind})"
    faulty = f"len(list_filter({value}, lambda x: x IS NULL OR NOT isfinite(CAST(x AS DOUBLE)))) > 0"
    tests = [("unparsable_value", f"{found} IS NOT NULL AND ({value} IS NULL OR {faulty})")]
    if v3.column.length:
        tests.append(("wrong_list_length", f"len({value}) NOT IN (0, {v3.column.length})"))
        tests.append(("negative_resource", f"len(list_filter({value}, lambda x: x < 0)) > 0"))
    return TextField(v3.column.name, text, value, tuple(tests))


def _constraints(position: int) -> TextField:
    found = f'"text_{CONSTRAINT}"'
    value = f"TRY_CAST(TRY_CAST({found} AS JSON) AS {_CONSTRAINT_TYPE})"
    known = ", ".join(map(str, GOOGLE_2019.codes["relation"]))
    unnamed = f"len(list_filter({value}, lambda c: c IS NULL OR c.name IS NULL)) > 0"
    unknown = f"len(list_filter({value}, lambda c: coalesce(c.relation, 0) NOT IN ({known}))) > 0"
    return TextField(
        CONSTRAINT,
        f"fields[{position}]",
        value,
        (
            ("unparsable_value", f"{found} IS NOT NULL AND {value} IS NULL"),
            ("null_in_mandatory_field", unnamed),
            ("unknown_enum_code", unknown),
        ),
    )


@contextmanager
def _lines(source: Source) -> Iterator[BinaryIO]:
    if source.format == "json":
        with open_stream(source.path, is_gzip=source.is_gzip) as (stream, _):
            yield stream
        return
    with plain_file(source) as path, duckdb.connect(config={"threads": 1}) as connection:
        result = connection.execute(f"SELECT to_json(r)::VARCHAR FROM read_parquet('{path}') AS r")
        yield _RowStream(result)  # type: ignore[misc]


class _RowStream(io.RawIOBase):
    """Rows of one text column, as a stream of lines."""

    def __init__(self, result: duckdb.DuckDBPyConnection) -> None:
        self._result = result

    def read(self, size: int = -1) -> bytes:
        """Return the next lines (about as many as fit in a block), empty at the end."""
        rows = self._result.fetchmany(1 << 14)
        return "".join(f"{row[0]}\n" for row in rows).encode()
