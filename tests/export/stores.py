"""Stores made of a few files of other formats."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import borgtrace
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.store import Store


def text_store(
    folder: Path,
    files: Mapping[str, str],
    capacity: str = "",
) -> Store:
    """Ingest text files, by their names."""
    for name, text in files.items():
        (folder / name).write_text(text)
    return ingested(folder, list(files), capacity)


def opendc_store(
    folder: Path,
    tasks: Mapping[str, Any],
    fragments: Mapping[str, Any],
) -> Store:
    """Ingest the columns of both files of OpenDC."""
    pq.write_table(pa.table(tasks), folder / "tasks.parquet")
    pq.write_table(pa.table(fragments), folder / "fragments.parquet")
    return ingested(folder, ["tasks.parquet", "fragments.parquet"], "16cores,16GB")


def ingested(
    folder: Path,
    names: list[str],
    capacity: str = "",
) -> Store:
    """Ingest files of a folder into its folder `store`."""
    options = IngestOptions(jobs=1, capacity=capacity)
    ingest([folder / name for name in names], folder / "store", options)
    return borgtrace.open(folder / "store")
