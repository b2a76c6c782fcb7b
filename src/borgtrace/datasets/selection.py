"""Which traces: bounds, kinds, owners, times, any predicate — one SQL condition over the index of a store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from borgtrace.errors import UsageError
from borgtrace.schema import ENUMS, TERMINAL_EVENTS, tiers

Gaps = Literal["keep", "grid", "drop"]
"""What to do with holes in time: windows as they come; a regular grid whose empty slots are missing; only
traces without holes."""

GRID_SECONDS = 300
"""Period of the regular grid: the trace's own measurement window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which tasks of a store become traces.

    Parameters
    ----------
    min_length, max_length
        Bounds on the number of points, both inclusive (of grid slots under ``gaps="grid"``); None: no bound.
    tiers
        Names of tiers of the store's generation, such as ``("production",)``.
    priorities, scheduling_classes, users, end_types
        Allowed values; empty allows all.  ``end_types`` are names of terminal events.
    time
        (from, until) in µs of the trace's clock: all windows of the task lie inside.
    min_mean
        Smallest mean of average_cpu, as a fraction of the largest machine.
    gaps
        See :data:`Gaps`.
    where
        Any SQL predicate over the table ``tasks``.
    sample
        Size of the random subset; None takes all.

    Examples
    --------
    >>> Selection(min_length=5, max_length=50, priorities=(9, 10)).condition("2011")
    "collection_type = 'JOB' and n_windows >= 5 and n_windows <= 50 and priority in (9, 10)"
    """

    min_length: int = 5
    max_length: int | None = 50
    tiers: tuple[str, ...] = ()
    priorities: tuple[int, ...] = ()
    scheduling_classes: tuple[int, ...] = ()
    users: tuple[str, ...] = ()
    end_types: tuple[str, ...] = ()
    time: tuple[int, int] | None = None
    min_mean: float | None = None
    gaps: Gaps = "keep"
    where: str | None = None
    sample: int | None = None

    def __post_init__(self) -> None:
        _check_bounds(self.min_length, self.max_length, self.sample)
        _check_names("--gaps", (self.gaps,), get_args(Gaps))
        _check_names("--end-type", self.end_types, TERMINAL_EVENTS)
        if self.time is not None and self.time[0] >= self.time[1]:
            raise UsageError("--time", "an empty time window", expected="A < B", got=f"{self.time[0]}..{self.time[1]}")

    def condition(self, generation: str) -> str:
        """Return the selection as one SQL condition over ``tasks`` (all but ``sample`` and grid lengths).

        Raises
        ------
        UsageError
            A tier that `generation` does not have.
        """
        parts = [f"collection_type = '{ENUMS['collection_type'].names[0]}'", *self._length_parts()]
        parts += [_tier_condition(self.tiers, generation)] if self.tiers else []
        parts += [
            f"{column} in ({', '.join(map(_literal, values))})"
            for column, values in (
                ("priority", self.priorities),
                ("scheduling_class", self.scheduling_classes),
                ('"user"', self.users),
                ("end_type", self.end_types),
            )
            if values
        ]
        if self.time is not None:
            parts += [f"first_time >= {self.time[0]}", f"last_time <= {self.time[1]}"]
        if self.min_mean is not None:
            parts.append(f"mean_average_cpu >= {self.min_mean!r}")
        if self.gaps == "drop":
            parts.append("n_gaps = 0")
        if self.where:
            parts.append(f"({self.where})")
        return " and ".join(parts)

    def _length_parts(self) -> list[str]:
        if self.gaps == "grid":
            return ["n_windows >= 1"]
        upper = [] if self.max_length is None else [f"n_windows <= {self.max_length}"]
        return [f"n_windows >= {self.min_length}", *upper]


def tier_sql(generation: str) -> str:
    """Return the SQL expression that names the tier of ``priority`` in `generation`.

    Examples
    --------
    >>> tier_sql("2011")[:53]
    "case when priority between 0 and 1 then 'free' when p"
    """
    cases = " ".join(f"when priority between {low} and {high} then '{name}'" for name, low, high in tiers(generation))
    return f"case {cases} end"


def _tier_condition(wanted: tuple[str, ...], generation: str) -> str:
    bounds = {name: (low, high) for name, low, high in tiers(generation)}
    _check_names("--tier", wanted, tuple(bounds))
    ranges = (f"priority between {bounds[name][0]} and {bounds[name][1]}" for name in wanted)
    return f"({' or '.join(ranges)})"


def _literal(value: object) -> str:
    return str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"


def _check_bounds(least: int, most: int | None, sample: int | None) -> None:
    if least < 1:
        raise UsageError("--min-length", "not a length", expected="at least 1", got=str(least))
    if most is not None and most < least:
        raise UsageError("--max-length", "below --min-length", expected=f"at least {least}", got=str(most))
    if sample is not None and sample < 1:
        raise UsageError("--sample", "not a number of traces", expected="at least 1", got=str(sample))


def _check_names(option: str, names: tuple[str, ...], allowed: tuple[str, ...]) -> None:
    for name in names:
        if name not in allowed:
            raise UsageError(option, "unknown name", expected=" or ".join(allowed), got=name)
