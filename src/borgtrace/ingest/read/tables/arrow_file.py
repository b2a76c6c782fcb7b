"""Arrow IPC files, which pandas and R call Feather."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from borgtrace.ingest.read.tables.kind import Columns, TableKind, damaged_table
from borgtrace.storage import open_regular

_MAGIC = b"ARROW1"


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


KIND = TableKind(
    name="Arrow",
    recognizes=lambda head: head.startswith(_MAGIC),
    columns=_columns,
    batches=_batches,
)
