"""Text that goes into a query."""


def literal(text: str) -> str:
    """Write a text as SQL does.

    Examples
    --------
    >>> literal("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"
