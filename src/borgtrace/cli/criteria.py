"""Reads the options that choose tasks: the same for ``subset``, ``export`` and ``dataset``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from borgtrace.store.criteria import Criteria


def parse_criteria(
    *,
    jobs: str,
    machines: str,
    time: str,
    tier: str,
    priority: str,
    scheduling_class: str,
    user: str,
    end_type: str,
    where: str,
    fraction: float | None,
    seed: int,
) -> Criteria:
    """Read what the options say, before a store is opened.

    Raises
    ------
    UsageError
        For a value that cannot be read, or that makes no sense.
    """
    from borgtrace.schema.ranges import list_numbers, parse_words
    from borgtrace.schema.time import parse_span
    from borgtrace.store.criteria import Criteria

    return Criteria(
        jobs=list_numbers(jobs, "--jobs"),
        machines=list_numbers(machines, "--machines"),
        time=parse_span(time, "--time") if time else None,
        tiers=parse_words(tier),
        priorities=list_numbers(priority, "--priority"),
        scheduling_classes=list_numbers(scheduling_class, "--class"),
        users=parse_words(user),
        end_types=parse_words(end_type),
        where=where or None,
        fraction=fraction,
        seed=seed,
    )
