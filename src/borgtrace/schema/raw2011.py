"""The six raw tables of 2011 (v2.0 and v2.1): fields in the order of ``schema.csv``.

The order of ``task_constraints`` is operator, name, value: schema.csv is the authority, the
format document's own list is wrong there (and says so).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FieldFormat = Literal["INTEGER", "STRING_HASH", "STRING_HASH_OR_INTEGER", "FLOAT", "BOOLEAN"]


@dataclass(frozen=True, slots=True)
class RawField:
    """One field of a raw CSV table, as ``schema.csv`` lists it."""

    content: str
    format: FieldFormat
    mandatory: bool


@dataclass(frozen=True, slots=True)
class RawTable:
    """One raw CSV table: its folder, its fields, the canonical table its rows go to.

    ``field_counts`` are the widths a file may have (task_usage has 19 fields in v2.0).
    """

    name: str
    table: str
    fields: tuple[RawField, ...]
    field_counts: tuple[int, ...]
    parts: int


def _raw(name: str, table: str, parts: int, text: str, narrower: int = 0) -> RawTable:
    fields = []
    for line in text.strip().splitlines():
        content, fmt, mandatory = (word.strip() for word in line.split("|"))
        fields.append(RawField(content, fmt, mandatory == "Y"))  # type: ignore[arg-type]
    counts = (len(fields) - narrower, len(fields)) if narrower else (len(fields),)
    return RawTable(name, table, tuple(fields), counts, parts)


RAW_2011: dict[str, RawTable] = {
    raw.name: raw
    for raw in (
        _raw(
            "machine_events",
            "machine_events",
            1,
            """
            time|INTEGER|Y
            machine ID|INTEGER|Y
            event type|INTEGER|Y
            platform ID|STRING_HASH|N
            CPUs|FLOAT|N
            Memory|FLOAT|N""",
        ),
        _raw(
            "machine_attributes",
            "machine_attributes",
            1,
            """
            time|INTEGER|Y
            machine ID|INTEGER|Y
            attribute name|STRING_HASH|Y
            attribute value|STRING_HASH_OR_INTEGER|N
            attribute deleted|BOOLEAN|Y""",
        ),
        _raw(
            "job_events",
            "collection_events",
            500,
            """
            time|INTEGER|Y
            missing info|INTEGER|N
            job ID|INTEGER|Y
            event type|INTEGER|Y
            user|STRING_HASH|N
            scheduling class|INTEGER|N
            job name|STRING_HASH|N
            logical job name|STRING_HASH|N""",
        ),
        _raw(
            "task_events",
            "instance_events",
            500,
            """
            time|INTEGER|Y
            missing info|INTEGER|N
            job ID|INTEGER|Y
            task index|INTEGER|Y
            machine ID|INTEGER|N
            event type|INTEGER|Y
            user|STRING_HASH|N
            scheduling class|INTEGER|N
            priority|INTEGER|Y
            CPU request|FLOAT|N
            memory request|FLOAT|N
            disk space request|FLOAT|N
            different machines restriction|BOOLEAN|N""",
        ),
        _raw(
            "task_constraints",
            "instance_constraints",
            500,
            """
            time|INTEGER|Y
            job ID|INTEGER|Y
            task index|INTEGER|Y
            comparison operator|INTEGER|Y
            attribute name|STRING_HASH|Y
            attribute value|STRING_HASH_OR_INTEGER|N""",
        ),
        _raw(
            "task_usage",
            "instance_usage",
            500,
            """
            start time|INTEGER|Y
            end time|INTEGER|Y
            job ID|INTEGER|Y
            task index|INTEGER|Y
            machine ID|INTEGER|Y
            CPU rate|FLOAT|N
            canonical memory usage|FLOAT|N
            assigned memory usage|FLOAT|N
            unmapped page cache|FLOAT|N
            total page cache|FLOAT|N
            maximum memory usage|FLOAT|N
            disk I/O time|FLOAT|N
            local disk space usage|FLOAT|N
            maximum CPU rate|FLOAT|N
            maximum disk IO time|FLOAT|N
            cycles per instruction|FLOAT|N
            memory accesses per instruction|FLOAT|N
            sample portion|FLOAT|N
            aggregation type|BOOLEAN|N
            sampled CPU usage|FLOAT|N""",
            narrower=1,
        ),
    )
}
"""Raw tables by folder name."""
