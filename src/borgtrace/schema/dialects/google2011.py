"""Google's trace of May 2011, v2.0 and v2.1: CSV without a header, six tables.

Sources: the format document (revised 2014), the trace's own ``schema.csv``, ``ClusterData2011_2.md``.  The order of
task_constraints is operator, name, value: schema.csv is the authority, the format document's list is wrong there (and
says so).
"""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from borgtrace.schema.dialects import licences
from borgtrace.schema.dialects.rates import ALL, DOC, EDA, G11, NONE, REAL, S1, SHARED, about, at_most, some
from borgtrace.schema.dialects.raw import RawField, RawTable
from borgtrace.schema.dialects.trace_format import Citation, Dialect, Publication, Rate
from borgtrace.schema.enums import ENUMS

# Base64 of a SHA-256: 43 letters and one "=".
HASH = r"[A-Za-z0-9+/]{43}="


def _table(text: str) -> RawTable:
    """Read a raw table from its line (name, canonical table, published parts, optional fields) and a line per field.

    The line of a field says its content, format and whether it is mandatory, as in schema.csv, and its column.
    """
    head, *lines = (tuple(word.strip() for word in line.split("|")) for line in text.strip().splitlines())
    name, table, parts, optional = head
    fields: list[RawField] = []
    for content, kind, mandatory, column in lines:
        # The value of a constraint is the one text where empty is a value, not NULL (format document).
        keeps_empty = (name, column) == ("task_constraints", "value")
        # A file is taken for a table of its width where the first field is a number.  machine_events has six fields
        # like task_constraints, but a number where that has the name of an attribute.
        is_name = (name, column) == ("task_constraints", "name")
        pattern = HASH if is_name else "" if fields else r"\d+"
        fields.append(RawField(content, column, mandatory == "Y", kind, keeps_empty, pattern))
    return RawTable(name, table, tuple(fields), True, int(optional), int(parts))


TABLES = (
    _table("""
        machine_events|machine_events|1|0
        time|INTEGER|Y|time
        machine ID|INTEGER|Y|machine_id
        event type|INTEGER|Y|type
        platform ID|STRING_HASH|N|platform_id
        CPUs|FLOAT|N|cpu_capacity
        Memory|FLOAT|N|memory_capacity"""),
    _table("""
        machine_attributes|machine_attributes|1|0
        time|INTEGER|Y|time
        machine ID|INTEGER|Y|machine_id
        attribute name|STRING_HASH|Y|name
        attribute value|STRING_HASH_OR_INTEGER|N|value
        attribute deleted|BOOLEAN|Y|is_deleted"""),
    _table("""
        job_events|collection_events|500|0
        time|INTEGER|Y|time
        missing info|INTEGER|N|missing_type
        job ID|INTEGER|Y|collection_id
        event type|INTEGER|Y|type
        user|STRING_HASH|N|user
        scheduling class|INTEGER|N|scheduling_class
        job name|STRING_HASH|N|collection_name
        logical job name|STRING_HASH|N|collection_logical_name"""),
    _table("""
        task_events|instance_events|500|0
        time|INTEGER|Y|time
        missing info|INTEGER|N|missing_type
        job ID|INTEGER|Y|collection_id
        task index|INTEGER|Y|instance_index
        machine ID|INTEGER|N|machine_id
        event type|INTEGER|Y|type
        user|STRING_HASH|N|user
        scheduling class|INTEGER|N|scheduling_class
        priority|INTEGER|Y|priority
        CPU request|FLOAT|N|cpu_request
        memory request|FLOAT|N|memory_request
        disk space request|FLOAT|N|disk_request
        different machines restriction|BOOLEAN|N|needs_different_machine"""),
    _table("""
        task_constraints|instance_constraints|500|0
        time|INTEGER|Y|time
        job ID|INTEGER|Y|collection_id
        task index|INTEGER|Y|instance_index
        comparison operator|INTEGER|Y|relation
        attribute name|STRING_HASH|Y|name
        attribute value|STRING_HASH_OR_INTEGER|N|value"""),
    # v2.0 has no sampled CPU usage.
    _table("""
        task_usage|instance_usage|500|1
        start time|INTEGER|Y|start_time
        end time|INTEGER|Y|end_time
        job ID|INTEGER|Y|collection_id
        task index|INTEGER|Y|instance_index
        machine ID|INTEGER|Y|machine_id
        CPU rate|FLOAT|N|average_cpu
        canonical memory usage|FLOAT|N|average_memory
        assigned memory usage|FLOAT|N|assigned_memory
        unmapped page cache|FLOAT|N|unmapped_page_cache_memory
        total page cache|FLOAT|N|page_cache_memory
        maximum memory usage|FLOAT|N|maximum_memory
        disk I/O time|FLOAT|N|mean_disk_io_time
        local disk space usage|FLOAT|N|mean_disk_space
        maximum CPU rate|FLOAT|N|maximum_cpu
        maximum disk IO time|FLOAT|N|maximum_disk_io_time
        cycles per instruction|FLOAT|N|cycles_per_instruction
        memory accesses per instruction|FLOAT|N|memory_accesses_per_instruction
        sample portion|FLOAT|N|sample_portion
        aggregation type|BOOLEAN|N|aggregation_type
        sampled CPU usage|FLOAT|N|sampled_cpu"""),
)

EVENTS = ("SUBMIT", "SCHEDULE", "EVICT", "FAIL", "FINISH", "KILL", "LOST", "UPDATE_PENDING", "UPDATE_RUNNING")

GOOGLE_2011 = Dialect(
    name="2011",
    trace="2011",
    title="Google cluster trace 2011",
    formats=("csv",),
    tables={raw.name: raw for raw in TABLES},
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
    # As the papers on 2011 divide the priorities; "monitoring" of the format document is 10–11.
    tiers=(("free", 0, 1), ("other", 2, 8), ("production", 9, 11)),
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
    licence=licences.GOOGLE,
    anomalies={
        **SHARED,
        "missing_info_instances": Rate("0.013 %", G11, about(0.00013)),
        "schedule_missing": Rate("< 0.05 %", G11, at_most(0.0005)),
        # Counted in the real files, 19 of 2,012,242 rows; the page says 0.0008 %.
        "missing_info_collections": Rate("0.00094 %", REAL, about(9.4e-06)),
        "capacity_missing": Rate("32 of 21,443", REAL, about(32 / 21_443)),
        "usage_missing": Rate("< 1 %", G11, at_most(0.01)),
        "window_off_grid": Rate("none", DOC, NONE),
        "cpu_over_1": Rate("rare (13 in 17 million tasks)", S1, at_most(0.001)),
        "cpi_null": Rate("14–53 %", EDA, (0.14, 0.53)),
        "cpi_impossible": Rate("some", G11, some(0.01)),
        "mai_impossible": Rate("some", G11, some(0.01)),
        "missing_info_is_update": Rate("all", REAL, ALL),
        "missing_creation_no_request": Rate("all", REAL, ALL),
        "machine_missing": Rate("none", REAL, NONE),
        "machine_on_kill": Rate("61.9 %", REAL, about(0.619)),
        "machine_on_submit": Rate("none", REAL, NONE),
        "machine_on_first_submit": Rate("60.2 %", REAL, about(0.602)),
        "fail_days": Rate("2 (days 1 and 9)", EDA, (2, 2), is_count=True),
        "jobs_without_tasks": Rate("≈ 70 of 672,074", G11, about(0.000104)),
        "job_id_reused": Rate("1 (6253771429)", G11, (1, 1), is_count=True),
        "machine_events_doubled": Rate("none", REAL, NONE),
        "sampled_cpu_over_1": Rate("none", S1, NONE),
        # How it changes over the trace is not known, so that it is compared with nothing.
        "mixed_requests": Rate("305 of 3,574 in the first 12.5 h", REAL),
        "sample_portion_high": Rate("not documented", DOC),
        "disk_io_late": Rate("none valid", G11, at_most(0.01)),
        "disk_io_null": Rate("14–53 %", EDA, (0.14, 0.53)),
    },
)
