"""Which traces: bounds, kinds, owners, times, any predicate — one SQL condition over the index of a store."""

from dataclasses import dataclass
from typing import Literal, get_args

from borgtrace.errors import UsageError, check_names
from borgtrace.schema import ENUMS, TERMINAL_EVENTS, Dialect

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
        Names of tiers of the store's dialect, such as ``("production",)``.
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

    Raises
    ------
    UsageError
        A bound or a name makes no sense.

    Examples
    --------
    >>> from borgtrace.schema import dialect
    >>> Selection(min_length=5, max_length=50, priorities=(9, 10)).condition(dialect("2011"))
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
        if self.min_length < 1:
            raise UsageError("--min-length", "not a length", expected="at least 1", got=str(self.min_length))
        if self.max_length is not None and self.max_length < self.min_length:
            least, got = f"at least {self.min_length}", str(self.max_length)
            raise UsageError("--max-length", "below --min-length", expected=least, got=got)
        if self.sample is not None and self.sample < 1:
            raise UsageError("--sample", "not a number of traces", expected="at least 1", got=str(self.sample))
        check_names("--gaps", (self.gaps,), get_args(Gaps))
        check_names("--end-type", self.end_types, TERMINAL_EVENTS)
        if self.time is not None and self.time[0] >= self.time[1]:
            raise UsageError("--time", "an empty time window", expected="A < B", got=f"{self.time[0]}..{self.time[1]}")

    def condition(self, dialect: Dialect) -> str:
        """Return the selection as one SQL condition over ``tasks`` (all but ``sample`` and grid lengths).

        Raises
        ------
        UsageError
            A tier that `dialect` does not have.
        """
        # Slots of a grid are counted later, over the windows: the index knows windows only.
        shortest, longest = (1, None) if self.gaps == "grid" else (self.min_length, self.max_length)
        parts = (
            # Alloc instances have usage that includes that of their tasks: they are no traces of their own.
            f"collection_type = '{ENUMS['collection_type'].names[0]}'",
            f"n_windows >= {shortest}",
            longest is not None and f"n_windows <= {longest}",
            self.tiers and self._tier_condition(dialect),
            *(
                values and f"{column} in ({', '.join(map(_literal, values))})"
                for column, values in (
                    ("priority", self.priorities),
                    ("scheduling_class", self.scheduling_classes),
                    ('"user"', self.users),
                    ("end_type", self.end_types),
                )
            ),
            self.time and f"first_time >= {self.time[0]} and last_time <= {self.time[1]}",
            self.min_mean is not None and f"mean_average_cpu >= {self.min_mean!r}",
            self.gaps == "drop" and "n_gaps = 0",
            # In brackets: an `or` in it must not undo the other conditions, nor a remark at its end the bracket.
            self.where and f"({self.where}\n)",
        )
        return " and ".join(part for part in parts if part)

    def _tier_condition(self, dialect: Dialect) -> str:
        bounds = {name: f"priority between {low} and {high}" for name, low, high in dialect.tiers}
        check_names("--tier", self.tiers, tuple(bounds))
        return f"({' or '.join(bounds[name] for name in self.tiers)})"


def _literal(value: object) -> str:
    # Quotes are doubled, so that a name cannot end the string.
    return str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"
