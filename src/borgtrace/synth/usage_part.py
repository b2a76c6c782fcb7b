"""The usage of one segment, made and compressed apart from all others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from borgtrace.synth.gzip_files import Deflater
from borgtrace.synth.measurement import FAULTS
from borgtrace.synth.number_text import number_texts
from borgtrace.synth.options import Options
from borgtrace.synth.usage_arrow import usage_tables
from borgtrace.synth.usage_blocks import UsageBlocks
from borgtrace.synth.usage_text import csv_layout, json_layout, usage_text
from borgtrace.synth.usage_windows import Windows


@dataclass(frozen=True, slots=True)
class UsagePart:
    """Usage of one segment.

    Attributes
    ----------
    pieces
        What belongs to each file: compressed bytes, or Arrow tables.
    executions, tally
        The executions, and sums over what is printed of each: shapes (n,), (n, len(TALLY)).
    faults
        Injected faults by kind.
    """

    pieces: dict[int, Any]
    executions: NDArray[np.void]
    tally: NDArray[np.float64]
    faults: dict[str, int]


def usage_part(windows: Windows, options: Options) -> UsagePart:
    """Measure, print and compress the usage of one segment."""
    is_time_ordered = options.dialect.shards == "time"
    raw = options.dialect.tables[options.usage_table]
    shards = options.shards.get(options.usage_table, 0)
    texts = number_texts(is_short=is_time_ordered)
    # Made here, in the thread that measures: its tally, its faults and its noises are written without a lock.
    blocks = UsageBlocks(windows, raw, texts, options.draw_seed, shards, options.fault_rates)
    pieces: dict[int, Any] = {}
    if is_time_ordered or options.file_format == "json":
        streams = [Deflater() for _ in range(max(shards, 1))]
        for number, lines in usage_text(blocks, csv_layout(raw) if is_time_ordered else json_layout(raw)):
            streams[number].write(lines)
        pieces = {number: stream.close() for number, stream in enumerate(streams)}
    else:
        for number, table in usage_tables(blocks):
            # One row group a segment and shard: written block by block there would be one for every thousand rows.
            pieces[number] = pa.concat_tables([pieces[number], table]) if number in pieces else table
    return UsagePart(pieces, windows.executions, blocks.tally, dict(zip(FAULTS, map(int, blocks.faults), strict=True)))
