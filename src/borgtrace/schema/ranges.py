"""Read lists and ranges of numbers, in the same grammar for every option; :mod:`borgtrace.schema.time` reads times.

::

    numbers  = "all" | item ("," item)*
    item     = N | N-M | N-            both ends included; N- has no upper end
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from borgtrace.errors import UsageError

_ITEM = re.compile(r"(?P<first>\d{1,1000})(?P<is_range>-(?P<last>\d{1,1000})?)?")
_ALLOWED = "numbers and ranges such as 5, 0-9,12 or 500-, or all"
LARGEST = 2**63 - 1
"""Of an int64, as all ids are."""
_MOST_LISTED = 1_000_000
"""A typing error such as ``1-9999999999`` must end in a message, not in a full memory."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """A set of whole numbers as sorted, disjoint ranges ``(first, last)``; an open end is None.

    Examples
    --------
    >>> parse_numbers("12,0-2,2-4").ranges
    ((0, 4), (12, 12))
    >>> list(parse_numbers("0-2,7-").numbers(10))
    [0, 1, 2, 7, 8, 9]
    """

    ranges: tuple[tuple[int, int | None], ...] = ((0, None),)

    def numbers(self, end: int) -> Iterator[int]:
        """Yield the numbers below `end`, in order."""
        for first, last in self.ranges:
            stop = end if last is None else min(last + 1, end)
            yield from range(first, stop)


ALL = Numbers()


def parse_numbers(text: str, where: str = "numbers") -> Numbers:
    """Read a set of numbers.

    Parameters
    ----------
    text
        Such as ``5``, ``0-9,12``, ``500-`` or ``all``.
    where
        The option or parameter, for the error.

    Raises
    ------
    UsageError
        The text is none of these, or a range ends before it starts.
    """
    if text.strip().lower() == "all":
        return ALL
    ranges = [_range(word.strip(), text, where) for word in text.split(",")]
    return Numbers(tuple(_merged(sorted(ranges))))


def list_numbers(text: str, where: str = "numbers") -> tuple[int, ...]:
    """Read a set of numbers that has to be spelled out; none for an empty text.

    Parameters
    ----------
    text
        Such as ``5`` or ``0-9,12``.
    where
        The option or parameter, for the error.

    Raises
    ------
    UsageError
        As :func:`parse_numbers`, or a range is open or longer than a million.

    Examples
    --------
    >>> list_numbers("0,9-11"), list_numbers("")
    ((0, 9, 10, 11), ())
    """
    if not text.strip():
        return ()
    numbers: list[int] = []
    for first, last in parse_numbers(text, where).ranges:
        if last is None or last - first >= _MOST_LISTED:
            raise UsageError(
                where,
                "the range is too long",
                expected="ranges of at most 1,000,000 numbers",
                got=text,
            )
        numbers += range(first, last + 1)
    return tuple(numbers)


def parse_words(text: str) -> tuple[str, ...]:
    """Read a list of words separated by commas.

    Examples
    --------
    >>> parse_words("cpu, memory,")
    ('cpu', 'memory')
    """
    words = (word.strip() for word in text.split(","))
    return tuple(word for word in words if word)


def _range(word: str, text: str, where: str) -> tuple[int, float]:
    """Return (first, last); an open end is infinite here, so that ranges can be compared."""
    match = _ITEM.fullmatch(word)
    if match:
        first = int(match["first"])
        last = _last(match, first)
        largest = first if last == float("inf") else last
        if largest > LARGEST:
            raise UsageError(
                where,
                "a number is too large",
                expected=f"numbers up to {LARGEST:,}",
                got=text.strip(),
            )
        if first <= last:
            return first, last
    raise UsageError(
        where,
        "not a list of numbers",
        expected=_ALLOWED,
        got=text.strip() or "nothing",
    )


def _last(match: re.Match[str], first: int) -> float:
    if not match["is_range"]:
        return first
    return int(match["last"]) if match["last"] else float("inf")


def _merged(ranges: list[tuple[int, float]]) -> Iterator[tuple[int, int | None]]:
    """Join sorted ranges that overlap or touch."""
    first, last = ranges[0]
    for low, high in ranges[1:]:
        # Neighbors merge too: 0-2,3-5 is 0-5.
        if low > last + 1:
            yield first, int(last)
            first, last = low, high
        last = max(last, high)
    yield first, None if last == float("inf") else int(last)
