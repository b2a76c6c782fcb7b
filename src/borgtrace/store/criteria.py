"""Which tasks: one set of criteria for subsets, exports and datasets, as SQL over the table ``tasks``."""

from dataclasses import dataclass

from borgtrace.errors import UsageError, check_names
from borgtrace.schema import TERMINAL_EVENTS, Dialect
from borgtrace.schema.sql import literals


@dataclass(frozen=True, slots=True, kw_only=True)
class Criteria:
    """Criteria that a task has to meet, all of those that are given.

    Parameters
    ----------
    jobs
        Its collection is one of these.
    machines
        It ever was on one of these, by its events or its usage.
    time
        From, until, in µs of the trace's clock.
    tiers
        Names of tiers of the store's dialect, such as ``("production",)``.
    priorities, scheduling_classes, users, end_types
        Allowed values; ``end_types`` are names of terminal events.
    fraction, seed
        Its collection is in this share of all, chosen by the MD5 of seed and id.
    where
        Any SQL predicate over the table ``tasks``.

    Raises
    ------
    UsageError
        A value makes no sense.

    Examples
    --------
    >>> from borgtrace.schema import dialect
    >>> Criteria(jobs=(7,), priorities=(9, 10)).terms(dialect("2011"))
    {'--jobs': 'collection_id in (7)', '--priority': 'priority in (9, 10)'}
    """

    jobs: tuple[int, ...] = ()
    machines: tuple[int, ...] = ()
    time: tuple[int, int] | None = None
    tiers: tuple[str, ...] = ()
    priorities: tuple[int, ...] = ()
    scheduling_classes: tuple[int, ...] = ()
    users: tuple[str, ...] = ()
    end_types: tuple[str, ...] = ()
    fraction: float | None = None
    seed: int = 0
    where: str | None = None

    def __post_init__(self) -> None:
        if self.fraction is not None and not 0 < self.fraction <= 1:
            raise UsageError(
                "--fraction", "not a share", expected="0 < F ≤ 1", got=str(self.fraction)
            )
        if self.time is not None and self.time[0] >= self.time[1]:
            got = f"{self.time[0]}..{self.time[1]}"
            raise UsageError(
                "--time", "the end is not after the start", expected="A..B with A < B", got=got
            )
        check_names("--end-type", self.end_types, TERMINAL_EVENTS)

    def terms(self, dialect: Dialect) -> dict[str, str]:
        """Return the SQL of each criterion that is given, by its option; all but `time`, which each use reads its way.

        Raises
        ------
        UsageError
            A tier that `dialect` does not have.
        """
        bounds = {
            name: f"priority between {low} and {high}"
            for name, low, high in (*dialect.tiers, *dialect.further_tiers)
        }
        check_names("--tier", self.tiers, tuple(bounds))
        terms = {
            "--jobs": _one_of("collection_id", self.jobs),
            "--machines": self.machines and _ever_on(self.machines),
            "--tier": self.tiers and f"({' or '.join(bounds[name] for name in self.tiers)})",
            "--priority": _one_of("priority", self.priorities),
            "--class": _one_of("scheduling_class", self.scheduling_classes),
            "--user": _one_of('"user"', self.users),
            "--end-type": _one_of("end_type", self.end_types),
            "--fraction": self.fraction is not None and in_fraction(self.fraction, self.seed),
            # In brackets: an `or` in it must not undo the other conditions, nor a remark at its end the bracket.
            "--where": self.where and f"({self.where}\n)",
        }
        return {option: term for option, term in terms.items() if term}


def in_fraction(fraction: float, seed: int) -> str:
    """Return SQL that is true for a share of the collections, the same ones on any machine, whatever the order.

    Parameters
    ----------
    fraction
        The share.
    seed
        Chooses another.
    """
    # MD5 of seed and id as a number in [0, 1).
    return f"md5_number_lower('{seed}:' || collection_id) / {2**64}.0 < {fraction}"


def _ever_on(machines: tuple[int, ...]) -> str:
    seen = (
        f"select collection_id, instance_index from {table} where {_one_of('machine_id', machines)}"
        for table in ("instance_events", "instance_usage")
    )
    return f"(collection_id, instance_index) in ({' union '.join(seen)})"


def _one_of(column: str, values: tuple[object, ...]) -> str:
    return f"{column} in ({literals(values)})" if values else ""
