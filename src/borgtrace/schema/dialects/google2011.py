"""Google's trace of May 2011, v2.0 and v2.1: CSV without a header, six tables.

Sources: the format document (revised 2014), the trace's own schema.csv, ClusterData2011_2.md. Content, format and order
of the fields, and whether they are mandatory, are those of schema.csv. That is the authority for the order of
task_constraints too (operator, name, value): the format document's list is wrong there, and says so.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone

from borgtrace.schema.dialects.google import (
    ANOMALIES,
    EXPLORATION,
    FORMAT_DOCUMENT,
    LICENCE,
    REAL_PARTS,
)
from borgtrace.schema.dialects.raw import HASH, NUMBER, RawField, RawTable
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

NOTES = "ClusterData2011_2.md"
JANUS_AND_RZADCA = "Janus & Rzadca, SoCC'17"
EASTERN_DAYLIGHT_TIME = timezone(timedelta(hours=-4))

MACHINE_EVENTS = RawTable(
    name="machine_events",
    table="machine_events",
    is_positional=True,
    parts=1,
    fields=(
        RawField(
            "time",
            "time",
            is_mandatory=True,
            format="INTEGER",
            pattern=NUMBER,
        ),
        RawField("machine ID", "machine_id", is_mandatory=True, format="INTEGER"),
        RawField("event type", "type", is_mandatory=True, format="INTEGER"),
        RawField("platform ID", "platform_id", format="STRING_HASH"),
        RawField("CPUs", "cpu_capacity", format="FLOAT"),
        RawField("Memory", "memory_capacity", format="FLOAT"),
    ),
)

MACHINE_ATTRIBUTES = RawTable(
    name="machine_attributes",
    table="machine_attributes",
    is_positional=True,
    parts=1,
    fields=(
        RawField(
            "time",
            "time",
            is_mandatory=True,
            format="INTEGER",
            pattern=NUMBER,
        ),
        RawField("machine ID", "machine_id", is_mandatory=True, format="INTEGER"),
        RawField("attribute name", "name", is_mandatory=True, format="STRING_HASH"),
        RawField("attribute value", "value", format="STRING_HASH_OR_INTEGER"),
        RawField("attribute deleted", "is_deleted", is_mandatory=True, format="BOOLEAN"),
    ),
)

JOB_EVENTS = RawTable(
    name="job_events",
    table="collection_events",
    is_positional=True,
    parts=500,
    fields=(
        RawField(
            "time",
            "time",
            is_mandatory=True,
            format="INTEGER",
            pattern=NUMBER,
        ),
        RawField("missing info", "missing_type", format="INTEGER"),
        RawField("job ID", "collection_id", is_mandatory=True, format="INTEGER"),
        RawField("event type", "type", is_mandatory=True, format="INTEGER"),
        RawField("user", "user", format="STRING_HASH"),
        RawField("scheduling class", "scheduling_class", format="INTEGER"),
        RawField("job name", "collection_name", format="STRING_HASH"),
        RawField("logical job name", "collection_logical_name", format="STRING_HASH"),
    ),
)

TASK_EVENTS = RawTable(
    name="task_events",
    table="instance_events",
    is_positional=True,
    parts=500,
    fields=(
        RawField(
            "time",
            "time",
            is_mandatory=True,
            format="INTEGER",
            pattern=NUMBER,
        ),
        RawField("missing info", "missing_type", format="INTEGER"),
        RawField("job ID", "collection_id", is_mandatory=True, format="INTEGER"),
        RawField("task index", "instance_index", is_mandatory=True, format="INTEGER"),
        RawField("machine ID", "machine_id", format="INTEGER"),
        RawField("event type", "type", is_mandatory=True, format="INTEGER"),
        RawField("user", "user", format="STRING_HASH"),
        RawField("scheduling class", "scheduling_class", format="INTEGER"),
        RawField("priority", "priority", is_mandatory=True, format="INTEGER"),
        RawField("CPU request", "cpu_request", format="FLOAT"),
        RawField("memory request", "memory_request", format="FLOAT"),
        RawField("disk space request", "disk_request", format="FLOAT"),
        RawField("different machines restriction", "needs_different_machine", format="BOOLEAN"),
    ),
)

TASK_CONSTRAINTS = RawTable(
    name="task_constraints",
    table="instance_constraints",
    is_positional=True,
    parts=500,
    fields=(
        RawField(
            "time",
            "time",
            is_mandatory=True,
            format="INTEGER",
            pattern=NUMBER,
        ),
        RawField("job ID", "collection_id", is_mandatory=True, format="INTEGER"),
        RawField("task index", "instance_index", is_mandatory=True, format="INTEGER"),
        RawField("comparison operator", "relation", is_mandatory=True, format="INTEGER"),
        # machine_events has six fields too, but a number where this one has the name of an attribute.
        RawField(
            "attribute name",
            "name",
            is_mandatory=True,
            format="STRING_HASH",
            pattern=HASH,
        ),
        # The one text where empty is a value, not NULL (format document).
        RawField("attribute value", "value", format="STRING_HASH_OR_INTEGER", keeps_empty=True),
    ),
)

TASK_USAGE = RawTable(
    name="task_usage",
    table="instance_usage",
    is_positional=True,
    # v2.0 has no sampled CPU usage.
    optional=1,
    parts=500,
    fields=(
        RawField(
            "start time",
            "start_time",
            is_mandatory=True,
            format="INTEGER",
            pattern=NUMBER,
        ),
        RawField("end time", "end_time", is_mandatory=True, format="INTEGER"),
        RawField("job ID", "collection_id", is_mandatory=True, format="INTEGER"),
        RawField("task index", "instance_index", is_mandatory=True, format="INTEGER"),
        RawField("machine ID", "machine_id", is_mandatory=True, format="INTEGER"),
        RawField("CPU rate", "average_cpu", format="FLOAT"),
        RawField("canonical memory usage", "average_memory", format="FLOAT"),
        RawField("assigned memory usage", "assigned_memory", format="FLOAT"),
        RawField("unmapped page cache", "unmapped_page_cache_memory", format="FLOAT"),
        RawField("total page cache", "page_cache_memory", format="FLOAT"),
        RawField("maximum memory usage", "maximum_memory", format="FLOAT"),
        RawField("disk I/O time", "mean_disk_io_time", format="FLOAT"),
        RawField("local disk space usage", "mean_disk_space", format="FLOAT"),
        RawField("maximum CPU rate", "maximum_cpu", format="FLOAT"),
        RawField("maximum disk IO time", "maximum_disk_io_time", format="FLOAT"),
        RawField("cycles per instruction", "cycles_per_instruction", format="FLOAT"),
        RawField(
            "memory accesses per instruction", "memory_accesses_per_instruction", format="FLOAT"
        ),
        RawField("sample portion", "sample_portion", format="FLOAT"),
        RawField("aggregation type", "aggregation_type", format="BOOLEAN"),
        RawField("sampled CPU usage", "sampled_cpu", format="FLOAT"),
    ),
)

_TABLES = (
    MACHINE_EVENTS,
    MACHINE_ATTRIBUTES,
    JOB_EVENTS,
    TASK_EVENTS,
    TASK_CONSTRAINTS,
    TASK_USAGE,
)

CODES: Mapping[EnumName, Codes] = {
    # Other numbers than in 2019, where QUEUE and ENABLE come in between.
    "event_type": {
        0: "SUBMIT",
        1: "SCHEDULE",
        2: "EVICT",
        3: "FAIL",
        4: "FINISH",
        5: "KILL",
        6: "LOST",
        7: "UPDATE_PENDING",
        8: "UPDATE_RUNNING",
    },
    "machine_event_type": {
        0: "ADD",
        1: "REMOVE",
        2: "UPDATE",
    },
    "missing_type": {
        0: "SNAPSHOT_BUT_NO_TRANSITION",
        1: "NO_SNAPSHOT_OR_TRANSITION",
        2: "EXISTS_BUT_NO_CREATION",
    },
    "relation": {
        0: "EQUAL",
        1: "NOT_EQUAL",
        2: "LESS_THAN",
        3: "GREATER_THAN",
    },
}

_ANOMALIES: Mapping[str, AnomalyRate] = {
    **ANOMALIES,
    # How it changes over the trace is not known, so it is compared with nothing.
    "mixed_requests_at_start": AnomalyRate("9 of 1,616", REAL_PARTS),
    "mixed_requests": AnomalyRate("4 of 1,946 in the first 12.5 h", REAL_PARTS),
    "missing_info_instances": AnomalyRate("0.013 %", NOTES, documented=exactly(0.00013)),
    "schedule_missing": AnomalyRate("< 0.05 %", NOTES, documented=at_most(0.0005)),
    # Counted in the real files, 19 of 2,012,242 rows; the page says 0.0008 %.
    "missing_info_collections": AnomalyRate("0.00094 %", REAL_PARTS, documented=exactly(9.4e-06)),
    "capacity_missing": AnomalyRate(
        "32 of 21,443", REAL_PARTS, documented=exactly(0.0014923284988108006)
    ),
    "usage_missing": AnomalyRate("< 1 %", NOTES, documented=at_most(0.01)),
    "window_off_grid": AnomalyRate("none", FORMAT_DOCUMENT, documented=exactly(0)),
    "cpu_over_1": AnomalyRate(
        "rare (13 in 17 million tasks)", JANUS_AND_RZADCA, documented=at_most(0.001)
    ),
    "cpi_null": AnomalyRate("14–53 %", EXPLORATION, documented=(0.14, 0.53)),
    "cpi_impossible": AnomalyRate("some", NOTES, documented=some_up_to(0.01)),
    "mai_impossible": AnomalyRate("some", NOTES, documented=some_up_to(0.01)),
    "missing_info_is_update": AnomalyRate("all", REAL_PARTS, documented=exactly(1)),
    "missing_creation_no_request": AnomalyRate("all", REAL_PARTS, documented=exactly(1)),
    "machine_missing": AnomalyRate("none", REAL_PARTS, documented=exactly(0)),
    "machine_on_kill": AnomalyRate("61.9 %", REAL_PARTS, documented=exactly(0.619)),
    "machine_on_submit": AnomalyRate("none", REAL_PARTS, documented=exactly(0)),
    "machine_on_first_submit": AnomalyRate("60.2 %", REAL_PARTS, documented=exactly(0.602)),
    "fail_days": AnomalyRate("2 (days 1 and 9)", EXPLORATION, documented=exactly(2), is_count=True),
    "jobs_without_tasks": AnomalyRate("≈ 70 of 672,074", NOTES, documented=exactly(0.000104)),
    "job_id_reused": AnomalyRate("1 (6253771429)", NOTES, documented=exactly(1), is_count=True),
    "machine_events_doubled": AnomalyRate("none", REAL_PARTS, documented=exactly(0)),
    "sampled_cpu_over_1": AnomalyRate("none", JANUS_AND_RZADCA, documented=exactly(0)),
    "sample_portion_high": AnomalyRate("not documented", FORMAT_DOCUMENT),
    "disk_io_late": AnomalyRate("none valid", NOTES, documented=at_most(0.01)),
    "disk_io_null": AnomalyRate("14–53 %", EXPLORATION, documented=(0.14, 0.53)),
}

DIALECT = Dialect(
    name="2011",
    title="Google cluster trace 2011",
    tables={table.name: table for table in _TABLES},
    codes=CODES,
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
    # As the papers on 2011 divide the priorities; the format document has the highest two as monitoring.
    tiers=(
        PriorityTier("free", 0, 1),
        PriorityTier("other", 2, 8),
        PriorityTier("production", 9, 11),
    ),
    further_tiers=(PriorityTier("monitoring", 10, 11),),
    # 600 s on the trace's clock, in the time of the US East, where daylight saving was on.
    origin=datetime(2011, 5, 1, 19, tzinfo=EASTERN_DAYLIGHT_TIME),
    time_zones={"": "America/New_York"},
    span=timedelta(days=29),
    anomalies=_ANOMALIES,
    has_equal_windows=True,
    publication=Publication(
        host="https://commondatastorage.googleapis.com",
        bucket="clusterdata-2011-2",
        path="{table}/part-{part:05d}-of-{parts:05d}.csv.gz",
        sums="SHA256SUM",
    ),
    licence=LICENCE,
    citations=(
        Citation(
            "C. Reiss, J. Wilkes, J. L. Hellerstein: Google cluster-usage traces: format + schema. "
            "Technical report, Google Inc., 2011, revised 2014 for version 2.1.",
            "https://github.com/google/cluster-data",
        ),
        Citation(
            "J. Wilkes: More Google cluster data. Google research blog, November 2011.",
            "https://github.com/google/cluster-data",
        ),
    ),
)
