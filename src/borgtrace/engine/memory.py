"""Amounts of memory as people write them: ``4GB``, ``512MiB``."""

import re

from borgtrace.errors import UsageError

_AMOUNT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:([KMGT])(I?))?B\s*", re.IGNORECASE)
_POWERS = {
    "": 0,
    "K": 1,
    "M": 2,
    "G": 3,
    "T": 4,
}
MOST = 1024**5
"""More than any machine has; DuckDB refuses to plan with more than 2⁶³ bytes."""


def parse_memory(text: str) -> int:
    """Return the number of bytes that `text` means.

    Raises
    ------
    UsageError
        Where `text` is not a positive number followed by B, KB … TB or KiB … TiB, or more than any machine has.

    Examples
    --------
    >>> parse_memory("4GB"), parse_memory("1.5 GiB")
    (4000000000, 1610612736)
    """
    match = _AMOUNT.fullmatch(text)
    amount = 0
    if match:
        number, letter, is_binary = match.groups()
        # GB is 1000³ and GiB 1024³.
        base = 1024 if is_binary else 1000
        power = _POWERS[(letter or "").upper()]
        # Thousands of digits are infinite as a floating-point number.
        size = float(number) * base**power
        amount = int(size) if size <= MOST else 0
    if amount <= 0:
        raise UsageError(
            "--memory",
            "not an amount of memory",
            expected="a number and a unit, up to 1024 TiB",
            got=repr(text),
            way_out="try 4GB or 512MiB",
        )
    return amount
