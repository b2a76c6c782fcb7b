"""Tables of Microsoft's Philly: its machines, and jobs as they are passed around, a line for each, without an id."""

import csv
from codecs import getreader
from collections.abc import Iterator, Sequence
from itertools import count
from typing import BinaryIO

from borgtrace.ingest.files.sources import Source
from borgtrace.ingest.read.logs.kind import LogKind, LogShape, Record, Refused

_COLUMNS = ("timestamp", "duration", "num_gpus", "gpu_time", "cluster")
_MACHINE_COLUMNS = ("machineId", "number of GPUs")


def _columns(lines: Sequence[str]) -> tuple[str, ...]:
    return tuple(name.strip() for name in lines[0].split(","))


def _shape(_: str, lines: Sequence[str]) -> LogShape | None:
    columns = _columns(lines)
    return LogShape(columns, ",") if set(columns) == set(_COLUMNS) else None


def _machines_shape(_: str, lines: Sequence[str]) -> LogShape | None:
    columns = _columns(lines)
    return LogShape(columns, ",") if set(_MACHINE_COLUMNS) <= set(columns) else None


def _rows(stream: BinaryIO, source: Source) -> Iterator[Record | Refused]:
    reader = csv.reader(getreader("utf-8")(stream, "replace"))
    for number, fields in zip(count(1), reader):
        if not fields:
            continue
        if len(fields) != len(source.order):
            yield Refused(",".join(fields))
            continue
        row = {name: text.strip() for name, text in zip(source.order, fields, strict=True)}
        # The log has lines that are the same: only their places tell them apart.
        row["line"] = str(number)
        yield {name: value for name, value in row.items() if value}


KIND = LogKind(table="philly_jobs", shape=_shape, rows=_rows)
MACHINES = LogKind(table="cluster_machine_list", shape=_machines_shape, rows=_rows)
