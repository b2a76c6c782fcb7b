"""What lies in a staging area, read back."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from borgtrace.ingest.build.coded_part import SUFFIX, read_runs
from borgtrace.ingest.build.coded_rows import rows_of_run
from borgtrace.schema import TABLES


def read_part(path: Path) -> pa.Table:
    """Return the rows of a staged part, as Parquet or as records of codes."""
    if path.suffix != SUFFIX:
        return pq.read_table(path)
    table = TABLES[path.parent.name]
    return pa.concat_tables([rows_of_run(run, table) for run in read_runs(path, table)])
