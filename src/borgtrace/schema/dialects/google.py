"""What all of Google's traces share: their licence, and anomalies that are documented alike for all of them."""

from borgtrace.schema.dialects.trace_format import Rate, exactly

LICENCE = "Google's cluster traces are published under the license CC-BY 4.0."

REAL_PARTS = "real 2011 parts"
"""Source of rates that were counted in real files."""
FORMAT_DOCUMENT = "2011 format document"
EXPLORATION = "published exploration of the full 2011 trace"

ANOMALIES = {
    "cpu_request_zero": Rate("occurs", REAL_PARTS),
    "after_trace": Rate("occurs", EXPLORATION),
    "window_over_300s": Rate("none", FORMAT_DOCUMENT, documented=exactly(0)),
    "mean_over_maximum": Rate("not documented", FORMAT_DOCUMENT),
    "sample_over_maximum": Rate("not documented", FORMAT_DOCUMENT),
    # What runs on after a kill is measured for tens of seconds; a window may lie over an end of the trace.
    "usage_after_end": Rate("occurs", FORMAT_DOCUMENT),
    "late_windows": Rate("occurs", FORMAT_DOCUMENT),
    "zero_usage": Rate("not documented", FORMAT_DOCUMENT),
    "mixed_requests": Rate("not documented", FORMAT_DOCUMENT),
    "pending_updates": Rate("not documented", FORMAT_DOCUMENT),
}
