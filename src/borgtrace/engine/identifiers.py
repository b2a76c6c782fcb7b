"""Names, texts and numbers inside a query: the one place that writes them.

A name of a column or a table cannot be a parameter of a query, so it is written into the text, quoted.  Values are
bound as parameters; only where DuckDB takes none (a view, an option of ``COPY``) are they written as literals.
"""

import re
from functools import cache

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLAIN_TEXT = re.compile(r"[A-Za-z0-9_ ./:=+-]*")
"""Names and texts that need quotes around them and nothing else.

sqlglot writes the same for them, and takes a tenth of a second to import, which most commands need not wait for.
"""


@cache
def quoted(*parts: str, dialect: str = "duckdb") -> str:
    """Quote an identifier, so that any text is a name and never SQL.

    Parameters
    ----------
    parts
        The name; several parts make a qualified one, such as a table and its column.
    dialect
        Whose SQL it is, as sqlglot calls it.

    Examples
    --------
    >>> print(quoted("user"))
    "user"
    >>> print(quoted("tasks", 'a "strange" name'))
    "tasks"."a ""strange"" name"
    """
    if dialect == "duckdb" and all(_PLAIN_NAME.fullmatch(part) for part in parts):
        return ".".join(f'"{part}"' for part in parts)
    from sqlglot import exp

    return ".".join(exp.to_identifier(part, quoted=True).sql(dialect) for part in parts)


@cache
def literal(text: str) -> str:
    """Write a text as a literal of DuckDB, for the rare place where no parameter can be bound.

    Parameters
    ----------
    text
        Any text.

    Examples
    --------
    >>> literal("it's")
    "'it''s'"
    """
    if _PLAIN_TEXT.fullmatch(text):
        return f"'{text}'"
    from sqlglot import exp

    return exp.Literal.string(text).sql("duckdb")


def number(value: float) -> str:
    """Write a number, where no parameter can be bound; anything else is refused.

    Parameters
    ----------
    value
        An integer or a float.

    Raises
    ------
    TypeError
        It is neither.

    Examples
    --------
    >>> number(2**63 - 1), number(1e-3)
    ('9223372036854775807', '0.001')
    """
    if not isinstance(value, int | float):
        raise TypeError(f"not a number: {value!r}")
    return str(value)
