"""Units that fields of converted files come in, each with what makes it a base unit and what it is a share of."""

from collections.abc import Mapping

Units = Mapping[str, tuple[float, str]]
"""By name: the factor to the base unit (µs, cores, bytes), and what an amount is a share of (``""``: of nothing)."""

_SHARES: Units = {
    f"{how}_of_{what}": (factor, what)
    for how, factor in (("fraction", 1.0), ("percent", 0.01))
    for what in ("request", "machine", "largest")
}
_BINARY: Units = {f"{prefix}iB": (1024.0**power, "") for power, prefix in enumerate("KMGT", 1)}
_DECIMAL: Units = {f"{prefix}B": (1000.0**power, "") for power, prefix in enumerate("KMGT", 1)}
TIMES: Units = {
    "s": (1e6, ""),
    "ms": (1e3, ""),
    "us": (1.0, ""),
    "ns": (1e-3, ""),
    "h": (3.6e9, ""),
    "d": (8.64e10, ""),
}
ISO = "iso"
"""Dates and times as text."""
CPU: Units = {
    "cores": (1.0, ""),
    "millicores": (1e-3, ""),
    "percent_of_core": (0.01, ""),
    **_SHARES,
}
CPU_TIME: Units = {name: (factor / 1e6, "") for name, (factor, _) in TIMES.items() if name != "d"}
MEMORY: Units = {"bytes": (1.0, ""), **_BINARY, **_DECIMAL, **_SHARES}
