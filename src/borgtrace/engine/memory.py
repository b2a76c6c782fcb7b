"""Amounts of memory as people write them: ``4GB``, ``512MiB``."""

import re

from borgtrace.errors import UsageError

_SHAPE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:([KMGT])(I?))?B\s*", re.IGNORECASE)


def parse_memory(text: str) -> int:
    """Return the number of bytes that `text` means.

    Raises
    ------
    UsageError
        Where `text` is not a positive number followed by B, KB … TB or KiB … TiB.

    Examples
    --------
    >>> parse_memory("4GB"), parse_memory("1.5 GiB")
    (4000000000, 1610612736)
    """
    match = _SHAPE.fullmatch(text)
    amount = 0
    if match:
        number, letter, is_binary = match.groups()
        # GB is 1000³ and GiB 1024³: the position in " KMGT" is the power.
        amount = int(
            float(number) * (1024 if is_binary else 1000) ** " KMGT".index((letter or " ").upper())
        )
    if amount <= 0:
        expected, way_out = "a number and a unit", "try 4GB or 512MiB"
        raise UsageError(
            "--memory",
            "not an amount of memory",
            expected=expected,
            got=repr(text),
            way_out=way_out,
        )
    return amount
