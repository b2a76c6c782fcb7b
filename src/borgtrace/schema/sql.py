"""Values and names as SQL writes them."""

from collections.abc import Iterable


def literal(value: object) -> str:
    """Write a value: a number as it is, anything else as text.

    Examples
    --------
    >>> literal("it's"), literal(7)
    ("'it''s'", '7')
    """
    # Quotes are doubled, so that a name cannot end the text.
    return str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"


def literals(values: Iterable[object]) -> str:
    """Write values as a list.

    Examples
    --------
    >>> literals(["SUBMIT", "KILL"])
    "'SUBMIT', 'KILL'"
    """
    return ", ".join(map(literal, values))


def quoted(names: Iterable[str]) -> dict[str, str]:
    """Write names of columns, by name.

    Examples
    --------
    >>> quoted(["user"])
    {'user': '"user"'}
    """
    return {name: f'"{name}"' for name in names}
