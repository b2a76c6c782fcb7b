"""The anomalies that are counted: what each is, and whether what was found is as documented.

How often each occurs in a trace, and where that is written, is the dialect's (`Dialect.anomalies`).
"""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

from borgtrace.schema.dialects import PUBLISHED, Rate

_RELATIVE = 0.25
"""How far a share may lie from the documented one, relative to the rarer side."""
LONG_TRACE_DAYS = 14
"""Days from which on one can stand out."""
UNDER_SAMPLED = 0.9
"""Samples per second below which a window counts as under-sampled: a tenth of its seconds was not seen."""


_NO_ROWS = "the store has no rows that it could affect"


@dataclass(frozen=True, slots=True)
class Anomaly:
    """One anomaly.

    Parameters
    ----------
    code
        Its name.
    table
        Table it is in.
    statement
        What is counted.
    also
        Another table that is needed to count it.
    why
        Reason where nothing could be examined.
    """

    code: str
    table: str
    statement: str
    also: str = ""
    why: str = _NO_ROWS

    @property
    def tables(self) -> tuple[str, ...]:
        """All tables that are needed to count it."""
        return (self.table, self.also) if self.also else (self.table,)

    @property
    def rates(self) -> Mapping[Rate, tuple[str, ...]]:
        """How often it occurs where that is documented, with the traces that it is documented of."""
        found: dict[Rate, tuple[str, ...]] = {}
        for one in PUBLISHED:
            rate = one.anomalies.get(self.code)
            if rate and rate.documented:
                found[rate] = (*found.get(rate, ()), one.trace)
        return found


def tolerance(rate: Rate) -> str:
    """Say in words what is found where a trace is as documented.

    Parameters
    ----------
    rate
        What is documented.

    Examples
    --------
    >>> tolerance(Rate("66 %", "", (0.66, 0.66))), tolerance(Rate("none", "", (0.0, 0.0)))
    ('0.66 ± 0.085, or two standard deviations', '0')
    """
    low, high = rate.documented or (0.0, 1.0)
    if low < high:
        # The smallest number above 0 stands for "not none".
        return f"{'> 0' if 0.0 < low < 1e-300 else f'{low:g}'} … {high:g}"
    if _is_exact(rate):
        return f"{low:g}"
    return f"{low:g} ± {_RELATIVE * min(low, 1.0 - low):.2g}, or two standard deviations"


def verdict(rate: Rate, n: int, of: int) -> str:
    """Return "as documented", "differs", "reported" (nothing to compare) or "nothing to measure".

    A share is met within a quarter of it (of what is left to 1, where that is less) or within two standard
    deviations of a Poisson count, so that a small trace is not accused.

    Parameters
    ----------
    rate
        What is documented.
    n
        Rows (or seconds) found.
    of
        Rows (or seconds) examined; 0 where the store has none.
    """
    if not of:
        return "nothing to measure"
    # Some documents say that a thing occurs, but not how often.
    if rate.documented is None:
        return "reported"
    scale = 1.0 if rate.is_count else float(of)
    low, high = (bound * scale for bound in rate.documented)
    if low == high and not _is_exact(rate):
        slack = max(_RELATIVE * min(high, of - high), 2.0 * math.sqrt(high) + 1.0)
        low, high = low - slack, high + slack
    return "as documented" if low <= n <= high else "differs"


def _is_exact(rate: Rate) -> bool:
    # A documented 0 or 1 is a rule ("never", "always") and not a rate; like a count it is met exactly.
    return rate.is_count or rate.documented in ((0.0, 0.0), (1.0, 1.0))


def _anomaly(code: str, described: Mapping[str, str]) -> Anomaly:
    limits = {"LONG_TRACE_DAYS": LONG_TRACE_DAYS, "UNDER_SAMPLED": UNDER_SAMPLED}
    return Anomaly(code, **{name: text.format(**limits) for name, text in described.items()})


_DESCRIBED = tomllib.loads(
    files("borgtrace.analyses").joinpath("anomalies.toml").read_text("utf-8")
)
ANOMALIES = {code: _anomaly(code, described) for code, described in _DESCRIBED.items()}
"""All anomalies by code."""
