"""What becomes of a record of 2019, said once more in plain Python: refused for what, or stored as which values.

Typed from the proto and the notes on BigQuery's export, without a look at the dialect or the readers.
"""

from __future__ import annotations

import json
from typing import Any

from tests.ingest.declared_2011 import (
    Fate,
    Refused,
    amount_of,
    ends_before_it_starts,
    flag_of,
    whole,
)

AFTER = 2**63 - 1
_PRESENCE = ("PRESENT", "NOT_PRESENT")
CODES = {
    "event": [
        "SUBMIT",
        "QUEUE",
        "ENABLE",
        "SCHEDULE",
        "EVICT",
        "FAIL",
        "FINISH",
        "KILL",
        "LOST",
        "UPDATE_PENDING",
        "UPDATE_RUNNING",
    ],
    "machine": ["EVENT_TYPE_UNKNOWN", "ADD", "REMOVE", "UPDATE"],
    "collection": ["JOB", "ALLOC_SET"],
    "scaling": ["VERTICAL_SCALING_SETTING_UNKNOWN", "OFF", "CONSTRAINED", "FULLY_AUTOMATED"],
    "scheduler": ["DEFAULT", "BATCH"],
    "relation": [
        "EQUAL",
        "NOT_EQUAL",
        "LESS_THAN",
        "GREATER_THAN",
        "LESS_THAN_EQUAL",
        "GREATER_THAN_EQUAL",
        "PRESENT",
        "NOT_PRESENT",
    ],
    # Code 0 says that nothing is missing.
    "missing": [
        None,
        "SNAPSHOT_BUT_NO_TRANSITION",
        "NO_SNAPSHOT_OR_TRANSITION",
        "EXISTS_BUT_NO_CREATION",
        "TRANSITION_MISSING_STEP",
        "TOO_MANY_EVENTS",
    ],
    "reason": [None, "SNAPSHOT_BUT_NO_TRANSITION"],
}
_EVENT = (
    "time:time! type:event! collection_id:id! scheduling_class:class missing_type:missing "
    "collection_type:collection=JOB priority:index alloc_collection_id:alloc "
)
# Path, kind ("!": mandatory; "=": what a missing one means) and, after ">", the column where it has another name.
FIELDS = {
    "machine_events": "time:time! machine_id:machine_id! type:machine! switch_id:text "
    "capacity.cpus:amount>cpu_capacity capacity.memory:amount>memory_capacity platform_id:text "
    "missing_data_reason:reason",
    "machine_attributes": "time:time! machine_id:machine_id! name:text! value:text deleted:flag=False>is_deleted",
    "collection_events": _EVENT + "user:text collection_name:text collection_logical_name:text "
    "parent_collection_id:alloc start_after_collection_ids:ids max_per_machine:index max_per_switch:index "
    "vertical_scaling:scaling scheduler:scheduler",
    "instance_events": _EVENT
    + "instance_index:index! machine_id:machine_id alloc_instance_index:alloc_index "
    "resource_request.cpus:amount>cpu_request resource_request.memory:amount>memory_request constraint:constraints",
    "instance_usage": "start_time:time! end_time:time! collection_id:id! instance_index:index! machine_id:machine_id "
    "alloc_collection_id:alloc alloc_instance_index:alloc_long collection_type:collection=JOB "
    "average_usage.cpus:amount>average_cpu average_usage.memory:amount>average_memory "
    "maximum_usage.cpus:amount>maximum_cpu maximum_usage.memory:amount>maximum_memory "
    "random_sample_usage.cpus:amount>sampled_cpu random_sample_usage.memory:unused assigned_memory:amount "
    "page_cache_memory:amount cycles_per_instruction:amount memory_accesses_per_instruction:amount sample_rate:amount "
    "cpu_usage_distribution:list11 tail_cpu_usage_distribution:list9",
}
# Numbers that stand for "none", by kind, and the width of the integers.
_NONE = {
    "machine_id": (0, -1),
    "alloc": (0,),
    "alloc_index": (-1,),
    "alloc_long": (-1,),
}
_BITS = {
    "index": 31,
    "class": 31,
    "alloc_index": 31,
}


def fields_of(table: str) -> list[tuple[str, str, str]]:
    """Return path, kind with its marks, and column of each field."""
    found = []
    for word in FIELDS[table].split():
        path, _, rest = word.partition(":")
        kind, _, column = rest.partition(">")
        found.append((path, kind, column or path))
    return found


def judge(table: str, line: str) -> Fate:
    """Say what becomes of one line."""
    try:
        record = json.loads(line, object_pairs_hook=_unique, parse_constant=_no_constant)
    except Doubled:
        return Fate({"wrong_column_count"})
    except ValueError:
        return Fate({"unparsable_value"})
    if not isinstance(record, dict):
        return Fate({"unparsable_value"})
    fate, fields = Fate(), fields_of(table)
    paths = {path for path, _, _ in fields}
    nested = {path.split(".")[0] for path in paths if "." in path}
    fate.is_odd = not record.keys() <= {path.split(".")[0] for path in paths}
    for name in nested & record.keys():
        inner = record[name]
        if inner is not None and not isinstance(inner, dict):
            fate.reasons.add("unparsable_value")
        elif inner:
            fate.is_odd |= not {f"{name}.{key}" for key in inner} <= paths
    if fate.reasons:
        return fate
    listed = record.get("constraint") if table == "instance_events" else None
    for item in listed if isinstance(listed, list) else []:
        fate.is_odd |= isinstance(item, dict) and not item.keys() <= {"name", "value", "relation"}
    for path, kind, column in fields:
        _judge_field(fate, _found(record, path), kind, column)
    if table == "instance_usage" and not fate.reasons and ends_before_it_starts(fate.values):
        fate.reasons.add("end_before_start")
    if table in ("instance_events", "instance_usage"):
        machine = _found(record, "machine_id")
        fate.values["is_on_dedicated_machine"] = machine is not None and _is_integer(machine, -1)
    return fate


def _judge_field(
    fate: Fate,
    value: Any,
    kind: str,
    column: str,
) -> None:
    kind, _, default = kind.partition("=")
    is_mandatory, kind = kind.endswith("!"), kind.rstrip("!")
    if kind == "unused":
        return
    fate.values[column] = None
    if kind == "constraints":
        fate.reasons |= _constraint_faults(value)
        fate.values.pop(column)
        return
    if value is None:
        if is_mandatory:
            fate.reasons.add("null_in_mandatory_field")
        if default:
            fate.values[column] = False if kind == "flag" else default
        return
    found = _value_of(kind, value)
    if isinstance(found, Refused):
        fate.reasons.add(found.reason)
    elif found is None and is_mandatory:
        fate.reasons.add("null_in_mandatory_field")
    else:
        fate.values[column] = found


def _value_of(kind: str, value: Any) -> Any:
    if kind == "ids":
        return _ids(value)
    if kind.startswith("list"):
        return _percentiles(value, int(kind.removeprefix("list")))
    text = _text(value)
    if kind == "text":
        return Refused("unparsable_value") if "�" in text or "\0" in text else text
    text = text.strip(" \t")
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
    if number in _NONE.get(kind, ()):
        return None
    if kind == "time" and number == 2**64 - 1:
        return AFTER
    if not 0 <= number < 2 ** _BITS.get(kind, 63):
        return Refused("integer_out_of_range")
    return Refused("unknown_enum_code") if kind == "class" and number > 3 else number


def _ids(value: Any) -> Any:
    if not isinstance(value, list):
        return Refused("unparsable_value")
    numbers = []
    for item in value:
        is_spelled = isinstance(item, str | int | float) and not isinstance(item, bool)
        number = whole(str(item).strip(" \t")) if is_spelled else None
        if number is None or not -(2**63) <= number < 2**63:
            return Refused("unparsable_value")
        numbers.append(number)
    return numbers


def _percentiles(value: Any, length: int) -> Any:
    if not isinstance(value, list):
        return Refused("unparsable_value")
    odd = any(isinstance(item, bool | list | dict | None) for item in value)
    numbers = [] if odd else [amount_of(_text(item).strip(" \t")) for item in value]
    if odd or Refused("unparsable_value") in numbers:
        return Refused("unparsable_value")
    if len(numbers) not in (0, length):
        return Refused("wrong_list_length")
    return Refused("negative_resource") if Refused("negative_resource") in numbers else numbers


def _constraint_faults(value: Any) -> set[str]:
    if value is None:
        return set()
    if not isinstance(value, list):
        return {"unparsable_value"}
    faults: set[str] = set()
    for item in value:
        if item is None:
            faults.add("null_in_mandatory_field")
        elif not isinstance(item, dict):
            faults.add("unparsable_value")
        else:
            faults |= {"null_in_mandatory_field"} if item.get("name") is None else set()
            relation = item.get("relation")
            if relation is not None:
                found = _value_of("relation", relation)
                faults |= {found.reason} if isinstance(found, Refused) else set()
    return faults


def constraints_of(line: str) -> list[tuple[int, str, str, str | None]]:
    """Return place, name, relation and value of the constraints of a record that is stored."""
    listed = json.loads(line).get("constraint") or []
    return [
        (place, item["name"], _value_of("relation", item.get("relation") or "0"), item.get("value"))
        for place, item in enumerate(listed)
    ]


def _found(record: dict[str, Any], path: str) -> Any:
    value: Any = record
    for name in path.split("."):
        value = None if value is None else value.get(name)
    return value


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def _is_integer(value: Any, number: int) -> bool:
    text = _text(value).strip(" \t")
    return whole(text) == number


class Doubled(Exception):  # noqa: N818 - no error of a program
    """A key comes twice."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Doubled
    return found


def _no_constant(name: str) -> float:
    raise ValueError(name)
