"""The options of a synthetic trace, checked before anything is written."""

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np

from borgtrace.errors import UsageError
from borgtrace.schema.bounds import (
    PROCESSES,
    SEED,
    SHARE,
    SHARED_FACTOR,
    SYNTH_HOURS,
    SYNTH_MACHINES,
    Bounds,
    check_fields,
)
from borgtrace.schema.dialects import Dialect, dialect
from borgtrace.schema.time import SECOND, TRACE_START
from borgtrace.storage import RemotePath, is_free
from borgtrace.synth.model.fault_rates import NO_FAULTS, PUBLISHED, FaultRates
from borgtrace.synth.model.hashing import key
from borgtrace.synth.model.profile import CONSTRAINED, Likeness, Profile
from borgtrace.synth.model.profiles import PROFILES

_DIALECTS = [dialect(generation) for generation in PROFILES]
_SHARDED = [one for one in _DIALECTS if one.shards == "hash"]
PARTS = Bounds(1, 100_000)
"""Files of a table."""
CELLS = tuple(cell for one in _SHARDED for cell in one.cells)
FORMATS = tuple(name for one in _SHARDED for name in one.formats)
USAGE_SHARD_ROWS = 300_000
"""Usage rows that one shard should hold (the real ones: about three million)."""
ROWS_PER_MACHINE_HOUR = 320
"""Usage rows that a machine yields in an hour of 2019, about: 12 windows of some 27 tasks."""


@dataclass(frozen=True, slots=True)
class SynthOptions:
    """What to generate.

    Parameters
    ----------
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
        What another trace is like, as `borgtrace.analyses.fidelity.likeness.fit` measures it; published
        figures where None.

    Raises
    ------
    UsageError
        When a value makes no sense.
    """

    generation: str = "2011"
    machines: Annotated[int, SYNTH_MACHINES] = 100
    hours: Annotated[float, SYNTH_HOURS] = 24.0
    seed: Annotated[int, SEED] = 1
    cell: str = "a"
    tables: tuple[str, ...] = ()
    jobs: Annotated[int, PROCESSES] = 2
    anomalies: bool = True
    file_format: str = "json"
    parts: Annotated[int, PARTS] | None = None
    shared_factor: Annotated[float, SHARED_FACTOR] = 0.0
    constrained: Annotated[float, SHARE] = CONSTRAINED
    like: Likeness | None = None

    def __post_init__(self) -> None:
        _check_choice("--generation", self.generation, PROFILES)
        check_fields(self)
        _check_choice("--cell", self.cell, CELLS)
        _check_choice("--format", self.file_format, FORMATS)
        for name in self.tables:
            _check_choice("--tables", name, self.dialect.tables)

    @property
    def profile(self) -> Profile:
        """What the cell looks like."""
        published = PROFILES[self.generation]
        profile = self.like.profile if self.like else published
        return replace(profile, constrained=self.constrained)

    @property
    def chosen_tables(self) -> frozenset[str]:
        """The tables to write: all unless some were named."""
        return frozenset(self.tables or self.dialect.tables)

    @property
    def dialect(self) -> Dialect:
        """The trace format to write."""
        return dialect(self.generation)

    @property
    def usage_table(self) -> str:
        """The raw table of usage."""
        tables = self.dialect.tables
        return next(name for name, raw in tables.items() if raw.table == "instance_usage")

    @property
    def shards(self) -> dict[str, int]:
        """Files by raw table, where rows are distributed by hash; empty where tables are cut by time."""
        if self.dialect.shards == "time":
            return {}
        rows = self.machines * self.hours * ROWS_PER_MACHINE_HOUR
        usage_shards = max(2, round(rows / USAGE_SHARD_ROWS))
        shards = dict.fromkeys(self.dialect.tables, 1)
        shards["instance_usage"] = usage_shards
        shards["instance_events"] = max(2, usage_shards // 4)
        return shards

    @property
    def fault_rates(self) -> FaultRates:
        """How often faults are injected."""
        return PUBLISHED[self.generation] if self.anomalies else NO_FAULTS

    @property
    def draw_seed(self) -> int:
        """The seed of all draws: another cell is another trace."""
        if self.dialect.cells:
            return key(self.seed, "cell", self.cell)
        # 2011 has no cells.
        return self.seed

    def parameters(self) -> dict[str, object]:
        """Return what identifies the trace: everything that changes its bytes."""
        parameters: dict[str, object] = {
            "generation": self.generation,
            "machines": self.machines,
            "hours": self.hours,
            "anomalies": self.anomalies,
            "tables": sorted(self.chosen_tables),
            "parts": self.parts,
        }
        if self.dialect.cells:
            parameters["cell"] = self.cell
            parameters["format"] = self.file_format
        # Only where they are set: without them the trace is, byte for byte, what it was before these options existed.
        if self.shared_factor:
            parameters["shared_factor"] = self.shared_factor
        if self.constrained != CONSTRAINED:
            parameters["constrained"] = self.constrained
        if self.like:
            parameters["like"] = self.like.note
        return parameters


def _check_choice(
    where: str,
    value: str,
    allowed: Collection[str],
) -> None:
    if value not in allowed:
        raise UsageError(
            where,
            "unknown value",
            expected="one of " + ", ".join(allowed),
            got=repr(value),
        )


def check_output(out: Path) -> None:
    """Raise UsageError unless `out` is a new or empty folder whose parent exists; in a bucket any parent does."""
    if not is_free(out):
        raise UsageError(
            str(out),
            "not an empty folder",
            expected="a new or empty folder",
            way_out="choose another name or remove it",
        )
    if not (isinstance(out, RemotePath) or out.absolute().parent.is_dir()):
        raise UsageError(str(out), "its parent folder does not exist", way_out="create it first")


def part_bounds(
    hours: float,
    parts: int | None = None,
) -> list[int]:
    """Return the limits of the parts, µs, on the 300 s grid; the real trace has 500 in 29 days.

    Examples
    --------
    >>> [b // 1_000_000 for b in part_bounds(2)]
    [600, 7800]
    >>> len(part_bounds(24)) - 1
    17
    """
    # Rounded first: .1 · 12 is a little more than 1.2 in floating point, and 24.000000000000004 windows are 24.
    exact_windows = round(hours * 12, 6)
    windows = max(1, math.ceil(exact_windows))
    usual_parts = max(1, round(hours * 500 / 696))
    n_parts = min(windows, parts or usual_parts)
    exact_edges = np.arange(n_parts + 1) * windows / n_parts
    edges = np.round(exact_edges).astype(int)
    bounds = [TRACE_START + edge * 300 * SECOND for edge in edges.tolist()]
    # The trace ends when it was asked to, also inside a window; only inner limits lie on the grid.
    seconds = round(hours * 3600)
    bounds[-1] = TRACE_START + seconds * SECOND
    return bounds
