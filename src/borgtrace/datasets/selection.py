"""Choose traces: bounds and criteria, as SQL over the table of tasks."""

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from borgtrace.errors import UsageError, check_names
from borgtrace.schema import ENUMS, Dialect
from borgtrace.schema.bounds import LENGTH_OR_ALL, MEAN_CPU, SAMPLE_SIZE, TRACE_LENGTH
from borgtrace.store.criteria import Criteria

Gaps = Literal["keep", "grid", "drop"]
"""What to do with holes in time: keep windows as they come; put them on a regular grid, where empty slots are missing
values; or drop traces with holes."""

GRID_SECONDS = 300
"""Period of the regular grid: the trace's own measurement window."""

Instances = Literal["tasks", "allocs"]
"""What traces are of: tasks, or alloc instances.  Never both: the usage of an alloc instance includes that of its
tasks."""

COLLECTION_TYPES: dict[Instances, str] = dict(
    zip(get_args(Instances), ENUMS["collection_type"].names, strict=True)
)
INSTANCE_NAMES: dict[Instances, str] = {"tasks": "task", "allocs": "alloc instance"}
"""What messages call one of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection(Criteria):
    """Which tasks of a store become traces.

    Parameters
    ----------
    jobs, machines, tiers, priorities, scheduling_classes, users, end_types, fraction, seed, where
        See :class:`~borgtrace.store.criteria.Criteria`.
    time
        (from, until) in µs of the trace's clock: all windows of the task lie inside.
    min_length, max_length
        Bounds on the number of points, both inclusive (of grid slots under ``gaps="grid"``).  None: no bound, or 5 to
        50 under ``compat="original"``; `max_length` 0: no bound.
    min_mean
        Smallest mean of average_cpu, as a fraction of the largest machine.
    gaps
        See :data:`Gaps`.
    sample
        Size of the random subset; None takes all.
    instances
        See :data:`Instances`.

    Raises
    ------
    UsageError
        A bound or a name makes no sense.

    Examples
    --------
    >>> from borgtrace.schema import dialect
    >>> print(Selection(max_length=50, priorities=(9, 10)).condition(dialect("2011")))
    collection_type = 'JOB' and n_windows > 0 and n_windows <= 50 and "priority" in (9, 10)
    """

    min_length: Annotated[int, TRACE_LENGTH] | None = None
    max_length: Annotated[int, LENGTH_OR_ALL] | None = None
    min_mean: Annotated[float, MEAN_CPU] | None = None
    gaps: Gaps = "keep"
    sample: Annotated[int, SAMPLE_SIZE] | None = None
    instances: Instances = "tasks"

    def __post_init__(self) -> None:
        # By its name: `super()` does not know the class that slots make anew.
        Criteria.__post_init__(self)
        check_names("--instances", (self.instances,), COLLECTION_TYPES)
        shortest = 1 if self.min_length is None else self.min_length
        if self.max_length and self.max_length < shortest:
            raise UsageError(
                "--max-length",
                "below --min-length",
                expected=f"at least {shortest}",
                got=str(self.max_length),
            )

    @property
    def population(self) -> str:
        """SQL over ``tasks`` of what there is to choose from: everything of its kind that has usage."""
        return f"collection_type = '{COLLECTION_TYPES[self.instances]}' and n_windows > 0"

    def conditions(self, dialect: Dialect) -> dict[str, str]:
        """Return the SQL over ``tasks`` of each criterion, by its option (all but ``sample`` and grid lengths).

        Raises
        ------
        UsageError
            A tier that `dialect` does not have.
        """
        conditions = {}
        # Slots of a grid are counted later, over the windows: the index knows windows only.
        if self.gaps != "grid":
            if self.min_length:
                conditions["--min-length"] = f"n_windows >= {self.min_length}"
            if self.max_length:
                conditions["--max-length"] = f"n_windows <= {self.max_length}"
        if self.time:
            begin, end = self.time
            conditions["--time"] = f"first_time >= {begin} and last_time <= {end}"
        if self.min_mean is not None:
            conditions["--min-mean"] = f"mean_average_cpu >= {self.min_mean!r}"
        if self.gaps == "drop":
            conditions["--gaps"] = "n_gaps = 0"
        # The user's own predicate comes last, so that it cannot undo what stands before it.
        return conditions | self.terms(dialect)

    def condition(self, dialect: Dialect) -> str:
        """Return :meth:`conditions` as one condition, with what there is to choose from.

        Raises
        ------
        UsageError
            A tier that `dialect` does not have.
        """
        return " and ".join((self.population, *self.conditions(dialect).values()))
