"""Google's traces of May 2019 (v3): JSON lines or Parquet, five tables with nested records, eight cells.

BigQuery's export writes every integer and code as a JSON string, floats as numbers, leaves NULL fields out, and nests
records. Fields are in the order of the proto.

Sources: clusterdata_trace_format_v3.proto, the buckets' own *.schema.json, ClusterData2019.md.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone

from borgtrace.schema.dialects.google import ANOMALIES, LICENCE
from borgtrace.schema.dialects.raw import RawField, RawTable
from borgtrace.schema.dialects.trace_format import (
    AnomalyRate,
    Citation,
    Codes,
    Dialect,
    PriorityTier,
    Publication,
    at_most,
    exactly,
    some_up_to,
)
from borgtrace.schema.enums import EnumName

NOTES_AND_ROWS = "2019 notes and real rows"
PACIFIC_DAYLIGHT_TIME = timezone(timedelta(hours=-7))

MACHINE_EVENTS = RawTable(
    name="machine_events",
    table="machine_events",
    fields=(
        RawField("time", "time", is_mandatory=True),
        RawField("machine_id", "machine_id", is_mandatory=True),
        RawField("type", "type", is_mandatory=True),
        RawField("switch_id", "switch_id"),
        RawField("capacity.cpus", "cpu_capacity"),
        RawField("capacity.memory", "memory_capacity"),
        RawField("platform_id", "platform_id"),
        RawField("missing_data_reason", "missing_data_reason"),
    ),
)

MACHINE_ATTRIBUTES = RawTable(
    name="machine_attributes",
    table="machine_attributes",
    fields=(
        RawField("time", "time", is_mandatory=True),
        RawField("machine_id", "machine_id", is_mandatory=True),
        RawField("name", "name", is_mandatory=True),
        RawField("value", "value"),
        RawField("deleted", "is_deleted"),
    ),
)

COLLECTION_EVENTS = RawTable(
    name="collection_events",
    table="collection_events",
    fields=(
        RawField("time", "time", is_mandatory=True),
        RawField("type", "type", is_mandatory=True),
        RawField("collection_id", "collection_id", is_mandatory=True),
        RawField("scheduling_class", "scheduling_class"),
        RawField("missing_type", "missing_type"),
        RawField("collection_type", "collection_type"),
        RawField("priority", "priority"),
        RawField("alloc_collection_id", "alloc_collection_id"),
        RawField("user", "user"),
        RawField("collection_name", "collection_name"),
        RawField("collection_logical_name", "collection_logical_name"),
        RawField("parent_collection_id", "parent_collection_id"),
        RawField("start_after_collection_ids", "start_after_collection_ids"),
        RawField("max_per_machine", "max_per_machine"),
        RawField("max_per_switch", "max_per_switch"),
        RawField("vertical_scaling", "vertical_scaling"),
        RawField("scheduler", "scheduler"),
    ),
)

# Only the name is mandatory: protocol buffers leave out a relation of 0 and an empty value.
CONSTRAINTS = RawTable(
    name="constraint",
    table="instance_constraints",
    fields=(
        RawField("name", "name", is_mandatory=True),
        RawField("value", "value"),
        RawField("relation", "relation"),
    ),
)

INSTANCE_EVENTS = RawTable(
    name="instance_events",
    table="instance_events",
    fields=(
        RawField("time", "time", is_mandatory=True),
        RawField("type", "type", is_mandatory=True),
        RawField("collection_id", "collection_id", is_mandatory=True),
        RawField("scheduling_class", "scheduling_class"),
        RawField("missing_type", "missing_type"),
        RawField("collection_type", "collection_type"),
        RawField("priority", "priority"),
        RawField("alloc_collection_id", "alloc_collection_id"),
        RawField("instance_index", "instance_index", is_mandatory=True),
        RawField("machine_id", "machine_id"),
        RawField("alloc_instance_index", "alloc_instance_index"),
        RawField("resource_request.cpus", "cpu_request"),
        RawField("resource_request.memory", "memory_request"),
    ),
    lists=(CONSTRAINTS,),
)

INSTANCE_USAGE = RawTable(
    name="instance_usage",
    table="instance_usage",
    fields=(
        RawField("start_time", "start_time", is_mandatory=True),
        RawField("end_time", "end_time", is_mandatory=True),
        RawField("collection_id", "collection_id", is_mandatory=True),
        RawField("instance_index", "instance_index", is_mandatory=True),
        RawField("machine_id", "machine_id"),
        RawField("alloc_collection_id", "alloc_collection_id"),
        RawField("alloc_instance_index", "alloc_instance_index"),
        RawField("collection_type", "collection_type"),
        RawField("average_usage.cpus", "average_cpu"),
        RawField("average_usage.memory", "average_memory"),
        RawField("maximum_usage.cpus", "maximum_cpu"),
        RawField("maximum_usage.memory", "maximum_memory"),
        RawField("random_sample_usage.cpus", "sampled_cpu"),
        # Never filled: the sample is one of CPU.
        RawField("random_sample_usage.memory"),
        RawField("assigned_memory", "assigned_memory"),
        RawField("page_cache_memory", "page_cache_memory"),
        RawField("cycles_per_instruction", "cycles_per_instruction"),
        RawField("memory_accesses_per_instruction", "memory_accesses_per_instruction"),
        RawField("sample_rate", "sample_rate"),
        RawField("cpu_usage_distribution", "cpu_usage_distribution"),
        RawField("tail_cpu_usage_distribution", "tail_cpu_usage_distribution"),
    ),
    # The files' word, and the format document's.
    spellings=(("random_sampled_usage", "random_sample_usage"),),
)

_TABLES = (
    MACHINE_EVENTS,
    MACHINE_ATTRIBUTES,
    COLLECTION_EVENTS,
    INSTANCE_EVENTS,
    INSTANCE_USAGE,
)

# The numbers of the proto. Notes that call a collection of type 0 a "task" are wrong.
CODES: Mapping[EnumName, Codes] = {
    "event_type": {
        0: "SUBMIT",
        1: "QUEUE",
        2: "ENABLE",
        3: "SCHEDULE",
        4: "EVICT",
        5: "FAIL",
        6: "FINISH",
        7: "KILL",
        8: "LOST",
        9: "UPDATE_PENDING",
        10: "UPDATE_RUNNING",
    },
    "machine_event_type": {
        0: "EVENT_TYPE_UNKNOWN",
        1: "ADD",
        2: "REMOVE",
        3: "UPDATE",
    },
    "collection_type": {
        0: "JOB",
        1: "ALLOC_SET",
    },
    "vertical_scaling": {
        0: "VERTICAL_SCALING_SETTING_UNKNOWN",
        1: "OFF",
        2: "CONSTRAINED",
        3: "FULLY_AUTOMATED",
    },
    "scheduler": {
        0: "DEFAULT",
        1: "BATCH",
    },
    "relation": {
        0: "EQUAL",
        1: "NOT_EQUAL",
        2: "LESS_THAN",
        3: "GREATER_THAN",
        4: "LESS_THAN_EQUAL",
        5: "GREATER_THAN_EQUAL",
        6: "PRESENT",
        7: "NOT_PRESENT",
    },
    # 0 is NONE in both and so has no name: see null_codes.
    "missing_type": {
        1: "SNAPSHOT_BUT_NO_TRANSITION",
        2: "NO_SNAPSHOT_OR_TRANSITION",
        3: "EXISTS_BUT_NO_CREATION",
        4: "TRANSITION_MISSING_STEP",
        5: "TOO_MANY_EVENTS",
    },
    "missing_data_reason": {1: "SNAPSHOT_BUT_NO_TRANSITION"},
}

_ANOMALIES: Mapping[str, AnomalyRate] = {
    **ANOMALIES,
    # Google's notes on 2011 say nothing of 2019: counted, and compared with nothing.
    "missing_info_instances": AnomalyRate("not documented", NOTES_AND_ROWS),
    "missing_info_collections": AnomalyRate("not documented", NOTES_AND_ROWS),
    "schedule_missing": AnomalyRate("not documented", NOTES_AND_ROWS),
    "usage_missing": AnomalyRate("not documented", NOTES_AND_ROWS),
    "window_off_grid": AnomalyRate("not documented", NOTES_AND_ROWS),
    "cpu_over_1": AnomalyRate("not documented", NOTES_AND_ROWS),
    "cpi_impossible": AnomalyRate("not documented", NOTES_AND_ROWS),
    "mai_impossible": AnomalyRate("not documented", NOTES_AND_ROWS),
    "job_id_reused": AnomalyRate("not documented", NOTES_AND_ROWS),
    "missing_data_reason": AnomalyRate("not documented", NOTES_AND_ROWS),
    "sample_rate_low": AnomalyRate(
        "occurs (mean 0.997, least 0.0033)", "public exploration of cell a"
    ),
    "capacity_missing": AnomalyRate(
        "1.6 % (all cells)",
        "public count of the machine events of all cells",
        documented=some_up_to(0.05),
    ),
    "cpi_null": AnomalyRate("29 %", NOTES_AND_ROWS, documented=exactly(0.29)),
    "window_full": AnomalyRate("66 %", NOTES_AND_ROWS, documented=exactly(0.66)),
    "assigned_memory_zero": AnomalyRate("25 %", NOTES_AND_ROWS, documented=exactly(0.25)),
    "dedicated_usage": AnomalyRate("none", NOTES_AND_ROWS, documented=exactly(0)),
    "percentiles_empty": AnomalyRate("occurs", NOTES_AND_ROWS),
    "alloc_holds_tasks": AnomalyRate(
        "≤ 100 % (contained)", NOTES_AND_ROWS, documented=at_most(1.02)
    ),
}

DIALECT = Dialect(
    name="2019",
    title="Google cluster trace 2019",
    tables={table.name: table for table in _TABLES},
    formats=("json", "parquet"),
    codes=CODES,
    null_codes={"missing_type": (0,), "missing_data_reason": (0,)},
    # The proto's constants. They differ by column: 0 is a real index, so there "none" is −1; −1 is a dedicated machine.
    none={
        "machine_id": (0, -1),
        "alloc_collection_id": (0,),
        "alloc_instance_index": (-1,),
        "parent_collection_id": (0,),
    },
    dedicated_machine=-1,
    absent={
        "instance_events.user": "2019 publishes it per collection, in collection_events",
        "power_measurements": "published apart, as PowerData 2019",
        "machine_power_domains": "published apart, as PowerData 2019",
    },
    # Rows of a shard are in no order.
    tie_order="life_cycle",
    shards="hash",
    # v3 notes; best-effort batch is 100–115 as in Google's notebook. No upper bound is published: the largest int32.
    tiers=(
        PriorityTier("free", 0, 99),
        PriorityTier("beb", 100, 115),
        PriorityTier("mid", 116, 119),
        PriorityTier("production", 120, 359),
        PriorityTier("monitoring", 360, 2**31 - 1),
    ),
    origin=datetime(2019, 5, 1, tzinfo=PACIFIC_DAYLIGHT_TIME),
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
    span=timedelta(days=31),
    anomalies=_ANOMALIES,
    publication=Publication(
        host="https://storage.googleapis.com",
        bucket="clusterdata_2019_{cell}",
        path="{table}-{part:012d}.{format}.gz",
    ),
    licence=LICENCE,
    citations=(
        Citation(
            "M. Tirmazi, A. Barker, N. Deng, M. E. Haque, Z. G. Qin, S. Hand, M. Harchol-Balter, J. Wilkes: "
            "Borg: the Next Generation. EuroSys 2020.",
            "https://doi.org/10.1145/3342195.3387517",
        ),
        Citation(
            "J. Wilkes: Google cluster-usage traces v3. Technical report, Google Inc., April 2020.",
            "https://github.com/google/cluster-data",
        ),
    ),
)
