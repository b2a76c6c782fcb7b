"""ORC files, which Hive and Spark write."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyarrow import orc

from borgtrace.ingest.files.limits import require_plausible_size
from borgtrace.ingest.read.tables.kind import Columns, TableKind, damaged_table
from borgtrace.storage import open_regular

_MAGIC = b"ORC"


def _columns(path: Path) -> Columns:
    with open_regular(path) as file:
        try:
            return {"": list(orc.ORCFile(file).schema.names)}
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise damaged_table(path, "ORC", error) from error


def _batches(path: Path, table: str) -> Iterator[pa.RecordBatch]:
    with open_regular(path) as file:
        try:
            opened = orc.ORCFile(file)
            # A few bytes repeat one value a billion times, in each of the columns.
            n_values = opened.nrows * len(opened.schema.names)
            require_plausible_size(path, path.stat().st_size, n_values)
            for number in range(opened.nstripes):
                yield opened.read_stripe(number)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise damaged_table(path, "ORC", error) from error


KIND = TableKind(
    name="ORC",
    recognizes=lambda head: head.startswith(_MAGIC),
    columns=_columns,
    batches=_batches,
)
