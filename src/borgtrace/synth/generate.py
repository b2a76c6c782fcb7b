"""Makes a whole synthetic trace: simulate, plant faults, write, count."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from borgtrace.schema.time import HOUR
from borgtrace.storage import new_folder
from borgtrace.synth.fault_injection import FaultInjector
from borgtrace.synth.fault_rates import NONE, PUBLISHED
from borgtrace.synth.ground_truth import GroundTruth
from borgtrace.synth.gzip_files import Deflater, deflate
from borgtrace.synth.machines import draw_machines
from borgtrace.synth.measurement import FAULTS, TALLY
from borgtrace.synth.options import TABLES_2019, Options, check_output
from borgtrace.synth.part_bounds import part_bounds
from borgtrace.synth.profiles import PROFILE_2011, PROFILE_2019
from borgtrace.synth.raw2011 import Writer2011
from borgtrace.synth.raw2019 import Writer2019
from borgtrace.synth.simulation import Simulation
from borgtrace.synth.trace_segment import TraceSegment
from borgtrace.synth.usage import Windows, windows_of
from borgtrace.synth.usage2011 import usage_text
from borgtrace.synth.usage2019 import Measured, usage_columns, usage_json

SHARD_ROWS: Final = 300_000
"""Usage rows that one shard of 2019 is meant to hold (the real ones: about three million)."""
ROWS_PER_MACHINE_HOUR: Final = 320
Progress = Callable[[float, int], None]


@dataclass(frozen=True, slots=True)
class UsagePart:
    """Usage of one segment, compressed: pieces by file number, and what was counted on the way."""

    pieces: dict[int, Any]
    runs: NDArray[np.void]
    tally: NDArray[np.float64]
    faults: dict[str, int]


def _silent(hours: float, rows: int) -> None:
    """Take note of nothing."""


def generate(
    out: str | Path,
    generation: str = "2011",
    machines: int = 100,
    hours: float = 24.0,
    seed: int = 1,
    *,
    cell: str = "a",
    tables: tuple[str, ...] = (),
    jobs: int = 2,
    anomalies: bool = True,
    file_format: str = "json",
    parts: int | None = None,
    progress: Progress = _silent,
) -> Path:
    """Write a synthetic trace in the raw format of one generation.

    Parameters
    ----------
    out
        A new or empty folder; it appears when everything is written.
    generation
        ``"2011"`` (six tables, CSV) or ``"2019"`` (five tables, JSON lines or Parquet).
    machines, hours
        Size of the cell and length of the trace; arrivals and stocks grow with the machines.
    seed
        The same seed gives the same bytes, with any `jobs`.
    cell
        2019 only: the cell, a letter from a to h; it names the cell and changes the draws.
    tables
        Raw tables to write; all when empty.
    jobs
        Threads that make and compress usage.
    anomalies
        Plant the documented faults at their documented rates.
    file_format
        2019 only: ``"json"`` or ``"parquet"``.
    parts
        Files per table of 2011, segments of 2019; by default as many as the real trace has in that time.
    progress
        Called after every part with the hours and the rows of usage written so far.

    Returns
    -------
    Path
        `out`, holding the tables, ``truth.json`` and ``truth.parquet``.

    Raises
    ------
    UsageError
        When a parameter makes no sense or `out` holds something; nothing is written then.

    Examples
    --------
    >>> import tempfile, json
    >>> folder = Path(tempfile.mkdtemp()) / "trace"
    >>> _ = generate(folder, machines=2, hours=1, seed=7)
    >>> json.loads((folder / "truth.json").read_text())["synthetic"]
    True
    """
    options = Options(generation, machines, hours, seed, cell, tables, jobs, anomalies, file_format, parts)
    target = Path(out)
    check_output(target)
    with new_folder(target.absolute()) as work:
        _write(work, options, progress)
    return target


def _write(work: Path, options: Options, progress: Progress) -> None:
    profile = PROFILE_2011 if options.generation == "2011" else PROFILE_2019
    bounds = part_bounds(options.hours, options.parts)
    machines = draw_machines(profile, options.machines, options.draw_seed)
    simulation = Simulation(profile, machines, options.hours, options.draw_seed, bounds)
    injector = FaultInjector(PUBLISHED if options.anomalies else NONE, simulation.workload, bounds, options.draw_seed)
    tables = options.chosen_tables
    writer: Writer2011 | Writer2019
    if options.generation == "2011":
        writer = Writer2011(work, machines, len(bounds) - 1, tables)
    else:
        is_parquet = options.file_format == "parquet"
        writer = Writer2019(work, machines, _shard_counts(options), tables, options.draw_seed, is_parquet)
    truth = GroundTruth(work, options, bounds)
    has_usage = bool(tables & {"task_usage", "instance_usage"})
    parts = _usage_ahead(injector.inject(simulation.segments()), writer, truth, options, has_usage, machines.ids)
    for number, part in enumerate(parts):
        if part is not None:
            writer.add_usage(number, part.pieces, int(part.tally[:, 0].sum()))
            truth.usage(part.runs, part.tally, part.faults)
        progress((bounds[number + 1] - bounds[0]) / HOUR, truth.usage_rows)
    writer.close()
    truth.close(writer.rows, injector.injected)


def _shard_counts(options: Options) -> dict[str, int]:
    rows = options.machines * options.hours * ROWS_PER_MACHINE_HOUR
    usage = max(2, round(rows / SHARD_ROWS))
    counts = dict.fromkeys(TABLES_2019, 1)
    return counts | {"instance_usage": usage, "instance_events": max(2, usage // 4)}


def _usage_ahead(
    segments: Iterator[TraceSegment],
    writer: Writer2011 | Writer2019,
    truth: GroundTruth,
    options: Options,
    has_usage: bool,
    machine_ids: NDArray[np.int64],
) -> Iterator[UsagePart | None]:
    """Write events in this thread and usage in others; yield the parts of usage in order."""
    with ThreadPoolExecutor(options.jobs) as pool:
        waiting: deque[Future[UsagePart]] = deque()
        for segment in segments:
            writer.write(segment)
            truth.events(segment)
            if not has_usage:
                yield None
                continue
            waiting.append(pool.submit(_usage_part, windows_of(segment, machine_ids), options))
            if len(waiting) > options.jobs:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _usage_part(windows: Windows, options: Options) -> UsagePart:
    """Make and compress the usage of one segment."""
    faults = PUBLISHED if options.anomalies else NONE
    tally, found = np.zeros((len(windows.runs), len(TALLY))), np.zeros(len(FAULTS), dtype=np.int64)
    seed, shards = options.draw_seed, _shard_counts(options)["instance_usage"]
    pieces: dict[int, Any] = {}
    if options.generation == "2011":
        pieces[0] = deflate(usage_text(windows, seed, faults, tally, found))
    elif options.file_format == "parquet":
        for number, table in usage_columns(Measured(windows, seed, shards, faults, tally, found)):
            pieces[number] = pa.concat_tables([pieces[number], table]) if number in pieces else table
    else:
        streams = [Deflater() for _ in range(shards)]
        for number, block in usage_json(Measured(windows, seed, shards, faults, tally, found)):
            streams[number].write(block)
        pieces = {number: stream.close() for number, stream in enumerate(streams)}
    return UsagePart(pieces, windows.runs, tally, dict(zip(FAULTS, map(int, found), strict=True)))
