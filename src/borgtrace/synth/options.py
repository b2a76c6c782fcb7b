"""What a synthetic trace can be asked for, checked before anything is written."""

import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from borgtrace.errors import UsageError
from borgtrace.schema.dialects import Dialect, dialect
from borgtrace.schema.time import SECOND, TRACE_START
from borgtrace.storage import RemotePath
from borgtrace.synth.fault_rates import NO_FAULTS, PUBLISHED, FaultRates
from borgtrace.synth.hashing import key
from borgtrace.synth.profiles import CONSTRAINED, PROFILES, Likeness, Profile

_SHARDED = tuple(one for one in map(dialect, PROFILES) if one.shards == "hash")
CELLS = tuple(cell for one in _SHARDED for cell in one.cells)
FORMATS = tuple(name for one in _SHARDED for name in one.formats)
USAGE_SHARD_ROWS = 300_000
"""Usage rows that one shard is meant to hold (the real ones: about three million)."""
ROWS_PER_MACHINE_HOUR = 320
"""Usage rows that a machine yields in an hour of 2019, about: 12 windows of some 27 tasks."""


@dataclass(frozen=True, slots=True)
class Options:
    """A request for a trace; see :func:`borgtrace.synth.generate` for what the fields mean."""

    generation: str = "2011"
    machines: int = 100
    hours: float = 24.0
    seed: int = 1
    cell: str = "a"
    tables: tuple[str, ...] = ()
    jobs: int = 2
    anomalies: bool = True
    file_format: str = "json"
    parts: int | None = None
    shared_factor: float = 0.0
    constrained: float = CONSTRAINED
    like: Likeness | None = None

    def __post_init__(self) -> None:
        _one_of("--generation", self.generation, tuple(PROFILES))
        _at_least("--machines", self.machines, 1)
        if not (math.isfinite(self.hours) and self.hours >= 1 / 12):
            raise UsageError(
                "--hours",
                "too short",
                expected="at least one window (0.0834)",
                got=f"{self.hours:g}",
            )
        _at_least("--seed", self.seed, 0)
        _at_least("--jobs", self.jobs, 1)
        if self.parts is not None:
            _at_least("--parts", self.parts, 1)
        check_shared_factor("--shared-factor", self.shared_factor)
        if not 0 <= self.constrained <= 1:
            raise UsageError(
                "--constrained", "not a share", expected="0 to 1", got=f"{self.constrained:g}"
            )
        _one_of("--cell", self.cell, CELLS)
        _one_of("--format", self.file_format, FORMATS)
        for name in self.tables:
            _one_of("--tables", name, tuple(self.dialect.tables))

    @property
    def profile(self) -> Profile:
        """What the cell is to look like."""
        known = self.like.profile if self.like else PROFILES[self.generation]
        return replace(known, constrained=self.constrained)

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
        return next(
            name for name, raw in self.dialect.tables.items() if raw.table == "instance_usage"
        )

    @property
    def shards(self) -> dict[str, int]:
        """Files by raw table, where tables are dealt out by hash; empty where they are cut by time."""
        if self.dialect.shards == "time":
            return {}
        usage = max(2, round(self.machines * self.hours * ROWS_PER_MACHINE_HOUR / USAGE_SHARD_ROWS))
        several = {"instance_usage": usage, "instance_events": max(2, usage // 4)}
        return {name: several.get(name, 1) for name in self.dialect.tables}

    @property
    def fault_rates(self) -> FaultRates:
        """How often faults are injected."""
        return PUBLISHED[self.generation] if self.anomalies else NO_FAULTS

    @property
    def draw_seed(self) -> int:
        """The seed of all draws: another cell is another trace."""
        # 2011 has no cells and keeps the plain seed.
        return key(self.seed, "cell", self.cell) if self.dialect.cells else self.seed

    def parameters(self) -> dict[str, object]:
        """Return what identifies the trace: everything that changes its bytes."""
        names = ("generation", "machines", "hours", "anomalies", "tables", "parts")
        fields = {name: getattr(self, name) for name in names} | {
            "tables": sorted(self.chosen_tables)
        }
        if self.dialect.cells:
            fields |= {"cell": self.cell, "format": self.file_format}
        # Only where they are given: without them the trace is, byte for byte, what it was before there were options.
        if self.shared_factor:
            fields["shared_factor"] = self.shared_factor
        if self.constrained != CONSTRAINED:
            fields["constrained"] = self.constrained
        if self.like:
            fields["like"] = self.like.note
        return fields


def _one_of(where: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise UsageError(
            where, "unknown value", expected="one of " + ", ".join(allowed), got=repr(value)
        )


def _at_least(where: str, value: int, least: int) -> None:
    if value < least:
        raise UsageError(where, "too small", expected=f"at least {least}", got=str(value))


def check_shared_factor(where: str, value: float) -> None:
    """Raise UsageError unless a share of the variance is at least 0 and below 1.

    Parameters
    ----------
    where
        What the user calls it.
    value
        The share.
    """
    # At 1 all tasks would do the same, and nothing of their own would be left to divide by.
    if not 0 <= value < 1:
        raise UsageError(
            where,
            "not a share of the variance",
            expected="at least 0 and below 1",
            got=f"{value:g}",
        )


def check_output(out: Path) -> None:
    """Raise UsageError unless `out` is a new or empty folder in one that exists; in a bucket any does."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        expected, way_out = "a new or empty folder", "choose another name or remove it"
        raise UsageError(str(out), "not an empty folder", expected=expected, way_out=way_out)
    if not (isinstance(out, RemotePath) or out.absolute().parent.is_dir()):
        raise UsageError(str(out), "its parent folder does not exist", way_out="create it first")


def part_bounds(hours: float, parts: int | None = None) -> list[int]:
    """Return the limits of the parts, µs, on the 300 s grid; the real trace has 500 in 29 days.

    Examples
    --------
    >>> [b // 1_000_000 for b in part_bounds(2)]
    [600, 7800]
    >>> len(part_bounds(24)) - 1
    17
    """
    # Rounded first: .1 · 12 is a little more than 1.2 in floating point, and 24.000000000000004 windows are 24.
    windows = max(1, math.ceil(round(hours * 12, 6)))
    parts = min(windows, parts or max(1, round(hours * 500 / 696)))
    edges = np.round(np.arange(parts + 1) * windows / parts).astype(int)
    bounds = [TRACE_START + int(edge) * 300 * SECOND for edge in edges]
    # The trace ends when it was asked to, also inside a window; only inner limits lie on the grid.
    bounds[-1] = TRACE_START + round(hours * 3600) * SECOND
    return bounds
