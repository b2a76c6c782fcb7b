"""Makes a whole synthetic trace: simulate, plant faults, write, count."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa

from borgtrace.schema.time import HOUR
from borgtrace.storage import as_path, new_folder
from borgtrace.synth.event_log import TraceSegment
from borgtrace.synth.fault_injection import FaultInjector
from borgtrace.synth.ground_truth import GroundTruth
from borgtrace.synth.gzip_files import Deflater
from borgtrace.synth.machines import Machines, draw_machines
from borgtrace.synth.options import Options, check_output, part_bounds
from borgtrace.synth.profiles import CONSTRAINED, Likeness
from borgtrace.synth.raw_files import PartFiles, Pieces, RawFiles, ShardFiles
from borgtrace.synth.simulation import Simulation
from borgtrace.synth.usage_arrow import usage_tables
from borgtrace.synth.usage_blocks import UsageBlocks
from borgtrace.synth.usage_text import csv_layout, json_layout, usage_text
from borgtrace.synth.usage_windows import Windows, windows_of

Progress = Callable[[float, int], None]


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
    shared_factor: float = 0.0,
    constrained: float = CONSTRAINED,
    like: Likeness | None = None,
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
    shared_factor
        Share of the variance of CPU usage that all tasks of the cell have in common: the correlation, in normal scores,
        of tasks of different jobs; at least 0 and below 1.
    constrained
        Share of jobs with placement constraints.
    like
        What another trace is like, as `borgtrace.analyses.fidelity.likeness.fit` finds it; the published figures
        where None.
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
    options = Options(
        *(generation, machines, hours, seed, cell, tables, jobs, anomalies, file_format, parts),
        *(shared_factor, constrained, like),
    )
    target = as_path(out)
    # Before any folder is made: a refused request leaves nothing behind.
    check_output(target)
    with new_folder(target.absolute()) as work:
        _write(work, options, progress)
    return target


def _write(work: Path, options: Options, progress: Progress) -> None:
    profile, seed = options.profile, options.draw_seed
    bounds = part_bounds(options.hours, options.parts)
    machines = draw_machines(profile, options.machines, seed)
    simulation = Simulation(profile, machines, options.hours, seed, bounds)
    injector = FaultInjector(options.fault_rates, simulation.workload, bounds, seed)
    writer = _writer(work, options, machines, len(bounds) - 1)
    truth = GroundTruth(work, options, bounds)
    parts = _usage_ahead(injector.inject(simulation.segments()), writer, truth, options, machines)
    # Parts arrive in order whatever thread is first, so the files do not depend on the number of threads.
    for number, part in enumerate(parts):
        if part is not None:
            pieces, blocks = part
            writer.add(options.usage_table, number, pieces, int(blocks.tally[:, 0].sum()))
            truth.usage(blocks)
        progress((bounds[number + 1] - bounds[0]) / HOUR, truth.usage_rows)
    writer.close()
    truth.close(writer.rows, writer.n_files, injector.planted)


def _writer(work: Path, options: Options, machines: Machines, parts: int) -> RawFiles:
    tables = options.chosen_tables
    if not options.shards:
        return PartFiles(work, options.dialect, machines, tables, parts)
    shards = {name: number for name, number in options.shards.items() if name in tables}
    return ShardFiles(
        work, options.dialect, machines, shards, options.draw_seed, options.file_format
    )


def _usage_ahead(
    segments: Iterator[TraceSegment],
    writer: RawFiles,
    truth: GroundTruth,
    options: Options,
    machines: Machines,
) -> Iterator[tuple[Pieces, UsageBlocks] | None]:
    """Write events in this thread and make usage in others; yield the parts of usage in order."""
    with ThreadPoolExecutor(options.jobs) as threads:
        waiting: deque[Future[tuple[Pieces, UsageBlocks]]] = deque()
        for segment in segments:
            writer.write(segment)
            truth.events(segment)
            if options.usage_table not in options.chosen_tables:
                yield None
                continue
            # Windows are cut here, because the simulation goes on to change the tasks that they are read from.
            waiting.append(threads.submit(_usage, windows_of(segment, machines.ids), options))
            # At most one part more than threads waits: memory depends on the threads, not on the hours.
            if len(waiting) > options.jobs:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _usage(windows: Windows, options: Options) -> tuple[Pieces, UsageBlocks]:
    """Measure, print and compress the usage of one segment, apart from all others."""
    is_time_ordered = options.dialect.shards == "time"
    raw = options.dialect.tables[options.usage_table]
    # Made here, in the thread that measures: its tally, its faults and its noises are written without a lock.
    blocks = UsageBlocks(windows, options)
    pieces: dict[int, Any] = {}
    if is_time_ordered or options.file_format == "json":
        streams = [Deflater() for _ in range(max(blocks.shards, 1))]
        for number, lines in usage_text(
            blocks, csv_layout(raw) if is_time_ordered else json_layout(raw)
        ):
            streams[number].write(lines)
        pieces = {number: stream.close() for number, stream in enumerate(streams)}
    else:
        for number, table in usage_tables(blocks):
            # One row group a segment and shard: written block by block there would be one for every thousand rows.
            pieces[number] = (
                pa.concat_tables([pieces[number], table]) if number in pieces else table
            )
    return pieces, blocks
