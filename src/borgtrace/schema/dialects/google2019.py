"""Google's traces of May 2019 (v3): JSON lines or Parquet, five tables with nested records, eight cells.

BigQuery's export writes every integer and code as a JSON string, floats as numbers, leaves NULL fields out, and nests
records.  Sources: ``clusterdata_trace_format_v3.proto``, the buckets' own ``*.schema.json``, ``ClusterData2019.md``.
"""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from borgtrace.schema.dialects import licences
from borgtrace.schema.dialects.rates import NONE, SHARED, V3, about, at_most, some
from borgtrace.schema.dialects.raw import RawField, RawTable
from borgtrace.schema.dialects.trace_format import Citation, Dialect, Publication, Rate
from borgtrace.schema.enums import ENUMS


def _fields(plain: str, mandatory: str = "", **renamed: str) -> tuple[RawField, ...]:
    """List fields in proto order; a field fills the column of its own name, but those of `renamed`."""
    return tuple(
        RawField(name, renamed.get(name.replace(".", "__"), name), name in mandatory.split()) for name in plain.split()
    )


# Columns that events of collections and of instances begin with, in proto order.
_COMMON = "time type collection_id scheduling_class missing_type collection_type priority alloc_collection_id"

TABLES = (
    RawTable(
        "machine_events",
        "machine_events",
        _fields(
            "time machine_id type switch_id capacity.cpus capacity.memory platform_id missing_data_reason",
            "time machine_id type",
            capacity__cpus="cpu_capacity",
            capacity__memory="memory_capacity",
        ),
    ),
    RawTable(
        "machine_attributes",
        "machine_attributes",
        _fields("time machine_id name value deleted", "time machine_id name", deleted="is_deleted"),
    ),
    RawTable(
        "collection_events",
        "collection_events",
        _fields(
            f"{_COMMON} user collection_name collection_logical_name parent_collection_id start_after_collection_ids "
            "max_per_machine max_per_switch vertical_scaling scheduler",
            "time type collection_id",
        ),
    ),
    RawTable(
        "instance_events",
        "instance_events",
        _fields(
            f"{_COMMON} instance_index machine_id alloc_instance_index resource_request.cpus resource_request.memory",
            "time type collection_id instance_index",
            resource_request__cpus="cpu_request",
            resource_request__memory="memory_request",
        ),
        # Only the name is mandatory: protocol buffers leave out a relation of 0 and an empty value.
        lists=(RawTable("constraint", "instance_constraints", _fields("name value relation", "name")),),
    ),
    RawTable(
        "instance_usage",
        "instance_usage",
        _fields(
            "start_time end_time collection_id instance_index machine_id alloc_collection_id alloc_instance_index "
            "collection_type average_usage.cpus average_usage.memory maximum_usage.cpus maximum_usage.memory "
            "random_sample_usage.cpus random_sample_usage.memory assigned_memory page_cache_memory "
            "cycles_per_instruction memory_accesses_per_instruction sample_rate cpu_usage_distribution "
            "tail_cpu_usage_distribution",
            "start_time end_time collection_id instance_index",
            average_usage__cpus="average_cpu",
            average_usage__memory="average_memory",
            maximum_usage__cpus="maximum_cpu",
            maximum_usage__memory="maximum_memory",
            random_sample_usage__cpus="sampled_cpu",
            random_sample_usage__memory="",  # never filled: the sample is one of CPU
        ),
    ),
)

# The proto's constants.  They differ by column: 0 is a real index, so there "none" is −1.
NO_MACHINE = 0
DEDICATED_MACHINE = -1
NO_ALLOC_COLLECTION = 0
NO_ALLOC_INDEX = -1

# The proto numbers these from 0 in the order of their names; notes that call a collection of type 0 a "task" are wrong.
_UNKNOWN = Rate("not documented", V3)
_NUMBERED = ("event_type", "collection_type", "vertical_scaling", "scheduler", "relation")

GOOGLE_2019 = Dialect(
    name="2019",
    trace="2019",
    title="Google cluster trace 2019",
    formats=("json", "parquet"),
    tables={raw.name: raw for raw in TABLES},
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
    absent={"instance_events.user": "2019 publishes it per collection, in collection_events"},
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
    licence=licences.GOOGLE,
    anomalies={
        **SHARED,
        # Google's notes on 2011 say nothing of 2019: counted, and compared with nothing.
        **dict.fromkeys(("missing_info_instances", "missing_info_collections", "schedule_missing"), _UNKNOWN),
        **dict.fromkeys(("usage_missing", "window_off_grid", "cpu_over_1", "cpi_impossible"), _UNKNOWN),
        **dict.fromkeys(("mai_impossible", "job_id_reused", "missing_data_reason"), _UNKNOWN),
        "sample_rate_low": Rate("occurs (mean 0.997, least 0.0033)", "public exploration of cell a"),
        "capacity_missing": Rate("1.6 % (all cells)", "public count of the machine events of all cells", some(0.05)),
        "cpi_null": Rate("29 %", V3, about(0.29)),
        "window_full": Rate("66 %", V3, about(0.66)),
        "assigned_memory_zero": Rate("25 %", V3, about(0.25)),
        "dedicated_usage": Rate("none", V3, NONE),
        "percentiles_empty": Rate("occurs", V3),
        "alloc_holds_tasks": Rate("≤ 100 % (contained)", V3, at_most(1.02)),
    },
)
