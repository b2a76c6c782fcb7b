"""Amounts of memory as people write them: ``4GB``, ``512MiB``."""

from __future__ import annotations

import re

from borgtrace.errors import UsageError

_FACTORS = {
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KIB": 2**10,
    "MIB": 2**20,
    "GIB": 2**30,
    "TIB": 2**40,
}
_SHAPE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?I?B)\s*", re.IGNORECASE)


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
    amount = int(float(match[1]) * _FACTORS[match[2].upper()]) if match and match[2].upper() in _FACTORS else 0
    if amount <= 0:
        raise UsageError(
            "--memory",
            "not an amount of memory",
            expected="a number and a unit",
            got=repr(text),
            way_out="try 4GB or 512MiB",
        )
    return amount
