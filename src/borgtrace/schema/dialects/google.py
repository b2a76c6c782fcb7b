"""What all of Google's traces share: their license, and anomalies that all of them document."""

from borgtrace.schema.dialects.trace_format import AnomalyRate, exactly

LICENCE = "Google's cluster traces are published under the license CC-BY 4.0."

REAL_PARTS = "real 2011 parts"
"""Source of rates that were counted in real files."""
FORMAT_DOCUMENT = "2011 format document"
EXPLORATION = "published exploration of the full 2011 trace"

ANOMALIES = {
    "cpu_request_zero": AnomalyRate("occurs", REAL_PARTS),
    "after_trace": AnomalyRate("occurs", EXPLORATION),
    "window_over_300s": AnomalyRate("none", FORMAT_DOCUMENT, documented=exactly(0)),
    "mean_over_maximum": AnomalyRate("not documented", FORMAT_DOCUMENT),
    "sample_over_maximum": AnomalyRate("not documented", FORMAT_DOCUMENT),
    # What runs on after a kill is measured for tens of seconds; a window may lie over an end of the trace.
    "usage_after_end": AnomalyRate("occurs", FORMAT_DOCUMENT),
    "late_windows": AnomalyRate("occurs", FORMAT_DOCUMENT),
    "zero_usage": AnomalyRate("not documented", FORMAT_DOCUMENT),
    "mixed_requests_at_start": AnomalyRate("not documented", FORMAT_DOCUMENT),
    "mixed_requests": AnomalyRate("not documented", FORMAT_DOCUMENT),
    "pending_updates": AnomalyRate("not documented", FORMAT_DOCUMENT),
}
