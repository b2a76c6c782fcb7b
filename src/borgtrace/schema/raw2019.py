"""The five raw tables of 2019 (v3): fields in proto order, and how JSON writes them.

BigQuery's export writes every integer and enum as a JSON string, floats as numbers, leaves NULL
fields out, and nests records.  Sources: ``clusterdata_trace_format_v3.proto``, the buckets' own
``*.schema.json``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

V3Type = Literal["int64", "int32", "enum", "float", "string", "bool", "record"]


@dataclass(frozen=True, slots=True)
class V3Field:
    """One field of a v3 record; ``fields`` for a nested record, ``repeated`` for an array."""

    name: str
    type: V3Type
    repeated: bool = False
    fields: tuple[V3Field, ...] = ()


@dataclass(frozen=True, slots=True)
class V3Table:
    """One raw v3 table and the fields without which a row cannot be placed."""

    name: str
    fields: tuple[V3Field, ...]
    mandatory: tuple[str, ...]


def _ints(*names: str) -> tuple[V3Field, ...]:
    return tuple(V3Field(name, "int64") for name in names)


def _enums(*names: str) -> tuple[V3Field, ...]:
    return tuple(V3Field(name, "enum") for name in names)


def _floats(*names: str) -> tuple[V3Field, ...]:
    return tuple(V3Field(name, "float") for name in names)


_RESOURCES = _floats("cpus", "memory")
_CONSTRAINT = (V3Field("name", "string"), V3Field("value", "string"), V3Field("relation", "enum"))

_COMMON = (
    V3Field("time", "int64"),
    V3Field("type", "enum"),
    V3Field("collection_id", "int64"),
    V3Field("scheduling_class", "enum"),
    V3Field("missing_type", "enum"),
    V3Field("collection_type", "enum"),
    V3Field("priority", "int32"),
    V3Field("alloc_collection_id", "int64"),
)

RAW_2019: dict[str, V3Table] = {
    raw.name: raw
    for raw in (
        V3Table(
            "machine_events",
            (
                *_ints("time", "machine_id"),
                V3Field("type", "enum"),
                V3Field("switch_id", "string"),
                V3Field("capacity", "record", fields=_RESOURCES),
                V3Field("platform_id", "string"),
                V3Field("missing_data_reason", "enum"),
            ),
            ("time", "machine_id", "type"),
        ),
        V3Table(
            "machine_attributes",
            (
                *_ints("time", "machine_id"),
                V3Field("name", "string"),
                V3Field("value", "string"),
                V3Field("deleted", "bool"),
            ),
            ("time", "machine_id", "name"),
        ),
        V3Table(
            "collection_events",
            (
                *_COMMON,
                V3Field("user", "string"),
                V3Field("collection_name", "string"),
                V3Field("collection_logical_name", "string"),
                V3Field("parent_collection_id", "int64"),
                V3Field("start_after_collection_ids", "int64", repeated=True),
                V3Field("max_per_machine", "int32"),
                V3Field("max_per_switch", "int32"),
                *_enums("vertical_scaling", "scheduler"),
            ),
            ("time", "type", "collection_id"),
        ),
        V3Table(
            "instance_events",
            (
                *_COMMON,
                V3Field("instance_index", "int32"),
                V3Field("machine_id", "int64"),
                V3Field("alloc_instance_index", "int32"),
                V3Field("resource_request", "record", fields=_RESOURCES),
                V3Field("constraint", "record", repeated=True, fields=_CONSTRAINT),
            ),
            ("time", "type", "collection_id", "instance_index"),
        ),
        V3Table(
            "instance_usage",
            (
                *_ints("start_time", "end_time", "collection_id"),
                V3Field("instance_index", "int32"),
                *_ints("machine_id", "alloc_collection_id", "alloc_instance_index"),
                V3Field("collection_type", "enum"),
                V3Field("average_usage", "record", fields=_RESOURCES),
                V3Field("maximum_usage", "record", fields=_RESOURCES),
                V3Field("random_sample_usage", "record", fields=_RESOURCES),
                *_floats(
                    "assigned_memory",
                    "page_cache_memory",
                    "cycles_per_instruction",
                    "memory_accesses_per_instruction",
                    "sample_rate",
                ),
                V3Field("cpu_usage_distribution", "float", repeated=True),
                V3Field("tail_cpu_usage_distribution", "float", repeated=True),
            ),
            ("start_time", "end_time", "collection_id", "instance_index"),
        ),
    )
}
"""Raw tables by name."""

NO_MACHINE = 0
DEDICATED_MACHINE = -1
NO_ALLOC_COLLECTION = 0
NO_ALLOC_INDEX = -1
CELLS = "abcdefgh"
