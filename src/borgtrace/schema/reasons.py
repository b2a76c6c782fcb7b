"""Reason codes: what can be wrong with a row, how bad that is, and what happens to the row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["info", "notice", "data_loss", "error"]
SEVERITIES: tuple[Severity, ...] = ("info", "notice", "data_loss", "error")


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason code.

    ``quarantines`` says whether the row is refused (and kept, as text, in the store's quarantine)
    or stored and only counted.
    """

    code: str
    severity: Severity
    quarantines: bool
    sentence: str


def _refuse(code: str, sentence: str) -> Reason:
    return Reason(code, "data_loss", True, sentence)


def _count(code: str, severity: Severity, sentence: str) -> Reason:
    return Reason(code, severity, False, sentence)


REASONS: dict[str, Reason] = {
    reason.code: reason
    for reason in (
        _refuse("wrong_column_count", "The line has more or fewer fields than its table."),
        _refuse("unparsable_value", "A field is not the number, flag or record that is expected."),
        _refuse("integer_out_of_range", "An integer is too large for its column, or negative where it must not be."),
        _refuse("null_in_mandatory_field", "A field that every row must have is empty."),
        _refuse("unknown_enum_code", "A code is unknown to the trace format."),
        _refuse("end_before_start", "The usage window ends before it starts."),
        _refuse("negative_resource", "A capacity, request or usage is below zero."),
        _refuse("wrong_list_length", "A percentile list is neither empty nor complete."),
        # From here on rows are stored: they are odd, but published so, and a question may want them as they are.
        _count("exact_duplicate", "notice", "The row repeats another row in every published column."),
        _count("window_over_300s", "notice", "The usage window is longer than 300 s."),
        # Real, hence stored: 6.633 was seen in part 0 of 2011, and Janus & Rzadca found 13 such tasks.
        _count("cpu_above_1", "notice", "A CPU rate exceeds the largest machine of the cell."),
        _count("mean_above_maximum", "notice", "A mean is larger than the maximum of its window."),
        _count(
            "mean_above_summed_maximum", "info", "A mean is larger than a maximum that was summed over sub-containers."
        ),
        _count("percentiles_unordered", "notice", "The values of a percentile list are not in ascending order."),
        _count("percentiles_empty", "info", "A percentile list is empty."),
        _count("sample_out_of_range", "notice", "The 1-second CPU sample exceeds the maximum of its window."),
        _count("time_out_of_order", "notice", "The row is earlier than the row before it in its file."),
        _count("after_trace_time", "info", 'A time stands for "after the end of the trace".'),
        _count("unknown_machine", "notice", "The machine of the row is not in machine_events."),
        _count("orphan_instance", "notice", "The instance of the row is not in instance_events."),
    )
}
"""All reasons, by code."""
