"""How often the anomalies occur that are documented: ``rates.csv``, for all of Google's traces and for each."""

import sys
from pathlib import Path

from borgtrace.schema.data_files import read_rows
from borgtrace.schema.dialects.trace_format import Rate

REAL = "real 2011 parts"
"""One of the sources that the file names."""


def rates(trace: str) -> dict[str, Rate]:
    """Return the rates of a trace by anomaly: those that are documented alike for all, and its own."""
    return {
        row["anomaly"]: Rate(
            row["expected"], row["source"], documented(row["documented"]), bool(row["is_count"])
        )
        for row in read_rows(Path(__file__).with_name("rates.csv"))
        if row["trace"] in ("google", trace)
    }


def documented(text: str) -> tuple[float, float] | None:
    """Read the range of a rate.

    Examples
    --------
    >>> documented("0.29"), documented("..0.01"), documented("0.14..0.53"), documented("")
    ((0.29, 0.29), (0.0, 0.01), (0.14, 0.53), None)
    >>> low, high = documented("0+..0.05")  # it occurs: not none, and so much at most
    >>> 0 < low < 1e-300, high
    (True, 0.05)
    """
    low, dots, high = text.partition("..")
    if not text:
        return None
    if not dots:
        return float(low), float(low)
    return sys.float_info.min if low == "0+" else float(low or 0), float(high)
