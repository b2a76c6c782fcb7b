"""Google's traces of May 2019 (v3): JSON lines or Parquet, five tables with nested records, eight cells.

BigQuery's export writes every integer and code as a JSON string, floats as numbers, leaves NULL fields out, and nests
records.  Sources: ``clusterdata_trace_format_v3.proto``, the buckets' own ``*.schema.json``, ``ClusterData2019.md``.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from borgtrace.schema.dialects import licences
from borgtrace.schema.dialects.rates import rates
from borgtrace.schema.dialects.raw import read_tables
from borgtrace.schema.dialects.trace_format import Dialect, Publication
from borgtrace.schema.enums import ENUMS

# The proto's constants.  They differ by column: 0 is a real index, so there "none" is −1.
NO_MACHINE = 0
DEDICATED_MACHINE = -1
NO_ALLOC_COLLECTION = 0
NO_ALLOC_INDEX = -1

# The proto numbers these from 0 in the order of their names; notes that call a collection of type 0 a "task" are wrong.
_NUMBERED = ("event_type", "collection_type", "vertical_scaling", "scheduler", "relation")

_TABLES = read_tables("google2019")
# The files' word, and the format document's.
_SPELLINGS = (("random_sampled_usage", "random_sample_usage"),)

GOOGLE_2019 = Dialect(
    name="2019",
    trace="2019",
    title="Google cluster trace 2019",
    formats=("json", "parquet"),
    tables=_TABLES | {"instance_usage": replace(_TABLES["instance_usage"], spellings=_SPELLINGS)},
    codes={
        **{name: dict(enumerate(ENUMS[name].names)) for name in _NUMBERED},
        "machine_event_type": {0: "EVENT_TYPE_UNKNOWN", 1: "ADD", 2: "REMOVE", 3: "UPDATE"},
        # 0 is NONE and so has no name: see null_codes.
        "missing_type": dict(enumerate(ENUMS["missing_type"].names, 1)),
        "missing_data_reason": dict(enumerate(ENUMS["missing_data_reason"].names, 1)),
    },
    null_codes={"missing_type": (0,), "missing_data_reason": (0,)},
    none={
        "machine_id": (NO_MACHINE, DEDICATED_MACHINE),
        "alloc_collection_id": (NO_ALLOC_COLLECTION,),
        "alloc_instance_index": (NO_ALLOC_INDEX,),
        "parent_collection_id": (0,),
    },
    dedicated_machine=DEDICATED_MACHINE,
    absent={
        "instance_events.user": "2019 publishes it per collection, in collection_events",
        **dict.fromkeys(("power_measurements", "machine_power_domains"), "published apart, as PowerData 2019"),
    },
    tie_order="life_cycle",  # rows of a shard are in no order
    shards="hash",
    # v3 notes; best-effort batch is 100–115 as in Google's notebook.
    tiers=(
        ("free", 0, 99),
        ("beb", 100, 115),
        ("mid", 116, 119),
        ("production", 120, 359),
        # No upper bound is published: the largest int32.
        ("monitoring", 360, 2**31 - 1),
    ),
    origin=datetime(2019, 5, 1, 0, 0, tzinfo=ZoneInfo("America/Los_Angeles")),
    span=timedelta(days=31),
    time_zones={
        "a": "America/New_York",
        "b": "America/Chicago",
        "c": "America/New_York",
        "d": "America/New_York",
        "e": "Europe/Helsinki",
        "f": "America/Chicago",
        "g": "Asia/Singapore",
        "h": "Europe/Brussels",
    },
    publication=Publication(
        "https://storage.googleapis.com", "clusterdata_2019_{cell}", "{table}-{part:012d}.{format}.gz"
    ),
    licence=licences.GOOGLE,
    anomalies=rates("2019"),
)
