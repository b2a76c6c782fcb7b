"""Criteria that select tasks for subsets, exports and datasets, as SQL over the table ``tasks``."""

from dataclasses import dataclass
from typing import Annotated

from borgtrace.engine.identifiers import literal, quoted
from borgtrace.errors import UsageError, check_names
from borgtrace.schema import TERMINAL_EVENTS, Dialect
from borgtrace.schema.bounds import ID, POSITIVE_SHARE, SEED, check_fields

OPTIONS = {"priorities": "--priority", "scheduling_classes": "--class"}
"""Fields whose option has another name."""


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
)
class Criteria:
    """Criteria of a task; it has to meet all that are set.

    Parameters
    ----------
    jobs
        Its collection is one of these.
    machines
        It was ever on one of these, by its events or its usage.
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
    {'--jobs': '"collection_id" in (7)', '--priority': '"priority" in (9, 10)'}
    """

    jobs: tuple[Annotated[int, ID], ...] = ()
    machines: tuple[Annotated[int, ID], ...] = ()
    time: tuple[int, int] | None = None
    tiers: tuple[str, ...] = ()
    priorities: tuple[Annotated[int, ID], ...] = ()
    scheduling_classes: tuple[Annotated[int, ID], ...] = ()
    users: tuple[str, ...] = ()
    end_types: tuple[str, ...] = ()
    fraction: Annotated[float, POSITIVE_SHARE] | None = None
    seed: Annotated[int, SEED] = 0
    where: str | None = None

    def __post_init__(self) -> None:
        check_fields(self, OPTIONS)
        if self.time is not None and self.time[0] >= self.time[1]:
            raise UsageError(
                "--time",
                "the end is not after the start",
                expected="A..B with A < B",
                got=f"{self.time[0]}..{self.time[1]}",
            )
        check_names("--end-type", self.end_types, TERMINAL_EVENTS)

    def terms(self, dialect: Dialect) -> dict[str, str]:
        """Return the SQL of each criterion that is set, by its option; without `time`, which each use reads its way.

        Raises
        ------
        UsageError
            A tier that `dialect` does not have.
        """
        terms: dict[str, str] = {}
        if self.jobs:
            terms["--jobs"] = _one_of("collection_id", self.jobs)
        if self.machines:
            terms["--machines"] = _ever_on(self.machines)
        if self.tiers:
            terms["--tier"] = _in_tiers(self.tiers, dialect)
        if self.priorities:
            terms["--priority"] = _one_of("priority", self.priorities)
        if self.scheduling_classes:
            terms["--class"] = _one_of("scheduling_class", self.scheduling_classes)
        if self.users:
            terms["--user"] = _one_of("user", self.users)
        if self.end_types:
            terms["--end-type"] = _one_of("end_type", self.end_types)
        if self.fraction is not None:
            terms["--fraction"] = in_fraction(self.fraction, self.seed)
        if self.where:
            # In brackets: an `or` in it must not undo the other conditions, nor a comment at its end the bracket.
            terms["--where"] = f"({self.where}\n)"
        return terms


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


def _in_tiers(names: tuple[str, ...], dialect: Dialect) -> str:
    tiers = {tier.name: tier for tier in (*dialect.tiers, *dialect.further_tiers)}
    check_names("--tier", names, tuple(tiers))
    ranges = []
    for name in names:
        tier = tiers[name]
        ranges.append(f"priority between {tier.lowest} and {tier.highest}")
    return f"({' or '.join(ranges)})"


def _ever_on(machines: tuple[int, ...]) -> str:
    on_machine = _one_of("machine_id", machines)
    return f"""(collection_id, instance_index) in (
        select collection_id, instance_index from instance_events where {on_machine}
        union
        select collection_id, instance_index from instance_usage where {on_machine}
    )"""


def _one_of(column: str, values: tuple[int, ...] | tuple[str, ...]) -> str:
    literals = [literal(value) if isinstance(value, str) else str(value) for value in values]
    return f"{quoted(column)} in ({', '.join(literals)})"
