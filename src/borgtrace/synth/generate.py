"""Makes a whole synthetic trace: simulate, plant faults, write, count."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from borgtrace.synth.anomalies import NONE, PUBLISHED, Anomalies
from borgtrace.synth.cluster import Cluster, part_bounds
from borgtrace.synth.files import write_gzip
from borgtrace.synth.machines import Machines, draw_machines
from borgtrace.synth.options import Options, close_output, open_output
from borgtrace.synth.planting import Planter
from borgtrace.synth.profiles import PROFILE_2011
from borgtrace.synth.raw2011 import Writer2011
from borgtrace.synth.records import Stretch
from borgtrace.synth.truth import Truth
from borgtrace.synth.usage import windows_of
from borgtrace.synth.usage2011 import FAULTS, TALLY, usage_text


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
    format: str = "json",
    parts: int | None = None,
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
        2019 only: the cell, a letter from a to h (its time zone).
    tables
        Raw tables to write; all when empty.
    jobs
        Threads that make and compress usage.
    anomalies
        Plant the documented faults at their documented rates.
    format
        2019 only: ``"json"`` or ``"parquet"``.
    parts
        Files per table; by default as many as the real trace has in that time.

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
    options = Options(generation, machines, hours, seed, cell, tables, jobs, anomalies, format, parts)
    target = Path(out)
    work = open_output(target)
    _write_2011(work, options)
    close_output(work, target)
    return target


def _write_2011(work: Path, options: Options) -> None:
    bounds = part_bounds(options.hours, options.parts)
    machines = draw_machines(PROFILE_2011, options.machines, options.seed)
    cluster = Cluster(PROFILE_2011, machines, options.hours, options.seed, bounds)
    faults = PUBLISHED if options.anomalies else NONE
    planter = Planter(faults, cluster.workload, bounds, options.seed)
    writer = Writer2011(work, machines, len(bounds) - 1, options.chosen_tables)
    truth = Truth(work, options, bounds)
    for usage in _usage_ahead(planter.plant(cluster.stretches()), writer, truth, options, faults, machines):
        truth.usage(*usage.result())
    writer.close()
    truth.close(writer.rows, planter.planted)


Usage = tuple[NDArray[np.void], NDArray[np.float64], dict[str, int]]


def _usage_ahead(
    stretches: Iterator[Stretch], writer: Writer2011, truth: Truth, options: Options, faults: Anomalies,
    machines: Machines,
) -> Iterator[Future[Usage]]:  # fmt: skip
    """Write events in this thread and usage in others; yield the parts of usage in order."""
    with ThreadPoolExecutor(options.jobs) as pool:
        waiting: deque[Future[Usage]] = deque()
        for stretch in stretches:
            writer.write(stretch)
            truth.events(stretch)
            if "task_usage" in options.chosen_tables:
                waiting.append(pool.submit(_usage_part, stretch, writer, options, faults, machines))
            if len(waiting) > options.jobs:
                yield waiting.popleft()
        yield from waiting


def _usage_part(
    stretch: Stretch, writer: Writer2011, options: Options, faults: Anomalies, machines: Machines
) -> Usage:
    windows = windows_of(stretch, machines.ids)
    tally = np.zeros((len(windows.runs), len(TALLY)))
    found = np.zeros(len(FAULTS), dtype=np.int64)
    name = writer.path("task_usage", stretch.number)
    blocks = (memoryview(b) for b in usage_text(windows, options.seed, faults, tally, found))
    writer.digests[name] = write_gzip(writer.out / name, blocks)
    writer.rows["task_usage"] += int(tally[:, 0].sum())
    return windows.runs, tally, dict(zip(FAULTS, map(int, found), strict=True))
