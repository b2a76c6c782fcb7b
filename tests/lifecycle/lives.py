"""Lives told as text, and what a plain loop makes of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from borgtrace.question import Tables
from tests.analyses.tiny import tiny

ENDS = ("EVICT", "FAIL", "FINISH", "KILL", "LOST")
UPDATES = ("UPDATE_PENDING", "UPDATE_RUNNING")
STEP = {
    "SUBMIT": 0,
    "QUEUE": 1,
    "ENABLE": 1,
    "SCHEDULE": 2,
    **dict.fromkeys(ENDS, 3),
}


def life(
    text: str, collection_id: int = 1, instance_index: int = 0, **columns: Any
) -> list[dict[str, Any]]:
    """Turn ``"SUBMIT 5 SCHEDULE 7"`` into events (times as written, in µs)."""
    words = text.split()
    return [
        {
            "collection_id": collection_id,
            "instance_index": instance_index,
            "time": int(time),
            "type": type_,
            "priority": 0,
            "scheduling_class": 0,
            **columns,
        }
        for type_, time in zip(words[::2], words[1::2], strict=True)
    ]


def tables(*lives: list[dict[str, Any]], generation: str = "2011") -> Tables:
    """Return the tables of some lives."""
    return tiny(generation, instance_events=[event for one in lives for event in one])


def rows(expr: Any, *key: str) -> list[dict[str, Any]]:
    """Return the rows of a table sorted by a key, NULL first."""
    unsorted_rows = expr.to_pyarrow().to_pylist()
    return sorted(unsorted_rows, key=lambda row: [(row[k] is not None, row[k]) for k in key])


def attempts_of(events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Cut one life into attempts with a plain loop: the reference."""
    attempts: list[dict[str, Any]] = []
    before: str | None = None
    for event in events:
        if event["type"] in UPDATES:
            continue
        step = STEP[event["type"]]
        back = (
            before is None
            or step < STEP[before]
            or (step == STEP[before] and step != 1)
            or STEP[before] == 3
        )
        if back:
            if attempts and attempts[-1]["left_time"] is None:
                attempts[-1]["left_time"] = event["time"]
            attempts.append(
                {
                    "begin_time": event["time"],
                    "left_time": None,
                    "end_type": None,
                }
            )
        attempt = attempts[-1]
        if step == 3:
            attempt |= {
                "end_time": event["time"],
                "left_time": event["time"],
                "end_type": event["type"],
            }
        else:
            name = f"{event['type'].lower()}_time"
            if name == "queue_time":
                attempt.setdefault(name, event["time"])
            else:
                attempt[name] = event["time"]
        before = event["type"]
    return attempts


def occupancy_at(lives: Iterable[Sequence[dict[str, Any]]], time: int) -> tuple[int, int]:
    """Count pending and running at an instant with a plain loop over attempts."""
    pending = running = 0
    for events in lives:
        for one in attempts_of(events):
            if one["begin_time"] > time or (
                one["left_time"] is not None and one["left_time"] <= time
            ):
                continue
            started = one.get("schedule_time")
            if started is not None and started <= time:
                running += 1
            elif any(f"{kind}_time" in one for kind in ("submit", "queue", "enable")):
                pending += 1
    return pending, running
