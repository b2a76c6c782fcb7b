"""Amounts of memory as people write them (``4GB``, ``512MiB``), and what goes back to the system once it is free."""

import ctypes
import os
import re
from contextlib import suppress

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
_MMAP_THRESHOLD = -3
"""Number of the option of glibc's ``mallopt``."""
_HAS_OWN_THRESHOLD = "MALLOC_MMAP_THRESHOLD_" in os.environ
"""Whether this process was started with another setting: that of the user, or that of our workers."""
_LARGE = 1 << 22
"""Bytes of an array that has pages of its own, which is a millisecond to clear: little beside what fills it."""


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


def return_large_arrays() -> None:
    """Have arrays of 4 MiB and more go back to the system as soon as they are freed.

    By default glibc gives pages of their own only to arrays that are larger than those freed before, up to 32 MiB.
    Others share the heap of a thread, which cannot shrink below the last one that is in use: where threads draw arrays
    and free them, half of the process's memory was free, and lost to all others.

    Other C libraries have no such option, and a setting of the environment stays.
    """
    if not _HAS_OWN_THRESHOLD:
        with suppress(AttributeError, OSError, TypeError):
            ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, _LARGE)
