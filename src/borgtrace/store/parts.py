"""Name in words the parts of a table that a store or a folder has."""

from collections.abc import Iterable


def describe_numbers(numbers: Iterable[int | None], total: int | None) -> str:
    """Say which numbered parts are there; nothing where no part has a number.

    Parameters
    ----------
    numbers
        Numbers of the parts, in any order; None for a part without one.
    total
        How many parts the table has, where that is known.

    Examples
    --------
    >>> describe_numbers([0, 1, 2, 7], 500)
    '0–2, 7 of 500'
    >>> describe_numbers([None], None)
    ''
    """
    known = sorted({number for number in numbers if number is not None})
    if not known:
        return ""
    ranges = ", ".join(_ranges(known))
    return f"{ranges} of {total}" if total else ranges


def _ranges(numbers: list[int]) -> list[str]:
    """Write ascending numbers as ranges."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    texts = []
    for first, last in ranges:
        texts.append(str(first) if first == last else f"{first}–{last}")
    return texts
