"""Reason codes: what can be wrong with a row, how bad that is, and what happens to the row."""

from dataclasses import dataclass
from typing import Literal

Severity = Literal["info", "notice", "data_loss", "error"]
SEVERITIES: tuple[Severity, ...] = ("info", "notice", "data_loss", "error")


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason code."""

    code: str
    severity: Severity
    sentence: str

    @property
    def quarantines(self) -> bool:
        """Whether the row is refused and kept as text in the store's quarantine; else it is stored and counted."""
        return self.severity == "data_loss"

    @property
    def leaves_out(self) -> bool:
        """Whether it is about a series, or a step of one, that no row is made of."""
        return self in _LEFT_OUT


_REFUSED = (
    Reason(
        "wrong_column_count",
        "data_loss",
        "The line has more or fewer fields than its table.",
    ),
    Reason(
        "unparsable_value",
        "data_loss",
        "A field is not the number, flag or record that is expected.",
    ),
    Reason(
        "integer_out_of_range",
        "data_loss",
        "An integer is too large for its column, or negative where it must not be.",
    ),
    Reason(
        "null_in_mandatory_field",
        "data_loss",
        "A field that every row must have is empty.",
    ),
    Reason(
        "unknown_enum_code",
        "data_loss",
        "A code is unknown to the trace format.",
    ),
    Reason(
        "end_before_start",
        "data_loss",
        "The usage window ends before it starts.",
    ),
    Reason(
        "negative_resource",
        "data_loss",
        "A capacity, request or usage is below zero.",
    ),
    Reason(
        "amount_out_of_range",
        "data_loss",
        "A capacity, request or usage is more than any machine or job has.",
    ),
    Reason(
        "wrong_list_length",
        "data_loss",
        "A percentile list is neither empty nor complete.",
    ),
)

# These rows are odd, but published so, and a question may want them as they are.
_STORED = (
    Reason(
        "unknown_field",
        "notice",
        "The record has a field that its table does not have; the field is left out.",
    ),
    Reason(
        "exact_duplicate",
        "notice",
        "The row repeats another row in every published column.",
    ),
    Reason(
        "repeated_moment",
        "notice",
        "The row has the task and the time of an earlier row, and other values.",
    ),
    Reason(
        "window_over_300s",
        "notice",
        "The usage window is longer than 300 s.",
    ),
    # Such rows are real: part 0 of 2011 has 6.633, and Janus & Rzadca found 13 such tasks.
    Reason(
        "cpu_above_1",
        "notice",
        "A CPU rate exceeds the largest machine of the cell.",
    ),
    Reason(
        "mean_above_maximum",
        "notice",
        "A mean is larger than the maximum of its window.",
    ),
    Reason(
        "mean_above_summed_maximum",
        "info",
        "A mean is larger than a maximum that was summed over sub-containers.",
    ),
    Reason(
        "percentiles_unordered",
        "notice",
        "The values of a percentile list are not in ascending order.",
    ),
    Reason(
        "percentiles_empty",
        "info",
        "A percentile list is empty.",
    ),
    Reason(
        "sample_out_of_range",
        "notice",
        "The 1-second CPU sample exceeds the maximum of its window.",
    ),
    Reason(
        "time_out_of_order",
        "notice",
        "The row is earlier than the row before it in its file.",
    ),
    Reason(
        "after_trace_time",
        "info",
        'A time stands for "after the end of the trace".',
    ),
    Reason(
        "unknown_machine",
        "notice",
        "The machine of the row is not in machine_events.",
    ),
    Reason(
        "orphan_instance",
        "notice",
        "The instance of the row is not in instance_events.",
    ),
)

# What a series of a monitoring system says that no table has, or that another one says already.
_LEFT_OUT = (
    Reason(
        "unnamed_series",
        "notice",
        "The series has no name, as results of functions such as rate() have none.",
    ),
    Reason(
        "unknown_metric",
        "notice",
        "The series is of a metric that is not read.",
    ),
    Reason(
        "unlabelled_series",
        "notice",
        "The series has no label that names its pod, its container or its node.",
    ),
    Reason(
        "limit_series",
        "info",
        "The series says a limit, which earlier versions did not store.",
    ),
    Reason(
        "resource_not_read",
        "info",
        "The series is of a resource other than CPU and memory.",
    ),
    Reason(
        "state_not_read",
        "info",
        "The series says a state, an owner or a label that is not stored.",
    ),
    Reason(
        "histogram_series",
        "notice",
        "The series is of histograms, which are not read.",
    ),
    Reason(
        "pause_container",
        "info",
        "The series is of the pause container, which only holds the network of a pod.",
    ),
    Reason(
        "recorded_series",
        "info",
        "The series is recorded from another that is read already.",
    ),
    Reason(
        "cgroup_series",
        "info",
        "The series is of the whole machine, a service, or a container of which nothing says the pod.",
    ),
    Reason(
        "pod_total",
        "info",
        "The series of a whole pod repeats what its containers use.",
    ),
    Reason(
        "copied_series",
        "notice",
        "The series repeats another one that a replica or a second collector gathered; it only fills gaps.",
    ),
    Reason(
        "lone_sample",
        "notice",
        "The series has no two samples near each other, so that nothing is known of a time.",
    ),
    Reason(
        "counter_fell",
        "notice",
        "A counter fell by less than a tenth, which no restart explains; nothing is known of that step.",
    ),
    Reason(
        "warned_answer",
        "notice",
        "The server warned about its answer, which may be partial.",
    ),
    Reason(
        "ended_before",
        "info",
        "The container ended before the first sample; when is not known.",
    ),
)

REASONS: dict[str, Reason] = {reason.code: reason for reason in _REFUSED + _STORED + _LEFT_OUT}
"""All reasons, by code."""
