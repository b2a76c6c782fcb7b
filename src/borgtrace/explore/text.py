"""Text that goes into a query."""

from __future__ import annotations


def literal(text: str) -> str:
    """Write a text as SQL does.

    Examples
    --------
    >>> literal("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"
