"""The events of a schedule by hand."""

from __future__ import annotations

import numpy as np

from borgtrace.scheduling.event_log import events_of
from borgtrace.scheduling.machines import UNIT
from borgtrace.scheduling.state import ALIVE, DONE
from tests.scheduling.traces import trace_of


def test_a_request_that_is_not_known_stays_unknown() -> None:
    trace = trace_of(
        [
            (1, 0, 5, 5, 8, 0.5, 0),
            (2, 0, 6, -1, -1, 0.5, 0),
        ]
    )
    trace.tasks.sizes[:] = np.array([[0.0, 0.5], [0.25, 0.0]]) * UNIT
    events = events_of(
        trace,
        np.array(
            [
                [0, 5, 5, 8, 0, DONE],
                [1, 6, -1, -1, -1, ALIVE],
            ]
        ),
    )
    columns = ("collection_id", "time", "type", "machine_id", "cpu_request", "memory_request")
    assert list(zip(*(events[name].to_pylist() for name in columns), strict=True)) == [
        (1, 5, "SUBMIT", None, None, 0.5),
        (1, 5, "SCHEDULE", 1, None, 0.5),
        (2, 6, "SUBMIT", None, 0.25, None),
        (1, 8, "FINISH", 1, None, 0.5),
    ]
