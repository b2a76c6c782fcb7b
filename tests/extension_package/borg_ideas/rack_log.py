"""A trace format: how full the machines of a rack are, as JSON lines."""

from borgtrace import Dialect
from borgtrace.schema import RawField, RawTable

NODES = RawTable(
    "rack_nodes",
    "machine_events",
    (
        RawField("at_ms", "time", is_mandatory=True, scale=1000, offset=600_000_000),
        RawField("node", "machine_id", is_mandatory=True),
        RawField("state", "type", is_mandatory=True),
        RawField("cpu_share", "cpu_capacity"),
    ),
)
DIALECT = Dialect(
    name="rack-log",
    title="Log of a rack",
    tables={"rack_nodes": NODES},
    formats=("json",),
    codes={"machine_event_type": {"up": "ADD", "down": "REMOVE"}},
)
