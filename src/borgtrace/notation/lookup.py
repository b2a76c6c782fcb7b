"""Find a machine, job, task or user by what somebody types: an id, a name, part of one, or its beginning.

A name such as ``shop/web-7/app`` is also meant by ``web-7``, if no other name has such a part, and by ``shop/web-7``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from borgtrace.errors import UsageError
from borgtrace.schema.bounds import ID
from borgtrace.store.store import Store

MOST_DIGITS = 1000
"""Of a number; Python refuses to read thousands of digits."""
MOST_SUGGESTIONS = 3
"""Names that an error lists."""
_MOST_CANDIDATES = 1000
"""Names that are read; nobody counts more."""
_TASK = re.compile(r"(.+):(\d{1,9})")

_MACHINES = """
    SELECT machine_id AS id, value AS name FROM machine_attributes WHERE name = 'name'
"""
_JOBS = """
    SELECT collection_id AS id, collection_name AS name FROM collection_events
"""
# Users have no ids.
_USERS = """
    SELECT NULL::BIGINT AS id, "user" AS name FROM collection_events
    UNION
    SELECT NULL::BIGINT, "user" FROM tasks
"""


class Candidate(NamedTuple):
    """A thing whose name holds what was typed, and how its name matches."""

    id: int | None
    name: str
    is_whole: bool
    is_part: bool
    is_beginning: bool


def find_machine(store: Store, text: str, where: str = "machine") -> int:
    """Return the id of the machine that a text means.

    Parameters
    ----------
    store
        An open store.
    text
        What the user wrote. Digits are an id, whether or not the store has it.
    where
        The option or argument, for the error.

    Raises
    ------
    UsageError
        No machine, or more than one, is meant; the message lists candidates.
    """
    return _id_of(store, _MACHINES, text, where)


def find_job(store: Store, text: str, where: str = "job") -> int:
    """Return the id of the job that a text means, as :func:`find_machine` does of a machine."""
    return _id_of(store, _JOBS, text, where)


def find_task(store: Store, text: str, where: str = "task") -> tuple[int, int]:
    """Return the job and the index of the task that a text means: ``web:3``, or ``web-7`` for index 0.

    Raises
    ------
    UsageError
        As for :func:`find_machine`.
    """
    match = _TASK.fullmatch(text)
    # A name may end in digits behind a colon itself: host:9100.
    is_name = any(candidate.is_whole for candidate in _candidates(store, _JOBS, text))
    if match is None or is_name:
        return find_job(store, text, where), 0
    return find_job(store, match[1], where), int(match[2])


def find_user(store: Store, text: str, where: str = "--user") -> str:
    """Return the whole name of the user that a text means, as :func:`find_machine` does; digits are a name, too."""
    return _find(store, _USERS, text, where, "a user's name, or how one begins").name


def _id_of(
    store: Store,
    things_sql: str,
    text: str,
    where: str,
) -> int:
    # Digits beyond every id are a name, if anything.
    if text.isdecimal() and len(text) <= MOST_DIGITS and ID.contain(int(text)):
        return int(text)
    expected = "an id, a name, or how one begins"
    if text.isdecimal():
        expected = f"an id, {ID.describe()}"
    thing = _find(store, things_sql, text, where, expected)
    # Only users have none.
    assert thing.id is not None
    return thing.id


def _find(
    store: Store,
    things_sql: str,
    text: str,
    where: str,
    expected: str,
) -> Candidate:
    candidates = _candidates(store, things_sql, text)
    # The closest kind of match decides: a name is not ambiguous because others begin with it.
    kinds_of_matches = (
        [candidate for candidate in candidates if candidate.is_whole],
        [candidate for candidate in candidates if candidate.is_part],
        [candidate for candidate in candidates if candidate.is_beginning],
    )
    for matches in kinds_of_matches:
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise UsageError(
                where,
                "more than one is meant",
                expected=expected,
                got=f"{text}, which fits {len(matches):,}",
                way_out=f"name one, such as {_listed(matches)}",
            )
    raise UsageError(
        where,
        "nothing has this name",
        expected=expected,
        got=text or "nothing",
        way_out=f"did you mean {_listed(candidates)}" if candidates else None,
    )


def _candidates(store: Store, things_sql: str, text: str) -> list[Candidate]:
    """Return the things whose name holds a text, the closest matches first."""
    if not text:
        return []
    query = f"""
        SELECT DISTINCT
            id,
            name,
            name = $text AS is_whole,
            contains('/' || name || '/', '/' || $text || '/') AS is_part,
            starts_with(name, $text) AS is_beginning,
            length(name) AS n_letters
        FROM ({things_sql})
        WHERE contains(name, $text)
        ORDER BY is_whole DESC, is_part DESC, is_beginning DESC, n_letters, name, id
        LIMIT {_MOST_CANDIDATES}
    """
    candidates = []
    for row in store.sql(query, {"text": text}).to_pylist():
        del row["n_letters"]
        candidates.append(Candidate(**row))
    return candidates


def _listed(candidates: Sequence[Candidate]) -> str:
    """Return some names, and how many more there are; ids where names do not tell things apart."""
    texts = list(dict.fromkeys(candidate.name for candidate in candidates))
    if len(texts) == 1 and len(candidates) > 1:
        texts = [str(candidate.id) for candidate in candidates]
    shown = " or ".join(texts[:MOST_SUGGESTIONS])
    n_more = len(texts) - MOST_SUGGESTIONS
    return f"{shown}, or one of {n_more:,} more" if n_more > 0 else shown
