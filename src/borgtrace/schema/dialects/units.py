"""Units that amounts in raw files come in, with the factor that makes each a base unit (µs, cores or bytes)."""

from collections.abc import Mapping
from typing import NamedTuple

MICROSECOND = 1.0
MILLISECOND = 1e3
SECOND = 1e6
DAY = 8.64e10
MILLICORE = 1e-3
PERCENT = 0.01
KB = 1000.0
KIB = 1024.0
MIB = 1024.0**2
GIB = 1024.0**3


class RawUnit(NamedTuple):
    """One unit.

    Parameters
    ----------
    factor
        What makes an amount one in the base unit.
    share_of
        What an amount is a share of: ``"request"``, ``"machine"`` or ``"largest"`` machine; empty where it is
        absolute.
    """

    factor: float
    share_of: str = ""


Units = Mapping[str, RawUnit]
"""Units by name."""

ISO = "iso"
"""Dates and times as text."""
EXCEL = "excel"
"""Dates and times as the numbers of a spreadsheet: days since the end of 1899."""
COMPACT = "compact"
"""Dates and times as digits alone: ``20261101``, with hours, minutes and seconds behind or without."""
DATES = (ISO, EXCEL, COMPACT)

QUANTITY = "quantity"
"""Amounts that name their unit themselves, such as ``250m`` and ``1Gi`` of Kubernetes, or ``500 MB``."""
QUANTITY_OF_LIMIT = "quantity_of_limit"
"""Two such amounts in one field, the second of which is the limit of the first: ``100MiB / 1GiB`` of docker stats."""
QUANTITIES = (QUANTITY, QUANTITY_OF_LIMIT)
Suffixes = tuple[tuple[str, float], ...]
"""What may stand behind a number, with the factor it stands for."""

_DECIMAL: Suffixes = (("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12), ("P", 1e15), ("E", 1e18))
_BINARY: Suffixes = tuple((f"{prefix}i", 1024.0**power) for power, prefix in enumerate("KMGTPE", 1))
CPU_SUFFIXES: Suffixes = (
    ("", 1.0),
    ("n", 1e-9),
    ("u", 1e-6),
    ("m", MILLICORE),
    *_DECIMAL,
    ("cores", 1.0),
    ("core", 1.0),
    ("mcores", MILLICORE),
    ("millicores", MILLICORE),
)
"""Suffixes of amounts of CPU: those of Kubernetes, then words."""
MEMORY_SUFFIXES: Suffixes = (
    ("", 1.0),
    ("m", 1e-3),
    *_DECIMAL,
    *_BINARY,
    ("B", 1.0),
    ("bytes", 1.0),
    *((f"{prefix}B", factor) for prefix, factor in (*_DECIMAL, ("K", KB))),
    *((f"{prefix}B", factor) for prefix, factor in _BINARY),
)
"""Suffixes of amounts of memory: those of Kubernetes, then the same with a B for bytes. ``KB`` is 1,000 bytes."""
PERCENT_SUFFIXES: Suffixes = (("", 1.0), ("%", 1.0))

TIMES: Units = {
    "s": RawUnit(SECOND),
    "ms": RawUnit(MILLISECOND),
    "us": RawUnit(MICROSECOND),
    "ns": RawUnit(1e-3),
    "min": RawUnit(6e7),
    "h": RawUnit(3.6e9),
    "d": RawUnit(8.64e10),
}

CPU_TIME: Units = {
    # Base unit: seconds of one core. Nobody counts them in days.
    name: RawUnit(unit.factor / 1e6)
    for name, unit in TIMES.items()
    if name != "d"
}

SHARES: Units = {
    "fraction_of_request": RawUnit(1.0, "request"),
    "fraction_of_machine": RawUnit(1.0, "machine"),
    "fraction_of_largest": RawUnit(1.0, "largest"),
    "percent_of_request": RawUnit(PERCENT, "request"),
    "percent_of_machine": RawUnit(PERCENT, "machine"),
    "percent_of_largest": RawUnit(PERCENT, "largest"),
}

CPU: Units = {
    "cores": RawUnit(1.0),
    "millicores": RawUnit(MILLICORE),
    "microcores": RawUnit(1e-6),
    "nanocores": RawUnit(1e-9),
    "percent_of_core": RawUnit(PERCENT),
    **SHARES,
}

MEMORY: Units = {
    "bytes": RawUnit(1.0),
    "KiB": RawUnit(1024.0),
    "MiB": RawUnit(MIB),
    "GiB": RawUnit(GIB),
    "TiB": RawUnit(1024.0**4),
    "KB": RawUnit(KB),
    "MB": RawUnit(1000.0**2),
    "GB": RawUnit(1000.0**3),
    "TB": RawUnit(1000.0**4),
    **SHARES,
}
