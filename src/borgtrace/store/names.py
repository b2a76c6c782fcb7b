"""Ids of things that users call by a name: jobs, containers and machines of converted traces have names."""

from borgtrace.errors import UsageError
from borgtrace.schema.bounds import ID
from borgtrace.store.store import Store

MOST_DIGITS = 1000
"""Of a number; Python refuses to read thousands of digits."""

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


def find_id(store: Store, kind: str, text: str, where: str = "") -> int:
    """Return the id that a text means: a number is an id, any other text the name of one thing.

    Parameters
    ----------
    store
        The open store.
    kind
        ``collection`` or ``machine``.
    text
        What the user wrote.
    where
        The option that it is the value of, for the error; the kind where it is an argument.

    Raises
    ------
    UsageError
        Nothing, or more than one thing, has the name.
    """
    # Digits beyond every id are a name, if anything.
    if text.isdecimal() and len(text) <= MOST_DIGITS and ID.contain(int(text)):
        return int(text)
    ids = store.sql(_QUERIES[kind], {"name": text}).column("id").to_pylist()
    if len(ids) != 1:
        expected = "an id, or a name that one has"
        if text.isdecimal():
            expected = f"an id, {ID.describe()}"
        raise UsageError(
            where or kind,
            "not the name of one",
            expected=expected,
            got=f"{len(ids):,} called {text}",
        )
    return int(ids[0])
