"""How often the anomalies occur that are documented for several traces, and how a rate is written."""

import sys

from borgtrace.schema.dialects.trace_format import Rate

G11, DOC = "ClusterData2011_2.md", "2011 format document"
EDA = "published exploration of the full 2011 trace"
REAL, V3, S1 = "real 2011 parts", "2019 notes and real rows", "Janus & Rzadca, SoCC'17"

NONE, ALL = (0.0, 0.0), (1.0, 1.0)


def about(share: float) -> tuple[float, float]:
    """Return the range of a documented share; a verdict allows a quarter of the rarer side, for small traces more."""
    return share, share


def some(most: float) -> tuple[float, float]:
    """Return the range of a share of which only is documented that it occurs: not none, and `most` at most."""
    return sys.float_info.min, most


def at_most(share: float) -> tuple[float, float]:
    """Return the range of a share of which only the upper bound is documented."""
    return 0.0, share


SHARED: dict[str, Rate] = {
    "cpu_request_zero": Rate("occurs", REAL),
    "after_trace": Rate("occurs", EDA),
    "window_over_300s": Rate("none", DOC, NONE),
    "mean_over_maximum": Rate("not documented", DOC),
    "sample_over_maximum": Rate("not documented", DOC),
    # What runs on after a kill is measured for tens of seconds; a window may lie over an end of the trace.
    "usage_after_end": Rate("occurs", DOC),
    "late_windows": Rate("occurs", DOC),
    "zero_usage": Rate("not documented", DOC),
    "mixed_requests": Rate("not documented", DOC),
    "pending_updates": Rate("not documented", DOC),
}
"""Rates of anomalies that are documented alike for every Google trace."""
