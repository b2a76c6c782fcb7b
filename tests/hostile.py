"""Traces whose every text is hostile: to a terminal, to a spreadsheet, to SQL."""

from __future__ import annotations

from pathlib import Path

from tests.ingest.raw import event_record, usage_record, write_records

TEXT = "=\x1b[31mred\x1b]0;title\x07\x9b2J\u202etxt\u2066\r\nborgtrace: done\x7f\x08'\"; --"
"""Colors, a title, a bell, C1, a turned order of letters, a forged line, a formula, and quotes."""
SECOND = 1_000_000
FIRST_MINUTE = 600
JOBS = range(1, 9)


def write_2019(folder: Path, text: str = TEXT) -> Path:
    """Write a small cell of 2019, an hour of eight jobs on two machines, with `text` in every column of text."""
    write_records(folder, "machine_events", [_machine(machine, text) for machine in (1, 2)])
    attributes = [
        {"time": "0", "machine_id": str(machine), "name": text, "value": text, "deleted": False}
        for machine in (1, 2)
    ]
    write_records(folder, "machine_attributes", attributes)
    collections = []
    instances = []
    usage = []
    for job in JOBS:
        for seconds, kind in ((FIRST_MINUTE, "0"), (4_500, "6")):
            collections.append(_collection(job, seconds, kind, text))
        for seconds, kind in ((FIRST_MINUTE, "0"), (FIRST_MINUTE, "3"), (4_500, "6")):
            instances.append(_instance(job, seconds, kind, text))
        for begin in range(FIRST_MINUTE, 4_200, 300):
            usage.append(
                usage_record(
                    start_time=str(begin * SECOND),
                    end_time=str((begin + 300) * SECOND),
                    collection_id=str(job),
                    instance_index="0",
                    machine_id=str(1 + job % 2),
                )
            )
    write_records(folder, "collection_events", collections)
    write_records(folder, "instance_events", instances)
    write_records(folder, "instance_usage", usage)
    return folder


def _machine(machine: int, text: str) -> dict[str, object]:
    return {
        "time": "0",
        "machine_id": str(machine),
        "type": "1",
        "switch_id": text,
        "capacity": {"cpus": 1.0, "memory": 1.0},
        "platform_id": text,
    }


def _collection(job: int, seconds: int, kind: str, text: str) -> dict[str, object]:
    return {
        "time": str(seconds * SECOND),
        "type": kind,
        "collection_id": str(job),
        "scheduling_class": "2",
        "collection_type": "0",
        "priority": "200",
        "user": text,
        "collection_name": text,
        "collection_logical_name": text,
        "scheduler": "0",
    }


def _instance(job: int, seconds: int, kind: str, text: str) -> dict[str, object]:
    constraint = {"name": text, "value": text, "relation": "0"}
    return event_record(
        time=str(seconds * SECOND),
        type=kind,
        collection_id=str(job),
        instance_index="0",
        machine_id=str(1 + job % 2),
        user=text,
        constraint=[constraint],
    )
