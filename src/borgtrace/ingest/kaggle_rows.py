"""A row of the flattened 2019 sample, rewritten as the three v3 records it was joined from."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

_BETWEEN_NUMBERS = re.compile(r"(?<=[0-9.e])\s+(?=[-+0-9.])")
_BETWEEN_RECORDS = re.compile(r"\}\s+\{")
_BARE_POINT = re.compile(r"(?<=[0-9])\.(?=[\s,\]])")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.0)?")

_EVENT = ("time", "collection_id", "scheduling_class", "collection_type", "priority", "alloc_collection_id")
_PLAIN: dict[str, tuple[str, ...]] = {
    "instance_events": (*_EVENT, "instance_index", "machine_id"),
    "collection_events": (
        *_EVENT,
        "user",
        "collection_name",
        "collection_logical_name",
        "vertical_scaling",
        "scheduler",
    ),
    "instance_usage": (
        "start_time",
        "end_time",
        "collection_id",
        "instance_index",
        "machine_id",
        "alloc_collection_id",
        "collection_type",
        "assigned_memory",
        "page_cache_memory",
        "cycles_per_instruction",
        "memory_accesses_per_instruction",
        "sample_rate",
    ),
}
_TYPE = {"instance_events": "instance_events_type", "collection_events": "collections_events_type"}
_LITERALS: dict[str, tuple[str, ...]] = {
    "instance_events": ("resource_request", "constraint"),
    "collection_events": ("start_after_collection_ids",),
    "instance_usage": (
        "average_usage",
        "maximum_usage",
        "random_sample_usage",
        "cpu_usage_distribution",
        "tail_cpu_usage_distribution",
    ),
}
RECORDS = tuple(_PLAIN)
"""v3 tables that one flattened row feeds."""


def record_of(table: str, row: Mapping[str, str]) -> str:
    """Return the JSON of the v3 record of `table` that a flattened row carries.

    What cannot be rewritten is left as it is: the checks then refuse it with a reason.

    Examples
    --------
    >>> record_of("collection_events", {"time": "5", "collections_events_type": "3",
    ...                                 "scheduler": "1.0", "start_after_collection_ids": "[1 2]"})
    '{"time":"5","scheduler":"1","type":"3","start_after_collection_ids":[1,2]}'
    """
    parts = [f'"{name}":{json.dumps(_whole(row[name]))}' for name in _PLAIN[table] if row.get(name)]
    if table in _TYPE:
        parts.append(f'"type":{json.dumps(_whole(row.get(_TYPE[table], "")))}')
    parts += [f'"{name}":{_literal(row[name])}' for name in _LITERALS[table] if row.get(name)]
    return "{" + ",".join(parts) + "}"


def _whole(text: str) -> str:
    """Undo the ``.0`` that pandas gave to integer columns with missing values."""
    return text.removesuffix(".0") if _NUMBER.fullmatch(text) else text


def _literal(text: str) -> str:
    """Turn a printed Python dict or numpy list into JSON."""
    whole = _BARE_POINT.sub(".0", text.strip())
    spaced = _BETWEEN_RECORDS.sub("},{", _BETWEEN_NUMBERS.sub(",", whole))
    return spaced.replace("'", '"').replace("None", "null").replace("nan", "null")
