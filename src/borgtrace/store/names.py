"""Ids of things that users call by a name: jobs, containers and machines of converted traces have names."""

from borgtrace.errors import UsageError
from borgtrace.schema.bounds import ID
from borgtrace.store.store import Store

MOST_DIGITS = 1000
"""Of a number; Python refuses to read thousands of digits."""

MOST_SUGGESTIONS = 3
"""Names that an error lists."""

_NAMES = {
    "collection": "SELECT DISTINCT collection_id AS id, collection_name AS name FROM collection_events",
    "machine": """
        SELECT DISTINCT machine_id AS id, value AS name FROM machine_attributes WHERE name = 'name'
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
    query = f"SELECT DISTINCT id FROM ({_NAMES[kind]}) WHERE name = $name"
    ids = store.sql(query, {"name": text}).column("id").to_pylist()
    if len(ids) != 1:
        expected = "an id, or a name that one has"
        if text.isdecimal():
            expected = f"an id, {ID.describe()}"
        raise UsageError(
            where or kind,
            "not the name of one",
            expected=expected,
            got=f"{len(ids):,} called {text}",
            way_out="" if ids else _suggestion(store, kind, text),
        )
    return int(ids[0])


def _suggestion(store: Store, kind: str, text: str) -> str:
    """Return which names hold a text, as a task called shop/web-0/app does web-0; empty where none does."""
    if not text:
        return ""
    # First those of which it is a whole part.
    query = f"""
        SELECT DISTINCT
            name,
            contains('/' || name || '/', '/' || $text || '/') AS is_part,
            length(name) AS n_letters
        FROM ({_NAMES[kind]})
        WHERE contains(name, $text)
        ORDER BY is_part DESC, n_letters, name
    """
    names = store.sql(query, {"text": text}).column("name").to_pylist()
    if not names:
        return ""
    shown = " or ".join(names[:MOST_SUGGESTIONS])
    n_more = len(names) - MOST_SUGGESTIONS
    return f"did you mean {shown}" + (f", or one of {n_more:,} more" if n_more > 0 else "")
