"""Ground truth of a synthetic trace: what was written, counted while it was written.

``truth.json`` holds counts, transitions and planted faults; ``truth.parquet`` one row per task with usage,
with sums over the very values that a reader of the files gets.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import astuple
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from borgtrace._version import __version__
from borgtrace.schema.sql import literal
from borgtrace.synth.event_log import TraceSegment
from borgtrace.synth.measurement import FAULTS
from borgtrace.synth.options import Options
from borgtrace.synth.usage_blocks import TALLY, UsageBlocks

# Sums go to this file part by part and are merged at the end, so that memory does not grow with the hours.
_PART = "truth-parts.parquet"
_TASKS = Path(__file__).with_name("truth.sql").read_text("utf-8")
_EXECUTION = {
    "collection_id": pa.int64(),
    "instance_index": pa.int32(),
    "kind": pa.int8(),
    "level": pa.float32(),
}
_SCHEMA = pa.schema(_EXECUTION | dict.fromkeys(TALLY, pa.float64()))
"""Sums of one execution in one part."""


class GroundTruth:
    """Counts events as they are written and collects per-task sums of usage."""

    def __init__(self, out: Path, options: Options, bounds: list[int]) -> None:
        self.out, self.options, self.bounds = out, options, bounds
        self._collections: Counter[str] = Counter()
        self._instances: defaultdict[int, Counter[str]] = defaultdict(Counter)
        self._transitions: Counter[tuple[str, str]] = Counter()
        self._machines: Counter[str] = Counter()
        self.usage_rows = 0
        self._faults: Counter[str] = Counter(dict.fromkeys(FAULTS, 0))
        self._writer = pq.ParquetWriter(out / _PART, _SCHEMA)

    def events(self, segment: TraceSegment) -> None:
        """Count the events of one segment."""
        self._collections.update(e.type for e in segment.collections)
        self._machines.update(e.type for e in segment.machines)
        for event in segment.instances:
            self._instances[event.task.job.priority][event.type] += 1
            self._transitions[event.before, event.type] += 1

    def usage(self, blocks: UsageBlocks) -> None:
        """Add the sums of one part."""
        self._faults.update(dict(zip(FAULTS, blocks.faults.tolist(), strict=True)))
        self.usage_rows += int(blocks.tally[:, 0].sum())
        columns = dict(zip(TALLY, blocks.tally.T, strict=True))
        columns |= {name: blocks.windows.executions[name] for name in _EXECUTION}
        self._writer.write_batch(pa.RecordBatch.from_pydict(columns, _SCHEMA))

    def close(
        self, rows: Mapping[str, int], parts: Mapping[str, int], planted: dict[str, list[Any]]
    ) -> None:
        """Write both files.

        Parameters
        ----------
        rows, parts
            Rows and files by raw table.
        planted
            Where faults were planted, by fault.
        """
        self._writer.close()
        self._write_tasks()
        document = {
            "synthetic": True,
            "generator": "borgtrace synth",
            "version": __version__,
            "seed": self.options.seed,
            "parameters": self.options.parameters(),
            **(
                {"targets": [astuple(target) for target in like.targets]}
                if (like := self.options.like)
                else {}
            ),
            "bounds": self.bounds,
            "rows": dict(rows),
            "parts": dict(sorted(parts.items())),
            "machine_events": dict(sorted(self._machines.items())),
            "collection_events": dict(sorted(self._collections.items())),
            "instance_events": {
                str(p): dict(sorted(kinds.items())) for p, kinds in sorted(self._instances.items())
            },
            "transitions": {
                f"{a or 'START'}>{b}": n for (a, b), n in sorted(self._transitions.items())
            },
            "usage_rows": self.usage_rows,
            "planted": planted | self._faults,
        }
        (self.out / "truth.json").write_text(json.dumps(document, indent=1) + "\n")

    def _write_tasks(self) -> None:
        """Merge the executions of each task; one thread, so that sums are added in one order."""
        part, final = self.out / _PART, self.out / "truth.parquet"
        letters = "".join(c.letter for c in self.options.profile.classes.rows)
        with duckdb.connect(config={"threads": 1, "memory_limit": "400MB"}) as connection:
            query = _TASKS.format(letters=letters, part=literal(part))
            connection.execute(
                f"COPY ({query}) TO {literal(final)} (FORMAT parquet, COMPRESSION zstd)"
            )
        part.unlink()
