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

from borgtrace.storage import plain_path
from borgtrace.synth.measure.measurement import FAULTS
from borgtrace.synth.measure.usage_blocks import TALLY, UsageBlocks
from borgtrace.synth.options import SynthOptions
from borgtrace.synth.simulate.event_log import TraceSegment
from borgtrace.version import __version__

# Sums go to this file part by part and are merged at the end, so that memory does not grow with the hours.
_PARTS = "truth-parts.parquet"
_EXECUTION = {
    "collection_id": pa.int64(),
    "instance_index": pa.int32(),
    "kind": pa.int8(),
    "level": pa.float32(),
}
_SUMS = dict.fromkeys(TALLY.names or (), pa.float64())
_SCHEMA = pa.schema(_EXECUTION | _SUMS)
"""Sums of one execution in one part."""
_TASKS = """
    -- Deviations come from sums, and are cut at 0: rounding may leave a variance a little below it.
    SELECT
        collection_id,
        instance_index,
        substr($letters, 1 + any_value(kind), 1) AS class,
        max(level)::FLOAT AS level,
        sum(n)::BIGINT AS n_windows,
        sum(sum_average) / sum(n) AS mean_average_cpu,
        sqrt(greatest(sum(sum2_average) / sum(n) - (sum(sum_average) / sum(n)) ** 2, 0)) AS std_average_cpu,
        sum(sum_sampled) / sum(n) AS mean_sampled_cpu,
        sqrt(greatest(sum(sum2_sampled) / sum(n) - (sum(sum_sampled) / sum(n)) ** 2, 0)) AS std_sampled_cpu,
        sum(sum_memory) / sum(n) AS mean_average_memory
    FROM read_parquet($parts, hive_partitioning = false)
    WHERE n > 0
    GROUP BY ALL
    ORDER BY collection_id, instance_index
"""


class GroundTruth:
    """Counts events as they are written and collects per-task sums of usage.

    Parameters
    ----------
    out
        The folder of the trace.
    options
        What is generated.
    bounds
        Limits of the parts, µs.

    Attributes
    ----------
    usage_rows
        Rows of usage so far.
    """

    def __init__(
        self,
        out: Path,
        options: SynthOptions,
        bounds: list[int],
    ) -> None:
        self.out = out
        self.options = options
        self.bounds = bounds
        self.usage_rows = 0
        self._collections: Counter[str] = Counter()
        self._instances: defaultdict[int, Counter[str]] = defaultdict(Counter)
        self._transitions: Counter[tuple[str, str]] = Counter()
        self._machines: Counter[str] = Counter()
        self._faults: Counter[str] = Counter(dict.fromkeys(FAULTS, 0))
        self._writer = pq.ParquetWriter(out / _PARTS, _SCHEMA)

    def events(self, segment: TraceSegment) -> None:
        """Count the events of one segment."""
        self._collections.update(event.type for event in segment.collections)
        self._machines.update(event.type for event in segment.machines)
        for event in segment.instances:
            self._instances[event.task.job.priority][event.type] += 1
            self._transitions[event.before, event.type] += 1

    def usage(self, blocks: UsageBlocks) -> None:
        """Add the sums of one part."""
        for fault, count in zip(FAULTS, blocks.faults.tolist(), strict=True):
            self._faults[fault] += count
        self.usage_rows += blocks.n_rows
        columns = {name: blocks.windows.executions[name] for name in _EXECUTION}
        columns |= {name: blocks.tally[name] for name in _SUMS}
        self._writer.write_batch(pa.RecordBatch.from_pydict(columns, _SCHEMA))

    def close(
        self,
        rows: Mapping[str, int],
        parts: Mapping[str, int],
        planted: Mapping[str, list[Any]],
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
        document = self._document(rows, parts, planted)
        text = json.dumps(document, indent=1) + "\n"
        (self.out / "truth.json").write_text(text)

    def _document(
        self,
        rows: Mapping[str, int],
        parts: Mapping[str, int],
        planted: Mapping[str, list[Any]],
    ) -> dict[str, Any]:
        document: dict[str, Any] = {
            "synthetic": True,
            "generator": "borgtrace synth",
            "version": __version__,
            "seed": self.options.seed,
            "parameters": self.options.parameters(),
        }
        if self.options.like:
            document["targets"] = [astuple(target) for target in self.options.like.targets]
        document["bounds"] = self.bounds
        document["rows"] = dict(rows)
        document["parts"] = _sorted_by_key(parts)
        document["machine_events"] = _sorted_by_key(self._machines)
        document["collection_events"] = _sorted_by_key(self._collections)
        document["instance_events"] = {
            str(priority): _sorted_by_key(counts)
            for priority, counts in sorted(self._instances.items())
        }
        document["transitions"] = {
            f"{before or 'START'}>{after}": count
            for (before, after), count in sorted(self._transitions.items())
        }
        document["usage_rows"] = self.usage_rows
        document["planted"] = {**planted, **self._faults}
        return document

    def _write_tasks(self) -> None:
        """Merge the executions of each task; one thread, so that sums are added in one order."""
        parts = self.out / _PARTS
        letters = "".join(row.letter for row in self.options.profile.classes.rows)
        parameters = {"letters": letters, "parts": str(plain_path(parts))}
        with duckdb.connect(config={"threads": 1, "memory_limit": "400MB"}) as connection:
            tasks = connection.sql(_TASKS, params=parameters)
            tasks.write_parquet(str(self.out / "truth.parquet"), compression="zstd")
        parts.unlink()


def _sorted_by_key(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items()))
