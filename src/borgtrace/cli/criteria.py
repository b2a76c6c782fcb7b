"""Reads the options that choose tasks: the same for ``subset``, ``export`` and ``dataset``."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from borgtrace.store import Store
    from borgtrace.store.criteria import Criteria


NUMBERS = re.compile(r"\d+(-\d*)?|all")
"""An id, or a range of ids."""
IS_DATE = re.compile(r"\d{4}-\d\d")
"""How a date begins."""


class NamedStore:
    """A store, opened when a name or a date of it is first asked for: numbers need none.

    Parameters
    ----------
    path
        Of the store.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = path

    @cached_property
    def _store(self) -> Store:
        from borgtrace.store import open as open_store

        return open_store(self._path)

    def machine(self, text: str, where: str) -> int:
        """Return the id of the machine that a text means."""
        from borgtrace.notation import find_machine

        return find_machine(self._store, text, where)

    def job(self, text: str, where: str) -> int:
        """Return the id of the job that a text means."""
        from borgtrace.notation import find_job

        return find_job(self._store, text, where)

    def user(self, text: str, where: str) -> str:
        """Return the whole name of the user that a text means."""
        from borgtrace.notation import find_user

        return find_user(self._store, text, where)

    def time(self, text: str, where: str) -> int:
        """Return the time that a text means, which may be a date."""
        from borgtrace.notation import WallClock

        return WallClock.of(self._store.manifest).parse(text, where)


def list_ids(text: str, where: str, find: Callable[[str, str], int]) -> tuple[int, ...]:
    """Read ids, ranges of ids and names, separated by commas.

    Parameters
    ----------
    text
        Such as ``5,10-20`` or ``node-01,node-02``.
    where
        The option, for the error.
    find
        Returns the id of a name.

    Raises
    ------
    UsageError
        A range cannot be read, or a name is that of nothing.
    """
    from borgtrace.schema.ranges import list_numbers, parse_words

    names = [word for word in parse_words(text) if not NUMBERS.fullmatch(word)]
    if not names:
        return list_numbers(text, where)
    numbers = [word for word in parse_words(text) if NUMBERS.fullmatch(word)]
    ids = [*list_numbers(",".join(numbers), where), *(find(name, where) for name in names)]
    return tuple(sorted(set(ids)))


def parse_criteria(
    store: str | Path,
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
    """Read what the options say; the store is opened for names and dates alone.

    Raises
    ------
    UsageError
        For a value that cannot be read, or that makes no sense.
    """
    from borgtrace.notation import parse_moment
    from borgtrace.schema.ranges import list_numbers, parse_words
    from borgtrace.schema.time import parse_span
    from borgtrace.store.criteria import Criteria

    named_store = NamedStore(store)

    def read_time(text: str, where: str) -> int:
        return (
            named_store.time(text, where)
            if IS_DATE.match(text.strip())
            else parse_moment(text, where)
        )

    return Criteria(
        jobs=list_ids(jobs, "--jobs", named_store.job),
        machines=list_ids(machines, "--machines", named_store.machine),
        time=parse_span(time, "--time", read_time) if time else None,
        tiers=parse_words(tier),
        priorities=list_numbers(priority, "--priority"),
        scheduling_classes=list_numbers(scheduling_class, "--class"),
        users=tuple(named_store.user(name, "--user") for name in parse_words(user)),
        end_types=parse_words(end_type),
        where=where or None,
        fraction=fraction,
        seed=seed,
    )
