"""Google's trace of May 2011, v2.0 and v2.1: CSV without a header, six tables.

Sources: the format document (revised 2014), the trace's own ``schema.csv``, ``ClusterData2011_2.md``.  The order of
task_constraints is operator, name, value: schema.csv is the authority, the format document's list is wrong there (and
says so).
"""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from borgtrace.schema.dialects import licences
from borgtrace.schema.dialects.rates import rates
from borgtrace.schema.dialects.raw import read_tables
from borgtrace.schema.dialects.trace_format import Dialect, Publication
from borgtrace.schema.enums import ENUMS

EVENTS = ("SUBMIT", "SCHEDULE", "EVICT", "FAIL", "FINISH", "KILL", "LOST", "UPDATE_PENDING", "UPDATE_RUNNING")

GOOGLE_2011 = Dialect(
    name="2011",
    trace="2011",
    title="Google cluster trace 2011",
    formats=("csv",),
    tables=read_tables("google2011", is_positional=True),
    codes={
        # Other numbers than in 2019, where QUEUE and ENABLE come in between.
        "event_type": dict(enumerate(EVENTS)),
        "machine_event_type": {0: "ADD", 1: "REMOVE", 2: "UPDATE"},
        "missing_type": dict(enumerate(ENUMS["missing_type"].names[:3])),
        "relation": dict(enumerate(ENUMS["relation"].names[:4])),
    },
    absent={
        "collection_type": "2011 has jobs only: every row is of type JOB",
        "alloc_collection_id": "2011 has no alloc sets",
        "alloc_instance_index": "2011 has no alloc sets",
        "collection_events.priority": "2011 publishes it per task, in instance_events",
        "position": "one constraint a row: always 0",
    },
    # 132,982 pairs of SUBMIT and SCHEDULE share a timestamp; only their order in the file tells which came first.
    tie_order="file",
    shards="time",
    has_equal_windows=True,
    # As the papers on 2011 divide the priorities; the format document has the highest two as monitoring.
    tiers=(("free", 0, 1), ("other", 2, 8), ("production", 9, 11)),
    further_tiers=(("monitoring", 10, 11),),
    # 600 s on the trace's clock, in the time of the US East, where daylight saving was on.
    origin=datetime(2011, 5, 1, 19, 0, tzinfo=ZoneInfo("America/New_York")),
    span=timedelta(days=29),
    time_zones={"": "America/New_York"},
    publication=Publication(
        "https://commondatastorage.googleapis.com",
        "clusterdata-2011-2",
        "{table}/part-{part:05d}-of-{parts:05d}.csv.gz",
        sums="SHA256SUM",
    ),
    licence=licences.GOOGLE,
    anomalies=rates("2011"),
)
