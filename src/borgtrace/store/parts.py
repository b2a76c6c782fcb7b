"""Which parts of a table a store or a folder has, in words."""

from collections.abc import Iterable


def describe_numbers(numbers: Iterable[int | None], total: int | None) -> str:
    """Say which numbered parts are there.

    Parameters
    ----------
    numbers
        Of the parts, in any order; None for a part without one.
    total
        How many parts the table has, where that is known.

    Examples
    --------
    >>> describe_numbers([0, 1, 2, 7], 500)
    '0–2, 7 of 500'
    >>> describe_numbers([None], None)
    'without numbers'
    """
    known = sorted({number for number in numbers if number is not None})
    if not known:
        return "without numbers"
    return ", ".join(_spans(known)) + (f" of {total}" if total else "")


def _spans(numbers: list[int]) -> list[str]:
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return [str(low) if low == high else f"{low}–{high}" for low, high in spans]
