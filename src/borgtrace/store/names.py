"""Ids of things that users call by a name: jobs, containers and machines of converted traces have names."""

from borgtrace.errors import UsageError
from borgtrace.store.store import Store

_QUERIES = {
    "collection": """
        SELECT DISTINCT collection_id AS id
        FROM collection_events
        WHERE collection_name = $name
    """,
    "machine": """
        SELECT DISTINCT machine_id AS id
        FROM machine_attributes
        WHERE name = 'name' AND value = $name
    """,
}


def find_id(store: Store, kind: str, text: str) -> int:
    """Return the id that a text means: a number is an id, any other text the name of one thing.

    Parameters
    ----------
    store
        The open store.
    kind
        ``collection`` or ``machine``.
    text
        What the user wrote.

    Raises
    ------
    UsageError
        Nothing, or more than one thing, has the name.
    """
    if text.isdecimal():
        return int(text)
    ids = store.sql(_QUERIES[kind], {"name": text}).column("id").to_pylist()
    if len(ids) != 1:
        raise UsageError(
            kind,
            "not the name of one",
            expected="an id, or a name that one has",
            got=f"{len(ids):,} called {text}",
        )
    return int(ids[0])
