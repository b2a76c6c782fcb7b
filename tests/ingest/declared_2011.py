"""What becomes of a line of 2011, said once more in plain Python: refused for what, or stored as which values.

Typed from the format document and the trace's schema.csv, without a look at the dialect or the readers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

AFTER = 2**63 - 1
EVENTS = [
    "SUBMIT",
    "SCHEDULE",
    "EVICT",
    "FAIL",
    "FINISH",
    "KILL",
    "LOST",
    "UPDATE_PENDING",
    "UPDATE_RUNNING",
]
MISSING = ["SNAPSHOT_BUT_NO_TRANSITION", "NO_SNAPSHOT_OR_TRANSITION", "EXISTS_BUT_NO_CREATION"]
CODES = {
    "event": EVENTS,
    "missing": MISSING,
    "machine": ["ADD", "REMOVE", "UPDATE"],
    "relation": ["EQUAL", "NOT_EQUAL", "LESS_THAN", "GREATER_THAN"],
}
# Column and kind of each field; a mandatory one ends with "!".
FIELDS = {
    "machine_events": "time:time! machine_id:id! type:machine! platform_id:text cpu_capacity:amount "
    "memory_capacity:amount",
    "machine_attributes": "time:time! machine_id:id! name:text! value:text is_deleted:flag!",
    "job_events": "time:time! missing_type:missing collection_id:id! type:event! user:text scheduling_class:class "
    "collection_name:text collection_logical_name:text",
    "task_events": "time:time! missing_type:missing collection_id:id! instance_index:index! machine_id:id type:event! "
    "user:text scheduling_class:class priority:index! cpu_request:amount memory_request:amount disk_request:amount "
    "needs_different_machine:flag",
    "task_constraints": "time:time! collection_id:id! instance_index:index! relation:relation! name:text! value:value",
    "task_usage": "start_time:time! end_time:time! collection_id:id! instance_index:index! machine_id:id! "
    "average_cpu:amount average_memory:amount assigned_memory:amount unmapped_page_cache_memory:amount "
    "page_cache_memory:amount maximum_memory:amount mean_disk_io_time:amount mean_disk_space:amount "
    "maximum_cpu:amount maximum_disk_io_time:amount cycles_per_instruction:amount "
    "memory_accesses_per_instruction:amount sample_portion:amount aggregation_type:flag sampled_cpu:amount",
}
CANONICAL = {
    "machine_events": "machine_events",
    "machine_attributes": "machine_attributes",
    "job_events": "collection_events",
    "task_events": "instance_events",
    "task_constraints": "instance_constraints",
    "task_usage": "instance_usage",
}
_INTEGER = re.compile(r"[+-]?[0-9]+")
_WHOLE_DOUBLE = re.compile(r"[+-]?[0-9]+(\.0*|(\.[0-9]*)?[eE]\+?[0-9]+)")
_FIELD = re.compile(r'"((?:[^"]|"")*)"|([^",]*)')
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


@dataclass
class Fate:
    """Why a line may be refused (none of it: it is stored), and the values that it is stored with."""

    reasons: set[str] = field(default_factory=set)
    values: dict[str, Any] = field(default_factory=dict)
    is_odd: bool = False
    """Whether it holds fields that are not declared."""


def fields_of(table: str) -> list[tuple[str, str, bool]]:
    """Return name, kind and whether it is mandatory of each field."""
    words = [word.split(":") for word in FIELDS[table].split()]
    return [(name, kind.rstrip("!"), kind.endswith("!")) for name, kind in words]


def judge(table: str, line: bytes) -> Fate:
    """Say what becomes of one line, given without its line feed."""
    fate, fields = Fate(), fields_of(table)
    texts = split(line.removesuffix(b"\r").decode("utf-8", "replace").replace("\0", "�"))
    if texts is None:
        # How many fields it has nobody knows.
        return Fate({"wrong_column_count", "unparsable_value"})
    if len(texts) != len(fields):
        return Fate({"wrong_column_count"})
    for (name, kind, is_mandatory), raw in zip(fields, texts, strict=True):
        fate.values[name] = None
        # Blanks around a number are passed over; a field of nothing else is no number.
        text = raw if kind in ("text", "value") else raw.strip(" \t") or raw
        if text == "" and kind != "value":
            if is_mandatory:
                fate.reasons.add("null_in_mandatory_field")
            continue
        found = value_of(kind, text)
        if isinstance(found, Refused):
            fate.reasons.add(found.reason)
        else:
            fate.values[name] = found
    if table == "task_usage" and not fate.reasons and ends_before_it_starts(fate.values):
        fate.reasons.add("end_before_start")
    return fate


def split(line: str) -> list[str] | None:
    """Return the fields of a line, without the quotes around them; None where a quote stands elsewhere."""
    texts = []
    rest = line + ","
    while rest:
        field = _FIELD.match(rest)
        assert field
        rest = rest[field.end() :]
        if not rest.startswith(","):
            return None
        rest = rest[1:]
        texts.append((field[2] or "") if field[1] is None else field[1].replace('""', '"'))
    return texts


def whole(text: str) -> int | None:
    """Return a whole number, which pandas spells 5.0 and Spark 5E0; None where a text is none, or only nearly one."""
    if _INTEGER.fullmatch(text):
        return int(text)
    if not _WHOLE_DOUBLE.fullmatch(text):
        return None
    number = float(text)
    return int(number) if abs(number) <= 2**53 and number == int(number) else None


@dataclass(frozen=True)
class Refused:
    """A text that is no value, and why."""

    reason: str


def value_of(kind: str, text: str) -> Any:
    """Return the value of a text that is not empty, or why it is none."""
    if kind in ("text", "value"):
        return Refused("unparsable_value") if "�" in text else text
    if kind == "flag":
        return flag_of(text)
    if kind == "amount":
        return amount_of(text)
    number = whole(text)
    if number is None:
        return Refused("unparsable_value")
    if kind in CODES:
        return (
            CODES[kind][number] if 0 <= number < len(CODES[kind]) else Refused("unknown_enum_code")
        )
    if kind == "time" and number == 2**64 - 1:
        return AFTER
    if not 0 <= number < (2**63 if kind in ("time", "id") else 2**31):
        return Refused("integer_out_of_range")
    return Refused("unknown_enum_code") if kind == "class" and number > 3 else number


def flag_of(text: str) -> Any:
    """Return what a flag says, in any of its spellings, or why it is none."""
    return {
        "0": False,
        "0.0": False,
        "1": True,
        "1.0": True,
        "true": True,
        "false": False,
    }.get(text.lower(), Refused("unparsable_value"))


def amount_of(text: str) -> Any:
    """Return a decimal as float32, or why it is no amount."""
    if not _NUMBER.fullmatch(text):
        return Refused("unparsable_value")
    with np.errstate(over="ignore"):
        number = np.float32(float(text))
    if not np.isfinite(number):
        return Refused("unparsable_value")
    return Refused("negative_resource") if number < 0 else float(number)


def ends_before_it_starts(row: dict[str, Any]) -> bool:
    """Whether a window ends before its start."""
    return row["end_time"] != AFTER and row["end_time"] < row["start_time"]


def count_odd(rows: Iterable[dict[str, Any]], *, is_in_order: bool = True) -> Counter[str]:
    """Count what is odd in the stored rows of a file, in their order."""
    odd: Counter[str] = Counter()
    before = 0
    for row in rows:
        time = row.get("start_time", row.get("time"))
        if is_in_order:
            odd["time_out_of_order"] += time < before
            before = time
        odd["after_trace_time"] += AFTER in (time, row.get("end_time"))
        if "end_time" in row:
            odd.update(_odd_usage(row))
    return +odd


def _odd_usage(row: dict[str, Any]) -> list[str]:
    found = ["window_over_300s"] * (
        row["end_time"] != AFTER and row["end_time"] - row["start_time"] > 300_000_000
    )
    rates = (row.get(name) for name in ("average_cpu", "maximum_cpu", "sampled_cpu"))
    found += ["cpu_above_1"] * any(rate is not None and rate > 1 for rate in rates)
    pairs = (
        ("average_cpu", "maximum_cpu"),
        ("average_memory", "maximum_memory"),
        ("mean_disk_io_time", "maximum_disk_io_time"),
    )
    if any(_is_above(row, *pair) for pair in pairs):
        found.append(
            "mean_above_summed_maximum" if row.get("aggregation_type") else "mean_above_maximum"
        )
    return found + ["sample_out_of_range"] * _is_above(row, "sampled_cpu", "maximum_cpu")


def _is_above(row: dict[str, Any], name: str, bound: str) -> bool:
    return None not in (row.get(name), row.get(bound)) and row[name] > row[bound]
