"""The table of tasks as an expression over the other tables: what counts where a window has no value or no end."""

from __future__ import annotations

import pytest

from borgtrace.lifecycle.hosted_tasks import tasks
from borgtrace.schema.dialects import GOOGLE_2019
from borgtrace.schema.time import AFTER_TRACE
from tests.analyses.tiny import tiny


# 3 µs at 0.125, then 4 µs: of 0.78125, (0.375 + 3.125) / 7 is 0.5.
@pytest.mark.parametrize(
    ("end", "cpu", "seconds", "weighted"),
    [(14, 0.78125, 7e-6, 0.5), (14, None, 7e-6, 0.125), (AFTER_TRACE, 0.78125, 3e-6, 0.125)],
)
def test_a_window_without_a_value_or_an_end_has_no_weight(
    end: int, cpu: float | None, seconds: float, weighted: float
) -> None:
    first = {"start_time": 5, "end_time": 8, "average_cpu": 0.125}
    windows = [first, {"start_time": 10, "end_time": end, "average_cpu": cpu}]
    given = tiny("2019", instance_usage=windows, instance_events=[], collection_events=[])
    made = tasks(given.instance_usage, given.instance_events, given.collection_events, GOOGLE_2019)
    (row,) = made.to_pyarrow().to_pylist()
    assert row["seconds"] == pytest.approx(seconds, rel=1e-12)
    assert row["weighted_mean_average_cpu"] == weighted


@pytest.mark.parametrize(("end", "weighted"), [(6, 0.125), (AFTER_TRACE, None)])
def test_a_microsecond_has_a_mean_over_time_and_no_known_time_has_none(end: int, weighted: float | None) -> None:
    windows = [{"start_time": 5, "end_time": end, "average_cpu": 0.125}]
    given = tiny("2019", instance_usage=windows, instance_events=[], collection_events=[])
    made = tasks(given.instance_usage, given.instance_events, given.collection_events, GOOGLE_2019)
    (row,) = made.to_pyarrow().to_pylist()
    assert (row["mean_average_cpu"], row["weighted_mean_average_cpu"]) == (0.125, weighted)
