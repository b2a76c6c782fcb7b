"""Numbers of things, as they are said."""

from __future__ import annotations


def several(count: int, noun: str) -> str:
    """Say how many.

    Examples
    --------
    >>> several(1, "file"), several(1500, "file")
    ('1 file', '1,500 files')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
