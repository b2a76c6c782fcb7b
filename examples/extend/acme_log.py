"""A trace format: the log of a made-up cluster, one line for each event of a task."""

from datetime import UTC, datetime, timedelta
from functools import partial

from borgtrace import Dialect
from borgtrace.schema import RawField, RawTable

Instant = partial(RawField, is_mandatory=True, scale=1e6, offset=600_000_000)  # seconds from 0
Id = partial(RawField, is_mandatory=True)

EVENTS = RawTable(
    "task_log",
    "instance_events",
    (
        Instant("ts", "time"),
        Id("job", "collection_id"),
        Id("task", "instance_index"),
        Id("event", "type"),
        RawField("cpu_percent", "cpu_request", scale=0.01),
        RawField("comment"),  # fills no column
    ),
)
USAGE = RawTable(
    "task_load",
    "instance_usage",
    (
        Instant("begin", "start_time"),
        Instant("end", "end_time"),
        Id("job", "collection_id"),
        Id("task", "instance_index"),
        RawField("cpu_percent", "average_cpu", scale=0.01),
    ),
)
DIALECT = Dialect(
    name="acme-log",
    title="Acme cluster trace 2024",
    tables={"task_log": EVENTS, "task_load": USAGE},
    codes={"event_type": {"new": "SUBMIT", "start": "SCHEDULE", "done": "FINISH", "dead": "KILL"}},
    tie_order="file",
    origin=datetime(2024, 3, 1, tzinfo=UTC),
    span=timedelta(days=7),
    licence="CC-BY 4.0",
)
