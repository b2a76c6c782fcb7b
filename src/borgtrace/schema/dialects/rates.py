"""How often the anomalies occur that are documented for several traces, and how a rate is written."""

from __future__ import annotations

from borgtrace.schema.dialects.trace_format import Rate

G11, DOC = "ClusterData2011_2.md", "2011 format document"
EDA = "published exploration of the full 2011 trace"
REAL, V3, S1 = "real 2011 parts", "2019 notes and real rows", "Janus & Rzadca, SoCC'17"

NONE, ALL = (0.0, 0.0), (1.0, 1.0)


def about(share: float) -> tuple[float, float]:
    """Return the range of a documented share; a verdict allows half of it, for small traces more."""
    return share, share


def at_most(share: float) -> tuple[float, float]:
    """Return the range of a share of which only the upper bound is documented."""
    return 0.0, share


SHARED: dict[str, Rate] = {
    "missing_info_instances": Rate("0.013 %", G11, about(0.00013)),
    "cpu_request_zero": Rate("occurs", REAL),
    "after_trace": Rate("occurs", EDA),
    "schedule_missing": Rate("< 0.05 %", G11, at_most(0.0005)),
    # Counted in the real files, 19 of 2,012,242 rows; the page says 0.0008 %.
    "missing_info_collections": Rate("0.00094 %", REAL, about(9.4e-06)),
    "capacity_missing": Rate("32 of 21,443 (2011); occurs (2019)", REAL, at_most(0.06)),
    "usage_missing": Rate("< 1 %", G11, at_most(0.01)),
    "window_over_300s": Rate("none", DOC, NONE),
    "window_off_grid": Rate("none", DOC, NONE),
    "cpu_over_1": Rate("rare (13 in 17 million tasks)", S1, at_most(0.001)),
    "mean_over_maximum": Rate("not documented", DOC),
    "sample_over_maximum": Rate("not documented", DOC),
    "cpi_null": Rate("14–53 % (2011), 29 % (2019)", EDA, (0.07, 0.6)),
    "cpi_impossible": Rate("some", G11, at_most(0.01)),
    "mai_impossible": Rate("some", G11, at_most(0.01)),
}
"""Rates of anomalies that every Google trace may have, mostly documented for 2011."""
