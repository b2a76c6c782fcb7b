"""Arrow IPC files, which pandas and R call Feather, and streams of the same records without their index."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from borgtrace.ingest.read.tables.kind import Columns, TableKind, damaged_table
from borgtrace.storage import open_regular

_MAGIC = b"ARROW1"
_CONTINUATION = b"\xff\xff\xff\xff"
"""What each message of a stream begins with, before the length of its description."""
_LARGEST_SCHEMA = 1 << 24
_LENGTH = slice(4, 8)


def _columns(path: Path) -> Columns:
    with open_regular(path) as file:
        try:
            with pa.ipc.open_file(file) as reader:
                return {"": reader.schema.names}
        except pa.ArrowInvalid as error:
            raise damaged_table(path, "Arrow", error) from error


def _batches(path: Path, table: str) -> Iterator[pa.RecordBatch]:
    with open_regular(path) as file:
        try:
            with pa.ipc.open_file(file) as reader:
                for number in range(reader.num_record_batches):
                    yield reader.get_batch(number)
        except (pa.ArrowInvalid, OSError) as error:
            raise damaged_table(path, "Arrow", error) from error


def _begins_stream(head: bytes) -> bool:
    """Whether a file begins with the schema of a stream, whose length is a multiple of 8."""
    length = int.from_bytes(head[_LENGTH], "little")
    is_schema = 0 < length < _LARGEST_SCHEMA and length % 8 == 0
    return head.startswith(_CONTINUATION) and is_schema


def _columns_of_stream(path: Path) -> Columns:
    with open_regular(path) as file:
        try:
            with pa.ipc.open_stream(file) as reader:
                return {"": reader.schema.names}
        except (pa.ArrowInvalid, OSError) as error:
            raise damaged_table(path, "Arrow", error) from error


def _batches_of_stream(path: Path, table: str) -> Iterator[pa.RecordBatch]:
    with open_regular(path) as file:
        try:
            with pa.ipc.open_stream(file) as reader:
                yield from reader
        except (pa.ArrowInvalid, OSError) as error:
            raise damaged_table(path, "Arrow", error) from error


KIND = TableKind(
    name="Arrow",
    recognizes=lambda head: head.startswith(_MAGIC),
    columns=_columns,
    batches=_batches,
)
STREAM = TableKind(
    name="Arrow stream",
    recognizes=_begins_stream,
    columns=_columns_of_stream,
    batches=_batches_of_stream,
)
