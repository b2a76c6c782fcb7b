"""What a page shows as lines of Python: the way from a view to a notebook."""

from pathlib import Path


def python_of_query(path: Path, query: str) -> str:
    """Return Python that asks a query.

    Parameters
    ----------
    path
        The store.
    query
        One SELECT.

    Examples
    --------
    >>> print(python_of_query(Path("store"), "SELECT 1"))
    import borgtrace
    <BLANKLINE>
    store = borgtrace.open("store")
    store.sql("SELECT 1")
    """
    # Written as Python writes texts: what stands in a query cannot end it.
    text = f'"{query}"' if is_simple(query) else triple_quoted(query)
    return python_of_view(path, f"store.sql({text})")


def python_of_view(path: Path, line: str) -> str:
    """Return Python that opens a store, and one line about it."""
    return f"import borgtrace\n\nstore = borgtrace.open({python_text(str(path))})\n{line}"


def python_text(text: str) -> str:
    """Return a text as Python writes it, in double quotes."""
    return f'"{text}"' if is_simple(text) else repr(text)


def is_simple(text: str) -> bool:
    """Whether a text stands between double quotes as it is."""
    return text.isprintable() and '"' not in text and "\\" not in text


def triple_quoted(text: str) -> str:
    """Return a text of several lines as Python writes it; on one line where that would not be safe."""
    lines = text.splitlines()
    is_safe = all(line.isprintable() for line in lines) and "\\" not in text and '"""' not in text
    return f'"""\n{text}\n"""' if is_safe else repr(text)
