"""Counts with their nouns, as sentences of experiments write them."""


def counted(n: int, noun: str) -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> counted(1, "day"), counted(1200, "machine")
    ('1 day', '1,200 machines')
    """
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"
