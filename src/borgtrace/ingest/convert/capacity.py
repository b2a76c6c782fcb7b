"""The size of the largest machine, as a user writes it: ``8cores,32GiB``."""

import re
from typing import NamedTuple

from borgtrace.errors import UsageError
from borgtrace.schema.dialects.units import MEMORY

_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]+)")
_MEGAHERTZ = {"MHz": 1.0, "GHz": 1000.0}
MOST = {"cores": 10**6, "bytes": 2**60, "megahertz": 10**10}
"""Of one machine."""


class Capacity(NamedTuple):
    """Cores, bytes and clock (of all cores together) of the largest machine, as far as they are known."""

    cores: float | None = None
    bytes: float | None = None
    megahertz: float | None = None


def parse_capacity(text: str) -> Capacity:
    """Read the size of the largest machine.

    Parameters
    ----------
    text
        Such as ``8cores``, ``8cores,32GiB``, ``41600MHz``; empty where nothing is said.

    Raises
    ------
    UsageError
        It is neither.

    Examples
    --------
    >>> parse_capacity("8cores,32GiB")
    Capacity(cores=8.0, bytes=34359738368.0, megahertz=None)
    >>> parse_capacity("")
    Capacity(cores=None, bytes=None, megahertz=None)
    """
    amounts: dict[str, float] = {}
    for part in text.split(","):
        written = part.strip()
        if not written:
            continue
        resource, amount = _parse_amount(written)
        if not 0 < amount <= MOST[resource] or resource in amounts:
            raise UsageError(
                "--capacity",
                "not the size of a machine",
                expected="such as 8cores,32GiB, at most 1,000,000 cores and 1 EiB",
                got=text,
            )
        amounts[resource] = amount
    return Capacity(**amounts)


def _parse_amount(text: str) -> tuple[str, float]:
    """Return the resource and the amount of it; 0 where the text is no amount."""
    match = _AMOUNT.fullmatch(text)
    if match is None:
        return "bytes", 0.0
    number = float(match[1])
    unit = match[2]
    if unit in ("core", "cores"):
        return "cores", number
    if unit in _MEGAHERTZ:
        return "megahertz", number * _MEGAHERTZ[unit]
    bytes_per_unit, _ = MEMORY.get(unit, (0.0, ""))
    return "bytes", number * bytes_per_unit
