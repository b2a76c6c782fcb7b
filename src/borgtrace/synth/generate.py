"""Make a whole synthetic trace: simulate, plant faults, write, count."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from borgtrace.schema.time import HOUR
from borgtrace.storage import as_path, new_folder
from borgtrace.synth.measure.usage_blocks import UsageBlocks
from borgtrace.synth.measure.usage_windows import SegmentWindows, windows_of
from borgtrace.synth.model.machines import CellMachines, draw_machines
from borgtrace.synth.model.profile import CONSTRAINED, Likeness
from borgtrace.synth.options import SynthOptions, check_output, part_bounds
from borgtrace.synth.simulate.event_log import TraceSegment
from borgtrace.synth.simulate.fault_injection import FaultInjector
from borgtrace.synth.simulate.simulation import Simulation
from borgtrace.synth.truth import GroundTruth
from borgtrace.synth.write.gzip_files import Deflater
from borgtrace.synth.write.raw_files import PartFiles, Pieces, RawTableFiles, ShardFiles
from borgtrace.synth.write.usage_arrow import usage_tables
from borgtrace.synth.write.usage_text import csv_layout, json_layout, usage_text

Progress = Callable[[float, int], None]
"""Called after every part with the hours and the rows of usage written so far."""


class MeasuredUsage(NamedTuple):
    """The usage of one segment: what belongs to each file, and the sums over it."""

    pieces: Pieces
    blocks: UsageBlocks


def _ignore_progress(hours: float, rows: int) -> None:
    """Do nothing."""


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
    progress: Progress = _ignore_progress,
) -> Path:
    """Write a synthetic trace in the raw format of one generation.

    Parameters
    ----------
    out
        A new or empty folder; it appears when everything is written.
    generation, machines, hours, seed, cell, tables, jobs, anomalies, file_format, parts
        As in :class:`~borgtrace.synth.options.SynthOptions`.
    shared_factor, constrained, like
        As there.
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
    options = SynthOptions(
        generation=generation,
        machines=machines,
        hours=hours,
        seed=seed,
        cell=cell,
        tables=tables,
        jobs=jobs,
        anomalies=anomalies,
        file_format=file_format,
        parts=parts,
        shared_factor=shared_factor,
        constrained=constrained,
        like=like,
    )
    return write_trace(out, options, progress)


def write_trace(
    out: str | Path,
    options: SynthOptions,
    progress: Progress = _ignore_progress,
) -> Path:
    """Write the synthetic trace that some options describe.

    Parameters
    ----------
    out
        A new or empty folder; it appears when everything is written.
    options
        What to generate.
    progress
        Called after every part with the hours and the rows of usage written so far.

    Returns
    -------
    Path
        `out`.

    Raises
    ------
    UsageError
        When `out` holds something; nothing is written then.
    """
    target = as_path(out)
    # Before any folder is made: a refused request leaves nothing behind.
    check_output(target)
    with new_folder(target.absolute()) as folder:
        _write(folder, options, progress)
    return target


def _write(
    folder: Path,
    options: SynthOptions,
    progress: Progress,
) -> None:
    seed = options.draw_seed
    profile = options.profile
    bounds = part_bounds(options.hours, options.parts)
    machines = draw_machines(profile, options.machines, seed)
    simulation = Simulation(profile, machines, options.hours, seed, bounds)
    injector = FaultInjector(options.fault_rates, simulation.workload, bounds, seed)
    files = _open_files(folder, options, machines, len(bounds) - 1)
    truth = GroundTruth(folder, options, bounds)
    segments = injector.inject(simulation.segments())
    # Parts arrive in order whatever thread is first, so the files do not depend on the number of threads.
    parts = _usage_by_part(segments, files, truth, options, machines)
    for number, usage in enumerate(parts):
        if usage is not None:
            files.add(
                options.usage_table,
                number,
                usage.pieces,
                usage.blocks.n_rows,
            )
            truth.usage(usage.blocks)
        hours = (bounds[number + 1] - bounds[0]) / HOUR
        progress(hours, truth.usage_rows)
    files.close()
    truth.close(files.rows, files.n_files, injector.planted)


def _open_files(
    folder: Path,
    options: SynthOptions,
    machines: CellMachines,
    parts: int,
) -> RawTableFiles:
    tables = options.chosen_tables
    if not options.shards:
        return PartFiles(folder, options.dialect, machines, tables, parts)
    return ShardFiles(
        folder,
        options.dialect,
        machines,
        shards={name: number for name, number in options.shards.items() if name in tables},
        seed=options.draw_seed,
        file_format=options.file_format,
    )


def _usage_by_part(
    segments: Iterator[TraceSegment],
    files: RawTableFiles,
    truth: GroundTruth,
    options: SynthOptions,
    machines: CellMachines,
) -> Iterator[MeasuredUsage | None]:
    """Write events in this thread and make usage in others; yield the usage of each part in order."""
    with ThreadPoolExecutor(options.jobs) as threads:
        waiting: deque[Future[MeasuredUsage]] = deque()
        for segment in segments:
            files.write(segment)
            truth.events(segment)
            if options.usage_table not in options.chosen_tables:
                yield None
                continue
            # Windows are cut here, because the simulation goes on to change the tasks that they are read from.
            divided = options.fault_rates.divided_windows
            windows = windows_of(segment, machines.ids, divided, options.draw_seed)
            waiting.append(threads.submit(measure_usage, windows, options))
            # At most one part more than threads waits: memory depends on the threads, not on the hours.
            if len(waiting) > options.jobs:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def measure_usage(windows: SegmentWindows, options: SynthOptions) -> MeasuredUsage:
    """Measure, print and compress the usage of one segment, independently of all others.

    Parameters
    ----------
    windows
        Windows of the segment.
    options
        What is generated.
    """
    # Made here, in the thread that measures: its tally, its faults and its noises are written without a lock.
    blocks = UsageBlocks(windows, options)
    is_parquet = options.dialect.shards == "hash" and options.file_format == "parquet"
    pieces = _parquet_pieces(blocks) if is_parquet else _text_pieces(blocks, options)
    return MeasuredUsage(pieces, blocks)


def _parquet_pieces(blocks: UsageBlocks) -> Pieces:
    pieces: dict[int, Any] = {}
    for number, table in usage_tables(blocks):
        # One row group per segment and shard: written block by block there would be one for every thousand rows.
        if number in pieces:
            pieces[number] = pa.concat_tables([pieces[number], table])
        else:
            pieces[number] = table
    return pieces


def _text_pieces(blocks: UsageBlocks, options: SynthOptions) -> Pieces:
    is_csv = options.dialect.shards == "time"
    layout = csv_layout(blocks.raw) if is_csv else json_layout(blocks.raw)
    n_files = max(blocks.shards, 1)
    streams = [Deflater() for _ in range(n_files)]
    for number, lines in usage_text(blocks, layout):
        streams[number].write(lines)
    return {number: stream.close() for number, stream in enumerate(streams)}
